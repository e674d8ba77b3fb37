// The amounts of usage at the prices of now, added up by product, metric and, where values have prices, by value.
import { findDimensions } from "../../../db/meter/dimension_list.ts";
import type { UsageSplit } from "../../../db/meter/dimension_sums.ts";
import type {
  MeteredOrganization,
  RollupSumRow,
  UsageFilter,
  UsageGroup,
} from "../../../db/meter/usage_sums.ts";
import { findMetricPrices, PriceLists } from "../../../db/meter/value_prices.ts";
import type { DatabaseReader } from "../../../db/engine/database.ts";
import { addAmount, type ValuePrices } from "../../../domain/billing/price.ts";
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import type { JobContext } from "../../reports/job_context.ts";
import { readValueSeries } from "./usage_split.ts";
import { usageSteps } from "./usage_steps.ts";
import { addStep, nameIn, readValues, type UsageValue, type ValueQuery } from "./usage_values.ts";

type MetricName = Pick<RollupSumRow, "productSlug" | "metric">;

const nameOf = ({ productSlug, metric }: MetricName) => `${productSlug} ${metric}`;

/** The current prices of the metrics of a query. */
export class Prices {
  /** By product and metric: the price of all values, or of those without another. */
  readonly #units = new Map<string, string>();
  readonly lists = new Map<string, ValuePrices>();
  readonly metrics = new Set<string>();

  static async read(database: DatabaseReader, filter: UsageFilter): Promise<Prices> {
    const [prices, rows, lists] = [
      new Prices(),
      await findMetricPrices(database, filter),
      new PriceLists(database),
    ];
    await lists.read(rows);
    for (const row of rows) {
      const list = lists.of(row);
      prices.metrics.add(row.metric);
      prices.#units.set(nameOf(row), row.unitPrice ?? list?.priceOf() ?? "0");
      if (list !== null) prices.lists.set(nameOf(row), list);
    }
    return prices;
  }

  unitPriceOf(row: MetricName): string | null {
    return this.#units.get(nameOf(row)) ?? null;
  }

  listOf(row: MetricName): ValuePrices | undefined {
    return this.lists.get(nameOf(row));
  }
}

type Amount = { sum: bigint | null; isKnown: boolean };

export interface AmountQuery extends Omit<ValueQuery, "organizations"> {
  readonly prices: Prices;
  /** As for sums: also the organization 0, for all of them. */
  readonly organizations: readonly MeteredOrganization[];
  /** The organizations whose values are read. */
  readonly counted: readonly MeteredOrganization[];
  readonly range: UsageWindow;
}

/** Reads amounts in steps. @returns A function that returns the amount of a sum in 10^-18; null without a price, and if it is unknown. */
export async function readAmounts(
  context: JobContext,
  query: AmountQuery,
): Promise<(sum: RollupSumRow) => bigint | null> {
  const { prices } = query;
  const amounts = new Map<string, Amount>();
  if (prices.metrics.size === 0) return () => null;
  const add = (row: RollupSumRow, part: Parameters<typeof addAmount>[1], isKnown = true) => {
    const name = nameOfPart(query, row);
    const amount = amounts.get(name) ?? { sum: null, isKnown: true };
    amounts.set(name, { sum: addAmount(amount.sum, part), isKnown: amount.isKnown && isKnown });
  };
  await addUnits(context, query, add);
  await addDifferences(context, query, add);
  return (sum) => {
    const amount = amounts.get(nameOfPart(query, sum));
    return amount?.isKnown ? amount.sum : null;
  };
}

type Add = (row: RollupSumRow, part: Parameters<typeof addAmount>[1], isKnown?: boolean) => void;

const withMetrics = (groupBy: readonly UsageGroup[]): UsageGroup[] => [
  ...new Set([...groupBy, "productSlug", "metric"] as const),
];

/** Adds the price of all other values for all usage. */
async function addUnits(context: JobContext, query: AmountQuery, add: Add): Promise<void> {
  const { prices, filter, split, organizations, counted, windows, aggregations } = query;
  const groupBy = withMetrics(query.groupBy);
  const priced = { ...filter, metric: [...prices.metrics] };
  const rows = new Map<string, RollupSumRow>();
  for (const step of usageSteps(windows, { organizations, groupBy, isSplit: split !== undefined })) {
    await context.pause();
    await addStep(context, { ...priced, groupBy, split, step }, rows);
  }
  const valueOf = await readValues(context, {
    ...{ aggregations, windows, filter: priced, groupBy, split, organizations: counted },
  });
  for (const row of rows.values()) {
    const unitPrice = prices.unitPriceOf(row);
    if (unitPrice === null) continue;
    const value: UsageValue | undefined = valueOf(row);
    add(row, { micros: value?.micros ?? row.micros, unitPrice }, value?.isKnown);
  }
}

/** Adds the difference of the prices of values from that of all others. */
async function addDifferences(context: JobContext, query: AmountQuery, add: Add): Promise<void> {
  const { prices, filter, counted, windows, aggregations, range } = query;
  if (prices.lists.size === 0) return;
  const dimensions = (await findDimensions(context.database)).filter((row) =>
    prices.listOf(row)?.names === row.names
  );
  for (const [text, rows] of Map.groupBy(dimensions, ({ names }) => names)) {
    const names: string[] = JSON.parse(text);
    const asked = query.split?.properties ?? [];
    if (asked.some(({ name }) => !names.includes(name))) continue;
    const split: UsageSplit = {
      dimensions: rows.map(({ number }) => ({ number, places: names.map((_, place) => place) })),
      properties: names.map((name) => ({
        name,
        values: asked.find((one) => one.name === name)?.values,
        isGroup: true,
      })),
    };
    const { organizations } = await readValueSeries(context, {
      declared: { split, completeSince: null },
      organizations: counted,
      range: { windows, from: range.start, to: range.end },
      filter,
    });
    const groupBy = withMetrics(query.groupBy);
    const places = query.split &&
      asked.filter(({ isGroup }) => isGroup).map(({ name }) => names.indexOf(name));
    for (const step of usageSteps(windows, { organizations, groupBy, isSplit: true })) {
      await context.pause();
      const sums = new Map<string, RollupSumRow>();
      await addStep(context, { ...filter, groupBy, split, step }, sums);
      for (const row of sums.values()) {
        const list = prices.listOf(row);
        if (list?.names !== text) continue;
        const isCount = aggregations.some((one) => nameOf(one) === nameOf(row));
        const micros = isCount ? BigInt(row.count) * 1_000_000n : row.micros;
        const values: string[] = JSON.parse(row.values ?? "[]");
        const part = { ...row, values: places ? JSON.stringify(places.map((place) => values[place])) : null };
        add(part, { micros, unitPrice: list.priceOf(values) });
        add(part, { micros: -micros, unitPrice: list.priceOf() });
      }
    }
  }
}

/** Names the sum of a query that usage is a part of. */
function nameOfPart(query: Pick<AmountQuery, "groupBy" | "split">, row: RollupSumRow): string {
  const hasValues = query.split?.properties.some(({ isGroup }) => isGroup) === true && row.values !== null;
  return nameIn(query, { ...row, values: hasValues ? JSON.stringify(JSON.parse(row.values)) : null });
}
