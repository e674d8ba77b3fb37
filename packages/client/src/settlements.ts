// Ends the holds of requests in the background: each is repeated with the same content until Gatehouse has decided.
import { clearTimeout, setTimeout } from "node:timers";
import { ApiError } from "./errors.ts";

const pauseMsMin = 500;
const pauseMsMax = 30_000;
/** Nothing changes these responses. All others may pass: a token can get its scope back, too. */
const finalStatuses = [400, 404, 409, 413, 422];

export class Settlements {
  readonly #pending = new Set<Promise<void>>();
  /** End the pauses before the next attempts. */
  readonly #wakes = new Set<() => void>();
  #isStopped = false;

  /** Runs work on a hold that {@linkcode close} waits for. Never throws: a problem is logged. */
  run(id: string, work: () => Promise<void>): Promise<void> {
    const done = work().catch((error) => {
      const reason = error instanceof Error ? error.message : String(error);
      // deno-lint-ignore no-console
      console.error(`[gatehouse] The hold ${id} wasn't settled: ${reason}`);
    }).finally(() => this.#pending.delete(done));
    this.#pending.add(done);
    return done;
  }

  /** Repeats an attempt until Gatehouse accepts or rejects it. @throws Its rejection; the last error once this is closed. */
  async deliver(attempt: () => Promise<unknown>): Promise<void> {
    for (let pauseMs = pauseMsMin;; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      try {
        await attempt();
        return;
      } catch (error) {
        const isFinal = error instanceof TypeError ||
          (error instanceof ApiError && finalStatuses.includes(error.status));
        if (isFinal || this.#isStopped) throw error;
        const afterMs = error instanceof ApiError ? error.retryAfterMs ?? 0 : 0;
        await this.#pause(Math.min(Math.max(pauseMs, afterMs), pauseMsMax));
      }
    }
  }

  /** Waits until all holds have ended. Returns false if some couldn't be ended in time; they expire. */
  async close({ timeoutMs = 10_000 }: { timeoutMs?: number | undefined } = {}): Promise<boolean> {
    if (this.#pending.size === 0) return true;
    let timer: unknown;
    const isDone = await Promise.race([
      this.#whenIdle().then(() => true),
      new Promise<boolean>((resolve) => timer = setTimeout(() => resolve(false), Math.max(0, timeoutMs))),
    ]);
    clearTimeout(timer as Parameters<typeof clearTimeout>[0]);
    if (isDone) return true;
    // The last attempts fail loudly.
    this.#isStopped = true;
    for (const wake of this.#wakes) wake();
    return false;
  }

  async #whenIdle(): Promise<void> {
    for (const wake of this.#wakes) wake();
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  async #pause(ms: number): Promise<void> {
    if (this.#isStopped) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#wakes.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#wakes.add(wake);
    });
  }
}
