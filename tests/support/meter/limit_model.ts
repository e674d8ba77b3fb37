// A model of an organization with limits, that records one request after the other, and the random histories that it goes through.
import { hashApiKey } from "../../../domain/keys/api_key.ts";
import { limitWindow } from "../../../domain/meter/limit_window.ts";
import { usageTimestampPastMaxMs } from "../../../domain/limits.ts";
import { quantityMicros, splitQuantity } from "../../../domain/meter/quantity.ts";
import { limitModes, limitPeriods } from "../../../domain/meter/usage_limit.ts";
import { zonedTime } from "../../../domain/time.ts";
import type { TestApp } from "../app/app.ts";
import fc from "../runner/fast_check.ts";

export const hourMs = 3_600_000;
const zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"] as const;

const owners = ["plan", "organization", "first", "second"] as const;
const names = ["", "", "a", "b"] as const;

const inputArbitrary = fc.record({
  productSlug: fc.constantFrom("a", "b"),
  metric: fc.constantFrom("a", "b"),
  quantity: fc.constantFrom(0, 0.25, 1, 2.5, 3, 2 ** 40),
  at: fc.option(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ hours: fc.double({ min: -50, max: 0.06, noNaN: true }) }) },
      // Exactly when windows begin.
      {
        weight: 2,
        arbitrary: fc.record({
          hours: fc.double({ min: -100, max: 0, noNaN: true }),
          isStart: fc.constant(true),
        }),
      },
      // Windows that were used before.
      { weight: 3, arbitrary: fc.record({ record: fc.nat() }) },
    ),
    { freq: 2 },
  ),
});
const requestArbitrary = fc.record({
  key: fc.constantFrom(0, 1, 2),
  inputs: fc.array(inputArbitrary, { minLength: 1, maxLength: 3 }),
});
const limitArbitrary = fc.record({
  type: fc.constant("limit"),
  owner: fc.constantFrom(...owners),
  productSlug: fc.constantFrom(...names),
  metric: fc.constantFrom(...names),
  per: fc.constantFrom(...limitPeriods),
  quantity: fc.option(fc.constantFrom(0, 1, 4, 7.75, 12)),
  mode: fc.constantFrom(...limitModes),
}) as fc.Arbitrary<LimitStep>;
const usageSteps = [
  { weight: 8, arbitrary: fc.record({ type: fc.constant("record"), request: requestArbitrary }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("together"),
      requests: fc.array(requestArbitrary, { minLength: 2, maxLength: 8 }),
      voids: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(fc.nat(), { maxLength: 2 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("repeat"), which: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("void"), which: fc.nat() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("advance"),
      hours: fc.constantFrom(0.01, 0.25, 0.5, 1, 7, 24, 100),
    }),
  },
  // Counters of minutes and hours are deleted after two days.
  { weight: 2, arbitrary: fc.record({ type: fc.constant("sweep"), hours: fc.constantFrom(0, 40, 50, 80) }) },
];
/** Most of them make counters invalid. */
const limitSteps = [
  { weight: 2, arbitrary: limitArbitrary },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("unlimit"), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("zone"), timezone: fc.constantFrom(...zones) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("plan") }) },
];
const stepsArbitrary = (...steps: fc.WeightedArbitrary<unknown>[]) =>
  fc.array(fc.oneof(...steps) as fc.Arbitrary<Step>, { minLength: 10, maxLength: 40 });
/** A time zone, a moment, limits and steps. */
export const runArbitrary = fc.record({
  timezone: fc.constantFrom(...zones),
  /** How long before the next change of clocks, or the next month, the run begins. */
  hoursBefore: fc.integer({ min: 0, max: 30 }),
  isBeforeMonth: fc.boolean(),
  limits: fc.array(limitArbitrary, { minLength: 2, maxLength: 5 }),
  steps: fc.oneof(stepsArbitrary(...usageSteps, ...limitSteps), stepsArbitrary(...usageSteps)),
});

/** The usage in a request. */
interface Input {
  readonly productSlug: string;
  readonly metric: string;
  readonly quantity: number;
}
/** A request of one of the keys: the first one, another one, and one that replaces the first one and shares its budgets. */
interface RequestOf<I extends Input> {
  readonly key: 0 | 1 | 2;
  readonly inputs: readonly I[];
}
/** A request before its time is known. `at`: null for now; the number of another record for its time. */
export type PlannedRequest = RequestOf<
  Input & { readonly at: { hours: number; isStart?: boolean } | { record: number } | null }
>;
/** A request. `time`: in milliseconds since 1970; null for now. */
export type Request = RequestOf<Input & { readonly time: number | null }>;
/** A limit of the model. */
export interface ModelLimit {
  readonly id: string;
  readonly owner: typeof owners[number];
  /** Of the two plans, if a plan owns it. */
  readonly plan: number;
  readonly productSlug: string;
  readonly metric: string;
  readonly per: typeof limitPeriods[number];
  quantity: number | null;
  mode: typeof limitModes[number];
}
/** What can happen to an organization. */
export type Step =
  | { readonly type: "record"; readonly request: PlannedRequest }
  | {
    readonly type: "together";
    readonly requests: readonly PlannedRequest[];
    readonly voids: readonly number[];
  }
  | { readonly type: "repeat" | "void" | "unlimit"; readonly which: number }
  | { readonly type: "advance" | "sweep"; readonly hours: number }
  | { readonly type: "zone"; readonly timezone: string }
  | { readonly type: "plan" }
  | LimitStep;
type LimitStep = { readonly type: "limit" } & Omit<ModelLimit, "id" | "plan">;

/** A record of the model. */
interface ModelRecord {
  readonly id: string;
  readonly request: Request;
  readonly productSlug: string;
  readonly metric: string;
  readonly micros: bigint;
  readonly timestamp: number;
  readonly sent: Sent;
  isVoided: boolean;
}
/** What the recorder gets. */
type Sent = Parameters<TestApp["services"]["recorder"]["record"]>[0];

/** One organization with three keys and two plans, and what the model says of it. */
export class Scene {
  readonly records: ModelRecord[] = [];
  limits: ModelLimit[] = [];
  plan = 0;
  timezone = "UTC";
  #sent = 0;

  constructor(
    readonly test: TestApp,
    readonly organizationId: string,
    readonly keys: readonly { readonly id: string; readonly fullKey: string }[],
    readonly plans: readonly number[],
  ) {}

  /** @returns The request with its times. */
  planned(request: PlannedRequest): Request {
    return {
      key: request.key,
      inputs: request.inputs.map(({ at, ...input }) => ({ ...input, time: this.#timeOf(at) })),
    };
  }

  #timeOf(at: PlannedRequest["inputs"][number]["at"]): number | null {
    if (at === null) return null;
    const now = this.test.now();
    if ("record" in at) {
      const time = this.records[at.record % this.records.length]?.timestamp ?? now;
      return now - time < usageTimestampPastMaxMs ? time : null;
    }
    const time = now + Math.round(at.hours * hourMs);
    return at.isStart
      ? zonedTime(time, this.timezone).round({ smallestUnit: "hour", roundingMode: "floor" })
        .epochMilliseconds
      : time;
  }

  #demands(request: Request) {
    const now = this.test.now();
    return request.inputs.flatMap((input) =>
      this.#limitsOf(request, input).map((limit) => ({
        limit,
        time: input.time ?? now,
        micros: microsOf(input.quantity),
      }))
    );
  }

  /** @returns The hard limits that a request doesn't fit into, with what is used. */
  exceeded(request: Request): string[] {
    // A request can have records in several windows of a limit.
    const found = new Map<string, string>();
    const demands = this.#demands(request);
    for (const { limit, time } of demands) {
      const isInWindow = this.#windowOf(limit, time);
      const own = demands.filter((other) => other.limit === limit && isInWindow(other.time));
      const sum = own.reduce((total, { micros }) => total + micros, 0n);
      const used = this.#used(limit, time);
      if (limit.mode === "hard" && sum > 0n && used + sum > microsOf(limit.quantity ?? 0)) {
        const start = limitWindow(limit.per, this.timezone, time)?.start;
        found.set(`${limit.id} ${start}`, `${limit.id} ${used}`);
      }
    }
    return [...found.values()].sort();
  }

  /** @returns Every limit of a request, with what is used now. */
  standings(request: Request): string[] {
    return this.#standingsOf(this.#allLimitsOf(request));
  }

  limitIds(request: Request): string[] {
    return [...new Set(this.#allLimitsOf(request).map(({ id }) => id))].sort();
  }

  /** @returns Every limit of a key and its organization, with what is used now. */
  standingsOfKey(key: Request["key"]): string[] {
    const inputs = ["a", "b"].flatMap((productSlug) => ["a", "b"].map((metric) => ({ productSlug, metric })));
    return this.#standingsOf(inputs.flatMap((input) => this.#limitsOf({ key }, input)));
  }

  #standingsOf(limits: readonly ModelLimit[]): string[] {
    const now = this.test.now();
    return [...new Set(limits)].map((limit) => `${limit.id} ${this.#used(limit, now)}`).sort();
  }

  /** @returns The usage of each record that each limit counts. */
  counted(): { limit: string; at: number; micros: bigint }[] {
    return this.records.filter(({ isVoided }) => !isVoided).flatMap((record) =>
      this.limits.filter((limit) => this.#counts(limit, record.request, record))
        .map(({ id }) => ({ limit: id, at: record.timestamp, micros: record.micros }))
    );
  }

  #used(limit: ModelLimit, time: number): bigint {
    const isInWindow = this.#windowOf(limit, time);
    return this.records.filter((record) =>
      !record.isVoided && this.#counts(limit, record.request, record) && isInWindow(record.timestamp)
    ).reduce((total, { micros }) => total + micros, 0n);
  }

  /** @returns What the recorder gets. */
  sent({ key, inputs }: Request): Sent {
    return {
      keyHash: hashApiKey(this.keys[key]?.fullKey ?? ""),
      bytes: 1,
      inputs: inputs.map(({ time, quantity, ...input }) => ({
        ...input,
        quantity: splitQuantity(quantity) ?? { whole: 0, micro: 0 },
        timestamp: time,
        idempotencyKey: `k${this.#sent++}`,
        properties: null,
      })),
    };
  }

  #allLimitsOf(request: Request): ModelLimit[] {
    return request.inputs.flatMap((input) => this.#limitsOf(request, input));
  }

  #limitsOf(request: Pick<Request, "key">, input: { productSlug: string; metric: string }): ModelLimit[] {
    const scope = ({ productSlug, metric, per }: ModelLimit) => `${productSlug} ${metric} ${per}`;
    const own = new Set(this.limits.filter(({ owner }) => owner === "organization").map(scope));
    return this.limits.filter((limit) =>
      limit.quantity !== null && this.#counts(limit, request, input) &&
      (limit.owner !== "plan" || (limit.plan === this.plan && !own.has(scope(limit))))
    );
  }

  #counts(
    limit: ModelLimit,
    request: Pick<Request, "key">,
    input: { productSlug: string; metric: string },
  ): boolean {
    return (limit.productSlug === "" || limit.productSlug === input.productSlug) &&
      (limit.metric === "" || limit.metric === input.metric) &&
      (limit.owner === "plan" || limit.owner === "organization" ||
        limit.owner === (request.key === 1 ? "second" : "first"));
  }

  /** @returns A check for times in the window of a limit that has a time. */
  #windowOf({ per }: ModelLimit, time: number): (other: number) => boolean {
    const window = limitWindow(per, this.timezone, time);
    return (other) => window === null || (window.start <= other && other < window.end);
  }
}

/** @returns A quantity in millionths. */
export const microsOf = (quantity: number): bigint =>
  quantityMicros(splitQuantity(quantity) ?? { whole: 0, micro: 0 });
