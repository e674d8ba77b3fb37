// Pages of lines, totals and the CSV of statements and open months, read by the reports thread.
import { findProductsByAge, hasValuePrices } from "../../../db/meter/mod.ts";
import type { StatementLinePosition } from "../../../db/billing/statements.ts";
import { type CsvCell, csvLine } from "../../../domain/csv.ts";
import { lineValuesShownMax, statementPageLinesPerRead } from "../../../domain/meter/dimension.ts";
import { microsToDecimal, sumMicros } from "../../../domain/meter/quantity.ts";
import {
  type StatementLine,
  statementLineId,
  type StatementPage,
} from "../../../domain/billing/statement.ts";
import { addAmount, amountToDecimal } from "../../../domain/billing/price.ts";
import { catalogueOrder, type Product } from "../../../domain/meter/product.ts";
import { invalidCursorError, readPage } from "../../pages.ts";
import { type JobContext, JobText, type JobTime } from "../../reports/job_context.ts";
import { readLines, type StatementMonth, type StatementPart } from "./statement_charges.ts";
import { readSummary, StatementTotals } from "./statement_summary.ts";
import { type SplitLineRow, withDimensions } from "./statement_values.ts";
import { readVoided } from "./statement_voids.ts";

type PageOfLines = JobTime & StatementPart & { after: StatementLinePosition | undefined; limit: number };

/** Reads a page of lines, and with the first page the totals. */
export async function readStatementLines(
  context: JobContext,
  page: PageOfLines,
): Promise<Omit<StatementPage, "statement"> & { readonly nextCursor: string | null }> {
  const { organizationId } = page;
  const { lines, ...sums } = organizationId === undefined
    ? await readAll(context, page)
    : await readOne(context, { ...page, organizationId });
  const { rows, nextCursor } = await readPage((limit) => Promise.resolve(lines.slice(0, limit)), {
    limit: page.limit,
    cursorOf: (line) => lineCursor(line, page.month),
  });
  const { status, number: statement } = page.month;
  const { database, pause } = context;
  // Lines of an open month have them already.
  const split = status === "open"
    ? rows
    : await withDimensions(database, rows, { statement, valuesMax: lineValuesShownMax, pause });
  return { ...sums, lines: split.map((row) => toLine(row, page.month)), nextCursor };
}

const noSums = { totals: null, amount: null, parts: null, voided: null };

const ofOpen = ({ month }: PageOfLines) => month.status === "open" ? { valuesMax: lineValuesShownMax } : {};

async function readAll(context: JobContext, page: PageOfLines) {
  const lines: SplitLineRow[] = [];
  const wanted = page.limit + 1;
  for await (const part of readLines(context, { ...page, ...ofOpen(page), linesMax: wanted })) {
    lines.push(...part);
    if (lines.length >= wanted) break;
  }
  if (page.after !== undefined) return { lines, ...noSums };
  const { totals, amount, parts } = await readSummary(context, page);
  return { lines, totals, amount, parts, voided: null };
}

async function readOne(context: JobContext, page: PageOfLines & { organizationId: string }) {
  const products = await findProductsByAge(context.database);
  const order = lineOrder(products);
  const totals = new StatementTotals();
  const lines: SplitLineRow[] = [];
  for await (const part of readLines(context, { ...page, ...ofOpen(page), after: undefined })) {
    for (const line of part) {
      totals.add(line);
      lines.push(line);
    }
  }
  const { after } = page;
  lines.sort(order);
  if (after !== undefined) return { lines: lines.filter((line) => order(line, after) > 0), ...noSums };
  return { lines, ...totals.list(products), voided: await readVoided(context, { ...page, products }) };
}

type Place = Pick<StatementLinePosition, "monthsBack" | "productSlug" | "metric">;

function lineOrder(products: readonly Pick<Product, "slug" | "metrics">[]) {
  const compare = catalogueOrder(products);
  return (a: Place, b: Place) => a.monthsBack - b.monthsBack || compare(a, b);
}

export function toLine(
  { monthsBack, period, unitPrice, valueAmount, count, dimensions = [], ...line }: SplitLineRow,
  month: StatementMonth,
): StatementLine {
  const { organizationId, organizationName, externalId } = line;
  const { productSlug, productName, metric, metricName, unit, aggregation } = line;
  const micros = sumMicros(line);
  const adjustmentOf = monthsBack === 0 ? null : period;
  return {
    id: statementLineId(month.period, { organizationId, productSlug, metric, adjustmentOf }),
    organizationId,
    organizationName,
    externalId,
    productSlug,
    productName,
    metric,
    metricName,
    unit,
    aggregation,
    quantity: microsToDecimal(micros),
    records: count,
    adjustmentOf,
    unitPrice,
    amount: amountToDecimal(addAmount(null, { micros, unitPrice, valueAmount })),
    dimensions,
  };
}

/** Cursors of open months name the month: closing puts the lines in another order, and `open` becomes the next month. */
const cursorStart = ({ status, period }: StatementMonth) => status === "open" ? `${period}~` : "";

export function lineCursor(line: StatementLinePosition, month: StatementMonth): string {
  const { organizationId, monthsBack, productSlug, metric } = line;
  return cursorStart(month) + [organizationId, monthsBack, productSlug, metric].join("~");
}

/** Returns the position that a cursor names. @throws {AppError} `validation_failed` for an invalid cursor. */
export function parseLineCursor(cursor: string, month: StatementMonth): StatementLinePosition {
  const start = cursorStart(month);
  const position = cursor.startsWith(start) ? cursor.slice(start.length) : "";
  const [, organizationId, monthsBack, productSlug, metric] =
    /^(org_[0-9a-f]{32})~(\d{1,4})~([^~]+)~([^~]+)$/.exec(position) ?? [];
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
  "unitPrice",
  "amount",
  "currency",
  "aggregation",
];

const valueColumns = [
  ...columns.slice(0, columns.indexOf("quantity")),
  ...["properties", "quantity", "records", "adjustmentOf", "aggregation"],
];
/** Additional columns once values have had prices. */
const amountColumns = ["unitPrice", "amount", "currency"];

/**
 * Writes a header line, then the lines of a statement or an open month. @returns CSV.
 *
 * @param part `isByValue`: all values of all dimensions of each line instead.
 */
export async function statementCsv(
  context: JobContext,
  { isByValue = false, ...part }: JobTime & StatementPart & { isByValue?: boolean },
): Promise<Uint8Array<ArrayBuffer>> {
  const { month } = part;
  const text = new JobText(context);
  const isPriced = isByValue && await hasValuePrices(context.database);
  text.add(csvLine(isByValue ? [...valueColumns, ...isPriced ? amountColumns : []] : columns));
  const split = { valuesMax: Infinity, linesMax: statementPageLinesPerRead };
  for await (const lines of readLines(context, { ...part, ...isByValue && split })) {
    for (const line of lines.map((row) => toLine(row, month))) {
      for (const cells of isByValue ? valueCells(line, { month, isPriced }) : [lineCells(line, month)]) {
        text.add(csvLine(cells));
      }
    }
    await text.flush();
  }
  return text.takeBytes();
}

type Cells = CsvCell[];

const nameCells = (line: StatementLine, { period }: StatementMonth): Cells => [
  period,
  line.organizationId,
  { exact: line.externalId ?? "" },
  line.organizationName,
  line.productSlug,
  line.productName ?? "",
  line.metric,
  line.metricName ?? "",
  line.unit ?? "",
];

const lineCells = (line: StatementLine, month: StatementMonth): Cells => [
  ...nameCells(line, month),
  { exact: line.quantity },
  { exact: String(line.records) },
  line.adjustmentOf ?? "",
  { exact: line.unitPrice ?? "" },
  { exact: line.amount ?? "" },
  line.amount === null ? "" : month.currency ?? "",
  line.aggregation,
];

function valueCells(
  line: StatementLine,
  { month, isPriced }: { month: StatementMonth; isPriced: boolean },
): Cells[] {
  return line.dimensions.flatMap(({ values }) =>
    values.map(({ properties, quantity, records, unitPrice, amount }) => [
      ...nameCells(line, month),
      JSON.stringify(properties),
      { exact: quantity },
      { exact: String(records) },
      line.adjustmentOf ?? "",
      line.aggregation,
      ...isPriced
        ? [
          { exact: unitPrice ?? "" },
          { exact: amount ?? "" },
          amount === null ? "" : month.currency ?? "",
        ]
        : [],
    ])
  );
}
