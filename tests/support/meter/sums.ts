// Sums by name, to compare with those of the database.
import { type DatabaseReader, sql, type Statement } from "../../../db/engine/database.ts";
import { quantityMicros, splitQuantity, sumMicros } from "../../../domain/meter/quantity.ts";

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

/** Adds up monthly rollups by metric. @param which A condition on the number of their organization. */
export async function sumsOfMonths(database: DatabaseReader, which: Statement): Promise<Map<string, Sum>> {
  const sums = new Map<string, Sum>();
  const rows = await database.read<
    { metric: string; count: number; high: string; low: string; micro: string }
  >(sql`SELECT s.metric, r.count, CAST(r.sum_high AS TEXT) AS high, CAST(r.sum_low AS TEXT) AS low,
      CAST(r.sum_micro AS TEXT) AS micro
    FROM (SELECT * FROM usage_rollups_monthly WHERE ${which}) r JOIN usage_series s ON s.id = r.series`);
  for (const row of rows) add(sums, row.metric, { count: row.count, micros: sumMicros(row) });
  return sums;
}
