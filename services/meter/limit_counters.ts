// Completes counters of limits with usage from before they were opened. Usage that is recorded meanwhile is counted.
import pLimit from "p-limit";
import { addMissingSums } from "../../db/meter/limit_counters.ts";
import type { LimitCell } from "../../db/meter/recorder_limits.ts";
import {
  limitCellsPerReportMax,
  limitOrganizationsAtOnceMax,
  limitUnknownCellsMax,
} from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { recordingOf } from "../reports/job_reader.ts";
import type { Reports } from "../reports/reports.ts";
import { sleep } from "../sleep.ts";

export interface CounterContext extends Pick<BaseContext, "database" | "clock"> {
  readonly reports: Reports;
}

/** The time after which counters that could not be completed are tried again. */
const retryMs = 1_000;

/** Completes the counters of a few organizations at the same time. One with many counters lets the others go first. */
export class LimitCounters {
  readonly #context: CounterContext;
  readonly #onError: (error: unknown) => void;
  /** Those that no request waits for, by organization and name. */
  readonly #added = new Map<number, Map<string, LimitCell>>();
  /** The last sums of each organization that are in progress. */
  readonly #last = new Map<number, Promise<void>>();
  readonly #takeTurn = pLimit(limitOrganizationsAtOnceMax);
  readonly #closing = new AbortController();

  /** @param options `onError`: receives errors that no request waits for. */
  constructor(context: CounterContext, options: { onError: (error: unknown) => void }) {
    this.#context = context;
    this.#onError = options.onError;
  }

  /** Completes counters in the background, and tries again until it is closed. Those that find no room are left unknown. */
  add(cells: readonly LimitCell[]): void {
    for (const [organization, own] of Map.groupBy(cells, (cell) => cell.organization)) {
      const running = this.#added.get(organization);
      const added = running ?? new Map<string, LimitCell>();
      for (const cell of own) if (added.size < limitUnknownCellsMax) added.set(nameOf(cell), cell);
      if (running === undefined) this.#completeAdded(organization, added);
    }
  }

  /** Resolves when these counters are known. @throws {AppError} `unavailable`. */
  async complete(cells: readonly LimitCell[]): Promise<void> {
    const organizations = Map.groupBy(cells, (cell) => cell.organization);
    await Promise.all(
      organizations.values().map(async (own) => {
        const unknown = [...new Map(own.map((cell) => [nameOf(cell), cell])).values()];
        for (let at = 0; at < unknown.length; at += limitCellsPerReportMax) {
          await this.#completeSome(unknown.slice(at, at + limitCellsPerReportMax));
        }
      }),
    );
  }

  /** Leaves counters unknown that no request waits for: the next record that they count adds them again. */
  close(): void {
    this.#closing.abort();
  }

  async #completeAdded(organization: number, added: Map<string, LimitCell>): Promise<void> {
    const { signal } = this.#closing;
    this.#added.set(organization, added);
    while (added.size > 0 && !signal.aborted) {
      const some = [...added.values()].slice(0, limitCellsPerReportMax);
      try {
        await this.#completeSome(some);
        for (const cell of some) added.delete(nameOf(cell));
      } catch (error) {
        if (!signal.aborted) this.#onError(error);
        await sleep(retryMs, signal);
      }
    }
    this.#added.delete(organization);
  }

  /** Completes counters of one organization, after those that it was given before. */
  async #completeSome(cells: readonly LimitCell[]): Promise<void> {
    const { database, reports, clock } = this.#context;
    const organization = cells[0]?.organization ?? 0;
    const before = this.#last.get(organization);
    const completed = Promise.allSettled([before]).then(() =>
      this.#takeTurn(async () => {
        const missing = await reports.read("sumLimitCells", { cells }, { reader: recordingOf(organization) });
        if (missing.length > 0) await addMissingSums(database, missing, clock());
      })
    );
    this.#last.set(organization, completed);
    try {
      await completed;
    } finally {
      if (this.#last.get(organization) === completed) this.#last.delete(organization);
    }
  }
}

const nameOf = ({ usageLimit, windowNumber }: LimitCell) => `${usageLimit} ${windowNumber}`;
