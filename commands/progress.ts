// A line on the terminal that shows how far a command has come.
import { writeBytes } from "./terminal.ts";

/** Shorter work shows no progress. */
const quietMs = 2_000;
const redrawMs = 200;

export interface Progress {
  /** Shows the line, unless standard error isn't a terminal or the work has just begun. */
  show(state: { about: string; rows: number; rowsTotal: number }): void;
  /** Removes the line. */
  end(): void;
}

/** @param options For tests; `width`: the columns of the terminal. */
export function progressLine(
  {
    isTerminal = Deno.stderr.isTerminal(),
    now = () => performance.now(),
    write = writeToTerminal,
    width = 79,
  } = {},
): Progress {
  const begin = now();
  let drawnAt = begin + quietMs - redrawMs;
  let isShown = false;
  let first: number | undefined;
  return {
    show({ about, rows, rowsTotal }) {
      // What an interrupted run has done doesn't count toward the rate.
      first ??= rows;
      const at = now();
      if (!isTerminal || at - drawnAt < redrawMs) return;
      const rate = Math.max(0, Math.round((rows - first) / (at - begin) * 1000));
      const text = `${rows} of ${rowsTotal} rows, ${rate} a second, ${about}`;
      write(`\r\x1b[K${text.slice(0, width)}`);
      drawnAt = at;
      isShown = true;
    },
    end() {
      if (isShown) write("\r\x1b[K");
      isShown = false;
    },
  };
}

function writeToTerminal(text: string): void {
  writeBytes(new TextEncoder().encode(text), "stderr");
}
