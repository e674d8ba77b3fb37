// Progress of long work, for people at a terminal.
import { writeBytes } from "./terminal.ts";

/** Shorter work shows nothing. */
const quietMs = 2_000;
const intervalMs = 500;

/**
 * Shows how far `work` is in one line of standard error, if that is a terminal. The line is removed when the work ends.
 *
 * @param describe Returns what is being done and how much of it is done, such as `Copying usage_records, 1,200,000 rows`.
 */
export async function withProgress<T>(describe: () => string, work: () => Promise<T>): Promise<T> {
  if (!Deno.stderr.isTerminal()) return await work();
  const startedAt = performance.now();
  const write = (text: string) => writeBytes(new TextEncoder().encode(`\r\x1b[K${text}`), "stderr");
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs < quietMs) return;
    const line = `${describe()} (${Math.round(elapsedMs / 1000)} s)`;
    write(line.slice(0, Deno.consoleSize().columns - 1));
  }, intervalMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (performance.now() - startedAt >= quietMs) write("");
  }
}
