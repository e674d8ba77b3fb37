// The SQL that reads what the next statement has to compare: who has usage, what changed in closed months, and what was billed for it.
import type { SumParts } from "../../domain/meter/quantity.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";

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
