// Shows the progress of long work on a terminal. Nothing is shown elsewhere, or if the work takes less than two seconds.
import { writeBytes } from "./terminal.ts";

const showAfterMs = 2_000;
const intervalMs = 250;

interface Terminal {
  readonly isTerminal: boolean;
  readonly now: () => number;
  readonly write: (text: string) => void;
  readonly columns: () => number;
}

const standardError: Terminal = {
  isTerminal: Deno.stderr.isTerminal(),
  now: () => performance.now(),
  write: (text) => writeBytes(new TextEncoder().encode(text), "stderr"),
  columns: () => Deno.consoleSize().columns,
};

export class ProgressLine {
  readonly #terminal: Terminal;
  #nextAt: number;
  #isDirty = false;

  constructor(terminal = standardError) {
    this.#terminal = terminal;
    this.#nextAt = terminal.now() + showAfterMs;
  }

  /** @param text Builds a line such as `1,200 lines (12%)`; called only if it is shown. */
  show(text: () => string): void {
    const { isTerminal, now, write, columns } = this.#terminal;
    if (!isTerminal || now() < this.#nextAt) return;
    this.#nextAt = now() + intervalMs;
    this.#isDirty = true;
    write(`\r\x1b[K${text().slice(0, columns() - 1)}`);
  }

  /** Removes the line, before anything else is printed. */
  clear(): void {
    if (this.#isDirty) this.#terminal.write("\r\x1b[K");
    this.#isDirty = false;
  }
}

/** @param share How much is done, up to 1; null if it isn't known. */
export type OnStep = (about: string, share: number | null) => void;

/** Shows what is being done and how much of it, or for how long, for work in steps. */
export async function withSteps<T>(
  work: (onStep: OnStep) => Promise<T>,
  line = new ProgressLine(),
): Promise<T> {
  let step = { about: "", share: null as number | null, startedAt: performance.now() };
  const show = () =>
    line.show(() => {
      const { about, share, startedAt } = step;
      return share === null
        ? `${about}, ${Math.round((performance.now() - startedAt) / 1000)} s`
        : `${about}, ${Math.floor(share * 100)}%`;
    });
  const timer = setInterval(show, intervalMs);
  try {
    return await work((about, share) => {
      step = { about, share, startedAt: about === step.about ? step.startedAt : performance.now() };
      show();
    });
  } finally {
    clearInterval(timer);
    line.clear();
  }
}

/** Shows what is being done and for how long, for work of unknown length. */
export function withProgress<T>(about: string, work: () => Promise<T>): Promise<T> {
  return withSteps((onStep) => {
    onStep(about, null);
    return work();
  });
}
