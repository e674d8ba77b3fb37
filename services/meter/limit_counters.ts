// Completes counters of limits with what was recorded before they were opened. What is recorded meanwhile is counted.
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

interface Unknown {
  readonly cells: Map<string, LimitCell>;
  /** Requests for hard limits. */
  waiting: PromiseWithResolvers<void>[];
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

  /** Resolves when all counters are known. @throws {AppError} `unavailable`. */
  async complete(cells: readonly LimitCell[]): Promise<void> {
    await Promise.all(
      this.#add(cells).map((unknown) => {
        const waiting = Promise.withResolvers<void>();
        unknown.waiting.push(waiting);
        return waiting.promise;
      }),
    );
  }

  /** Leaves counters unknown that no request waits for: the next record that they count adds them again. */
  close(): void {
    this.#closing.abort();
  }

  /** Returns the unknown counters of the organizations. One that finds no room is added with the next record that it counts. */
  #add(cells: readonly LimitCell[]): Unknown[] {
    const organizations = new Set<Unknown>();
    for (const cell of cells) {
      const { usageLimit, organization, windowNumber } = cell;
      const unknown = this.#unknown.get(organization) ?? { cells: new Map(), waiting: [], isRunning: false };
      this.#unknown.set(organization, unknown);
      organizations.add(unknown);
      if (unknown.cells.size < limitUnknownCellsMax) {
        unknown.cells.set(`${usageLimit} ${windowNumber}`, cell);
      }
    }
    // After the caller has added what waits.
    if (organizations.size > 0) queueMicrotask(() => this.#startNext());
    return [...organizations];
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
    try {
      await this.#completeSome(organization, unknown.cells);
    } catch (error) {
      await this.#fail(unknown, error);
    }
    this.#running--;
    unknown.isRunning = false;
    this.#unknown.delete(organization);
    const isWanted = unknown.waiting.length > 0 || !this.#closing.signal.aborted;
    if (unknown.cells.size > 0 && isWanted) this.#unknown.set(organization, unknown);
    else for (const { resolve } of unknown.waiting) resolve();
    this.#startNext();
  }

  async #completeSome(organization: number, cells: Map<string, LimitCell>): Promise<void> {
    const { database, reports, clock } = this.#context;
    const some = [...cells].slice(0, limitCellsPerReportMax);
    const missing = await reports.read("sumLimitCells", { cells: some.map(([, cell]) => cell) }, {
      reader: recordingOf(organization),
    });
    if (missing.length > 0) await addMissingSums(database, missing, clock());
    for (const [name] of some) cells.delete(name);
  }

  async #fail(unknown: Unknown, error: unknown): Promise<void> {
    const { waiting } = unknown;
    unknown.waiting = [];
    for (const { reject } of waiting) reject(error);
    const { signal } = this.#closing;
    if (waiting.length === 0 && !signal.aborted) this.#onError(error);
    await sleep(retryMs, signal);
  }
}
