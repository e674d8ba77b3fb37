// Creates data files with many records, for one run or kept for later ones (BENCH_DATABASE). Runs work with a copy of a
// kept file.
import { DatabaseSync } from "node:sqlite";
import { isReady, type Program, startProgram } from "../tests/support/process/program.ts";
import { type Account, signUp } from "./account.ts";
import { prefill, seriesKeys } from "./prefill.ts";
import { SetUpError } from "./settings.ts";

/** A filled data file. */
export interface Filled {
  readonly path: string;
  readonly records: number;
  readonly account: Account;
  /** Date of the first record. */
  readonly from: string;
  readonly to: string;
  /** Size of the file after a checkpoint with an empty WAL. */
  readonly bytes: number;
  /** Sizes of the largest tables and indexes. */
  readonly parts: readonly { readonly name: string; readonly bytes: number }[];
  /** Records per second while it was filled. */
  readonly perSecond: number;
}

const dayMs = 86_400_000;
const filledDays = 30;
const partsShown = 6;

/**
 * Creates or copies a filled data file.
 *
 * @param options `folder`: the folder of this run. `kept`: path of a file to keep for later runs.
 * @returns A file that this run may write to.
 * @throws {SetUpError} When the kept file doesn't match the options.
 */
export async function openFilled(
  options: { records: number; folder: string; kept?: string | undefined },
): Promise<Filled> {
  const { records, kept } = options;
  const path = `${options.folder}/filled-${records}.db`;
  if (kept === undefined) return await fill(path, records);
  const description = `${kept}.json`;
  const text = await Deno.readTextFile(description).catch(() => null);
  let filled: Filled;
  if (text !== null) filled = JSON.parse(text);
  else {
    if (await Deno.stat(kept).then(() => true, () => false)) {
      throw new SetUpError(
        `BENCH_DATABASE: ${description} is missing: ${kept} is incomplete, or was not created by this benchmark`,
      );
    }
    filled = await fill(kept, records);
    await Deno.writeTextFile(description, JSON.stringify(filled));
  }
  if (filled.records !== records) {
    throw new SetUpError(
      `BENCH_DATABASE: ${kept} has ${filled.records} records instead of ${records}: remove it and its .json, or set BENCH_RECORDS`,
    );
  }
  await Deno.copyFile(kept, path);
  // Otherwise the system would write it to disk during the first measurements.
  using file = await Deno.open(path, { write: true });
  await file.sync();
  return { ...filled, path };
}

async function fill(path: string, records: number): Promise<Filled> {
  const account = await withServer(path, (server) => signUp(server.baseUrl, { keys: seriesKeys }));
  const now = Date.now();
  const from = now - filledDays * dayMs;
  const apiKeys = account.apiKeys.map(({ fullKey }) => fullKey);
  const perSecond = await prefill(path, { records, apiKeys, from, to: now });
  const date = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  return {
    path,
    records,
    account,
    from: date(from),
    to: date(now + dayMs),
    perSecond,
    ...await measureSize(path),
  };
}

async function withServer<T>(path: string, act: (server: Program) => Promise<T>): Promise<T> {
  const folder = path.replace(/[^/]*$/, "") || ".";
  const server = startProgram({ folder, env: { DATABASE_URL: `file:${path}`, LOG_LEVEL: "warning" } });
  try {
    await isReady(server);
    return await act(server);
  } finally {
    server.kill("SIGTERM");
    await server.ended();
  }
}

async function measureSize(path: string): Promise<Pick<Filled, "bytes" | "parts">> {
  const sqlite = new DatabaseSync(path);
  sqlite.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const parts = sqlite.prepare(
    "SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY bytes DESC LIMIT ?",
  ).all(partsShown) as unknown as { name: string; bytes: number }[];
  sqlite.close();
  const sizeOf = (file: string) => Deno.stat(file).then(({ size }) => size, () => 0);
  // Only the file is copied, not its WAL.
  if (await sizeOf(`${path}-wal`) > 0) throw new Error(`${path}: another process is using its WAL`);
  return { bytes: await sizeOf(path), parts };
}
