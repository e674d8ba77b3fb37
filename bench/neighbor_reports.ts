// Measures GET /api/auth/me alone and while another organization with 10,000 series loads reports over 20 connections,
// the memory that takes, and the time to void the largest record of a busy quarter hour. Run it with
// `deno run --no-prompt --allow-all bench/neighbor_reports.ts`. BENCH_BINARY selects a compiled program.
import { Connection } from "../db/engine/connection.ts";
import { sql } from "../db/engine/database.ts";
import { createUsageRecordIds } from "../domain/meter/usage_record_id.ts";
import { sendJson, signUpAndRecord } from "../tests/support/process/journey.ts";
import { manySums } from "../tests/support/meter/many_sums.ts";
import { changeDataFile, grantVoids } from "../tests/support/operators/operators.ts";
import { isReady, startProgram } from "../tests/support/process/program.ts";
import { printLine, runToEnd } from "./settings.ts";

const connections = 20;
const seconds = 10;
const hours = 24;
const from = (Math.floor(Date.now() / 3_600_000) - hours) * 3_600_000;

/** Sends requests in sequence. @returns Their times in milliseconds, sorted. */
async function sample(baseUrl: string, cookie: string): Promise<number[]> {
  const times: number[] = [];
  const endsAt = performance.now() + seconds * 1000;
  while (performance.now() < endsAt) {
    const started = performance.now();
    await sendJson(baseUrl, "/api/auth/me", { cookie });
    times.push(performance.now() - started);
    // Pause, so that this program isn't the bottleneck.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return times.sort((a, b) => a - b);
}

function line(name: string, times: readonly number[]): string {
  const at = (share: number) => (times[Math.floor((times.length - 1) * share)] ?? NaN).toFixed(1);
  return `${name.padEnd(24)} ${times.length} requests, median ${at(0.5)} ms, 99% ${at(0.99)} ms, worst ${
    at(1)
  } ms`;
}

async function memoryMb(pid: number, which: "VmRSS" | "VmHWM"): Promise<string> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return (Number(new RegExp(`${which}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024).toFixed();
}

async function reports(baseUrl: string, apiKey: string, pid: number, cookie: string): Promise<void> {
  const alone = await sample(baseUrl, cookie);
  printLine(line("alone", alone));
  const before = await memoryMb(pid, "VmRSS");
  let [finished, isLoading] = [0, true];
  const url = `${baseUrl}/api/v1/usage?window=month&groupBy=productSlug,metric,apiKey`;
  const loads = Array.from({ length: connections }, async () => {
    while (isLoading) {
      const response = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } });
      for await (const _bytes of response.body ?? []);
      if (response.status !== 200) throw new Error(`${response.status}`);
      finished++;
    }
  });
  const beside = await sample(baseUrl, cookie);
  printLine(line(`during ${connections} reports`, beside));
  isLoading = false;
  const more = (beside.at(-1) ?? 0) - (alone.at(-1) ?? 0);
  printLine(`worst ${more.toFixed(1)} ms slower (aim: 20); ${finished} reports in ${seconds} s`);
  printLine(`memory: ${before} MB before, ${await memoryMb(pid, "VmHWM")} MB at most`);
  await Promise.all(loads);
}

/** Inserts records of one quarter hour, the last one the largest. */
function manyRecords(connection: Connection, { keyId, count }: { keyId: string; count: number }): void {
  const quarter = Math.floor(Date.now() / 900_000) - 8;
  const [row] = connection.all(
    sql`SELECT s.id, s.organization, c.seq FROM usage_series s JOIN api_keys k ON k.number = s.api_key, usage_cursor c
     WHERE k.id = ${keyId} AND s.product_slug = 'tiles'`,
  ) as { id: number; organization: number; seq: number }[];
  if (row === undefined) throw new Error("no series");
  const { id, organization, seq } = row;
  connection.exec("BEGIN IMMEDIATE");
  connection.run(
    sql`WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ${count})
     INSERT INTO usage_records SELECT ${seq} + value, ${organization}, ${id}, ${quarter} * 900000 + value % 900000, ${Date.now()}, value, 0, NULL, NULL FROM n`,
  );
  const rollups = [
    { table: sql`usage_rollups`, start: quarter },
    { table: sql`usage_rollups_hourly`, start: Math.floor(quarter / 4) },
  ];
  for (const { table, start } of rollups) {
    connection.run(sql`INSERT OR REPLACE INTO ${table} VALUES (${id}, ${start}, ${count}, 0,
      ${count * (count + 1) / 2}, 0, 1000000, CAST(${count * 1_000_000} AS INTEGER))`);
  }
  connection.run(sql`UPDATE usage_cursor SET seq = seq + ${count}`);
  connection.exec("COMMIT");
}

async function voids(baseUrl: string, folder: string, keyId: string, fullKey: string): Promise<void> {
  for (const count of [200_000, 1_000_000]) {
    const connection = new Connection(`${folder}/data/gatehouse.db`, { readOnly: false });
    const [{ key }] = connection.all(sql`SELECT key FROM record_id_key`) as [{ key: string }];
    connection.run(sql`DELETE FROM usage_records`);
    manyRecords(connection, { keyId, count });
    connection.close();
    const authorization = `Bearer ${fullKey}`;
    const list = await fetch(`${baseUrl}/api/v1/usage/records?limit=100&metric=requests`, {
      headers: { authorization },
    });
    const { usageRecords } = await list.json() as { usageRecords: { id: string; quantity: number }[] };
    // The newest 100 of a million records may not include the largest one, so look it up.
    const reader = new Connection(`${folder}/data/gatehouse.db`, { readOnly: true });
    const [largest] = reader.all(sql`SELECT max(seq) AS seq FROM usage_records`) as { seq: number }[];
    reader.close();
    if (usageRecords.length === 0 || largest === undefined) throw new Error("no records");
    const { recordedAt } = usageRecords[0] as unknown as { recordedAt: string };
    const id = createUsageRecordIds(key).of({ seq: largest.seq, recordedAt: Date.parse(recordedAt) });
    let isVoiding = true;
    const writes: number[] = [];
    const writing = (async () => {
      while (isVoiding) {
        const started = performance.now();
        await sendJson(baseUrl, "/api/v1/usage", {
          apiKey: fullKey,
          json: { productSlug: "other", metric: "m", quantity: 1 },
        });
        writes.push(performance.now() - started);
      }
    })();
    changeDataFile(folder, grantVoids);
    const started = performance.now();
    const response = await sendJson(baseUrl, `/api/v1/usage/records/${id}/void`, {
      apiKey: fullKey,
      json: { reason: "Bench." },
    });
    const took = performance.now() - started;
    isVoiding = false;
    await writing;
    if (response.status !== 200) throw new Error(await response.text());
    writes.sort((a, b) => a - b);
    printLine(
      `void of the largest of ${count.toLocaleString("en")}: ${took.toFixed()} ms; records meanwhile: worst ${
        writes.at(-1)?.toFixed(1)
      } ms`,
    );
  }
}

async function main(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-bench-" });
  const binary = Deno.env.get("BENCH_BINARY");
  const program = startProgram({
    folder,
    ...(binary === undefined ? {} : { binary }),
    env: { API_KEY_REQUESTS_PER_SECOND: "0" },
  });
  try {
    await isReady(program);
    const { baseUrl, pid } = program;
    const busy = await signUpAndRecord(baseUrl, "busy@example.com");
    const { cookie } = await signUpAndRecord(baseUrl, "neighbor@example.com");
    const connection = new Connection(`${folder}/data/gatehouse.db`, { readOnly: false });
    for (const statement of manySums({ series: 9_990, hours, keyId: busy.keyId, from })) {
      connection.run(statement);
    }
    connection.close();
    await reports(baseUrl, busy.fullKey, pid, cookie);
    await voids(baseUrl, folder, busy.keyId, busy.fullKey);
  } finally {
    program.kill("SIGKILL");
    await program.ended();
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await runToEnd(main);
