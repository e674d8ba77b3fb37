// Measures a month's usage of 10,000 organizations with 20 series each, as the reports thread reads it: CSV by organization, and the
// sums of a statement. Run it with `deno task bench:usage`. Times are processor times, so other work on the machine matters less.
import { Connection } from "../db/engine/connection.ts";
import type { Database, Statement } from "../db/engine/database.ts";
import { openEmbedded } from "../db/engine/embedded.ts";
import { migrate } from "../db/engine/migrate.ts";
import { sumWindows } from "../db/meter/window_totals.ts";
import { usageCsv } from "../services/meter/jobs/usage_export.ts";
import { noJobContext } from "../tests/support/app/reports.ts";
import { printLine, runToEnd } from "./settings.ts";

const organizations = 10_000;
const organizationsPerStep = 500;
const rounds = 5;
const hourMs = 3_600_000;
const [start, end] = [Date.UTC(2026, 9, 1), Date.UTC(2026, 10, 1)];

/** One row per series and month, and the hours around the ends of the month. */
function fill(connection: Connection): void {
  const upTo = (count: number) =>
    `WITH RECURSIVE n (v) AS (SELECT 0 UNION ALL SELECT v + 1 FROM n WHERE v + 1 < ${count})`;
  connection.exec("BEGIN");
  connection.exec(`${upTo(organizations)} INSERT INTO organizations (number, id, name, created_at)
    SELECT v + 1, 'org_' || format('%024d', v), 'Customer ' || v, 0 FROM n`);
  connection.exec(
    `${upTo(organizations * 20)} INSERT INTO usage_series (organization, product_slug, metric, api_key)
    SELECT v / 20 + 1, 'product-' || (v % 20 / 5), 'metric-' || (v % 5), v / 20 + 1 FROM n`,
  );
  const series = "FROM usage_series s WHERE s.organization <> 0";
  connection.exec(`INSERT INTO usage_rollups_monthly
    SELECT 681, organization, id, 700 + id % 50, 0, 70000 + id, id % 7 * 250000, 1000000, 99000000, 1, 2 ${series}`);
  for (const edge of [start, end]) {
    connection.exec(`${upTo(48)} INSERT INTO usage_rollups_hourly
      SELECT s.id, ${edge / hourMs - 24} + v, 3, 0, 5, 250000, 1000000, 2000000
      FROM usage_series s, n WHERE s.organization <> 0 ORDER BY 1, 2`);
  }
  connection.exec("COMMIT");
}

/** Milliseconds of processor time of this thread. */
function processorTime(): number {
  return Number(Deno.readTextFileSync("/proc/thread-self/schedstat").split(" ")[0]) / 1e6;
}

async function measure(name: string, act: () => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = processorTime();
    await act();
    times.push(processorTime() - before);
  }
  printLine(`${name.padEnd(45)} ${times.sort((a, b) => a - b)[rounds >> 1]?.toFixed()} ms`);
}

async function main(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-bench-" });
  const path = `${folder}/usage.db`;
  const onFatal = (error: unknown) => {
    throw error;
  };
  const empty = await openEmbedded({ path, create: "file", onFatal });
  await migrate(empty, { now: 0 });
  await empty.close();
  const connection = new Connection(path, { readOnly: false });
  try {
    fill(connection);
    const database = {
      read: (statement: Statement) => Promise.resolve(connection.all(statement)),
      readFirst: (statement: Statement) => Promise.resolve(connection.first(statement)),
    } as unknown as Database;
    for (const groupBy of [["organization", "metric"], ["organization", "productSlug", "metric"]] as const) {
      const range = { from: "2026-10-01", to: "2026-11-01", window: "month", now: end } as const;
      const input = { ...range, groupBy, organizationIds: undefined };
      await measure(`CSV by ${groupBy.join(", ")}`, () => usageCsv({ ...noJobContext, database }, input));
    }
    const zones = { UTC: 0, "Europe/Berlin": 1 };
    for (const [zone, hours] of Object.entries(zones)) {
      const window = { start: start - 2 * hours * hourMs, end: end - hours * hourMs };
      await measure(`statement, ${zone}`, async () => {
        for (let after = 0; after < organizations; after += organizationsPerStep) {
          await sumWindows(database, [window], { after, through: after + organizationsPerStep });
        }
      });
    }
  } finally {
    connection.close();
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await runToEnd(main);
