// Finding out what to charge organizations for a month, by the reports thread: to close it, or to show it before.
import {
  type AggregationRow,
  type DimensionRow,
  findAggregations,
  findDimensions,
  findMetricPrices,
  type MeteredOrganization,
  type MetricPriceRow,
  PriceLists,
  sumWindowByValue,
  sumWindows,
  type WindowValueRow,
} from "../../../db/meter/mod.ts";
import {
  encodeLineValues,
  findBilledValues,
  type SplitLine,
  type ValuePart,
} from "../../../db/billing/statement_values.ts";
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
  type StatementProgress,
  type StatementRow,
  type UsageOfMonth,
} from "../../../db/billing/statements.ts";
import {
  statementBatchLinesMax,
  statementStepLinesMax,
  statementStepSeriesMax,
} from "../../../domain/limits.ts";
import { statementBatchValuesSizeMax } from "../../../domain/meter/dimension.ts";
import type { Aggregation } from "../../../domain/meter/aggregation.ts";
import { sumMicros, sumParts } from "../../../domain/meter/quantity.ts";
import { notClosedError, shiftPeriod } from "../../../domain/billing/statement.ts";
import { compareSlugs } from "../../../domain/meter/product.ts";
import { invalidCursorError } from "../../pages.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";
import {
  amountOf,
  LineValues,
  type SplitLineRow,
  splittable,
  toLineDimensions,
  valuesOf,
  withDimensions,
  withinStep,
} from "./statement_values.ts";
import { readValues, type UsageValue } from "../../meter/jobs/mod.ts";

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
  /** Undefined for all organizations. */
  readonly organizationId?: string | undefined;
}

/**
 * Reads lines of a statement, or those that closing an open month now would write, in parts.
 *
 * @param part `after`: begins after this line. `linesMax`: how many a part has, except those of an open month. `valuesMax`: how many
 *   values of each dimension are listed; without it, dimensions aren't read.
 * @throws {AppError} `statement_not_closed` if closing the open month has begun; `validation_failed` if its organization is gone.
 * @yields Lines by organization (of a statement, by its id; of an open month, by its age), month, product and metric.
 */
export async function* readLines(
  context: JobContext,
  { month, organizationId, after, linesMax = statementStepLinesMax, valuesMax }: StatementPart & {
    after?: StatementLinePosition | undefined;
    linesMax?: number;
    valuesMax?: number;
  },
): AsyncGenerator<SplitLineRow[]> {
  const { database } = context;
  if (month.status !== "open") {
    for (let last = after;;) {
      const query = { statement: month.number, organizationId, after: last, limit: linesMax };
      const lines = await findStatementLines(database, query);
      last = lines.at(-1);
      yield valuesMax === undefined
        ? lines
        : await withDimensions(database, lines, { statement: month.number, valuesMax, pause: context.pause });
      if (lines.length < linesMax) return;
      await context.pause();
    }
  }
  for (let through = after === undefined ? 0 : await findNumberBefore(database, after.organizationId);;) {
    if (through === undefined) throw invalidCursorError();
    const charges = await readCharges(context, {
      ...{ month, organizationId, after: through, isSplit: valuesMax !== undefined },
    });
    if (charges === null) return;
    // Closing deletes what adjustments are found by.
    const newest = await findNewestStatement(database);
    if (newest !== undefined && newest.number >= month.number) throw notClosedError(month.period);
    through = charges.through;
    const { lists } = charges;
    const lines = await findNamedLines(database, encodeStatementLines(charges.lines));
    yield lines.filter((line) =>
      line.organizationId !== after?.organizationId ||
      (line.monthsBack - after.monthsBack || compareSlugs(line, after)) > 0
    ).map(({ position, ...line }) => ({
      ...line,
      ...valuesMax !== undefined && {
        dimensions: toLineDimensions(charges.lines[position]?.dimensions ?? [], {
          ...{ unitPrice: line.unitPrice, list: lists.of(line), valuesMax },
        }),
      },
      period: line.monthsBack === 0 ? month.period : shiftPeriod(month.period, -line.monthsBack),
    }));
    await context.pause();
  }
}

/** Finds the lines of the next organizations, to close a month, and their usage by the values of dimensions. @returns Null after the last organization. */
export async function readStatementStep(
  context: JobContext,
  { number, progress: after }: JobTime & StatementProgress,
) {
  const [month] = await findStatements(context.database, { limit: 1 });
  if (month?.number !== number) return null;
  const charges = await readCharges(context, { month, after, isSplit: true });
  return charges && {
    through: charges.through,
    lines: encodeInParts(charges.lines),
    values: encodeLineValues(charges.lines, statementBatchValuesSizeMax),
  };
}

/**
 * Finds what the next organizations have to be charged: what they used in the month, and by how much the sums of earlier months differ
 * from the lines of earlier statements. Only months that changed are compared.
 *
 * @param input `organizationId`: for one organization only. `isSplit`: also by the values of dimensions that have no prices.
 * @returns Lines by organization, month, product and metric. Null after the last organization.
 */
export async function readCharges(
  context: JobContext,
  { month, after, organizationId, isSplit = false }: {
    month: StatementMonth;
    after: number;
    organizationId?: string | undefined;
    isSplit?: boolean;
  },
): Promise<{ through: number; lines: SplitLine[]; lists: PriceLists } | null> {
  const { database } = context;
  const { number, currency } = month;
  const [aggregations, prices] = [await findAggregations(database), await findMetricPrices(database)];
  const dimensions = splittable(await findDimensions(database, { withKept: true }), aggregations)
    .filter(({ isPriced }) => isSplit || isPriced === 1);
  const query = { after, limit: statementStepSeriesMax, organizationId };
  let series = 0;
  const some = (await findBilledOrganizations(database, query)).filter((one, index) =>
    (series += one.series) <= statementStepSeriesMax || index === 0
  );
  const found = await withinStep(database, some, { dimensions, month });
  const organizations = found.map((one) => one.number);
  const through = organizations.at(-1);
  if (through === undefined) return null;
  const range = { after: organizationId === undefined ? after : through - 1, through };
  const hasAdjustments = month.status !== "open" || month.isNext;
  const changed = hasAdjustments ? await findChangedMonths(database, { statement: number, ...range }) : [];
  const isBilled = new Set(organizations);
  const lists = new PriceLists(database);
  const charges = new Charges({ aggregations, prices, dimensions, lists });
  for (const window of [month, ...await findStatements(database, { limit: number, before: number })]) {
    const affected = window.number === number
      ? isBilled
      : new Set(changed.filter((one) => one.month === window.number).map(({ organization }) => organization));
    if (affected.size === 0) continue;
    await addUsage(context, charges, {
      ...{ window, range, aggregations, dimensions },
      organizations: found.filter((one) => affected.has(one.number)),
    });
    await context.pause();
  }
  const months = changed.filter(({ organization }) => isBilled.has(organization));
  for (const row of await findBilledSums(database, { statement: number, months })) {
    const isSameCurrency = row.currency === null || row.currency === currency;
    charges.add(row, -1n, { charged: isSameCurrency ? row : undefined });
  }
  if (dimensions.length > 0) {
    for (const { parts, ...row } of await findBilledValues(database, { statement: number, months })) {
      charges.addParts(row, -1n, parts);
    }
  }
  await lists.read(charges.prices());
  return { through, lines: charges.lines(number), lists };
}

async function addUsage(
  context: JobContext,
  charges: Charges,
  { window, range, aggregations, dimensions, organizations }: {
    window: Pick<StatementRow, "number" | "start" | "end">;
    range: { readonly after: number; readonly through: number };
    aggregations: readonly AggregationRow[];
    dimensions: readonly DimensionRow[];
    organizations: readonly MeteredOrganization[];
  },
): Promise<void> {
  const valueOf = await readValues(context, {
    ...{ aggregations, organizations, filter: {}, groupBy: ["organization", "productSlug", "metric"] },
    windows: [{ position: 0, start: window.start, end: window.end }],
  });
  const affected = new Set(organizations.map(({ number }) => number));
  const namesOf = new Map(dimensions.map(({ number, names }) => [number, names]));
  const rows: readonly (Omit<WindowValueRow, "dimension" | "value"> & Partial<WindowValueRow>)[] =
    dimensions.length === 0
      ? await sumWindows(context.database, [window], range)
      : await sumWindowByValue(context.database, {
        ...{ window, ...range, organizations: [...affected], dimensions: [...namesOf.keys()] },
      });
  for (const row of rows.filter(({ organization }) => affected.has(organization))) {
    const names = namesOf.get(row.dimension ?? -1);
    const usage = { ...row, month: window.number };
    if (names !== undefined) {
      const isCount = aggregations.some((one) =>
        one.productSlug === row.productSlug && one.metric === row.metric
      );
      const micros = isCount ? BigInt(row.count) * 1_000_000n : sumMicros(row);
      const part = { values: valuesOf(row.value ?? "", names), count: row.count, micros };
      charges.addParts({ ...usage, names }, 1n, [part]);
      continue;
    }
    charges.add(usage, 1n, { value: valueOf({ ...row, position: 0, apiKey: null, values: null }) });
  }
}

interface Charge {
  readonly row: UsageOfMonth;
  count: number;
  micros: bigint;
  /** False if the month's value is unknown because retention has deleted records. Its charge then stays. */
  isKnown: boolean;
  /** The price at which its month was charged before; undefined for the current one. */
  charged: LinePrice | undefined;
  readonly values: LineValues;
}

type LinePrice = Pick<NewStatementLine, "unitPrice" | "priceList">;

type NamedUsage = Pick<UsageOfMonth, "organization" | "month" | "productSlug" | "metric">;

/** Names the usage of a line. No part of the name has a space in it. */
const nameOf = ({ organization, month, productSlug, metric }: NamedUsage) =>
  `${organization} ${month} ${productSlug} ${metric}`;

const nameOfMetric = ({ productSlug, metric }: Pick<UsageOfMonth, "productSlug" | "metric">) =>
  `${productSlug} ${metric}`;

class Charges {
  readonly #rows = new Map<string, Charge>();
  readonly #aggregations: ReadonlyMap<string, Aggregation>;
  readonly #prices: ReadonlyMap<string, LinePrice>;
  readonly #lists: PriceLists;
  /** Dimensions that aren't in the catalogue anymore. */
  readonly #kept: ReadonlySet<string>;

  constructor({ aggregations, prices, dimensions, lists }: {
    aggregations: readonly AggregationRow[];
    /** The current ones. */
    prices: readonly MetricPriceRow[];
    dimensions: readonly DimensionRow[];
    lists: PriceLists;
  }) {
    this.#aggregations = new Map(aggregations.map((one) => [nameOfMetric(one), one.aggregation]));
    this.#prices = new Map(prices.map((one) => [nameOfMetric(one), one]));
    this.#lists = lists;
    this.#kept = new Set(
      dimensions.flatMap((one) => one.isKept === 1 ? [`${nameOfMetric(one)} ${one.names}`] : []),
    );
  }

  /**
   * @param sign −1 to subtract an earlier charge.
   * @param options `value`: the value of the usage, if it isn't its sum.
   */
  add(
    row: UsageOfMonth,
    sign: 1n | -1n,
    { value, charged }: { value?: UsageValue | undefined; charged?: LinePrice | undefined },
  ): void {
    const charge = this.#rows.get(nameOf(row)) ??
      { row, count: 0, micros: 0n, isKnown: true, charged, values: new LineValues() };
    charge.count += Number(sign) * row.count;
    charge.isKnown &&= value?.isKnown ?? true;
    if (sign === -1n && !charge.isKnown) charge.micros = 0n;
    else charge.micros += sign * (value?.micros ?? sumMicros(row));
    charge.charged = charged;
    this.#rows.set(nameOf(row), charge);
  }

  /** Adds to what a line that was added has by the values of a dimension. */
  addParts(row: NamedUsage & { readonly names: string }, sign: 1n | -1n, parts: readonly ValuePart[]): void {
    const values = this.#rows.get(nameOf(row))?.values;
    for (const part of parts) values?.add(row.names, part, sign);
  }

  #priceOf({ row, charged }: Charge): LinePrice {
    return charged ?? this.#prices.get(nameOfMetric(row)) ?? { unitPrice: null, priceList: null };
  }

  /** Returns the prices of all lines. */
  prices(): LinePrice[] {
    return [...this.#rows.values()].map((charge) => this.#priceOf(charge));
  }

  /** Returns a line for each sum that is not 0, or has values with prices that are not, once their lists are read. @param number Of the statement. */
  lines(number: number): SplitLine[] {
    return [...this.#rows.values()].map((charge) => {
      const { row, count, micros, values } = charge;
      const { unitPrice, priceList } = this.#priceOf(charge);
      const list = this.#lists.of({ priceList });
      const dimensions = values.list({ count, micros }, { priced: list?.names });
      const parts = dimensions.find(({ names }) => names === list?.names)?.parts ?? [];
      return {
        organization: row.organization,
        monthsBack: number - row.month,
        productSlug: row.productSlug,
        metric: row.metric,
        aggregation: this.#aggregations.get(nameOfMetric(row)) ?? "sum",
        count,
        ...sumParts(micros),
        unitPrice,
        priceList,
        valueAmount: list && String(amountOf(parts, (values) => list.priceOf(values)) ?? 0n),
        dimensions: dimensions.filter(({ names }) =>
          names === list?.names || !this.#kept.has(`${nameOfMetric(row)} ${names}`)
        ),
        isEmpty: count === 0 && micros === 0n && parts.length === 0,
      };
    }).filter(({ isEmpty }) => !isEmpty).map(({ isEmpty: _, ...line }) => line).sort((a, b) =>
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
