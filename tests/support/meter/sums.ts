// Sums by name, to compare with those of the database.
import { quantityMicros, splitQuantity } from "../../../domain/meter/quantity.ts";

export interface Sum {
  count: number;
  micros: bigint;
}

export const microsOf = (quantity: number) =>
  quantityMicros(splitQuantity(quantity) ?? { whole: 0, micro: 0 });

export function add(sums: Map<string, Sum>, name: string, { count, micros }: Sum): void {
  const sum = sums.get(name) ?? { count: 0, micros: 0n };
  sums.set(name, { count: sum.count + count, micros: sum.micros + micros });
}

/** @returns Sums that are not 0, by name. */
export function withoutZeros(sums: Map<string, Sum>): [string, Sum][] {
  return [...sums].filter(([, { count, micros }]) => count !== 0 || micros !== 0n).sort(([a], [b]) =>
    a < b ? -1 : 1
  );
}
