// The limits of a group of requests after its commit: their standings, and the requests that don't fit.
import type { LimitCell, LimitState } from "../../db/meter/recorder_limits.ts";
import { parseHeld } from "../../db/meter/hold_counts.ts";
import { parseReserved } from "../../db/meter/reserved_room.ts";
import { propertiesIn, seriesOf } from "../../db/meter/record_group.ts";
import type { GroupTarget, RecordOutcome } from "../../db/meter/recorder.ts";
import { type AppError, limitExceededError } from "../../domain/errors.ts";
import { limitStanding } from "../../domain/meter/limit_window.ts";
import { closestValues, valueOf } from "../../domain/meter/value_limit.ts";
import { sumMicros } from "../../domain/meter/quantity.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { isoTime } from "../../domain/time.ts";
import type { CommitGroup } from "./commit_group.ts";

/** A request was not recorded: it doesn't fit, it doesn't fit together with others, or earlier usage is unknown. */
type LimitRejection =
  | { readonly reason: "exceeded"; readonly error: () => AppError }
  | { readonly reason: "others" }
  | { readonly reason: "unknown"; readonly cells: readonly LimitCell[] };

export class GroupLimits {
  readonly #group: CommitGroup["group"];
  readonly #targets: ReadonlyMap<string | undefined, GroupTarget>;
  /** Known limits in their current windows, by organization. */
  readonly #states: ReadonlyMap<number, readonly LimitState[]>;
  /** By request. */
  readonly #rejected: ReadonlyMap<number | null, readonly LimitState[]>;
  /** Known limits per value, by {@linkcode nameOfValue}. */
  readonly #values: ReadonlyMap<string, LimitState>;
  /** Any state of each limit per value, by organization. */
  readonly #valueLimits: ReadonlyMap<number, readonly LimitState[]>;
  /** By series. */
  readonly #found = new Map<number, readonly LimitStanding[]>();
  readonly #standings = new Map<LimitState, LimitStanding>();
  /** Counters of soft limits that lack earlier usage. */
  readonly unknown: readonly LimitCell[];

  constructor(
    { group, outcome }: { group: CommitGroup["group"]; outcome: RecordOutcome },
    targets: ReadonlyMap<string | undefined, GroupTarget>,
  ) {
    this.#group = group;
    this.#targets = targets;
    const { limits } = outcome;
    const known = limits.filter(({ request, reason }) => request === null && reason === null);
    this.#states = Map.groupBy(
      known.filter(({ by }) => by === undefined),
      ({ organization }) => organization,
    );
    const values = known.filter(({ by }) => by !== undefined);
    this.#values = new Map(values.map((state) => [nameOfValue(state, state.value), state]));
    const one = new Map(values.map((state) => [nameOfValue(state), state]));
    this.#valueLimits = Map.groupBy(one.values(), ({ organization }) => organization);
    this.#rejected = Map.groupBy(limits.filter(({ request }) => request !== null), (state) => state.request);
    this.unknown = limits.filter(({ request, reason }) => request === null && reason === "unknown");
  }

  /** @param start The position of the first record of a request. @param end The position after its last. */
  standings(start: number, end: number): readonly LimitStanding[] {
    if (this.#values.size > 0 && start !== end) {
      const values = Array.from({ length: end - start }, (_, index) => this.#valueStandings(start + index));
      return [...this.#wholeStandings(start, end), ...closestValues([...new Set(values.flat())])];
    }
    return this.#wholeStandings(start, end);
  }

  #wholeStandings(start: number, end: number): readonly LimitStanding[] {
    if (this.#states.size === 0 || start === end) return [];
    const { records } = this.#group;
    // Most requests have one record.
    const first = this.#standingsOf(seriesOf(records[start]));
    if (start + 1 === end) return first;
    const series = new Set(records.slice(start, end).map(seriesOf));
    return series.size === 1 ? first : [...new Set([...series].flatMap((one) => this.#standingsOf(one)))];
  }

  /** Returns undefined for a request that fits. */
  rejection(request: number): LimitRejection | undefined {
    const all = this.#rejected.get(request);
    if (all === undefined) return undefined;
    // Too large for a value: nothing else has to be known.
    const exceeded = all.filter(({ reason }) => reason === "exceeded");
    const states = exceeded.length > 0 ? exceeded : all;
    const { reason = null } = states.find(({ reason }) => reason === "unknown") ?? states[0] ?? {};
    if (reason === "unknown") return { reason, cells: states.filter((state) => state.reason === reason) };
    // Holds that have expired may be in the way: the next group ends them before it rejects anything.
    if (!this.#group.hasHolds && states.some(({ isHeld }) => isHeld === 1)) return { reason: "others" };
    return reason !== "exceeded" ? { reason: "others" } : {
      reason,
      error: () => limitExceededError(states.map((state) => this.#rejecting(state)), this.#group.now),
    };
  }

  #standingsOf(series: number): readonly LimitStanding[] {
    const known = this.#found.get(series);
    if (known !== undefined) return known;
    const [name, productSlug, metric] = this.#group.series[series] ?? [];
    const target = this.#targets.get(name);
    const states = this.#states.get(target?.organization ?? 0) ?? [];
    const standings = states.filter((state) =>
      (state.productSlug === "" || state.productSlug === productSlug) &&
      (state.metric === "" || state.metric === metric) &&
      (state.lineage === null || state.lineage === target?.lineage)
    ).map((state) => this.#standing(state));
    this.#found.set(series, standings);
    return standings;
  }

  /** The limits per value that count a record. */
  #valueStandings(position: number): LimitStanding[] {
    const record = this.#group.records[position] ?? "";
    const [name, productSlug, metric] = this.#group.series[seriesOf(record)] ?? [];
    const limits = this.#valueLimits.get(this.#targets.get(name)?.organization ?? 0) ?? [];
    const properties = propertiesIn(record);
    return limits.flatMap((limit) => {
      if (limit.productSlug !== "" && limit.productSlug !== productSlug) return [];
      if (limit.metric !== "" && limit.metric !== metric) return [];
      const state = this.#values.get(nameOfValue(limit, valueOf(properties, limit.by ?? "")));
      return state === undefined ? [] : [this.#standing(state)];
    });
  }

  #rejecting(state: LimitState): LimitStanding {
    const { heldUntil } = state;
    return { ...this.#standing(state), ...heldUntil !== null && { heldUntil: isoTime(heldUntil) } };
  }

  #standing(state: LimitState): LimitStanding {
    const known = this.#standings.get(state);
    if (known !== undefined) return known;
    const { limitId, per, mode, at, timezone, used: [high, low, micro] } = state;
    const { by, counter = "", countsFrom = 0 } = state;
    const standing = limitStanding({
      limitId,
      productSlug: state.productSlug || null,
      metric: state.metric || null,
      per,
      mode,
      micros: sumMicros({ high: "0", low: state.whole, micro: state.micro }),
      usedMicros: sumMicros({ high, low, micro }),
      heldMicros: sumMicros(parseHeld(state.held)),
      reservedMicros: BigInt(parseReserved(state.reserved) ?? 0),
      at,
      timezone,
      ...by !== undefined && { ofValue: { by, value: counter, countsFrom } },
    });
    this.#standings.set(state, standing);
    return standing;
  }
}

function nameOfValue({ organization, usageLimit }: LimitState, value?: string): string {
  return `${organization} ${usageLimit} ${value}`;
}
