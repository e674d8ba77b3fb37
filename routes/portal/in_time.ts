// Numbers that a page shows if they are available, and does without otherwise.
import { AppError, type ErrorCode } from "../../domain/errors.ts";
import { pageNumbersTimeoutMs } from "../../domain/limits.ts";

/** Errors after which the numbers are soon available. */
const passing: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["unavailable", "statement_not_closed"]);

/** Reads numbers for a page that must work while reports are busy. Returns null if they are not available in time. */
export async function inTime<T>(
  read: (signal: AbortSignal) => Promise<T>,
  timeoutMs = pageNumbersTimeoutMs,
): Promise<T | null> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  try {
    return await read(late.signal);
  } catch (error) {
    const isPassing = error instanceof AppError && passing.has(error.code);
    if (!isPassing && !late.signal.aborted) throw error;
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns null for what doesn't exist, or that the reader can't see. @throws Any other error. */
export async function ifFound<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return null;
    throw error;
  }
}
