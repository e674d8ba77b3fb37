// Shows on a terminal how far long work is. Nothing is shown elsewhere, or if the work takes less than two seconds.
import { writeBytes } from "./terminal.ts";

const showAfterMs = 2_000;
const intervalMs = 250;
const encoder = new TextEncoder();

export class ProgressLine {
  readonly #isShown = Deno.stderr.isTerminal();
  #nextAt = performance.now() + showAfterMs;
  #isDirty = false;

  /** @param text Builds a line such as `1,200 lines (12%)`; called only if it is shown. */
  show(text: () => string): void {
    if (!this.#isShown || performance.now() < this.#nextAt) return;
    this.#nextAt = performance.now() + intervalMs;
    this.#isDirty = true;
    const line = text().slice(0, Deno.consoleSize().columns - 1);
    writeBytes(encoder.encode(`\r\x1b[K${line}`), "stderr");
  }

  /** Removes the line, before anything else is printed. */
  clear(): void {
    if (this.#isDirty) writeBytes(encoder.encode("\r\x1b[K"), "stderr");
    this.#isDirty = false;
  }
}

/** Shows what is being done and for how long, for work that doesn't know how far it is. */
export async function withProgress<T>(about: string, work: () => Promise<T>): Promise<T> {
  const line = new ProgressLine();
  const startedAt = performance.now();
  const show = () => line.show(() => `${about}, ${Math.round((performance.now() - startedAt) / 1000)} s`);
  const timer = setInterval(show, intervalMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    line.clear();
  }
}
