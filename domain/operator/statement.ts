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

/** @returns Whether a text is a month such as `2026-10`, in the years in which all time zones are multiples of 15 minutes. */
export function isPeriod(text: string): boolean {
  return /^20\d\d-(0[1-9]|1[0-2])$/.test(text);
}

/** @returns The month before or after another one. */
export function shiftPeriod(period: string, months: number): string {
  return Temporal.PlainYearMonth.from(period).add({ months }).toString();
}

/** @param now Milliseconds since 1970. @returns The month that has ended last. */
export function lastEndedPeriod(now: number, timezone: string): string {
  return shiftPeriod(zonedTime(now, timezone).toPlainDate().toPlainYearMonth().toString(), -1);
}

/**
 * @param before The month before, if that one is closed; this one then begins where it ended.
 * @returns A calendar month in a time zone.
 */
export function billingMonth(
  period: string,
  { timezone, before }: { timezone: string; before?: Pick<BillingMonth, "end"> | undefined },
): BillingMonth {
  const start = before?.end ?? monthStart(period, timezone);
  return { period, start, end: monthStart(shiftPeriod(period, 1), timezone), timezone };
}

/** @returns When the month is closed by the schedule: the start of that day of the month after it. */
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
  /** Whether it has ended, so that it can be closed now. */
  readonly isEnded: boolean;
}

/** What a line or a total says. Names and units are those of the catalog, null where it has none. */
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

/** What is charged for a product and metric in a whole statement. */
export interface StatementTotal extends StatementAmount {
  readonly lines: number;
}
