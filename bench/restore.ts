// Measures how long a backup and a restore of a large data file take, and how a backup affects a server under load.
// Run it with `./denow run -A bench/restore.ts`. BENCH_RECORDS and BENCH_DATABASE work as in main.ts.
import { runCommand } from "../tests/support/process/command.ts";
import { sendJson } from "../tests/support/process/journey.ts";
import { isReady, killProgram, startProgram } from "../tests/support/process/program.ts";
import { type Filled, openFilled } from "./filled.ts";

const clients = 32;
const loadMs = 10_000;

interface Load {
  readonly perSecond: number;
  /** 99th percentile and maximum of the response times, in milliseconds. */
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly rejected: number;
}

/** Sends single records until `isOver` returns true. */
async function load(baseUrl: string, apiKey: string, isOver: () => boolean): Promise<Load> {
  const waits: number[] = [];
  let rejected = 0;
  const json = { productSlug: "product-1", metric: "requests", quantity: 1 };
  const client = async () => {
    while (!isOver()) {
      const begin = performance.now();
      const response = await sendJson(baseUrl, "/api/v1/usage", {
        apiKey,
        json: { ...json, idempotencyKey: crypto.randomUUID() },
      });
      waits.push(performance.now() - begin);
      if (response.status !== 201) rejected++;
    }
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - begin) / 1000;
  waits.sort((one, other) => one - other);
  return {
    perSecond: Math.round(waits.length / seconds),
    p99Ms: Math.round(waits[Math.floor(waits.length * 0.99)] ?? 0),
    maxMs: Math.round(waits.at(-1) ?? 0),
    rejected,
  };
}

async function backUpUnderLoad({ path, account }: Filled, folder: string) {
  const env = { DATABASE_URL: `file:${path}`, LOG_LEVEL: "warning", API_KEY_REQUESTS_PER_SECOND: "0" };
  const server = startProgram({ folder, env });
  try {
    await isReady(server);
    const apiKey = account.apiKeys[0]?.fullKey ?? "";
    const end = performance.now() + loadMs;
    const without = await load(server.baseUrl, apiKey, () => performance.now() > end);
    let seconds: number | undefined;
    const begin = performance.now();
    const backingUp = runCommand({ folder, env }, "backup", "under-load.db").then((done) => {
      seconds = (performance.now() - begin) / 1000;
      if (done.status !== 0) throw new Error(done.stderr);
    });
    const during = await load(server.baseUrl, apiKey, () => seconds !== undefined);
    await backingUp;
    const { size } = await Deno.stat(`${path}-wal`);
    return { without, during, seconds, logMiBAfter: Math.round(size / 1024 / 1024) };
  } finally {
    await killProgram(server);
  }
}

async function timed(folder: string, env: Record<string, string>, ...args: string[]): Promise<number> {
  const begin = performance.now();
  const { status, stderr } = await runCommand({ folder, env }, ...args);
  if (status !== 0) throw new Error(stderr);
  return (performance.now() - begin) / 1000;
}

if (import.meta.main) {
  const records = Number(Deno.env.get("BENCH_RECORDS") ?? 10_000_000);
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-restore-" });
  try {
    const filled = await openFilled({ records, folder, kept: Deno.env.get("BENCH_DATABASE") });
    const env = { DATABASE_URL: `file:${filled.path}` };
    const backupSeconds = await timed(folder, env, "backup", "kept.db");
    const restoreSeconds = await timed(folder, env, "restore", "kept.db");
    const underLoad = await backUpUnderLoad(filled, folder);
    const { size } = await Deno.stat(`${folder}/kept.db`);
    const figures = {
      records,
      fileMiB: Math.round(size / 1024 / 1024),
      backupSeconds,
      restoreSeconds,
      underLoad,
    };
    Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(figures, null, 2)}\n`));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
