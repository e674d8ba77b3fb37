// Finding out what to charge organizations for a month, by the reports thread: to close it, or to show it before.
import { sumWindow } from "../../../db/meter/window_totals.ts";
import {
  type BilledRow,
  encodeStatementLines,
  findBilledOrganizations,
  findBilledSums,
  findChangedMonths,
  findStatements,
  type NewStatementLine,
  type StatementProgress,
  type StatementRow,
} from "../../../db/operator/statements.ts";
import { statementBatchLinesMax, statementStepSeriesMax } from "../../../domain/limits.ts";
import { sumMicros, sumParts } from "../../../domain/meter/quantity.ts";
import type { JobContext, JobTime } from "../job_context.ts";

/** A month that is not closed yet. */
export interface OpenMonth extends Omit<StatementRow, "status" | "progress" | "createdAt" | "closedAt"> {
  readonly status: "open";
  /** It is the next to close, so that it gets the adjustments. */
  readonly isNext: boolean;
  readonly createdAt: null;
  readonly closedAt: null;
}

/** The month of a statement or an open one. */
export type StatementMonth = StatementRow | OpenMonth;

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
