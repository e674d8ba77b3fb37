// Fills a data file with very many records, in steps that a server could have recorded: two months or more of a steady rate, from 100
// organizations, every second record with a random idempotency key. Rows of records are written with SQL, 200,000 in a transaction;
// rollups and the index of idempotency keys are written by the recorder's own statements.
import { DatabaseSync } from "node:sqlite";
import { bind, integer, sql, type Statement } from "../db/engine/database.ts";
import { indexHash, moveIdempotencyKeys } from "../db/meter/idempotency_keys.ts";
import { addRecords, moveCursor } from "../db/meter/recorder.ts";
import { addUp } from "../db/meter/rollups.ts";
import { lowBits } from "../domain/meter/quantity.ts";
import { idempotencyKeyHash } from "../domain/meter/usage_record.ts";
import { checkRollups, type ReadRows } from "../tests/support/meter/rollups.ts";
import { runCommand } from "../tests/support/process/command.ts";
import { sendJson } from "../tests/support/process/journey.ts";
import { isReady, startProgram } from "../tests/support/process/program.ts";

/** The customers of a filled file and its records so far. */
export interface LargeFile {
  readonly path: string;
  /** An operator's token with all scopes needed. */
  readonly operatorToken: string;
  readonly organizationIds: readonly string[];
  /** A key of each organization. */
  readonly apiKeys: readonly string[];
  /** The time of the first record, and the time between two. */
  readonly from: number;
  readonly stepMs: number;
}

export const metric = "requests";
const organizations = 100;
export const products = Array.from({ length: 5 }, (_, n) => `product-${n}`);
const transactionRecords = 200_000;
/** Files up to this size are compared record by record. */
const comparedRecordsMax = 200_000;
const monthsOfRecords = 13;
const scopes = ["organizations:write", "keys:write", "usage:read", "statements:read", "statements:write"];

/** Creates a data file with customers and without records. @param records How many are to come, in {@linkcode monthsOfRecords} until now. */
export async function createLarge(path: string, records: number): Promise<LargeFile> {
  const folder = path.replace(/[^/]*$/, "");
  const env = { DATABASE_URL: `file:${path}`, LOG_LEVEL: "warning" };
  const server = startProgram({ folder, env });
  const organizationIds: string[] = [];
  const apiKeys: string[] = [];
  let operatorToken: string;
  try {
    await isReady(server);
    const { stdout } = await runCommand(
      { folder, env },
      ...["token", "create", "Large", ...scopes.flatMap((scope) => ["--scope", scope])],
    );
    operatorToken = stdout.trim();
    const create = async (route: string, json: unknown) => {
      const by = { method: "POST", json, apiKey: operatorToken };
      const response = await sendJson(server.baseUrl, `/api/operator${route}`, by);
      if (response.status !== 201) throw new Error(await response.text());
      return await response.json();
    };
    for (let n = 0; n < organizations; n++) {
      const { organization } = await create("/organizations", {
        name: `Customer ${n}`,
        externalId: `cus_${n}`,
      });
      const { fullKey } = await create(`/organizations/${organization.id}/api-keys`, { name: "Production" });
      organizationIds.push(organization.id);
      apiKeys.push(fullKey);
    }
  } finally {
    server.kill("SIGTERM");
    await server.ended();
  }
  const now = new Date();
  const from = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsOfRecords + 1, 1);
  const sqlite = new DatabaseSync(path);
  for (const product of products) {
    sqlite.exec(`INSERT INTO usage_series (organization, product_slug, metric, api_key)
      SELECT o.number, '${product}', '${metric}', k.number FROM organizations o JOIN api_keys k ON k.organization_id = o.id`);
  }
  sqlite.close();
  return { path, operatorToken, organizationIds, apiKeys, from, stepMs: (now.getTime() - from) / records };
}

/** Adds records until the file has so many. @param print Prints the progress. */
export function fillLarge(
  { path, from, stepMs }: LargeFile,
  records: number,
  print: (line: string) => void,
): void {
  const sqlite = new DatabaseSync(path);
  const run = ({ sql: text, args }: Statement) => sqlite.prepare(text).run(...args);
  // Nothing needs to survive a crash before the end, and one rewrite of a page is enough.
  for (
    const pragma of [
      "journal_mode = DELETE",
      "journal_mode = OFF",
      "synchronous = OFF",
      "temp_store = MEMORY",
    ]
  ) {
    sqlite.exec(`PRAGMA ${pragma}`);
  }
  sqlite.exec("PRAGMA cache_size = -1500000");
  sqlite.function("key_hash", { deterministic: true }, (key) => idempotencyKeyHash(String(key)));
  sqlite.exec("CREATE TEMP TABLE filled_series (n INTEGER PRIMARY KEY, organization, series)");
  sqlite.exec(
    `INSERT INTO filled_series SELECT row_number() OVER (ORDER BY id * 7919 % 1009) - 1, organization, id
    FROM usage_series WHERE organization > 0`,
  );
  const { n: series } = sqlite.prepare("SELECT count(*) AS n FROM filled_series").get() as { n: number };
  const seqOf = () => Number(sqlite.prepare("SELECT seq FROM usage_cursor").get()?.["seq"]);
  for (let first = seqOf(), begin = performance.now(); first < records; first = seqOf()) {
    const count = Math.min(transactionRecords, records - first);
    sqlite.exec("BEGIN");
    for (const statement of statementsFor({ first, count, series, from, stepMs })) run(statement);
    sqlite.exec("COMMIT");
    const seconds = (performance.now() - begin) / 1_000;
    begin = performance.now();
    print(
      `${(first + count).toLocaleString("en")} records, ${
        Math.round(count / seconds).toLocaleString("en")
      } a second`,
    );
  }
  sqlite.exec(`UPDATE api_keys SET last_used_at = ${Math.floor(from + records * stepMs)}`);
  sqlite.exec("PRAGMA journal_mode = DELETE");
  sqlite.exec("PRAGMA journal_mode = WAL");
  sqlite.close();
}

function statementsFor(
  { first, count, series, from, stepMs }: Record<"first" | "count" | "series" | "from" | "stepMs", number>,
): Statement[] {
  // A few series have most of the usage.
  const someSeries = sql`abs(random() % ${integer(series)}) * abs(random() % ${integer(series)}) / ${
    integer(series)
  }`;
  const at = sql`CAST(${integer(from)} + (${integer(first)} + v) * ${stepMs} AS INTEGER)`;
  const keys = Math.floor(count / 2);
  return [
    sql`WITH RECURSIVE n (v) AS (SELECT 0 UNION ALL SELECT v + 1 FROM n WHERE v + 1 < ${integer(count)})
      INSERT INTO usage_records (seq, organization, series, timestamp, recorded_at, quantity_whole, quantity_micro,
        idempotency_key)
      SELECT ${integer(first + 1)} + v, f.organization, f.series, ${at}, ${at}, abs(random() % 1000),
        iif(random() & 3, 0, 500000), iif(v & 1, 'req_' || lower(hex(randomblob(16))), NULL)
      FROM n CROSS JOIN temp.filled_series f ON f.n = ${someSeries}`,
    addRecords,
    sql`INSERT INTO usage_keys_recent (hash, seq) SELECT ${
      indexHash(sql`key_hash(idempotency_key)`, sql`organization`)
    }, seq
      FROM usage_records WHERE seq > ${integer(first)} AND idempotency_key IS NOT NULL ORDER BY 1`,
    ...moveIdempotencyKeys(keys),
    ...addUp(false),
    bind(moveCursor, count, keys),
  ];
}

/** Compares sums of the records with those of all rollups and totals, and their idempotency keys. @throws When they differ. */
export async function checkLarge(path: string): Promise<void> {
  const sqlite = new DatabaseSync(path, { readOnly: true });
  const rowOf = (query: string) => sqlite.prepare(query).get() as Record<string, number>;
  // Sums by series and time in one number each, because sorting all records would take longer than filling the file.
  const records = rowOf(`SELECT count(*) AS count, sum(quantity_whole) AS whole, sum(quantity_micro) AS micro,
    sum(quantity_whole * series) AS series, sum(quantity_whole * (timestamp / 900000 % 9973)) AS quarter,
    sum(quantity_whole * (timestamp / 3600000 % 9973)) AS hour, count(idempotency_key) AS keys FROM usage_records`);
  const expect = (what: string, found: number | undefined, expected: number | undefined) => {
    if (found !== expected) throw new Error(`${what}: ${found} instead of ${expected}`);
  };
  for (const [table, unit] of [["", "quarter"], ["_hourly", "hour"], ["_monthly", "month"]] as const) {
    for (const isTotal of [false, true]) {
      const name = `usage_rollups${table}${isTotal ? " of totals" : ""}`;
      const found = rowOf(`SELECT sum(count) AS count, sum(whole) AS whole, sum(sum_micro) AS micro,
        sum(whole * series) AS series, sum(whole * (unit % 9973)) AS unit FROM (
          SELECT r.*, r.${unit} AS unit, sum_high * ${
        2 ** lowBits
      } + sum_low AS whole FROM usage_rollups${table} r
          JOIN usage_series s ON s.id = r.series WHERE (s.organization = 0) = ${Number(isTotal)})`);
      for (const column of ["count", "whole", "micro"]) expect(name, found[column], records[column]);
      if (!isTotal) expect(`${name} by series`, found["series"], records["series"]);
      if (unit !== "month") expect(`${name} by time`, found["unit"], records[unit]);
    }
  }
  const keys = ["recent", "middle", "settled"].map((name) => `(SELECT count(*) FROM usage_keys_${name})`);
  expect("idempotency keys", rowOf(`SELECT ${keys.join(" + ")} AS keys`)["keys"], records["keys"]);
  if (Number(records["count"]) <= comparedRecordsMax) {
    await checkRollups(((query) => Promise.resolve(sqlite.prepare(query).all())) as ReadRows);
  }
  sqlite.close();
}
