// Checks rollups of every length against the records, and totals against the series of all organizations.
import assert from "node:assert/strict";
import type { Database } from "../../../db/engine/database.ts";
import { dimensionValuesMax } from "../../../domain/meter/dimension.ts";
import { unknownMaximum, unknownMinimum } from "../../../db/meter/usage_voids.ts";

type Row = Readonly<Record<string, string | number | null>>;
/** Reads the rows of a query. */
export type ReadRows = (query: string) => Promise<Row[]>;

/** @returns What {@linkcode checkRollups} reads a database with. */
export function rowsOf(database: Database): ReadRows {
  return (query) => database.read({ sql: query, args: [] });
}

/** Checks each series' quarters against a slow but simple sum of its records, then all levels against the quarters. */
export async function checkRollups(read: ReadRows): Promise<void> {
  const expected = new Map<string, Total>();
  for await (const record of recordsOf(read)) {
    const micros = BigInt(record["whole"] ?? 0) * 1_000_000n + BigInt(record["micro"] ?? 0);
    const name = `${record["series"]} ${record["quarter"]}`;
    addTo(expected, name, { count: 1, micros, smallest: micros, largest: micros });
  }
  assert.deepEqual(await readLevel(read, "quarters of series"), expected);
  await checkRollupLevels(read);
  await checkDimensions(read);
}

/** Checks the sums of each value of each dimension against a slow but simple sum of the records that they count. */
export async function checkDimensions(read: ReadRows): Promise<void> {
  const dimensions = await read(
    "SELECT d.number, d.names, d.unfilled_seq, s.id AS series FROM usage_dimensions d JOIN usage_series s " +
      "ON s.product_slug = d.product AND s.metric = d.metric WHERE d.removed_at IS NULL",
  );
  const values = await read("SELECT dimension, organization, month, value FROM usage_dimension_values");
  const known = new Set(values.map((row) => Object.values(row).join(" ")));
  const months = Map.groupBy(
    values.filter(({ value }) => value !== ""),
    ({ dimension, organization, month }) => `${dimension} ${organization} ${month}`,
  );
  for (const [month, list] of months) assert.ok(list.length <= dimensionValuesMax, month);
  const expected = new Map<string, Total>();
  for await (const record of recordsOf(read)) {
    const micros = BigInt(record["whole"] ?? 0) * 1_000_000n + BigInt(record["micro"] ?? 0);
    const properties = JSON.parse(String(record["properties"] ?? "{}"));
    for (const { number, names, unfilled_seq, series } of dimensions) {
      if (series !== record["series"] || Number(record["seq"]) <= Number(unfilled_seq)) continue;
      const own = JSON.stringify(
        JSON.parse(String(names)).map((name: string) => properties[name] ?? "(none)"),
      );
      const quarter = Number(record["quarter"]);
      const month = `${number} ${record["organization"]} ${monthOf(quarter)}`;
      const value = known.has(`${month} ${own}`) ? own : "";
      assert.ok(known.has(`${month} ${value}`), `${month} has no row for ${own}`);
      assert.ok(
        value !== "" || months.get(month)?.length === dimensionValuesMax,
        `${month} had room for ${own}`,
      );
      for (const stretch of [`quarter ${quarter}`, `hour ${hourOf(quarter)}`, `month ${monthOf(quarter)}`]) {
        const total = { count: 1, micros, smallest: micros, largest: micros };
        addTo(expected, `${number} ${series} ${monthOf(quarter)} ${stretch} ${value}`, total);
      }
    }
  }
  const rows = await read(
    `SELECT v.dimension || ' ' || ds.series || ' ' || v.month AS value_month, v.value, q.*
     FROM usage_dimension_series ds JOIN usage_dimension_values v ON v.number = ds.value
     JOIN usage_dimensions d ON d.number = v.dimension AND d.removed_at IS NULL
     JOIN (SELECT 'quarter ' || quarter AS stretch, series AS of, count, CAST(sum_high AS TEXT) AS high,
         CAST(sum_low AS TEXT) AS low, CAST(sum_micro AS TEXT) AS micro, CAST(smallest AS TEXT) AS smallest,
         CAST(largest AS TEXT) AS largest FROM usage_rollups
       UNION ALL SELECT 'hour ' || hour, series, count, CAST(sum_high AS TEXT), CAST(sum_low AS TEXT),
         CAST(sum_micro AS TEXT), CAST(smallest AS TEXT), CAST(largest AS TEXT) FROM usage_rollups_hourly
       UNION ALL SELECT 'month ' || month, series, count, CAST(sum_high AS TEXT), CAST(sum_low AS TEXT),
         CAST(sum_micro AS TEXT), CAST(smallest AS TEXT), CAST(largest AS TEXT) FROM usage_rollups_monthly
         WHERE organization = -4294967296) q ON q.of = -ds.id WHERE q.count <> 0`,
  );
  const found = new Map(
    rows.map((row) => [`${row["value_month"]} ${row["stretch"]} ${row["value"]}`, totalOf(row)]),
  );
  assert.deepEqual(found, expected, "values of dimensions");
}

/** Keeps each response below the 10 MB limit of a libSQL server. */
const pageRecords = 10_000;

/** Reads the records that aren't voided. */
export async function* recordsOf(read: ReadRows): AsyncGenerator<Row> {
  for (
    let seq = 0, rows: Row[] = [];
    seq === 0 || rows.length === pageRecords;
    seq = Number(rows.at(-1)?.["seq"])
  ) {
    rows = await read(
      `SELECT r.seq, r.organization, r.series, r.properties, r.timestamp, r.timestamp / 900000 AS quarter, CAST(r.quantity_whole AS TEXT) AS whole,
         r.quantity_micro AS micro
       FROM usage_records r WHERE r.seq > ${seq} AND r.seq NOT IN (SELECT v.seq FROM usage_voids v)
       ORDER BY r.seq LIMIT ${pageRecords}`,
    );
    for (const row of rows) yield { ...row, month: monthOf(Number(row["quarter"])) };
  }
}

const levels = {
  "quarters of series":
    "u.quarter AS stretch, u.* FROM usage_rollups u JOIN s ON s.id = u.series AND s.organization <> 0",
  "hours of series":
    "u.hour AS stretch, u.* FROM usage_rollups_hourly u JOIN s ON s.id = u.series AND s.organization <> 0",
  "months of series":
    "u.month AS stretch, u.* FROM usage_rollups_monthly u WHERE u.organization <> 0 AND u.series > 0",
  "quarters of totals":
    "u.quarter AS stretch, u.* FROM usage_rollups u JOIN s ON s.id = u.series AND s.organization = 0",
  "hours of totals":
    "u.hour AS stretch, u.* FROM usage_rollups_hourly u JOIN s ON s.id = u.series AND s.organization = 0",
  "months of totals": "u.month AS stretch, u.* FROM usage_rollups_monthly u WHERE u.organization = 0",
} as const;

/**
 * Checks that all rollups are the sums of those of the series' quarters, while no organization has been deleted. Extremes of
 * totals may be unknown.
 */
export async function checkRollupLevels(read: ReadRows): Promise<void> {
  const quarters = await readLevel(read, "quarters of series");
  const totals = new Map(
    (await read("SELECT id, total FROM usage_series WHERE organization <> 0"))
      .map(({ id, total }) => [String(id), String(total)]),
  );
  const lengths = { quarters: (quarter: number) => quarter, hours: hourOf, months: monthOf };
  for (const [length, stretchOf] of Object.entries(lengths)) {
    for (const whose of ["series", "totals"]) {
      const expected = new Map<string, Total>();
      for (const [name, total] of quarters) {
        const [series = "", quarter] = name.split(" ");
        addTo(
          expected,
          `${whose === "series" ? series : totals.get(series)} ${stretchOf(Number(quarter))}`,
          total,
        );
      }
      const level = `${length} of ${whose}` as keyof typeof levels;
      const found = await readLevel(read, level);
      for (const [name, total] of whose === "totals" ? found : []) {
        const { smallest, largest } = expected.get(name) ?? total;
        if (total.smallest === unknownMinimum) total.smallest = smallest;
        if (total.largest === unknownMaximum) total.largest = largest;
      }
      assert.deepEqual(found, expected, level);
    }
  }
  const outside = await read(
    `SELECT m.month, m.series FROM usage_rollups_monthly m JOIN usage_rollups q ON q.series = m.series
       AND (strftime('%Y', q.quarter * 900, 'unixepoch') - 1970) * 12 + strftime('%m', q.quarter * 900, 'unixepoch') - 1
         = m.month
     WHERE m.count > 0 GROUP BY m.month, m.organization, m.series
     HAVING NOT (m.first_quarter BETWEEN min(q.quarter) AND min(iif(q.count > 0, q.quarter, NULL))
       AND m.last_quarter BETWEEN max(iif(q.count > 0, q.quarter, NULL)) AND max(q.quarter))`,
  );
  assert.deepEqual(outside, [], "the first and last quarters of months");
}

interface Total {
  count: number;
  micros: bigint;
  smallest: bigint;
  largest: bigint;
}

function addTo(totals: Map<string, Total>, name: string, { count, micros, smallest, largest }: Total): void {
  const total = totals.get(name) ?? { count: 0, micros: 0n, smallest, largest };
  total.count += count;
  total.micros += micros;
  if (smallest < total.smallest) total.smallest = smallest;
  if (largest > total.largest) total.largest = largest;
  totals.set(name, total);
}

const hourOf = (quarter: number) => Math.floor(quarter / 4);

function monthOf(quarter: number): number {
  const time = new Date(quarter * 900_000);
  return (time.getUTCFullYear() - 1970) * 12 + time.getUTCMonth();
}

/** @returns The rollups of a length that have records, by series and number. */
async function readLevel(
  read: ReadRows,
  level: keyof typeof levels,
): Promise<Map<string, Total>> {
  const rollups = await read(
    `WITH s AS (SELECT id, organization FROM usage_series)
     SELECT series, stretch, count, CAST(sum_high AS TEXT) AS high, CAST(sum_low AS TEXT) AS low,
       CAST(sum_micro AS TEXT) AS micro, CAST(smallest AS TEXT) AS smallest, CAST(largest AS TEXT) AS largest
     FROM (SELECT ${levels[level]}) WHERE count <> 0`,
  );
  const found = new Map(rollups.map((row) => [
    `${row["series"]} ${row["stretch"]}`,
    totalOf(row),
  ]));
  assert.equal(found.size, rollups.length);
  return found;
}

function totalOf(row: Row): Total {
  return {
    count: Number(row["count"]),
    micros: ((BigInt(row["high"] ?? 0) << 26n) + BigInt(row["low"] ?? 0)) * 1_000_000n +
      BigInt(row["micro"] ?? 0),
    // Integers, or texts with 16 digits before the decimal point and 6 after. Both are millionths.
    smallest: BigInt(row["smallest"] ?? 0),
    largest: BigInt(row["largest"] ?? 0),
  };
}
