// Finding out what to charge organizations for a month, by the reports thread: to close it, or to show it before.
import type { AggregationRow } from "../../../db/meter/aggregation_list.ts";
import { sumWindow } from "../../../db/meter/window_totals.ts";
import {
  encodeStatementLines,
  findBilledOrganizations,
  findBilledSums,
  findChangedMonths,
  findNamedLines,
  findNewestStatement,
  findNumberBefore,
  findStatementLines,
  findStatements,
  type NewStatementLine,
  type StatementLinePosition,
  type StatementLineRow,
  type StatementProgress,
  type StatementRow,
  type UsageOfMonth,
} from "../../../db/operator/statements.ts";
import {
  statementBatchLinesMax,
  statementStepLinesMax,
  statementStepSeriesMax,
} from "../../../domain/limits.ts";
import type { Aggregation } from "../../../domain/meter/aggregation.ts";
import { sumMicros, sumParts } from "../../../domain/meter/quantity.ts";
import { notClosedError, shiftPeriod } from "../../../domain/operator/statement.ts";
import { compareSlugs } from "../../../domain/product.ts";
import { invalidCursorError } from "../../pages.ts";
import type { JobContext, JobTime } from "../job_context.ts";
import { findCounting, nameOfSum, noValue, readValues, type UsageValue } from "./usage_values.ts";

/** A month that is not closed yet. */
export interface OpenMonth extends Omit<StatementRow, "status" | "progress" | "createdAt" | "closedAt"> {
  readonly status: "open";
  /** It is the next to close, so that it gets the adjustments. */
  readonly isNext: boolean;
  readonly createdAt: null;
  readonly closedAt: null;
}

export type StatementMonth = StatementRow | OpenMonth;

export interface StatementPart {
  readonly month: StatementMonth;
  /** Undefined for all. */
  readonly organizationId?: string | undefined;
}

/**
 * Reads lines of a statement, or those that closing an open month now would write, in parts.
 *
 * @param part `after`: begins after this line. `linesMax`: how many a part has, except those of an open month.
 * @throws {AppError} `statement_not_closed` if closing the open month has begun; `validation_failed` if its organization is gone.
 * @yields Lines by organization (of a statement, by its id; of an open month, by its age), month, product and metric.
 */
export async function* readLines(
  context: JobContext,
  { month, organizationId, after, linesMax = statementStepLinesMax }: StatementPart & {
    after?: StatementLinePosition | undefined;
    linesMax?: number;
  },
): AsyncGenerator<StatementLineRow[]> {
  const { database } = context;
  if (month.status !== "open") {
    for (let last = after;;) {
      const query = { statement: month.number, organizationId, after: last, limit: linesMax };
      const lines = await findStatementLines(database, query);
      last = lines.at(-1);
      yield lines;
      if (lines.length < linesMax) return;
      await context.pause();
    }
  }
  for (let through = after === undefined ? 0 : await findNumberBefore(database, after.organizationId);;) {
    if (through === undefined) throw invalidCursorError();
    const charges = await readCharges(context, { month, organizationId, after: through });
    if (charges === null) return;
    // Closing deletes what adjustments are found by.
    const newest = await findNewestStatement(database);
    if (newest !== undefined && newest.number >= month.number) throw notClosedError(month.period);
    through = charges.through;
    const lines = await findNamedLines(database, encodeStatementLines(charges.lines));
    yield lines.filter((line) =>
      line.organizationId !== after?.organizationId ||
      (line.monthsBack - after.monthsBack || compareSlugs(line, after)) > 0
    ).map((line) => ({
      ...line,
      period: line.monthsBack === 0 ? month.period : shiftPeriod(month.period, -line.monthsBack),
    }));
    await context.pause();
  }
}

interface StatementStep {
  /** The number of the last organization that they are about. */
  readonly through: number;
  /** Encoded lines, a limited number in each. */
  readonly lines: readonly string[];
}

/** Finds the lines of the next organizations, to close a month. @returns Null after the last organization. */
export async function readStatementStep(
  context: JobContext,
  { number, progress: after }: JobTime & StatementProgress,
): Promise<StatementStep | null> {
  const [month] = await findStatements(context.database, { limit: 1 });
  if (month?.number !== number) return null;
  const charges = await readCharges(context, { month, after });
  return charges && { through: charges.through, lines: encodeInParts(charges.lines) };
}

/**
 * Finds what the next organizations have to be charged: what they used in the month, and by how much the sums of earlier months differ
 * from the lines of earlier statements. Only months that changed are compared.
 *
 * @param input `organizationId`: for one organization only.
 * @returns Lines by organization, month, product and metric. Null after the last organization.
 */
export async function readCharges(
  context: JobContext,
  { month, after, organizationId }: {
    month: StatementMonth;
    after: number;
    organizationId?: string | undefined;
  },
): Promise<{ through: number; lines: NewStatementLine[] } | null> {
  const { database } = context;
  const { number, currency } = month;
  const query = { after, limit: statementStepSeriesMax, organizationId };
  let series = 0;
  const found = (await findBilledOrganizations(database, query)).filter((one, index) =>
    (series += one.series) <= statementStepSeriesMax || index === 0
  );
  const organizations = found.map((one) => one.number);
  const through = organizations.at(-1);
  if (through === undefined) return null;
  const range = { after: organizationId === undefined ? after : through - 1, through };
  const hasAdjustments = month.status !== "open" || month.isNext;
  const changed = hasAdjustments ? await findChangedMonths(database, { statement: number, ...range }) : [];
  const isBilled = new Set(organizations);
  const aggregations = await findCounting(context, {});
  const charges = new Charges(aggregations);
  for (const window of [month, ...await findStatements(database, { limit: number, before: number })]) {
    const affected = window.number === number
      ? isBilled
      : new Set(changed.filter((one) => one.month === window.number).map(({ organization }) => organization));
    if (affected.size === 0) continue;
    const values = aggregations.length === 0 ? null : await readValues(context, {
      ...{ aggregations, filter: {}, groupBy: ["organization", "productSlug", "metric"] },
      windows: [{ position: 0, start: window.start, end: window.end }],
      organizations: found.filter((one) => affected.has(one.number)),
    });
    for (const row of await sumWindow(database, { window, ...range })) {
      if (isBilled.has(row.organization) && affected.has(row.organization)) {
        const name = nameOfSum({ ...row, position: 0, apiKey: null, values: null });
        charges.add({ ...row, month: window.number }, 1n, {
          value: values?.get(name) ?? noValue(aggregations, row),
        });
      }
    }
    await context.pause();
  }
  const months = changed.filter(({ organization }) => isBilled.has(organization));
  for (const row of await findBilledSums(database, { statement: number, months })) {
    const isSameCurrency = row.currency === null || row.currency === currency;
    charges.add(row, -1n, { charged: isSameCurrency ? { unitPrice: row.unitPrice } : undefined });
  }
  return { through, lines: charges.lines(number) };
}

interface Charge {
  readonly row: UsageOfMonth;
  count: number;
  micros: bigint;
  /** False if what the month counts for is unknown, because retention has deleted records: what was charged for it stays. */
  isKnown: boolean;
  charged: NewStatementLine["charged"];
}

class Charges {
  readonly #rows = new Map<string, Charge>();
  readonly #aggregations: ReadonlyMap<string, Aggregation>;

  constructor(aggregations: readonly AggregationRow[]) {
    this.#aggregations = new Map(
      aggregations.map(({ productSlug, metric, aggregation }) => [`${productSlug} ${metric}`, aggregation]),
    );
  }

  /**
   * @param sign −1 to subtract what was charged before.
   * @param options `value`: what the usage counts for, if it isn't its sum.
   */
  add(
    row: UsageOfMonth,
    sign: 1n | -1n,
    { value, charged }: { value?: UsageValue | undefined; charged?: NewStatementLine["charged"] },
  ): void {
    // No part of the name has a space in it.
    const name = `${row.organization} ${row.month} ${row.productSlug} ${row.metric}`;
    const charge = this.#rows.get(name) ?? { row, count: 0, micros: 0n, isKnown: true, charged };
    charge.count += Number(sign) * row.count;
    charge.isKnown &&= value?.isKnown ?? true;
    if (sign === -1n && !charge.isKnown) charge.micros = 0n;
    else charge.micros += sign * (value?.micros ?? sumMicros(row));
    charge.charged = charged;
    this.#rows.set(name, charge);
  }

  /** Returns a line for each sum that is not 0. @param number Of the statement. */
  lines(number: number): NewStatementLine[] {
    return [...this.#rows.values()].filter(({ count, micros }) => count !== 0 || micros !== 0n)
      .map(({ row, count, micros, charged }) => ({
        organization: row.organization,
        monthsBack: number - row.month,
        productSlug: row.productSlug,
        metric: row.metric,
        aggregation: this.#aggregations.get(`${row.productSlug} ${row.metric}`) ?? "sum",
        count,
        ...sumParts(micros),
        charged,
      })).sort((a, b) =>
        a.organization - b.organization || a.monthsBack - b.monthsBack || compareSlugs(a, b)
      );
  }
}

function encodeInParts(lines: readonly NewStatementLine[]): string[] {
  const parts: string[] = [];
  for (let at = 0; at < lines.length; at += statementBatchLinesMax) {
    parts.push(encodeStatementLines(lines.slice(at, at + statementBatchLinesMax)));
  }
  return parts;
}
