// The totals of a statement or an open month, and its organizations, added up by the reports thread.
import { findProductsByAge } from "../../../db/meter/mod.ts";
import type { DatabaseReader } from "../../../db/engine/database.ts";
import type { StatementLineRow } from "../../../db/billing/statements.ts";
import {
  statementSummaryKeptMs,
  statementSummaryOrganizationsMax,
  statementTotalsMax,
  statementTotalsReadMax,
} from "../../../domain/limits.ts";
import { microsToDecimal, sumMicros } from "../../../domain/meter/quantity.ts";
import { type AmountParts, metricKey, type StatementTotal } from "../../../domain/billing/statement.ts";
import { addAmount, amountToDecimal } from "../../../domain/billing/price.ts";
import { catalogueOrder, type Product } from "../../../domain/meter/product.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";
import { readLines, type StatementMonth } from "./statement_charges.ts";

interface SumOfLines {
  /** Names are those of the first line that has any. */
  row: StatementLineRow;
  lines: number;
  records: number;
  micros: bigint;
  amount: bigint | null;
}

export interface StatementSums {
  readonly totals: StatementTotal[];
  readonly amount: string | null;
  readonly parts: AmountParts;
}

/** Adds up lines by product and metric. */
export class StatementTotals {
  readonly #sums = new Map<string, SumOfLines>();
  #amount: bigint | null = null;
  #usage: bigint | null = null;
  #steady: bigint | null = null;

  add(row: StatementLineRow): void {
    const micros = sumMicros(row);
    const { unitPrice, valueAmount } = row;
    const part = { micros, unitPrice, valueAmount };
    this.#amount = addAmount(this.#amount, part);
    const grows = row.monthsBack === 0 && (row.aggregation === "sum" || row.aggregation === "count");
    if (row.monthsBack === 0) this.#usage = addAmount(this.#usage, part);
    if (!grows) this.#steady = addAmount(this.#steady, part);
    const name = metricKey(row);
    let sum = this.#sums.get(name);
    if (sum === undefined) {
      // Customers can record metrics of any name, but those with a price are in the catalogue.
      if (this.#sums.size >= statementTotalsReadMax && row.metricName === null) return;
      this.#sums.set(name, sum = { row, lines: 0, records: 0, micros: 0n, amount: null });
    }
    if (sum.row.productName === null || sum.row.metricName === null) sum.row = row;
    sum.lines++;
    sum.records += row.count;
    sum.micros += micros;
    sum.amount = addAmount(sum.amount, part);
  }

  /** Returns those with most lines in the order of the catalogue, and the sums of all amounts. */
  list(products: readonly Pick<Product, "slug" | "metrics">[]): StatementSums {
    const sums = [...this.#sums.values()];
    const compare = catalogueOrder(products);
    const most = sums.toSorted((a, b) => b.lines - a.lines || compare(a.row, b.row)).slice(
      0,
      statementTotalsMax,
    );
    const totals = most.sort((a, b) => compare(a.row, b.row)).map((
      { row, lines, records, micros, amount },
    ) => ({
      productSlug: row.productSlug,
      productName: row.productName,
      metric: row.metric,
      metricName: row.metricName,
      unit: row.unit,
      aggregation: row.aggregation,
      quantity: microsToDecimal(micros),
      records,
      lines,
      amount: amountToDecimal(amount),
    }));
    return {
      totals,
      amount: amountToDecimal(this.#amount),
      parts: { usage: amountToDecimal(this.#usage), steady: amountToDecimal(this.#steady) },
    };
  }
}

/** The sums of an organization's lines. */
export interface OrganizationSums {
  readonly id: string;
  readonly name: string;
  readonly externalId: string | null;
  lines: number;
  adjustments: number;
  /** Quantity of the metric. */
  micros: bigint;
  amount: bigint | null;
}

export interface StatementSummary extends StatementSums {
  /** The metric of the organizations' quantities; null without lines. */
  readonly metric: string | null;
  readonly organizations: readonly OrganizationSums[];
}

interface KeptSummary {
  readonly readAt: number;
  readonly summary: StatementSummary;
}

const keptMax = 2;
/** The latest summaries of many organizations, for each database that this thread reads. */
const kept = new WeakMap<DatabaseReader, Map<string, KeptSummary>>();

/**
 * Adds up all lines. A summary of many organizations is kept for a while, because it takes seconds.
 *
 * @param input `metric`: by default, the one with most lines in the first part.
 */
export async function readSummary(
  context: JobContext,
  { month, metric, now }: JobTime & { month: StatementMonth; metric?: string | undefined },
): Promise<StatementSummary> {
  const { database } = context;
  const isNext = month.status === "open" && month.isNext;
  const key = `${month.number} ${month.status} ${isNext} ${metric ?? ""}`;
  const summaries = kept.get(database) ?? new Map<string, KeptSummary>();
  kept.set(database, summaries);
  for (const [name, { readAt }] of summaries) {
    if (now < readAt || now >= readAt + statementSummaryKeptMs) summaries.delete(name);
  }
  const known = summaries.get(key);
  if (known !== undefined) return known.summary;
  const [oldest] = summaries.keys();
  if (oldest !== undefined && summaries.size >= keptMax) summaries.delete(oldest);
  const summary = await readAnew(context, { month, metric });
  if (summary.organizations.length > statementSummaryOrganizationsMax) {
    summaries.set(key, { readAt: now, summary });
  }
  return summary;
}

async function readAnew(
  context: JobContext,
  { month, metric: wanted }: { month: StatementMonth; metric: string | undefined },
): Promise<StatementSummary> {
  const totals = new StatementTotals();
  const organizations: OrganizationSums[] = [];
  let metric = wanted ?? null;
  let last: OrganizationSums | undefined;
  for await (const lines of readLines(context, { month })) {
    metric ??= usualMetric(lines);
    for (const line of lines) {
      totals.add(line);
      if (last?.id !== line.organizationId) {
        const { organizationId: id, organizationName: name, externalId } = line;
        last = { id, name, externalId, lines: 0, adjustments: 0, micros: 0n, amount: null };
        organizations.push(last);
      }
      const { unitPrice, valueAmount } = line;
      const micros = sumMicros(line);
      last.lines++;
      if (line.monthsBack > 0) last.adjustments++;
      if (line.metric === metric) last.micros += micros;
      last.amount = addAmount(last.amount, { micros, unitPrice, valueAmount });
    }
  }
  return { metric, ...totals.list(await findProductsByAge(context.database)), organizations };
}

function usualMetric(lines: readonly StatementLineRow[]): string | null {
  const counts = new Map<string, number>();
  for (const { metric } of lines) counts.set(metric, (counts.get(metric) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}
