// Completes counters of limits with usage from before they were opened. Usage that is recorded meanwhile is counted.
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

/** A request, and the names of the counters that it waits for. */
interface Waiting extends PromiseWithResolvers<void> {
  readonly names: Set<string>;
}

interface Unknown {
  /** By name; the first ones are completed first. */
  readonly cells: Map<string, LimitCell>;
  readonly waiting: Set<Waiting>;
  isRunning: boolean;
}

/** Completes the counters of a few organizations at the same time. One with many counters lets the others go first. */
export class LimitCounters {
  readonly #context: CounterContext;
  readonly #onError: (error: unknown) => void;
  /** By organization; the first one that isn't running is next. */
  readonly #unknown = new Map<number, Unknown>();
  readonly #closing = new AbortController();
  #running = 0;

  /** @param options `onError`: receives errors that no request waits for. */
  constructor(context: CounterContext, options: { onError: (error: unknown) => void }) {
    this.#context = context;
    this.#onError = options.onError;
  }

  /** Completes counters in the background, and tries again until it is closed. */
  add(cells: readonly LimitCell[]): void {
    if (!this.#closing.signal.aborted) this.#add(cells);
  }

  /** Resolves when these counters are known. @throws {AppError} `unavailable`. */
  async complete(cells: readonly LimitCell[]): Promise<void> {
    await Promise.all(
      this.#add(cells).map(([unknown, names]) => {
        const waiting = { ...Promise.withResolvers<void>(), names };
        unknown.waiting.add(waiting);
        return waiting.promise;
      }),
    );
  }

  /** Leaves counters unknown that no request waits for: the next record that they count adds them again. */
  close(): void {
    this.#closing.abort();
    for (const [organization, { waiting, isRunning }] of this.#unknown) {
      if (waiting.size === 0 && !isRunning) this.#unknown.delete(organization);
    }
  }

  /** Adds the cells to those of their organizations, with their names. Those that find no room are added again later. */
  #add(cells: readonly LimitCell[]): [Unknown, Set<string>][] {
    const organizations = Map.groupBy(cells, ({ organization }) => organization);
    if (organizations.size > 0) queueMicrotask(() => this.#startNext());
    return [...organizations].map(([organization, some]) => {
      const unknown = this.#unknown.get(organization) ??
        { cells: new Map(), waiting: new Set(), isRunning: false };
      this.#unknown.set(organization, unknown);
      const names = new Set<string>();
      for (const cell of some) {
        const name = `${cell.usageLimit} ${cell.windowNumber}`;
        if (unknown.cells.size >= limitUnknownCellsMax && !unknown.cells.has(name)) continue;
        unknown.cells.set(name, cell);
        names.add(name);
      }
      return [unknown, names.size > 0 ? names : new Set(unknown.cells.keys())];
    });
  }

  #startNext(): void {
    for (const [organization, unknown] of this.#unknown) {
      if (this.#running >= limitOrganizationsAtOnceMax) return;
      if (!unknown.isRunning) this.#run(organization, unknown);
    }
  }

  async #run(organization: number, unknown: Unknown): Promise<void> {
    this.#running++;
    unknown.isRunning = true;
    const some = [...unknown.cells].slice(0, limitCellsPerReportMax);
    const names = some.map(([name]) => name);
    try {
      await this.#complete(organization, some.map(([, cell]) => cell));
      resolveKnown(unknown, names);
    } catch (error) {
      await this.#fail(unknown, names, error);
    }
    this.#running--;
    unknown.isRunning = false;
    this.#unknown.delete(organization);
    const isWanted = unknown.waiting.size > 0 || !this.#closing.signal.aborted;
    if (unknown.cells.size > 0 && isWanted) this.#unknown.set(organization, unknown);
    this.#startNext();
  }

  async #complete(organization: number, cells: readonly LimitCell[]): Promise<void> {
    const { database, reports, clock } = this.#context;
    const missing = await reports.read("sumLimitCells", { cells }, { reader: recordingOf(organization) });
    if (missing.length > 0) await addMissingSums(database, missing, clock());
  }

  /** Rejects the requests that wait for any of these counters. If there is none, they are tried again after a while. */
  async #fail(unknown: Unknown, names: readonly string[], error: unknown): Promise<void> {
    const failed = new Set(names);
    const rejected = [...unknown.waiting].filter((one) => !one.names.isDisjointFrom(failed));
    if (rejected.length > 0) {
      for (const name of names) unknown.cells.delete(name);
      for (const one of rejected) {
        unknown.waiting.delete(one);
        one.reject(error);
      }
      return;
    }
    const { signal } = this.#closing;
    if (!signal.aborted) this.#onError(error);
    await sleep(retryMs, signal);
  }
}

/** Notes counters as known, and resolves the requests that wait for no others. */
function resolveKnown({ cells, waiting }: Unknown, names: readonly string[]): void {
  for (const name of names) {
    cells.delete(name);
    for (const one of waiting) one.names.delete(name);
  }
  for (const one of waiting) {
    if (one.names.size > 0) continue;
    waiting.delete(one);
    one.resolve();
  }
}
