// Time in checks: how long one may take, and whether another clock agrees with this machine's.
import { type CheckResult, resultsOf } from "../../domain/check_result.ts";
import { messageOf } from "../../domain/errors.ts";
import { checkClockWarningMs, checkClockWrongMs, checkTimeoutMs } from "../../domain/check_limits.ts";

/** Waits for a promise for a limited time. @throws When it takes too long. */
export async function inTime<T>(promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new Error(`no response within ${checkTimeoutMs / 1000} seconds`);
    timer = setTimeout(() => reject(error), checkTimeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A reading of another clock. All times in milliseconds since 1970. */
export interface ClockReading {
  /** Truncated to whole seconds, as in HTTP and SQL. */
  readonly at: number;
  /** Before the request and after the response, by this machine's clock. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** Compares a clock with this machine's, allowing for the time that the response took. */
export function checkClock(owner: string, { at, askedAt, answeredAt }: ClockReading): CheckResult {
  const result = resultsOf(`Clock of ${owner}`);
  // The clock was read within the second that begins at `at`, and between request and response.
  const aheadMs = at - answeredAt;
  const behindMs = askedAt - (at + 1000);
  const offMs = Math.max(aheadMs, behindMs, 0);
  if (offMs <= checkClockWarningMs) return result.ok("Agrees with this machine's clock.");
  const difference = `${Math.round(offMs / 1000)} seconds ${aheadMs > 0 ? "ahead of" : "behind"}`;
  return result[offMs > checkClockWrongMs ? "wrong" : "warning"](
    `It is ${difference} this machine's clock, so sessions, links and codes expire early or late.`,
    "Synchronize both clocks by NTP (timedatectl set-ntp true).",
  );
}

/** Returns an error's message on one line. */
export function reasonOf(error: unknown): string {
  // The result already names the address.
  const message = messageOf(error).replace(/^error sending request for url \(.*?\): /, "");
  return message.replaceAll(/\s+/g, " ").slice(0, 300);
}
