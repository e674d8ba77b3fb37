// Organizations of statements and statements of organizations, read by the reports thread.
import {
  findStatements,
  findStatementsOf,
  type StatementSumRow,
  sumStatementLines,
} from "../../../db/billing/statements.ts";
import { isId } from "../../../domain/id.ts";
import { microsToDecimal, sumMicros } from "../../../domain/meter/quantity.ts";
import type { StatementOrganizationSort } from "../../../domain/billing/statement.ts";
import { addAmount, amountToDecimal } from "../../../domain/billing/price.ts";
import { invalidCursorError, type PageInput, readPage } from "../../pages.ts";
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import type { JobContext, JobScope, JobTime } from "../../reports/job_context.ts";
import { readPartsOf } from "./month_part.ts";
import type { StatementMonth } from "./statement_charges.ts";
import { type OrganizationSums, readSummary } from "./statement_summary.ts";

export interface StatementOrganizationsQuery extends PageInput {
  /** A part of the name or of the external id, or a whole id. */
  readonly search?: string | undefined;
  /** True selects organizations with adjustments. */
  readonly isAdjusted?: boolean | undefined;
  /** The metric of the quantities; default: one that most organizations use. */
  readonly metric?: string | undefined;
  /** By default the name. The others begin with the largest. */
  readonly sort?: StatementOrganizationSort | undefined;
  /** Days before an open month to compare with, at the prices of now, instead of the previous statement. */
  readonly days?: UsageWindow | undefined;
}

/** Reads a page of organizations. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function readStatementOrganizations(
  context: JobContext,
  { month, now, ...query }: JobTime & StatementOrganizationsQuery & { month: StatementMonth },
) {
  const summary = await readSummary(context, { month, metric: query.metric, now });
  const found = summary.organizations.filter(searchFor(query.search));
  const adjusted = found.filter(({ adjustments }) => adjustments > 0);
  const sorted = sort(query.isAdjusted ? adjusted : found, query.sort);
  // The id “open” means the next month once this one is closed.
  const cursorStart = `${month.period}~`;
  const start = startOf(sorted, { cursor: query.cursor, cursorStart });
  const { rows, nextCursor } = await readPage(
    (limit) => Promise.resolve(sorted.slice(start, start + limit)),
    { limit: query.limit, cursorOf: ({ id }) => cursorStart + id },
  );
  const [before] = await findStatements(context.database, { limit: 1, before: month.number });
  const previous = before?.number === month.number - 1 && before.status === "closed" ? before : null;
  const { metric, totals, amount, parts } = summary;
  const ids = rows.map(({ id }) => id);
  const sumsBefore = query.days !== undefined
    ? await readPartsOf(context, { ids, metric, days: query.days, now })
    : previous && groupSums(
      await sumStatementLines(context.database, { parts: ids.map((id) => [previous.number, id]), metric }),
      ({ organizationId }) => organizationId,
    );
  const hasAmounts = query.days !== undefined || previous?.currency === month.currency;
  return {
    /** The closed statement of the previous month, if there is one. */
    previous,
    /** The metric of the quantities; null if there are no lines. */
    metric,
    /** The metric's quantity in the whole statement, like `totals`, even when searching. */
    quantity: microsToDecimal(summary.organizations.reduce((sum, { micros }) => sum + micros, 0n)),
    /** Counts of all organizations that the search finds. */
    counts: { all: found.length, adjusted: adjusted.length },
    totals,
    amount,
    parts,
    organizations: rows.map(({ micros, amount, ...organization }) => {
      // The days before have no adjustments to compare with.
      const isCompared = query.days === undefined || organization.adjustments === 0;
      const sums = isCompared ? sumsBefore?.get(organization.id) : undefined;
      return {
        ...organization,
        amount: amountToDecimal(amount),
        quantity: microsToDecimal(micros),
        previousAmount: hasAmounts ? amountToDecimal(sums?.amount ?? null) : null,
        previousQuantity: isCompared && sumsBefore ? microsToDecimal(sums?.micros ?? 0n) : null,
      };
    }),
    nextCursor,
  };
}

function searchFor(search = ""): (organization: OrganizationSums) => boolean {
  const text = search.trim().toLowerCase();
  if (isId("org", text)) return ({ id }) => id === text;
  return ({ name, externalId }) =>
    name.toLowerCase().includes(text) || externalId?.toLowerCase().includes(text) === true;
}

function sort(
  organizations: readonly OrganizationSums[],
  by: StatementOrganizationSort = "name",
): readonly OrganizationSums[] {
  const named = organizations.map((one) => ({ one, name: one.name.toLowerCase() }));
  const size = ({ amount, micros }: OrganizationSums) => by === "amount" ? amount : micros;
  return named.sort((a, b) =>
    (by === "name" ? 0 : compareSizes(size(b.one), size(a.one))) ||
    (a.name < b.name ? -1 : a.name > b.name ? 1 : a.one.id < b.one.id ? -1 : 1)
  ).map(({ one }) => one);
}

/** Compares amounts. Null is less than all others. */
function compareSizes(a: bigint | null, b: bigint | null): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return a < b ? -1 : a > b ? 1 : 0;
}

function startOf(
  organizations: readonly OrganizationSums[],
  { cursor, cursorStart }: { cursor: string | undefined; cursorStart: string },
): number {
  if (cursor === undefined) return 0;
  const index = organizations.findIndex(({ id }) => cursorStart + id === cursor);
  if (index === -1) throw invalidCursorError();
  return index + 1;
}

/** Reads an organization's part of statements, newest first. */
export async function readOrganizationStatements(
  context: JobContext,
  { organizationId, metric, limit, before }: JobScope & {
    metric: string | null;
    limit: number;
    before: number | undefined;
  },
) {
  const { database } = context;
  const { rows, nextCursor } = await readPage(
    (limit) => findStatementsOf(database, { organizationId, limit, before }),
    { limit, cursorOf: ({ id }) => id },
  );
  const parts = rows.filter(({ status }) => status === "closed")
    .map(({ number }) => [number, organizationId] as const);
  const sums = groupSums(await sumStatementLines(database, { parts, metric }), ({ statement }) => statement);
  return {
    rows: rows.map((statement) => {
      const { lines, adjustments, amount, micros } = sums.get(statement.number) ?? noLines;
      return {
        statement,
        lines,
        adjustments,
        amount: amountToDecimal(amount),
        quantity: metric === null || statement.status === "closing" ? null : microsToDecimal(micros),
      };
    }),
    nextCursor,
  };
}

const noLines = { lines: 0, adjustments: 0, micros: 0n, amount: null };

function groupSums<Key>(rows: readonly StatementSumRow[], keyOf: (row: StatementSumRow) => Key) {
  const groups = new Map<Key, Omit<OrganizationSums, "id" | "name" | "externalId">>();
  for (const row of rows) {
    const sum = groups.get(keyOf(row)) ?? { ...noLines };
    const micros = sumMicros(row);
    sum.lines += row.lines;
    sum.adjustments += row.adjustments;
    if (row.isMetric === 1) sum.micros += micros;
    const { unitPrice } = row;
    const valueAmount = row.valueAmount && String(BigInt(row.valueAmount) * BigInt(row.lines));
    sum.amount = addAmount(sum.amount, { micros, unitPrice, valueAmount });
    groups.set(keyOf(row), sum);
  }
  return groups;
}
