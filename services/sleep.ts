// Waiting for a limited time.
import { setTimeout } from "node:timers/promises";

export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}

/** Returns true if the promise settles within `ms` milliseconds. */
export async function settlesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const settled = new AbortController();
  work.catch(() => {}).then(() => settled.abort());
  await sleep(ms, settled.signal);
  return settled.signal.aborted;
}
