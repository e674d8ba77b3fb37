// The months of statements. A month is a calendar month in BILLING_TIMEZONE and begins where the month before it ended, so that a
// change of the time zone leaves no gap and counts nothing twice.
import { hash } from "node:crypto";
import { AppError } from "../errors.ts";
import type { Aggregation } from "../meter/aggregation.ts";
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

/** Returns a calendar month in a time zone. @param options `before`: the previous month, if closed; this one begins where it ended. */
export function billingMonth(
  period: string,
  { timezone, before }: { timezone: string; before?: Pick<BillingMonth, "end"> | undefined },
): BillingMonth {
  const start = before?.end ?? monthStart(period, timezone);
  return { period, start, end: monthStart(shiftPeriod(period, 1), timezone), timezone };
}

/** Returns the month to close next. Without one before it, any month can be the first; the last one that ended is suggested. */
export function nextMonth(
  before: Pick<BillingMonth, "period" | "end"> | undefined,
  { now, timezone }: { now: number; timezone: string },
): BillingMonth {
  return before === undefined
    ? billingMonth(lastEndedPeriod(now, timezone), { timezone })
    : billingMonth(shiftPeriod(before.period, 1), { timezone, before });
}

/** Returns the months that are not closed, from the next to close up to the running one. */
export function openMonths(
  newest: Pick<BillingMonth, "period" | "end"> | undefined,
  { now, timezone }: { now: number; timezone: string },
): BillingMonth[] {
  const months: BillingMonth[] = [];
  for (let before = newest;; before = months.at(-1)) {
    const month = nextMonth(before, { now, timezone });
    months.push(month);
    if (month.end > now) return months;
  }
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

export function notClosedError(period: string): AppError {
  return new AppError(
    "statement_not_closed",
    `The statement of ${period} is being closed. Try again when its status is closed.`,
  );
}

/** The word that addresses the next month to close, instead of an id or a month. */
export const openStatement = "open";

/** The public form of a statement, or of a month that is not closed yet. */
export interface Statement {
  /** `stm_…`; `open` for the next month to close; a month such as `2026-12` for a later one that is open too. */
  readonly id: string;
  /** Such as `2026-10`. */
  readonly period: string;
  /** ISO 8601 UTC; `end` is not included. */
  readonly start: string;
  readonly end: string;
  readonly timezone: string;
  /** `closing` has no lines yet. Those of `open` change until the month is closed. */
  readonly status: "open" | "closing" | "closed";
  /** The ISO 4217 code of all amounts; null if `CURRENCY` was not set. */
  readonly currency: string | null;
  /** Null while it is open. */
  readonly createdAt: string | null;
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

/** Usage of a product and metric. Names and units are those of the catalogue, null where it has none. */
interface StatementUsage {
  readonly productSlug: string;
  readonly productName: string | null;
  readonly metric: string;
  readonly metricName: string | null;
  readonly unit: string | null;
  /** The exact sum as a decimal, which may be negative. */
  readonly quantity: string;
  readonly records: number;
}

interface LinePart {
  readonly quantity: string;
  readonly records: number;
  /** Quantity × price, an exact decimal; null without a price, and if the values of another dimension have prices. */
  readonly amount: string | null;
}

/** The usage of a line by the values of a dimension of its metric. All values and `others` add up to the line. */
export interface LineDimension {
  /** The names of its properties. */
  readonly properties: readonly string[];
  /** The largest first. */
  readonly values: readonly (LinePart & {
    readonly properties: Readonly<Record<string, string>>;
    readonly unitPrice: string | null;
  })[];
  /** The sum of all further values; null if there are none. */
  readonly others: (LinePart & { readonly values: number }) | null;
}

/** The public form of a line. */
export interface StatementLine extends StatementUsage {
  /** `stl_…`, see {@linkcode statementLineId}. */
  readonly id: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly externalId: string | null;
  /** The aggregation that made the quantity. */
  readonly aggregation: Aggregation;
  /** The earlier month that is corrected, or null for the month of the statement. */
  readonly adjustmentOf: string | null;
  /** The price of one unit, a decimal; null if it has none, or its values have prices. */
  readonly unitPrice: string | null;
  /** Quantity × price, or the amounts of its values, added up; an exact decimal. Null without a price. */
  readonly amount: string | null;
  /** The dimensions that add up to the line. */
  readonly dimensions: readonly LineDimension[];
}

/** Names a product's metric in one text. */
export function metricKey({ productSlug, metric }: Pick<StatementUsage, "productSlug" | "metric">): string {
  // No slug has a space in it.
  return `${productSlug} ${metric}`;
}

/** Returns the id of a line: the same for the same statement, organization, product, metric and corrected month. */
export function statementLineId(
  period: string,
  line: Pick<StatementLine, "organizationId" | "productSlug" | "metric" | "adjustmentOf">,
): string {
  const parts = [period, line.organizationId, line.productSlug, line.metric, line.adjustmentOf];
  return `stl_${hash("sha256", JSON.stringify(parts), "hex").slice(0, 32)}`;
}

/** The sum of a product and metric in a whole statement, or in one organization's part of it. */
export interface StatementTotal extends StatementUsage {
  /** The aggregation that made the quantities. */
  readonly aggregation: Aggregation;
  readonly lines: number;
  /** The exact sum of the lines' amounts; null if no line has a price. */
  readonly amount: string | null;
}

/** Voided records of a statement's month. Lines don't include them, except those of an earlier statement. */
export type StatementVoid = StatementUsage;

/** Parts of the amount of a month, exact decimals. */
export interface AmountParts {
  /** Without adjustments of earlier months. */
  readonly usage: string | null;
  /** Adjustments, peaks, levels and distinct values, which don't grow with the days. */
  readonly steady: string | null;
}

/** A page of a statement's lines, or of one organization's. */
export interface StatementPage {
  readonly statement: Statement;
  /** On the first page only, as are `amount`, the sum of all amounts, and `voided`, which is only for one organization. */
  readonly totals: readonly StatementTotal[] | null;
  readonly amount: string | null;
  readonly parts: AmountParts | null;
  readonly voided: readonly StatementVoid[] | null;
  readonly lines: readonly StatementLine[];
}

/** One organization's part of a statement. */
export interface StatementOrganization {
  readonly id: string;
  readonly name: string;
  readonly externalId: string | null;
  /** Includes adjustments. */
  readonly lines: number;
  readonly adjustments: number;
  /** The exact sum of the lines' amounts; null if no line has a price. */
  readonly amount: string | null;
  /** The requested metric's quantity, including adjustments; an exact decimal. */
  readonly quantity: string;
  /** The amount in the previous statement; null if that isn't closed or had another currency. */
  readonly previousAmount: string | null;
  /** The quantity in the previous statement; null if that isn't closed. */
  readonly previousQuantity: string | null;
}

export const statementOrganizationSorts = ["name", "amount", "quantity"] as const;

export type StatementOrganizationSort = typeof statementOrganizationSorts[number];

/** A statement in the list of one organization. */
export interface OrganizationStatement {
  readonly statement: Statement;
  /** Adjustments included; 0 while the statement is `closing`. */
  readonly lines: number;
  readonly adjustments: number;
  /** The exact sum of the lines' amounts; null if no line has a price. */
  readonly amount: string | null;
  /** The requested metric's quantity, including adjustments; null without a metric, and while the statement is `closing`. */
  readonly quantity: string | null;
}
