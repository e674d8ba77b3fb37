// What lines of statements have by the values of dimensions, found by the reports thread and shown with the lines.
import type { DatabaseReader } from "../../../db/engine/database.ts";
import {
  type AggregationRow,
  countValueSeries,
  type DimensionRow,
  PriceLists,
} from "../../../db/meter/mod.ts";
import { findLineParts, type LineParts, type ValuePart } from "../../../db/billing/statement_values.ts";
import type { StatementLineRow } from "../../../db/billing/statements.ts";
import {
  otherValue,
  statementPageLinesPerRead,
  statementStepValuesMax,
} from "../../../domain/meter/dimension.ts";
import { addAmount, amountToDecimal, type ValuePrices } from "../../../domain/billing/price.ts";
import { microsToDecimal } from "../../../domain/meter/quantity.ts";
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import type { LineDimension } from "../../../domain/billing/statement.ts";

/** A line with its dimensions, if they were asked for. */
export type SplitLineRow = StatementLineRow & { readonly dimensions?: readonly LineDimension[] };

/** Returns the dimensions whose values add up to what their metric is charged by: sums and counts do. */
export function splittable(
  dimensions: readonly DimensionRow[],
  aggregations: readonly AggregationRow[],
): DimensionRow[] {
  return dimensions.filter(({ productSlug, metric }) =>
    aggregations.every((one) =>
      one.productSlug !== productSlug || one.metric !== metric || one.aggregation === "count"
    )
  );
}

/** Returns the first of some organizations: those whose values one step reads. */
export async function withinStep<One extends { readonly number: number }>(
  database: DatabaseReader,
  found: readonly One[],
  { dimensions, month }: { dimensions: readonly DimensionRow[]; month: UsageWindow },
): Promise<readonly One[]> {
  if (dimensions.length === 0) return found;
  const split = { dimensions: dimensions.map(({ number }) => ({ number, places: [] })), properties: [] };
  const { start, end } = month;
  let values = 0;
  for (let at = 0; at < found.length; at += statementPageLinesPerRead) {
    const numbers = found.slice(at, at + statementPageLinesPerRead).map(({ number }) => number);
    const { series } = await countValueSeries(database, { split, numbers, range: { start, end } });
    for (const [index, number] of numbers.entries()) {
      values += series.get(number) ?? 0;
      if (values > statementStepValuesMax) return found.slice(0, Math.max(1, at + index));
    }
  }
  return found;
}

/** Adds up a line's values of each dimension. */
export class LineValues {
  /** By the JSON of the properties' names, then by that of their values. */
  readonly #sums = new Map<string, Map<string, ValuePart>>();

  /** @param sign −1 to subtract an earlier charge. */
  add(names: string, { values, count, micros }: ValuePart, sign: 1n | -1n): void {
    const sums = this.#sums.get(names) ?? new Map<string, ValuePart>();
    this.#sums.set(names, sums);
    const name = JSON.stringify(values);
    const sum = sums.get(name) ?? { values, count: 0, micros: 0n };
    sums.set(name, {
      values,
      count: sum.count + Number(sign) * count,
      micros: sum.micros + sign * micros,
    });
  }

  /**
   * Returns the dimensions that add up to the line: others lack usage from before they were declared, or from before its first line.
   *
   * @param options `priced`: the names of the one whose values have prices. What it lacks counts as other values.
   */
  list(
    line: { readonly count: number; readonly micros: bigint },
    { priced }: { priced: string | undefined },
  ): LineParts[] {
    if (priced !== undefined) {
      const known = sumOf([...this.#sums.get(priced)?.values() ?? []]);
      const [count, micros] = [line.count - known.count, line.micros - known.micros];
      this.add(priced, { values: valuesOf("", priced), count, micros }, 1n);
    }
    return [...this.#sums].sort(([a], [b]) => a < b ? -1 : 1).flatMap(([names, sums]) => {
      const all = [...sums.values()];
      const total = sumOf(all);
      if (total.count !== line.count || total.micros !== line.micros) return [];
      const parts = all.filter(({ count, micros }) => count !== 0 || micros !== 0n).sort(largestFirst);
      return [{ names, parts }];
    });
  }
}

/** Adds up the amounts of values, in 10^-18. */
export function amountOf(parts: readonly ValuePart[], priceOf: PriceOf): bigint | null {
  return parts.reduce<bigint | null>(
    (sum, { micros, values }) => addAmount(sum, { micros, unitPrice: priceOf(values) }),
    null,
  );
}

type PriceOf = (values: readonly string[]) => string | null;

function sumOf(parts: readonly ValuePart[]): { count: number; micros: bigint } {
  let [count, micros] = [0, 0n];
  for (const part of parts) [count, micros] = [count + part.count, micros + part.micros];
  return { count, micros };
}

function largestFirst(a: ValuePart, b: ValuePart): number {
  const [own, other] = [a.micros, b.micros].map((micros) => micros < 0n ? -micros : micros);
  if (own !== other) return (own ?? 0n) > (other ?? 0n) ? -1 : 1;
  return JSON.stringify(a.values) < JSON.stringify(b.values) ? -1 : 1;
}

/** Returns the values of a sum's JSON. @param names JSON: the names of the properties. */
export function valuesOf(value: string, names: string): string[] {
  const list: string[] = JSON.parse(value || names);
  return value === "" ? list.map(() => otherValue) : list;
}

/** Reads the dimensions of lines of a closed statement. @param options `valuesMax`: how many values of each are listed. */
export async function withDimensions(
  database: DatabaseReader,
  lines: readonly StatementLineRow[],
  { statement, valuesMax, pause }: {
    statement: number;
    valuesMax: number;
    pause?: () => Promise<void>;
  },
): Promise<SplitLineRow[]> {
  const split: SplitLineRow[] = [];
  const lists = new PriceLists(database);
  for (let at = 0; at < lines.length; at += statementPageLinesPerRead) {
    if (at > 0) await pause?.();
    const some = lines.slice(at, at + statementPageLinesPerRead);
    const found = await findLineParts(database, { statement, lines: some });
    await lists.read(some);
    for (const [index, line] of some.entries()) {
      const price = { unitPrice: line.unitPrice, list: lists.of(line) };
      split.push({ ...line, dimensions: toLineDimensions(found.get(index) ?? [], { ...price, valuesMax }) });
    }
  }
  return split;
}

/** Returns the public form of a line's values. @param options `unitPrice`, `list`: the line's price, or prices by value. */
export function toLineDimensions(
  dimensions: readonly LineParts[],
  { unitPrice, list, valuesMax }: { unitPrice: string | null; list: ValuePrices | null; valuesMax: number },
): LineDimension[] {
  return dimensions.map(({ names, parts }) => {
    const properties: string[] = JSON.parse(names);
    const priceOf: PriceOf = (values) => list?.names === names ? list.priceOf(values) : unitPrice;
    const others = parts.slice(valuesMax);
    const { count, micros } = sumOf(others);
    return {
      properties,
      values: parts.slice(0, valuesMax).map((part) => ({
        properties: Object.fromEntries(properties.map((name, index) => [name, part.values[index] ?? ""])),
        quantity: microsToDecimal(part.micros),
        records: part.count,
        unitPrice: priceOf(part.values),
        amount: amountToDecimal(amountOf([part], priceOf)),
      })),
      others: others.length === 0 ? null : {
        values: others.length,
        quantity: microsToDecimal(micros),
        records: count,
        amount: amountToDecimal(amountOf(others, priceOf)),
      },
    };
  });
}
