// All SQL of statements and their lines.
import type { SumParts } from "../../domain/meter/quantity.ts";
import type { BillingMonth } from "../../domain/operator/statement.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

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

export function findStatement(database: DatabaseReader, id: string): Promise<StatementRow | undefined> {
  return database.readFirst(sql`${select} WHERE t.id = ${id}`);
}

export function findStatementOf(
  database: DatabaseReader,
  period: string,
): Promise<StatementRow | undefined> {
  return database.readFirst(sql`${select} WHERE t.period = ${period}`);
}

export function findNewestStatement(database: DatabaseReader): Promise<StatementRow | undefined> {
  return database.readFirst(sql`${select} ORDER BY t.number DESC LIMIT 1`);
}

/** Begins a statement, unless there is another one of this number, or the one before is not closed yet. */
export function insertStatement(statement: Omit<StatementRow, "status" | "progress" | "closedAt">) {
  const { number, id, period, timezone, start, end, currency, createdAt } = statement;
  return sql`INSERT INTO statements
      (number, id, period, timezone, start_at, end_at, status, currency, progress, created_at)
    SELECT ${number}, ${id}, ${period}, ${timezone}, ${start}, ${end}, 'closing', ${currency}, 0, ${createdAt}
    WHERE ${number} = (SELECT coalesce(max(number), 0) + 1 FROM statements)
      AND NOT EXISTS (SELECT 1 FROM statements WHERE status = 'closing')`;
}

export interface NewStatementLine extends SumParts {
  readonly organization: number;
  /** 0 for the month of the statement, 1 for the month before it. */
  readonly monthsBack: number;
  readonly productSlug: string;
  readonly metric: string;
  readonly count: number;
}

/** The progress of a statement. Nothing is written unless it is still the same. */
export type StatementProgress = Pick<StatementRow, "number" | "progress">;

const isAt = ({ number, progress }: StatementProgress): Statement =>
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
  ]));
}

/** Inserts encoded lines with the names of now. Those that another server has already written stay as they are. */
export function insertStatementLines(at: StatementProgress, lines: string): Statement {
  return sql`INSERT INTO statement_lines (statement, organization_id, months_back, product_slug, metric, count,
      sum_high, sum_low, sum_micro, organization_name, external_id, product_name, metric_name, unit)
    SELECT ${at.number}, o.id, e.value ->> 1, e.value ->> 2, e.value ->> 3, e.value ->> 4,
      CAST(e.value ->> 5 AS INTEGER), CAST(e.value ->> 6 AS INTEGER), CAST(e.value ->> 7 AS INTEGER), o.name,
      o.external_id, p.name, m.name, m.unit
    FROM json_each(${lines}) e CROSS JOIN organizations o ON o.number = e.value ->> 0
    LEFT JOIN products p ON p.slug = e.value ->> 2
    LEFT JOIN product_metrics m ON m.product = e.value ->> 2 AND m.slug = e.value ->> 3
    WHERE ${isAt(at)} ON CONFLICT DO NOTHING`;
}

/** Moves on after all lines of some organizations were written. @param through The number of the last of them. */
export function moveStatementOn(at: StatementProgress, through: number): Statement[] {
  return [
    sql`DELETE FROM statement_changes WHERE organization > ${at.progress} AND organization <= ${through}
      AND latest < ${at.number} AND ${isAt(at)}`,
    sql`UPDATE statements SET progress = ${through} WHERE number = ${at.number} AND ${isAt(at)}`,
  ];
}

export function finishStatement(at: StatementProgress, now: number): Statement {
  return sql`UPDATE statements SET status = 'closed', closed_at = ${now}
    WHERE number = ${at.number} AND ${isAt(at)}`;
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
      l.product_name AS productName, l.metric, l.metric_name AS metricName, l.unit, l.count,
      CAST(l.sum_high AS TEXT) AS high, CAST(l.sum_low AS TEXT) AS low, CAST(l.sum_micro AS TEXT) AS micro
    FROM statement_lines l JOIN statements m ON m.number = l.statement - l.months_back
    WHERE ${isOf(query)} AND ${isAfter}
    ORDER BY l.organization_id, l.months_back, l.product_slug, l.metric LIMIT ${limit}`);
}

export type StatementTotalRow =
  & Pick<StatementLineRow, "productSlug" | "productName" | "metric" | "metricName" | "unit">
  & Pick<StatementLineRow, "count" | "high" | "low" | "micro">
  & { readonly lines: number };

/** Some organizations in a statement: those with ids after one and up to another. */
interface StatementPart extends Pick<StatementLineQuery, "statement" | "organizationId"> {
  /** Empty for the first part. */
  readonly after: string;
  /** Null for the last part. */
  readonly through: string | null;
}

const isInPart = ({ after, through, ...query }: StatementPart): Statement => {
  const isUpTo = through === null ? sql`` : sql`AND l.organization_id <= ${through}`;
  return sql`${isOf(query)} AND l.organization_id > ${after} ${isUpTo}`;
};

/** Returns the end of a part with about `lines` lines, or null if it is the last one. */
export async function findPartEnd(
  database: DatabaseReader,
  { lines, ...part }: Omit<StatementPart, "through"> & { lines: number },
): Promise<string | null> {
  const row = await database.readFirst<{ id: string }>(sql`
    SELECT l.organization_id AS id FROM statement_lines l WHERE ${isInPart({ ...part, through: null })}
    ORDER BY l.organization_id LIMIT 1 OFFSET ${lines}`);
  return row?.id ?? null;
}

export function findStatementTotals(
  database: DatabaseReader,
  part: StatementPart,
): Promise<StatementTotalRow[]> {
  return database.read(sql`
    SELECT l.product_slug AS productSlug, max(l.product_name) AS productName, l.metric,
      max(l.metric_name) AS metricName, max(l.unit) AS unit, count(*) AS lines, sum(l.count) AS count,
      CAST(sum(l.sum_high) AS TEXT) AS high, CAST(sum(l.sum_low) AS TEXT) AS low,
      CAST(sum(l.sum_micro) AS TEXT) AS micro
    FROM statement_lines l WHERE ${isInPart(part)} GROUP BY l.product_slug, l.metric`);
}

interface BilledOrganization {
  readonly number: number;
  readonly series: number;
}

/** Returns organizations with usage by number, from after one; deleted ones until their sums are deleted. */
export function findBilledOrganizations(
  database: DatabaseReader,
  { after, limit }: { after: number; limit: number },
): Promise<BilledOrganization[]> {
  return database.read(sql`
    SELECT o.number, o.series FROM organizations o
    WHERE o.number > ${after} AND o.series > 0 AND o.sums_deleted_at IS NULL ORDER BY o.number LIMIT ${limit}`);
}

interface OrganizationMonth {
  readonly organization: number;
  /** The number of the month's statement. */
  readonly month: number;
}

/** Returns closed months that changed before a statement began, of organizations after a number and up to another. */
export function findChangedMonths(
  database: DatabaseReader,
  { statement, after, through }: { statement: number; after: number; through: number },
): Promise<OrganizationMonth[]> {
  return database.read(sql`
    SELECT DISTINCT organization, month FROM statement_changes
    WHERE organization > ${after} AND organization <= ${through} AND latest < ${statement}`);
}

/** The sum that earlier statements charge for a product and metric in a month of an organization. */
export interface BilledRow extends OrganizationMonth, SumParts {
  readonly productSlug: string;
  readonly metric: string;
  readonly count: number;
}

/** Sums the lines that statements before one have for some months. */
export function findBilledSums(
  database: DatabaseReader,
  { statement, months }: { statement: number; months: readonly OrganizationMonth[] },
): Promise<BilledRow[]> {
  const pairs = months.map(({ organization, month }) => [organization, month]);
  return database.read(sql`
    SELECT o.number AS organization, c.value ->> 1 AS month, l.product_slug AS productSlug, l.metric,
      sum(l.count) AS count, CAST(sum(l.sum_high) AS TEXT) AS high, CAST(sum(l.sum_low) AS TEXT) AS low,
      CAST(sum(l.sum_micro) AS TEXT) AS micro
    FROM json_each(${JSON.stringify(pairs)}) c CROSS JOIN organizations o ON o.number = c.value ->> 0
    CROSS JOIN statements t ON t.number >= c.value ->> 1 AND t.number < ${statement}
    CROSS JOIN statement_lines l ON l.statement = t.number AND l.organization_id = o.id
      AND l.months_back = t.number - (c.value ->> 1)
    GROUP BY 1, 2, 3, 4`);
}
