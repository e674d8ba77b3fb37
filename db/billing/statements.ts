// All SQL of statements and their lines.
import { insertEvent } from "../outbox/mod.ts";
import { actorOfEntry } from "../access/mod.ts";
import type { Aggregation } from "../../domain/meter/aggregation.ts";
import type { SumParts } from "../../domain/meter/quantity.ts";
import { rollupNumber } from "../../domain/meter/rollup_unit.ts";
import type { BillingMonth } from "../../domain/billing/statement.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { areFilledBefore } from "../meter/mod.ts";

export interface StatementRow extends BillingMonth {
  /** Counts up in the order of the months, without gaps. */
  readonly number: number;
  readonly id: string;
  readonly status: "closing" | "closed";
  /** The ISO 4217 code of all amounts. */
  readonly currency: string | null;
  /** The number of the last organization whose lines are written. */
  readonly progress: number;
  readonly createdAt: number;
  readonly closedAt: number | null;
}

const select =
  sql`SELECT t.number, t.id, t.period, t.timezone, t.start_at AS start, t.end_at AS "end", t.status,
  t.currency, t.progress, t.created_at AS createdAt, t.closed_at AS closedAt FROM statements t`;

/** Returns statements, newest first, from after the number `before`. */
export function findStatements(
  database: DatabaseReader,
  { limit, before = null }: { limit: number; before?: number | null | undefined },
): Promise<StatementRow[]> {
  return database.read(
    sql`${select} WHERE ${before} IS NULL OR t.number < ${before} ORDER BY t.number DESC LIMIT ${limit}`,
  );
}

/** Finds a statement by its id or its month, or the next one after a number. */
export function findStatement(
  database: DatabaseReader,
  by: { readonly id: string } | { readonly period: string } | { readonly after: number },
): Promise<StatementRow | undefined> {
  const condition = "id" in by
    ? sql`t.id = ${by.id}`
    : "period" in by
    ? sql`t.period = ${by.period}`
    : sql`t.number > ${by.after}`;
  return database.readFirst(sql`${select} WHERE ${condition} ORDER BY t.number LIMIT 1`);
}

export function findNewestStatement(database: DatabaseReader): Promise<StatementRow | undefined> {
  return database.readFirst(sql`${select} ORDER BY t.number DESC LIMIT 1`);
}

/** True if a month ended before the first organization was created, and no live usage lies in it, not even voided usage. */
export async function isBeforeAll(
  database: DatabaseReader,
  { start, end }: Pick<BillingMonth, "start" | "end">,
): Promise<boolean> {
  const [first, after] = [rollupNumber("quarter", start), rollupNumber("quarter", end)];
  return await database.readFirst(sql`SELECT 1
    WHERE coalesce((SELECT created_at FROM organizations WHERE number = (SELECT min(number) FROM organizations)), ${end}) >= ${end}
      AND NOT EXISTS (SELECT 1 FROM usage_rollups_monthly r WHERE r.organization = 0 AND r.month BETWEEN ${
    rollupNumber("month", start)
  } AND ${rollupNumber("month", end - 1)}
        AND r.last_quarter >= ${first} AND r.first_quarter < ${after})`) !== undefined;
}

/** True if {@linkcode insertStatement} has to wait until earlier usage of a month that ends at a time is counted. */
export async function isCounting(database: DatabaseReader, end: number): Promise<boolean> {
  return await database.readFirst(sql`SELECT 1 WHERE NOT (${areFilledBefore(end)})`) !== undefined;
}

/** Begins a statement, unless there is another one of this number, the one before is not closed yet, or earlier usage isn't counted yet. */
export function insertStatement(statement: Omit<StatementRow, "status" | "progress" | "closedAt">) {
  const { number, id, period, timezone, start, end, currency, createdAt } = statement;
  return sql`INSERT INTO statements
      (number, id, period, timezone, start_at, end_at, status, currency, progress, created_at)
    SELECT ${number}, ${id}, ${period}, ${timezone}, ${start}, ${end}, 'closing', ${currency}, 0, ${createdAt}
    WHERE ${number} = (SELECT coalesce(max(number), 0) + 1 FROM statements) AND ${areFilledBefore(end)}
      AND NOT EXISTS (SELECT 1 FROM statements WHERE status = 'closing')`;
}

export interface NewStatementLine extends SumParts {
  readonly organization: number;
  /** 0 for the month of the statement, 1 for the month before it. */
  readonly monthsBack: number;
  readonly productSlug: string;
  readonly metric: string;
  /** The aggregation that made the quantity. */
  readonly aggregation: Aggregation;
  readonly count: number;
  readonly unitPrice: string | null;
  /** The number of its list of prices by value. */
  readonly priceList: number | null;
  /** If it has a list: the amounts of its values, added up in 10^-18. */
  readonly valueAmount: string | null;
}

/** The progress of a statement. Nothing is written unless it is still the same. */
export type StatementProgress = Pick<StatementRow, "number" | "progress">;

/** The condition that a statement still has this progress. */
export const isAt = ({ number, progress }: StatementProgress): Statement =>
  sql`EXISTS (SELECT 1 FROM statements
    WHERE number = ${number} AND status = 'closing' AND progress = ${progress})`;

export function encodeStatementLines(lines: readonly NewStatementLine[]): string {
  return JSON.stringify(lines.map((line) => [
    line.organization,
    line.monthsBack,
    line.productSlug,
    line.metric,
    line.count,
    line.high,
    line.low,
    line.micro,
    line.unitPrice,
    line.priceList,
    line.valueAmount,
    line.aggregation,
  ]));
}

/** Encoded lines with the current names. */
const namedLines = (lines: string): Statement =>
  sql`
  SELECT e.key, o.id AS organizationId, e.value ->> 1 AS monthsBack, e.value ->> 2 AS productSlug,
    e.value ->> 3 AS metric, e.value ->> 4 AS count, CAST(e.value ->> 5 AS INTEGER) AS high,
    CAST(e.value ->> 6 AS INTEGER) AS low, CAST(e.value ->> 7 AS INTEGER) AS micro, o.name AS organizationName,
    o.external_id AS externalId, p.name AS productName, m.name AS metricName, m.unit,
    e.value ->> 8 AS unitPrice, e.value ->> 9 AS priceList, e.value ->> 10 AS valueAmount, e.value ->> 11 AS aggregation
  FROM json_each(${lines}) e CROSS JOIN organizations o ON o.number = e.value ->> 0
  LEFT JOIN products p ON p.slug = e.value ->> 2
  LEFT JOIN product_metrics m ON m.product = e.value ->> 2 AND m.slug = e.value ->> 3`;

/** Inserts encoded lines with the current names. Lines that another server has already written stay unchanged. */
export function insertStatementLines(at: StatementProgress, lines: string): Statement {
  return sql`INSERT INTO statement_lines (statement, organization_id, months_back, product_slug, metric, count,
      sum_high, sum_low, sum_micro, organization_name, external_id, product_name, metric_name, unit, unit_price,
      price_list, value_amount, aggregation)
    SELECT ${at.number}, n.organizationId, n.monthsBack, n.productSlug, n.metric, n.count, n.high, n.low, n.micro,
      n.organizationName, n.externalId, n.productName, n.metricName, n.unit, n.unitPrice, n.priceList,
      n.valueAmount, n.aggregation
    FROM (${namedLines(lines)}) n WHERE ${isAt(at)} ON CONFLICT DO NOTHING`;
}

/** Returns encoded lines as they would be stored now. `position`: that of the encoded line. */
export function findNamedLines(
  database: DatabaseReader,
  lines: string,
): Promise<(Omit<StatementLineRow, "period"> & { position: number })[]> {
  return database.read(sql`
    SELECT n.key AS position, n.organizationId, n.organizationName, n.externalId, n.monthsBack, n.productSlug, n.productName, n.metric,
      n.metricName, n.unit, n.unitPrice, n.priceList, n.valueAmount, n.aggregation, n.count, CAST(n.high AS TEXT) AS high, CAST(n.low AS TEXT) AS low,
      CAST(n.micro AS TEXT) AS micro
    FROM (${namedLines(lines)}) n ORDER BY n.key`);
}

/** Moves on after all lines of some organizations were written. @param through The number of the last of them. */
export function moveStatementOn(at: StatementProgress, through: number): Statement[] {
  return [
    sql`DELETE FROM statement_changes WHERE organization > ${at.progress} AND organization <= ${through}
      AND latest < ${at.number} AND ${isAt(at)}`,
    sql`UPDATE statements SET progress = ${through} WHERE number = ${at.number} AND ${isAt(at)}`,
  ];
}

/** Closes a statement with all of its lines, and writes the event. Its audit entry is older, and says who closed it. */
export function finishStatement({ id, period, ...at }: StatementRow, now: number): Statement[] {
  const facts = sql`json_object('target', json_object('id', ${id}, 'name', ${period}), 'actor', (
    SELECT ${actorOfEntry} FROM audit_events a
    WHERE a.organization_id IS NULL AND a.target_id = ${id} AND a.action = 'statement.closed'))`;
  return [
    sql`UPDATE statements SET status = 'closed', closed_at = ${now}
      WHERE number = ${at.number} AND ${isAt(at)}`,
    insertEvent({ type: "statement.closed", organization: null, at: now, facts }, sql`changes() > 0`),
  ];
}

/** A line as stored, with the names of the day of closing. */
export interface StatementLineRow extends Omit<NewStatementLine, "organization"> {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly externalId: string | null;
  readonly productName: string | null;
  readonly metricName: string | null;
  readonly unit: string | null;
  /** The month, such as `2026-09`. */
  readonly period: string;
}

export type StatementLinePosition = Pick<
  StatementLineRow,
  "organizationId" | "monthsBack" | "productSlug" | "metric"
>;

export interface StatementLineQuery {
  readonly statement: number;
  readonly organizationId?: string | undefined;
  readonly after?: StatementLinePosition | undefined;
  readonly limit: number;
}

const isOf = ({ statement, organizationId }: Pick<StatementLineQuery, "statement" | "organizationId">) =>
  organizationId === undefined
    ? sql`l.statement = ${statement}`
    : sql`l.statement = ${statement} AND l.organization_id = ${organizationId}`;

/** Returns lines by organization, month (the latest first), product and metric. */
export function findStatementLines(
  database: DatabaseReader,
  { after, limit, ...query }: StatementLineQuery,
): Promise<StatementLineRow[]> {
  const isAfter = after === undefined
    ? sql`true`
    : sql`(l.organization_id, l.months_back, l.product_slug, l.metric) >
      (${after.organizationId}, ${after.monthsBack}, ${after.productSlug}, ${after.metric})`;
  return database.read(sql`
    SELECT m.period, l.organization_id AS organizationId, l.organization_name AS organizationName,
      l.external_id AS externalId, l.months_back AS monthsBack, l.product_slug AS productSlug,
      l.product_name AS productName, l.metric, l.metric_name AS metricName, l.unit,
      l.unit_price AS unitPrice, l.price_list AS priceList, l.value_amount AS valueAmount, l.aggregation, l.count,
      CAST(l.sum_high AS TEXT) AS high, CAST(l.sum_low AS TEXT) AS low, CAST(l.sum_micro AS TEXT) AS micro
    FROM statement_lines l JOIN statements m ON m.number = l.statement - l.months_back
    WHERE ${isOf(query)} AND ${isAfter}
    ORDER BY l.organization_id, l.months_back, l.product_slug, l.metric LIMIT ${limit}`);
}

/** Sums of an organization's lines in a statement that have one price, or prices by value and one amount. */
export interface StatementSumRow extends SumParts {
  readonly statement: number;
  readonly organizationId: string;
  readonly unitPrice: string | null;
  /** The amount of each line. */
  readonly valueAmount: string | null;
  /** 1 for lines of the metric, 0 for others. */
  readonly isMetric: number;
  readonly lines: number;
  readonly adjustments: number;
}

/** Sums lines by price. @param query `parts`: the number of a statement and an organization in it. */
export function sumStatementLines(
  database: DatabaseReader,
  { parts, metric }: { parts: readonly (readonly [number, string])[]; metric: string | null },
): Promise<StatementSumRow[]> {
  return database.read(sql`
    SELECT l.statement, l.organization_id AS organizationId, l.unit_price AS unitPrice, l.value_amount AS valueAmount,
      l.metric IS ${metric} AS isMetric, count(*) AS lines, sum(l.months_back > 0) AS adjustments, CAST(sum(l.sum_high) AS TEXT) AS high,
      CAST(sum(l.sum_low) AS TEXT) AS low, CAST(sum(l.sum_micro) AS TEXT) AS micro
    FROM json_each(${JSON.stringify(parts)}) c
    CROSS JOIN statement_lines l ON l.statement = c.value ->> 0 AND l.organization_id = c.value ->> 1
    GROUP BY 1, 2, 3, 4, 5`);
}

/** Returns statements since an organization was created, and earlier ones with lines of it, newest first. */
export function findStatementsOf(
  database: DatabaseReader,
  { organizationId, limit, before = null }: {
    organizationId: string;
    limit: number;
    before?: number | null | undefined;
  },
): Promise<StatementRow[]> {
  return database.read(sql`${select} WHERE (${before} IS NULL OR t.number < ${before})
    AND (t.end_at > (SELECT o.created_at FROM organizations o WHERE o.id = ${organizationId}) OR EXISTS
      (SELECT 1 FROM statement_lines l WHERE l.statement = t.number AND l.organization_id = ${organizationId}))
    ORDER BY t.number DESC LIMIT ${limit}`);
}

/** Returns organizations with usage by number, from after one, or only one; deleted ones until their sums are deleted. */
export function findBilledOrganizations(
  database: DatabaseReader,
  { after, limit, organizationId }: { after: number; limit: number; organizationId?: string | undefined },
): Promise<{ readonly number: number; readonly series: number }[]> {
  const isWanted = organizationId === undefined ? sql`true` : sql`o.id = ${organizationId}`;
  return database.read(sql`
    SELECT o.number, o.series FROM organizations o
    WHERE o.number > ${after} AND ${isWanted} AND o.series > 0 AND o.sums_deleted_at IS NULL ORDER BY o.number LIMIT ${limit}`);
}

/** Returns the number before that of an organization. */
export async function findNumberBefore(
  database: DatabaseReader,
  organizationId: string,
): Promise<number | undefined> {
  const row = await database.readFirst<{ number: number }>(
    sql`SELECT number - 1 AS number FROM organizations WHERE id = ${organizationId}`,
  );
  return row?.number;
}

export interface OrganizationMonth {
  readonly organization: number;
  /** The number of the month's statement. */
  readonly month: number;
}

/**
 * Returns closed months that changed before a statement began, of organizations after a number and up to another. While the
 * statement before is being closed, those that it still has to compare are left out.
 */
export function findChangedMonths(
  database: DatabaseReader,
  { statement, after, through }: { statement: number; after: number; through: number },
): Promise<OrganizationMonth[]> {
  return database.read(sql`
    SELECT DISTINCT organization, month FROM statement_changes
    WHERE organization > ${after} AND organization <= ${through} AND latest < ${statement}
      AND NOT EXISTS (SELECT 1 FROM statements
        WHERE status = 'closing' AND number < ${statement} AND progress < organization)`);
}

/** Returns organizations after a number and up to another whose usage of a closed month may differ from its lines. */
export async function findChangedIn(
  database: DatabaseReader,
  { month, after, through }: { month: number; after: number; through: number },
): Promise<Set<number>> {
  const rows = await database.read<{ organization: number }>(sql`SELECT organization FROM statement_changes
    WHERE organization > ${after} AND organization <= ${through} AND month = ${month}`);
  return new Set(rows.map(({ organization }) => organization));
}

/** Usage of a product and metric in a month of an organization. */
export interface UsageOfMonth extends OrganizationMonth, SumParts {
  readonly productSlug: string;
  readonly metric: string;
  readonly count: number;
}

/** The sum that earlier statements charge, with the price of the newest and its currency. */
export interface BilledRow extends UsageOfMonth {
  readonly unitPrice: string | null;
  readonly priceList: number | null;
  readonly currency: string | null;
  /** 1 if a line has another value than the sum of its usage. */
  readonly isCounted: 0 | 1;
}

/** Sums the lines that statements before one have for some months. */
export function findBilledSums(
  database: DatabaseReader,
  { statement, months }: { statement: number; months: readonly OrganizationMonth[] },
): Promise<BilledRow[]> {
  const pairs = months.map(({ organization, month }) => [organization, month]);
  // Bare columns next to max() come from the row with the maximum.
  return database.read(sql`
    SELECT o.number AS organization, c.value ->> 1 AS month, l.product_slug AS productSlug, l.metric,
      sum(l.count) AS count, CAST(sum(l.sum_high) AS TEXT) AS high, CAST(sum(l.sum_low) AS TEXT) AS low,
      CAST(sum(l.sum_micro) AS TEXT) AS micro, max(t.number) AS newest, l.unit_price AS unitPrice,
      l.price_list AS priceList, t.currency, sum(l.aggregation <> 'sum') > 0 AS isCounted
    FROM json_each(${JSON.stringify(pairs)}) c CROSS JOIN organizations o ON o.number = c.value ->> 0
    CROSS JOIN statements t ON t.number >= c.value ->> 1 AND t.number < ${statement}
    CROSS JOIN statement_lines l ON l.statement = t.number AND l.organization_id = o.id
      AND l.months_back = t.number - (c.value ->> 1)
    GROUP BY 1, 2, 3, 4`);
}
