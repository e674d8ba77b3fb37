// Time in checks: how long one may take, and whether another clock goes like this machine's.
import type { Finding } from "../../domain/check_result.ts";
import { checkClockWarningMs, checkClockWrongMs, checkTimeoutMs } from "../../domain/limits.ts";

/** @returns What the act resolves to. @throws What it throws, or an error when it takes too long. */
export async function inTime<T>(act: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no answer within ${checkTimeoutMs / 1000} seconds`)),
      checkTimeoutMs,
    );
  });
  try {
    return await Promise.race([act, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A clock that was read somewhere else. All in milliseconds since 1970. */
export interface ClockReading {
  /** Cut to whole seconds, as both HTTP and SQL give it. */
  readonly at: number;
  /** By this machine's clock, before it was asked and after it had answered. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

/**
 * @param about Whose clock.
 * @returns Whether it goes like this machine's, as far as the answer can tell: it may be off by the time that the answer took.
 */
export function clockFinding(about: string, { at, askedAt, answeredAt }: ClockReading): Finding {
  // The moment was somewhere in the second that begins at `at`, and between asking and answering.
  const ahead = at - answeredAt;
  const behind = askedAt - (at + 1000);
  const offMs = Math.max(ahead, behind, 0);
  const name = `Clock of ${about}`;
  if (offMs <= checkClockWarningMs) {
    return { about: name, verdict: "ok", saw: "It goes like this machine's." };
  }
  const seconds = `${Math.round(offMs / 1000)} seconds ${ahead > 0 ? "ahead of" : "behind"} this machine's`;
  return {
    about: name,
    verdict: offMs > checkClockWrongMs ? "wrong" : "warning",
    saw: `It is ${seconds}: sessions, links and codes end too early or too late.`,
    advice: "Let both machines set their clocks by NTP (timedatectl set-ntp true).",
  };
}

/** @returns What an error says, on one line. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  // The address that was asked stands beside it already.
  return message.replace(/^error sending request for url \(.*?\): /, "").replaceAll(/\s+/g, " ").slice(
    0,
    300,
  );
}
