// Lines of statements with prices by value, compared with records that are added up one by one.
import assert from "node:assert/strict";
import { type DatabaseReader, sql } from "../../../db/engine/database.ts";
import { sumMicros } from "../../../domain/meter/quantity.ts";
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import fc from "../runner/fast_check.ts";
import { add, type Sum, withoutZeros } from "./sums.ts";

export interface StoredRecord {
  /** The organization's. */
  readonly id: string;
  readonly metric: string;
  readonly model: string;
  readonly timestamp: number;
  readonly micros: bigint;
}

/** The price of what lists don't name. */
const otherPrice = "0.000001";

/** Prices of some models. */
export const someValuePrices = fc.subarray(["large", "small", "(none)"], { minLength: 1 }).chain((models) =>
  fc.tuple(
    ...models.map((model) =>
      fc.constantFrom("0.000012", "7", "0").map((price): [string, string] => [model, price])
    ),
  )
);

/** @returns The metric `a` with a price, or prices by model. */
export const metricWith = (price: string | readonly [string, string][] | null) => ({
  ...{ slug: "a", name: "A", dimensions: [["model"]] },
  unitPrice: typeof price === "string" || price === null ? price : [
    ...price.map(([model, unitPrice]) => ({ properties: { model }, unitPrice })),
    { unitPrice: otherPrice },
  ],
});

/**
 * Compares what lines of the metric `a` with prices by value have of each value with the records, and their amounts with their values.
 *
 * @param options `waiting`: organizations and numbers of months with changes for the next statement, which aren't compared.
 */
export async function assertValues(
  database: DatabaseReader,
  { waiting, months, records }: {
    waiting: ReadonlySet<string>;
    months: readonly UsageWindow[];
    records: readonly StoredRecord[];
  },
): Promise<void> {
  const lines = await database.read<
    {
      name: string;
      amount: string;
      count: number;
      high: string;
      low: string;
      micro: string;
      prices: string;
      parts: string;
    }
  >(sql`SELECT l.organization_id || ' ' || (l.statement - l.months_back) AS name, l.value_amount AS amount, l.count,
      CAST(l.sum_high AS TEXT) AS high, CAST(l.sum_low AS TEXT) AS low, CAST(l.sum_micro AS TEXT) AS micro, p.prices, v.parts
    FROM statement_lines l JOIN value_prices p ON p.number = l.price_list
    LEFT JOIN statement_line_values v USING (statement, organization_id, months_back, product_slug, metric)`);
  const [charged, recorded] = [new Map<string, Sum>(), new Map<string, Sum>()];
  const names = new Set(lines.map(({ name }) => name).filter((name) => !waiting.has(name)));
  for (const { name, amount, prices, parts, ...line } of lines) {
    const list: { properties?: { model: string }; unitPrice: string }[] = JSON.parse(prices);
    let [sum, units, count] = [0n, 0n, 0];
    for (const [[model = ""], records, micros] of JSON.parse(parts) as [string[], number, string][]) {
      const { unitPrice = otherPrice } = list.find((one) => one.properties?.model === model) ?? {};
      units += BigInt(micros) * BigInt(Math.round(Number(unitPrice) * 1e6)) * 10n ** 6n;
      [sum, count] = [sum + BigInt(micros), count + records];
      if (names.has(name)) add(charged, `${name} ${model}`, { count: records, micros: BigInt(micros) });
    }
    assert.deepEqual([sum, count, String(units)], [sumMicros(line), line.count, amount]);
  }
  for (
    const { id, metric, model, timestamp, micros } of records
  ) {
    const index = months.findIndex(({ start, end }) => start <= timestamp && timestamp < end);
    const name = `${id} ${index + 1}`;
    if (metric === "a" && names.has(name)) add(recorded, `${name} ${model}`, { count: 1, micros });
  }
  assert.deepEqual(withoutZeros(charged), withoutZeros(recorded));
}
