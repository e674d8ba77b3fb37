// The reports thread's work for statements: finding out what to charge, and writing lines as CSV.
import { sumWindow } from "../../../db/meter/window_totals.ts";
import {
  type BilledRow,
  encodeStatementLines,
  findBilledOrganizations,
  findBilledSums,
  findChangedMonths,
  findPartEnd,
  findStatementLines,
  findStatements,
  findStatementTotals,
  type NewStatementLine,
  type StatementLinePosition,
  type StatementLineQuery,
  type StatementLineRow,
  type StatementProgress,
  type StatementTotalRow,
} from "../../../db/operator/statements.ts";
import { csvLine } from "../../../domain/csv.ts";
import {
  statementBatchLinesMax,
  statementStepLinesMax,
  statementStepSeriesMax,
  statementTotalsMax,
} from "../../../domain/limits.ts";
import { microsToDecimal, sumMicros, sumParts } from "../../../domain/meter/quantity.ts";
import { invalidCursorError, readPage } from "../../pages.ts";
import { type JobContext, JobText, type JobTime } from "../job_context.ts";

interface StatementStep {
  /** The number of the last organization that they are about. */
  readonly through: number;
  /** Encoded lines, a limited number in each. */
  readonly lines: readonly string[];
}

/**
 * Finds what the next organizations have to be charged: what they used in the month, and by how much the sums of earlier months differ
 * from the lines of earlier statements. Only months that changed are compared.
 *
 * @returns Null after the last organization.
 */
export async function readStatementStep(
  context: JobContext,
  { number, progress: after }: JobTime & StatementProgress,
): Promise<StatementStep | null> {
  const { database } = context;
  const found = await findBilledOrganizations(database, { after, limit: statementStepSeriesMax });
  let series = 0;
  const organizations = found.filter((one, index) =>
    (series += one.series) <= statementStepSeriesMax || index === 0
  ).map((one) => one.number);
  const through = organizations.at(-1);
  if (through === undefined) return null;
  const changed = await findChangedMonths(database, { statement: number, after, through });
  const isBilled = new Set(organizations);
  const charges = new Charges();
  for (const month of await findStatements(database, { limit: number })) {
    const affected = month.number === number
      ? isBilled
      : new Set(changed.filter((one) => one.month === month.number).map(({ organization }) => organization));
    if (affected.size === 0) continue;
    for (const row of await sumWindow(database, { window: month, after, through })) {
      if (isBilled.has(row.organization) && affected.has(row.organization)) {
        charges.add({ ...row, month: month.number }, 1n);
      }
    }
    await context.pause();
  }
  const billed = await findBilledSums(database, {
    statement: number,
    months: changed.filter(({ organization }) => isBilled.has(organization)),
  });
  for (const row of billed) charges.add(row, -1n);
  return { through, lines: encodeInParts(charges.lines(number)) };
}

class Charges {
  readonly #rows = new Map<string, { row: BilledRow; count: number; micros: bigint }>();

  /** @param sign −1 to subtract. */
  add(row: BilledRow, sign: 1n | -1n): void {
    // No part of the name has a space in it.
    const name = `${row.organization} ${row.month} ${row.productSlug} ${row.metric}`;
    const charge = this.#rows.get(name) ?? { row, count: 0, micros: 0n };
    charge.count += Number(sign) * row.count;
    charge.micros += sign * sumMicros(row);
    this.#rows.set(name, charge);
  }

  /** Returns a line for each sum that is not 0. @param number Of the statement. */
  lines(number: number): NewStatementLine[] {
    return [...this.#rows.values()].filter(({ count, micros }) => count !== 0 || micros !== 0n)
      .map(({ row, count, micros }) => ({
        organization: row.organization,
        monthsBack: number - row.month,
        productSlug: row.productSlug,
        metric: row.metric,
        count,
        ...sumParts(micros),
      }));
  }
}

function encodeInParts(lines: readonly NewStatementLine[]): string[] {
  const parts: string[] = [];
  for (let at = 0; at < lines.length; at += statementBatchLinesMax) {
    parts.push(encodeStatementLines(lines.slice(at, at + statementBatchLinesMax)));
  }
  return parts;
}

/** Reads a page of lines, and with the first page the totals. */
export async function readStatementLines(
  context: JobContext,
  { query }: JobTime & { query: StatementLineQuery },
) {
  const { rows, nextCursor } = await readPage(
    (limit) => findStatementLines(context.database, { ...query, limit }),
    { limit: query.limit, cursorOf: lineCursor },
  );
  return { rows, nextCursor, totals: query.after === undefined ? await readTotals(context, query) : null };
}

/** Returns the sums of all lines by product and metric, the ones with most lines first. */
async function readTotals(
  context: JobContext,
  { statement, organizationId }: StatementLineQuery,
): Promise<StatementTotalRow[]> {
  const { database } = context;
  const totals = new Map<string, StatementTotalRow>();
  for (let after: string | null = ""; after !== null;) {
    const lines = { statement, organizationId, after };
    const through: string | null = await findPartEnd(database, { ...lines, lines: statementStepLinesMax });
    for (const row of await findStatementTotals(database, { ...lines, through })) {
      const name = `${row.productSlug} ${row.metric}`;
      const total = totals.get(name);
      totals.set(name, total === undefined ? row : addTotals(total, row));
    }
    after = through;
    await context.pause();
  }
  return [...totals].sort(([name, total], [otherName, other]) =>
    other.lines - total.lines || (name < otherName ? -1 : 1)
  ).slice(0, statementTotalsMax).map(([, total]) => total);
}

function addTotals(total: StatementTotalRow, row: StatementTotalRow): StatementTotalRow {
  return {
    ...total,
    productName: total.productName ?? row.productName,
    metricName: total.metricName ?? row.metricName,
    unit: total.unit ?? row.unit,
    lines: total.lines + row.lines,
    count: total.count + row.count,
    ...sumParts(sumMicros(total) + sumMicros(row)),
  };
}

function lineCursor({ organizationId, monthsBack, productSlug, metric }: StatementLineRow): string {
  return [organizationId, monthsBack, productSlug, metric].join("~");
}

/** Returns the position that a cursor names. @throws {AppError} `validation_failed` for an invalid cursor. */
export function parseLineCursor(cursor: string): StatementLinePosition {
  const [, organizationId, monthsBack, productSlug, metric] =
    /^(org_[0-9a-f]{32})~(\d{1,4})~([^~]+)~([^~]+)$/.exec(cursor) ?? [];
  if (organizationId === undefined || productSlug === undefined || metric === undefined) {
    throw invalidCursorError();
  }
  return { organizationId, monthsBack: Number(monthsBack), productSlug, metric };
}

const columns = [
  "period",
  "organizationId",
  "externalId",
  "organization",
  "productSlug",
  "productName",
  "metric",
  "metricName",
  "unit",
  "quantity",
  "records",
  "adjustmentOf",
];

/** Writes a header line, then the lines of a statement. @param input `period`: of the statement. @returns CSV. */
export async function statementCsv(
  context: JobContext,
  { period, query }: JobTime & {
    period: string;
    query: Omit<StatementLineQuery, "after" | "limit">;
  },
): Promise<Uint8Array<ArrayBuffer>> {
  const text = new JobText(context);
  text.add(csvLine(columns));
  let after: StatementLineRow | undefined;
  for (;;) {
    const lines = await findStatementLines(context.database, {
      ...query,
      after,
      limit: statementStepLinesMax,
    });
    for (const line of lines) {
      text.add(csvLine([
        period,
        line.organizationId,
        line.externalId ?? "",
        line.organizationName,
        line.productSlug,
        line.productName ?? "",
        line.metric,
        line.metricName ?? "",
        line.unit ?? "",
        { decimal: microsToDecimal(sumMicros(line)) },
        { decimal: String(line.count) },
        line.monthsBack === 0 ? "" : line.period,
      ]));
    }
    after = lines.at(-1);
    if (after === undefined || lines.length < statementStepLinesMax) return text.takeBytes();
    await text.flush();
    await context.pause();
  }
}
