// Waits for another process, with a deadline.

/**
 * Repeats a check until it returns true.
 *
 * @param ask The check.
 * @param timeoutMs When to give up, in milliseconds. Long, because other tests may use the whole machine.
 */
export async function poll(ask: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await ask())) {
    if (Date.now() > deadline) throw new Error(`still false after ${timeoutMs} ms: ${ask}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
