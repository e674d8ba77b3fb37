// The months of statements. A month is a calendar month in BILLING_TIMEZONE and begins where the month before it ended, so that a
// change of the time zone leaves no gap and counts nothing twice.
import { zonedTime } from "../time.ts";

/** The month of a statement. Times in milliseconds since 1970: `start` is included, `end` is not. */
export interface BillingMonth {
  /** Such as `2026-10`. */
  readonly period: string;
  readonly start: number;
  readonly end: number;
  /** The time zone whose calendar decided where it ends. */
  readonly timezone: string;
}

/** True for a month such as `2026-10`, in the years in which all time zones are multiples of 15 minutes. */
export function isPeriod(text: string): boolean {
  return /^20\d\d-(0[1-9]|1[0-2])$/.test(text);
}

export function shiftPeriod(period: string, months: number): string {
  return Temporal.PlainYearMonth.from(period).add({ months }).toString();
}

export function lastEndedPeriod(now: number, timezone: string): string {
  return shiftPeriod(zonedTime(now, timezone).toPlainDate().toPlainYearMonth().toString(), -1);
}

/** Returns a calendar month in a time zone. @param options `before`: the month before, if closed; this one begins where it ended. */
export function billingMonth(
  period: string,
  { timezone, before }: { timezone: string; before?: Pick<BillingMonth, "end"> | undefined },
): BillingMonth {
  const start = before?.end ?? monthStart(period, timezone);
  return { period, start, end: monthStart(shiftPeriod(period, 1), timezone), timezone };
}

/** Returns when the schedule closes a month: at the start of that day of the month after it. */
export function scheduledClose({ period, end, timezone }: BillingMonth, closeDay: number): number {
  const day = Temporal.PlainYearMonth.from(period).add({ months: 1 }).toPlainDate({ day: closeDay });
  return Math.max(end, day.toZonedDateTime(timezone).epochMilliseconds);
}

function monthStart(period: string, timezone: string): number {
  return Temporal.PlainYearMonth.from(period).toPlainDate({ day: 1 }).toZonedDateTime(timezone)
    .epochMilliseconds;
}

/** The public form of a statement. */
export interface Statement {
  readonly id: string;
  /** Such as `2026-10`. */
  readonly period: string;
  /** ISO 8601 UTC; `end` is not included. */
  readonly start: string;
  readonly end: string;
  readonly timezone: string;
  /** Has lines only when it is closed. */
  readonly status: "closing" | "closed";
  readonly createdAt: string;
  readonly closedAt: string | null;
}

/** The month that can be closed next. */
export interface NextStatement {
  readonly period: string;
  readonly start: string;
  readonly end: string;
  /** It has ended, so that it can be closed. */
  readonly isEnded: boolean;
}

/** An amount of a product and metric. Names and units are those of the catalogue, null where it has none. */
interface StatementAmount {
  readonly productSlug: string;
  readonly productName: string | null;
  readonly metric: string;
  readonly metricName: string | null;
  readonly unit: string | null;
  /** The exact sum as a decimal, which may be negative. */
  readonly quantity: string;
  readonly records: number;
}

/** The public form of a line. */
export interface StatementLine extends StatementAmount {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly externalId: string | null;
  /** The earlier month that is corrected, or null for the month of the statement. */
  readonly adjustmentOf: string | null;
}

/** The sum of a product and metric in a whole statement. */
export interface StatementTotal extends StatementAmount {
  readonly lines: number;
}
