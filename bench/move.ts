// Measures `gatehouse move` from a file to a libSQL server: killed in the middle, then resumed. Afterwards counts and exact sums
// must be the same, and the file must not have changed.
// Run it with `./denow run -A bench/move.ts`. BENCH_RECORDS and BENCH_DATABASE work as in main.ts.
import { setTimeout as delay } from "node:timers/promises";
import { openDatabase, openReader } from "../db/engine/open.ts";
import { moveRequestTimeoutMs } from "../domain/move_limits.ts";
import type { Database } from "../db/engine/database.ts";
import { startSqld } from "../tests/support/database/sqld.ts";
import { sourceCommand } from "../tests/support/process/program.ts";
import { openFilled } from "./filled.ts";

const pollMs = 500;
/** Exact: quantities are sums of integers. */
const sums = [
  "SELECT count(*) AS rows, sum(quantity_whole) AS whole, sum(quantity_micro) AS micro, max(seq) AS seq FROM usage_records",
  ...["usage_rollups", "usage_rollups_hourly", "usage_rollups_monthly"].map((table) =>
    `SELECT count(*) AS rows, sum(count) AS count, sum(sum_high) AS high, sum(sum_low) AS low, sum(sum_micro) AS micro FROM ${table}`
  ),
  ...["recent", "middle", "settled"].map((part) =>
    `SELECT count(*) AS rows, sum(seq) AS seq FROM usage_keys_${part}`
  ),
];

/** Runs the command until it ends, or until `isEnough` is true: then kills it. */
async function move(
  path: string,
  { to, isEnough }: { to: string; isEnough: () => Promise<boolean> },
): Promise<{ seconds: number; peakMiB: number; status: number }> {
  const [program = "", ...args] = [...sourceCommand(), "move", "--to", to];
  const begin = performance.now();
  const child = new Deno.Command(program, { args, env: { DATABASE_URL: `file:${path}` } }).spawn();
  let peakKiB = 0;
  let isOver = false;
  const status = child.status.then(({ code }) => (isOver = true, code));
  while (!isOver) {
    await Promise.race([delay(pollMs), status]);
    const text = await Deno.readTextFile(`/proc/${child.pid}/status`).catch(() => "");
    peakKiB = Math.max(peakKiB, Number(/VmHWM:\s+(\d+)/.exec(text)?.[1] ?? 0));
    if (!isOver && await isEnough()) child.kill("SIGKILL");
  }
  return {
    seconds: Math.round((performance.now() - begin) / 1000),
    peakMiB: Math.round(peakKiB / 1024),
    status: await status,
  };
}

async function readSums(database: Database): Promise<string> {
  const results = [];
  for (const sql of sums) results.push(...await database.read({ sql, args: [] }));
  return JSON.stringify(results);
}

async function digest(path: string): Promise<string> {
  const { stdout } = await new Deno.Command("sha256sum", { args: [path] }).output();
  return new TextDecoder().decode(stdout).slice(0, 64);
}

function print(figures: unknown): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${Deno.inspect(figures)}\n`));
}

const records = Number(Deno.env.get("BENCH_RECORDS") ?? 10_000_000);
const folder = await Deno.makeTempDir({ prefix: "gatehouse-move-" });
const server = await startSqld(undefined, { onDisk: true });
try {
  const { path, bytes } = await openFilled({ records, folder, kept: Deno.env.get("BENCH_DATABASE") });
  const before = await digest(path);
  const remote = await openDatabase({ kind: "remote", url: server.url, authToken: undefined }, {
    onFatal: () => {},
    timeoutMs: moveRequestTimeoutMs,
  });
  const isHalf = async () => {
    const sql = "SELECT seq FROM usage_records ORDER BY seq DESC LIMIT 1";
    const row = await remote.readFirst<{ seq: number }>({ sql, args: [] }).catch(() => undefined);
    return (row?.seq ?? 0) > records / 2;
  };
  print({ killed: await move(path, { to: server.url, isEnough: isHalf }) });
  print({ resumed: await move(path, { to: server.url, isEnough: () => Promise.resolve(false) }) });
  const file = await openReader({ kind: "file", path });
  const [own, theirs] = [await readSums(file), await readSums(remote)];
  print({
    records,
    fileMiB: Math.round(bytes / 2 ** 20),
    serverMiB: Math.round(await server.bytes() / 2 ** 20),
    areSumsEqual: own === theirs,
    isFileUnchanged: await digest(path) === before,
    sums: own,
  });
  await file.close();
  await remote.close();
} finally {
  await server.stop();
  await Deno.remove(folder, { recursive: true });
}
// The deadlines of requests that have ended would keep the process alive.
Deno.exit();
