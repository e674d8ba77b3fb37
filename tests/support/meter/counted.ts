// A catalogue whose metrics are counted in every way, and a check of what is stored for it against the records.
import assert from "node:assert/strict";
import type { Statement } from "../../../db/engine/database.ts";
import { sendJson } from "../process/journey.ts";
import { type ReadRows, recordsOf } from "./rollups.ts";

type Metrics = Readonly<
  Record<string, { dimensions?: string[][]; aggregation?: string; uniqueProperty?: string }>
>;

/** Two catalogues for the products and properties that a `Ledger` records. */
const catalogues: readonly [Metrics, Metrics] = [
  {
    requests: { dimensions: [["region"], ["region", "user"]], aggregation: "last" },
    bytes: { dimensions: [["user"]], aggregation: "unique", uniqueProperty: "user" },
  },
  {
    requests: { dimensions: [["region"], ["user"]], aggregation: "unique", uniqueProperty: "region" },
    bytes: { dimensions: [["region"]], aggregation: "last" },
  },
];

/** Adds a product to the catalogue of a running program, or changes how its usage is summed and counted. */
export async function declareCounting(
  { baseUrl, fullToken, which, isNew }: { baseUrl: string; fullToken: string; which: 0 | 1; isNew: boolean },
): Promise<void> {
  const path = "/api/operator/products";
  const metrics = Object.entries(catalogues[which]).map(([slug, metric]) => ({
    slug,
    name: slug,
    ...metric,
  }));
  const response = await sendJson(baseUrl, isNew ? path : `${path}/tiles`, {
    method: isNew ? "POST" : "PATCH",
    apiKey: fullToken,
    json: isNew ? { slug: "tiles", name: "Tiles", metrics } : { metrics },
  });
  assert.ok(response.ok, await response.text());
}

/** Declares the first catalogue of {@linkcode declareCounting} in an empty database. */
export const countingDeclared: readonly Statement[] = Object.entries(catalogues[0]).flatMap((
  [metric, counting],
) => [
  ...(counting.dimensions ?? []).map((names) => ({
    sql:
      `INSERT INTO usage_dimensions (product, metric, names, name_1, name_2, unfilled_seq) VALUES ('tiles', ?, ?, ?, ?, 0)`,
    args: [metric, JSON.stringify(names), names[0] ?? "", names[1] ?? null],
  })),
  {
    sql:
      `INSERT INTO usage_aggregations (product, metric, aggregation, property, unfilled_seq) VALUES ('tiles', ?, ?, ?, 0)`,
    args: [metric, counting.aggregation ?? "sum", counting.uniqueProperty ?? null],
  },
]);

/** Checks latest records and distinct values, while no month has too many, against the records that are counted. */
export async function checkCounted(read: ReadRows): Promise<void> {
  const kinds = await read(
    `SELECT g.number, g.aggregation, g.property, g.unfilled_seq, s.id AS series FROM usage_aggregations g
     JOIN usage_series s ON s.product_slug = g.product AND s.metric = g.metric WHERE g.removed_at IS NULL`,
  );
  const bySeries = new Map(kinds.map((kind) => [kind["series"], kind]));
  const latest = new Map<string, [time: number, seq: number]>();
  const unique = new Map<string, number>();
  for await (const { series, quarter, seq, timestamp, properties, month } of recordsOf(read)) {
    const kind = bySeries.get(series ?? null);
    if (kind === undefined || Number(seq) <= Number(kind["unfilled_seq"])) continue;
    if (kind["aggregation"] === "last") {
      const name = `${kind["number"]} ${series} ${quarter}`;
      const [time = -1, last = -1] = latest.get(name) ?? [];
      const isLater = Number(timestamp) > time || (Number(timestamp) === time && Number(seq) > last);
      if (isLater) latest.set(name, [Number(timestamp), Number(seq)]);
    }
    const value = JSON.parse(String(properties ?? "{}"))[String(kind["property"])];
    if (kind["aggregation"] !== "unique" || value === undefined) continue;
    for (const stretch of [`quarter ${quarter}`, `month ${month}`]) {
      const name = `${kind["number"]} ${series} ${stretch} ${value}`;
      unique.set(name, (unique.get(name) ?? 0) + 1);
    }
  }
  const isLive = "aggregation IN (SELECT number FROM usage_aggregations WHERE removed_at IS NULL)";
  const latestRows = await read(
    `SELECT aggregation || ' ' || series || ' ' || quarter AS name, timestamp, seq FROM usage_latest WHERE ${isLive}`,
  );
  assert.deepEqual(
    new Map(latestRows.map(({ name, timestamp, seq }) => [String(name), [timestamp, seq]])),
    latest,
    "latest records",
  );
  const uniqueRows = await read(
    `SELECT u.name || v.value AS name, u.count FROM (
       SELECT aggregation, aggregation || ' ' || series || ' quarter ' || quarter || ' ' AS name, value, count
       FROM usage_unique_quarters
       UNION ALL SELECT aggregation, aggregation || ' ' || series || ' month ' || month || ' ', value, count
       FROM usage_unique_months) u
     JOIN usage_unique_values v ON v.number = u.value WHERE u.count <> 0 AND u.${isLive}`,
  );
  assert.deepEqual(
    new Map(uniqueRows.map(({ name, count }) => [String(name), count])),
    unique,
    "distinct values",
  );
  const limits = await read(
    `SELECT l.known, l.others, (SELECT count(*) FROM usage_unique_values v WHERE v.aggregation = l.aggregation
       AND v.organization = l.organization AND v.month = l.month) AS stored
     FROM usage_unique_limits l WHERE l.${isLive}`,
  );
  for (const { known, others, stored } of limits) assert.deepEqual([known, others], [stored, 0]);
}
