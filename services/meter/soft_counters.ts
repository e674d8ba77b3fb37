// Counters of soft limits that lack what was recorded before they were opened. They are completed in the background: what is
// recorded meanwhile is counted, and no request waits.
import type { LimitCell } from "../../db/meter/limit_counters.ts";
import { limitOrganizationsAtOnceMax, limitUnknownCellsMax } from "../../domain/limits.ts";
import { sleep } from "../sleep.ts";
import { type CounterContext, prepareLimitCounters } from "./limit_counters.ts";

/** How long counters wait after they could not be completed, in milliseconds. */
const retryMs = 1_000;

/** Completes counters one organization after the other, a few at the same time. */
export class SoftCounters {
  readonly #context: CounterContext;
  readonly #onError: (error: unknown) => void;
  /** By organization. A counter that finds no room is added again with the next record that it counts. */
  readonly #waiting = new Map<number, Map<string, LimitCell>>();
  readonly #closing = new AbortController();
  #running = 0;

  /** @param options `onError`: called when counters could not be completed, before they are tried again. */
  constructor(
    context: CounterContext,
    options: { onError: (error: unknown) => void },
  ) {
    this.#context = context;
    this.#onError = options.onError;
  }

  /** Adds counters that the recorder found unknown, unless it is closing. */
  add(cells: readonly LimitCell[]): void {
    if (this.#closing.signal.aborted) return;
    for (const cell of cells) {
      const { usageLimit, organization, windowNumber } = cell;
      const waiting = this.#waiting.get(organization) ?? new Map<string, LimitCell>();
      if (waiting.size >= limitUnknownCellsMax) continue;
      this.#waiting.set(organization, waiting.set(`${usageLimit} ${windowNumber}`, cell));
    }
    while (this.#running < limitOrganizationsAtOnceMax && this.#waiting.size > 0) this.#completeAll();
  }

  /** Forgets what waits: the next record that a counter counts adds it again. */
  close(): void {
    this.#closing.abort();
    this.#waiting.clear();
  }

  async #completeAll(): Promise<void> {
    this.#running++;
    // Grows while it is iterated: organizations take turns.
    for (const [organization, waiting] of this.#waiting) {
      this.#waiting.delete(organization);
      const cells = [...waiting.values()];
      await prepareLimitCounters(this.#context, cells).catch((error) => this.#retry(cells, error));
    }
    this.#running--;
  }

  async #retry(cells: readonly LimitCell[], error: unknown): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) return;
    this.#onError(error);
    await sleep(retryMs, signal);
    this.add(cells);
  }
}
