// Waiting between rounds of background work.
import { setTimeout } from "node:timers/promises";

/** Waits for `ms` milliseconds, or until the signal is aborted. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
