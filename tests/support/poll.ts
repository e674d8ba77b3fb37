// Waiting for another process, with a deadline.

/**
 * Asks again and again until the answer is yes.
 *
 * @param ask What to ask.
 * @param timeoutMs When to give up, in milliseconds.
 */
export async function poll(ask: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await ask())) {
    if (Date.now() > deadline) throw new Error(`still no after ${timeoutMs} ms: ${ask}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
