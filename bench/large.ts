// Measures what grows with the number of records: fills one data file step by step, and compares each step with the first one. Usage:
// `./denow task bench:large`. docs/performance.md describes its settings. The default needs 40 GB of disk and an hour or more.
import { DatabaseSync } from "node:sqlite";
import { sendJson } from "../tests/support/process/journey.ts";
import { isReady, killProgram, type Program, startProgram } from "../tests/support/process/program.ts";
import { runCommand } from "../tests/support/process/command.ts";
import { processorMs } from "./cpu.ts";
import { checkLarge, createLarge, fillLarge, type LargeFile, metric, products } from "./large_fill.ts";
import { requireWrk, runLoad } from "./load.ts";
import { keyPlace, type LoadRequest } from "./lua.ts";
import { printLine, runToEnd, SetUpError, whole } from "./settings.ts";
import { median } from "./statistics.ts";

const rounds = whole("BENCH_ROUNDS", 3);
const seconds = whole("BENCH_SECONDS", 4);
const starts = 3;
const batchRecords = 1_000;
/** How long batches are recorded beside a report, and beside a backup. */
const besideSeconds = whole("BENCH_BESIDE_SECONDS", 30);
const logMbMax = 256;
const dayMs = 86_400_000;

/** A copy of the file with some number of records. */
interface Site {
  readonly records: number;
  readonly file: LargeFile;
  program: Program;
}

/** The measured values by figure and number of records, in the order of measuring. */
const figures = new Map<string, Map<number, number[]>>();

function note(name: string, { records }: Pick<Site, "records">, value: number): void {
  const all = figures.get(name) ?? new Map<number, number[]>();
  figures.set(name, all.set(records, [...all.get(records) ?? [], value]));
  printLine(`${name}, ${records.toLocaleString("en")} records: ${rounded(value)}`);
}

async function main(): Promise<void> {
  await requireWrk();
  const steps = (Deno.env.get("BENCH_RECORDS") ?? "10000000,100000000").split(",").map(Number);
  if (!steps.every((step, n) => Number.isSafeInteger(step) && step > (steps[n - 1] ?? 0))) {
    throw new SetUpError("BENCH_RECORDS: expected ascending numbers, such as 10000000,100000000");
  }
  const kept = Deno.env.get("BENCH_FOLDER");
  const folder = kept ?? await Deno.makeTempDir({ prefix: "gatehouse-large-" });
  const sites: Site[] = [];
  try {
    const file = await fillSteps(folder, steps);
    for (const records of steps) sites.push(await openSite(folder, { records, file }));
    for (let round = 0; round < rounds; round++) {
      for (const site of round % 2 === 0 ? sites : sites.toReversed()) await measureRound(site);
    }
    for (const site of sites) await measureOnce(site);
    printFigures(steps);
  } finally {
    for (const { program } of sites) await killProgram(program);
    if (kept === undefined) await Deno.remove(folder, { recursive: true });
  }
}

const stepPath = (folder: string, records: number) => `${folder}/step-${records}.db`;

/** Fills the file and keeps a copy of each step. Continues with what is in the folder. */
async function fillSteps(folder: string, steps: readonly number[]): Promise<LargeFile> {
  const description = `${folder}/filled.json`;
  const text = await Deno.readTextFile(description).catch(() => null);
  const file: LargeFile = text === null
    ? await createLarge(`${folder}/filled.db`, steps.at(-1) ?? 0)
    : JSON.parse(text);
  await Deno.writeTextFile(description, JSON.stringify(file));
  for (const records of steps) {
    const path = stepPath(folder, records);
    if (await Deno.stat(path).then(() => true, () => false)) continue;
    fillLarge(file, records, printLine);
    await checkLarge(file.path);
    await Deno.copyFile(file.path, path);
  }
  return file;
}

/** Makes a copy by backup and restore, and starts a server with it. */
async function openSite(folder: string, { records, file }: Omit<Site, "program">): Promise<Site> {
  const source = stepPath(folder, records);
  const path = `${folder}/work-${records}.db`;
  const backup = `${folder}/backup.db`;
  const { size } = await Deno.stat(source);
  note("file, bytes a record", { records }, size / records);
  note("gatehouse backup, s", { records }, await timed(source, { command: "backup", file: backup }));
  note("gatehouse restore, s", { records }, await timed(path, { command: "restore", file: backup }));
  await Deno.remove(backup);
  const site = { records, file: { ...file, path } };
  for (let n = 0; n < starts; n++) await stop(await start(site));
  return { ...site, program: await start(site) };
}

/** Runs a command on a data file. Returns how many seconds it took. */
async function timed(path: string, { command, file }: { command: string; file: string }): Promise<number> {
  const begin = performance.now();
  const env = { DATABASE_URL: `file:${path}` };
  const { status, stderr } = await runCommand({ folder: "/", env }, command, file);
  if (status !== 0) throw new Error(stderr);
  return (performance.now() - begin) / 1_000;
}

async function start(site: Omit<Site, "program">, env: Record<string, string> = {}): Promise<Program> {
  const { file: { path } } = site;
  const all = { DATABASE_URL: `file:${path}`, API_KEY_REQUESTS_PER_SECOND: "0", ...env };
  const begin = performance.now();
  const program = startProgram({ folder: path.replace(/[^/]*$/, ""), env: all });
  await isReady(program);
  note("start until the first response, ms", site, performance.now() - begin);
  note("start, CPU ms", site, await processorMs(program.pid));
  return program;
}

async function stop(program: Program): Promise<void> {
  program.kill("SIGTERM");
  await program.ended();
}

/** A request that records as the customer with most usage. @param keyed Records `count` of them, each with a random key. */
function recording(
  { program, file }: Site,
  { count, keyed }: { count: number; keyed: boolean },
): LoadRequest {
  const record = (n: number) => ({
    ...{ productSlug: products[n % products.length], metric, quantity: 1 },
    ...(keyed ? { idempotencyKey: keyPlace } : {}),
  });
  return {
    method: "POST",
    url: `${originOf(program)}/api/v1/usage${count === 1 ? "" : "/batch"}`,
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${file.apiKeys[0]}` },
    body: JSON.stringify(
      count === 1 ? record(0) : { records: Array.from({ length: count }, (_, n) => record(n)) },
    ),
  };
}

const originOf = ({ baseUrl }: Program) => baseUrl.replace("localhost", "127.0.0.1");

async function measureRound(site: Site): Promise<void> {
  const { program } = site;
  const loads = [["singles", 1, 128], ["batches with random keys", batchRecords, 8]] as const;
  for (const [name, count, connections] of loads) {
    const request = recording(site, { count, keyed: count > 1 });
    const before = await processorMs(program.pid);
    const { perSecond, requests } = await runLoad(request, { connections, seconds });
    note(`${name}, records/s`, site, perSecond * count);
    const used = await processorMs(program.pid) - before;
    note(`${name}, CPU µs a record`, site, used * 1_000 / requests / count);
  }
  const [from, to] = monthOf(site);
  const month = `from=${day(from)}&to=${day(to)}`;
  const reports = {
    "month by day, organization and product": `usage?${month}&window=day&groupBy=organization,productSlug`,
    "month of one organization by day": `usage?${month}&window=day&organizationId=${
      site.file.organizationIds[0]
    }`,
    "100 records of that month": `usage/records?${month}&limit=100&productSlug=${products[1]}`,
  };
  for (const [name, path] of Object.entries(reports)) {
    const begin = performance.now();
    await read(site, `operator/${path}`);
    note(`${name}, ms`, site, performance.now() - begin);
  }
}

async function read({ program, file }: Site, path: string): Promise<string> {
  const headers = { Authorization: `Bearer ${file.operatorToken}` };
  const response = await fetch(`${originOf(program)}/api/${path}`, { headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${text}`);
  return text;
}

const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** The last full month of the filled records. */
function monthOf({ records, file: { from, stepMs } }: Site): [from: number, to: number] {
  const end = new Date(from + records * stepMs);
  const month = (back: number) => Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - back, 1);
  return [month(1), month(0)];
}

async function measureOnce(site: Site): Promise<void> {
  const { program, file: { path, operatorToken, from } } = site;
  const cpuBefore = await processorMs(program.pid);
  const begin = performance.now();
  const json = { period: day(monthOf(site)[0]).slice(0, 7) };
  const response = await sendJson(program.baseUrl, "/api/operator/statements", {
    apiKey: operatorToken,
    json,
  });
  if (!response.ok) throw new Error(await response.text());
  const { statement } = await response.json();
  const isClosing = (text: string) => JSON.parse(text).statement.status === "closing";
  while (isClosing(await read(site, `operator/statements/${statement.id}`))) await pause(100);
  note("closing a month, ms", site, performance.now() - begin);
  note("closing a month, CPU ms", site, await processorMs(program.pid) - cpuBefore);
  const [start, end] = [from, from + 40 * dayMs].map(day);
  const report =
    `operator/usage.csv?from=${start}&to=${end}&window=hour&groupBy=organization,productSlug,metric`;
  await measureLog("report", site, () => readUntilAborted(site, report));
  await measureLog("backup", site, async () => {
    await timed(path, { command: "backup", file: `${path}.backup` });
    await Deno.remove(`${path}.backup`);
  });
  const status = await Deno.readTextFile(`/proc/${program.pid}/status`);
  note("peak memory, MB", site, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1_024);
  await stop(program);
  await measureRetention(site, Math.floor((Date.now() - from) / dayMs) - 1);
}

/** Reads a report as fast as it comes, for at most {@linkcode besideSeconds}. */
async function readUntilAborted(site: Site, path: string): Promise<void> {
  const { program, file } = site;
  const headers = { Authorization: `Bearer ${file.operatorToken}` };
  const signal = AbortSignal.timeout(besideSeconds * 1_000);
  const response = await fetch(`${originOf(program)}/api/${path}`, { headers, signal });
  if (!response.ok) throw new Error(await response.text());
  let bytes = 0;
  try {
    for await (const part of response.body ?? []) bytes += part.length;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  note("MB of that report", site, bytes / 1e6);
}

/** Notes the largest size of the log while batches are recorded beside something else. */
async function measureLog(beside: string, site: Site, act: () => Promise<void>): Promise<void> {
  let largest = 0;
  const watch = setInterval(() => largest = Math.max(largest, sizeOf(`${site.file.path}-wal`)), 50);
  const request = recording(site, { count: batchRecords, keyed: true });
  const [load] = await Promise.all([runLoad(request, { connections: 8, seconds: besideSeconds }), act()]);
  clearInterval(watch);
  note(`log beside a ${beside}, MB`, site, largest / 1e6);
  note(`batches beside a ${beside}, records/s`, site, load.perSecond * batchRecords);
}

const sizeOf = (path: string) => Deno.statSync(path).size;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Deletes all but some days of records. */
async function measureRetention(site: Site, days: number): Promise<void> {
  const { path, from, stepMs } = site.file;
  const sqlite = new DatabaseSync(path, { readOnly: true });
  const first = () => Number(sqlite.prepare("SELECT min(seq) AS seq FROM usage_records").get()?.["seq"]);
  const [oldest, last] = [first(), Math.floor((Date.now() - days * dayMs - from) / stepMs)];
  const server = await start(site, { USAGE_RETENTION_DAYS: String(days) });
  try {
    while (first() === oldest) await pause(10);
    const [begin, cpuBefore] = [performance.now(), await processorMs(server.pid)];
    while (first() < last) await pause(100);
    note("retention, records/s", site, (last - oldest) / (performance.now() - begin) * 1_000);
    note(
      "retention, CPU µs a record",
      site,
      (await processorMs(server.pid) - cpuBefore) * 1_000 / (last - oldest),
    );
  } finally {
    sqlite.close();
    await stop(server);
  }
}

function printFigures(steps: readonly number[]): void {
  printLine(
    `medians; ${rounds} rounds of ${seconds} s in turns where a figure has rounds; all rounds and ratios in parentheses`,
  );
  for (const [name, all] of figures) {
    const first = median(all.get(steps[0] ?? 0) ?? []);
    for (const [records, values] of all) {
      const middle = median(values);
      const list = values.map(rounded).join(" ");
      printLine(
        `${name.padEnd(48)} ${records.toLocaleString("en").padStart(13)} ${rounded(middle).padStart(9)} ` +
          `${(middle / first).toFixed(2)} (${list})${
            name.startsWith("log ") && middle > logMbMax ? " TOO LARGE" : ""
          }`,
      );
    }
  }
}

const rounded = (value: number) => value.toFixed(value < 20 ? 2 : 0);

if (import.meta.main) await runToEnd(main, "bench:large");
