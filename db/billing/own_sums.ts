// Compares statements with the usage that they charge, to find out whether a database is whole.
import { statementStepSeriesMax } from "../../domain/limits.ts";
import { sumMicros, type SumParts } from "../../domain/meter/quantity.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";
import { type OnCompared, sumWindows } from "../meter/mod.ts";
import {
  findBilledOrganizations,
  findBilledSums,
  findChangedIn,
  findStatements,
  type StatementRow,
  type UsageOfMonth,
} from "./statements.ts";

const organizationsAtOnce = 200;

/**
 * Compares what all statements together charge for each closed month with the usage of the month, except where it changed since the last
 * statement. Returns the first difference, or null.
 */
export async function compareStatements(
  database: DatabaseReader,
  onCompared: OnCompared,
): Promise<string | null> {
  const statements = await findStatements(database, { limit: Number.MAX_SAFE_INTEGER });
  const closed = statements.filter(({ status }) => status === "closed");
  if (closed.length === 0) return null;
  const last = await database.readFirst<{ number: number }>(
    sql`SELECT max(number) AS number FROM organizations`,
  );
  for (let after = 0;;) {
    let series = 0;
    const organizations = (await findBilledOrganizations(database, { after, limit: organizationsAtOnce }))
      .filter((one, n) => (series += one.series) <= statementStepSeriesMax || n === 0)
      .map(({ number }) => number);
    const through = organizations.at(-1);
    if (through === undefined) return null;
    for (const month of closed) {
      const found = await compareMonth(database, { month, organizations, after, through });
      if (found !== null) return found;
    }
    onCompared(through / (last?.number ?? through));
    after = through;
  }
}

async function compareMonth(
  database: DatabaseReader,
  { month, organizations, after, through }: {
    month: StatementRow;
    organizations: readonly number[];
    after: number;
    through: number;
  },
): Promise<string | null> {
  const changed = await findChangedIn(database, { month: month.number, after, through });
  const unchanged = new Set(organizations.filter((one) => !changed.has(one)));
  const months = [...unchanged].map((organization) => ({ organization, month: month.number }));
  const billed = new Map(
    (await findBilledSums(database, { statement: Number.MAX_SAFE_INTEGER, months })).map((
      row,
    ) => [keyOf(row), row]),
  );
  const used = (await sumWindows(database, [month], { after, through }))
    .filter(({ organization }) => unchanged.has(organization));
  for (const usage of used) {
    const row = billed.get(keyOf(usage));
    billed.delete(keyOf(usage));
    if (row === undefined || !isSame(row, usage)) return await difference(database, month, usage);
  }
  const rest = billed.values().find((row) => !isSame(row, { count: 0, high: "0", low: "0", micro: "0" }));
  return rest === undefined ? null : await difference(database, month, rest);
}

type UsageOfMetric = Pick<UsageOfMonth, "organization" | "productSlug" | "metric">;

function keyOf({ organization, productSlug, metric }: UsageOfMetric): string {
  return `${organization} ${productSlug} ${metric}`;
}

function isSame(
  billed: SumParts & { readonly count: number; readonly isCounted: 0 | 1 },
  usage: SumParts & { readonly count: number },
): boolean {
  return billed.count === usage.count && (billed.isCounted === 1 || sumMicros(billed) === sumMicros(usage));
}

async function difference(
  database: DatabaseReader,
  { period }: StatementRow,
  { organization, productSlug, metric }: UsageOfMetric,
): Promise<string> {
  const row = await database.readFirst<{ id: string }>(
    sql`SELECT id FROM organizations WHERE number = ${organization}`,
  );
  return `${productSlug}/${metric} of ${row?.id}: the lines of statements for ${period} don't match the usage`;
}
