// When a delivery that failed is sent again.
import { webhookRetryAfterMaxMs, webhookRetryWaitsMs } from "./webhook_limits.ts";

/**
 * Returns how long to wait after an attempt, in milliseconds, or null after the last one.
 *
 * @param attempts Made so far.
 * @param options `retryAfter`: the header of the response. `random`: from 0 to 1.
 */
export function retryWaitMs(
  attempts: number,
  { retryAfter, now, random }: { retryAfter: string | null; now: number; random: number },
): number | null {
  const wait = webhookRetryWaitsMs[attempts - 1];
  if (wait === undefined) return null;
  return Math.max(Math.round(wait * (0.9 + 0.2 * random)), retryAfterMs(retryAfter, now));
}

/**
 * Returns how long a response asks to wait, in milliseconds, at most 24 hours; 0 without a valid time (RFC 9110, section 10.2.3).
 * Of several, which an application and its proxy may send, the first counts.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const now = Date.UTC(2026, 10, 21, 14, 0, 0);
 * assert.equal(retryAfterMs("120", now), 120_000);
 * assert.equal(retryAfterMs("Sat, 21 Nov 2026 14:00:30 GMT", now), 30_000);
 * assert.equal(retryAfterMs("120, 60", now), 120_000);
 * assert.equal(retryAfterMs("Sat, 21 Nov 2026 14:00:30 GMT, 60", now), 30_000);
 * assert.equal(retryAfterMs("99999999", now), 24 * 3_600_000);
 * assert.equal(retryAfterMs("soon", now), 0);
 * ```
 */
export function retryAfterMs(retryAfter: string | null, now: number): number {
  const [, text = ""] = /^\s*(\d+|[^,]*,?[^,]* GMT)\s*(?:,|$)/.exec(retryAfter ?? "") ?? [];
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : text === "" ? 0 : Date.parse(text) - now;
  return Math.min(webhookRetryAfterMaxMs, Math.max(0, Number.isNaN(ms) ? 0 : ms));
}
