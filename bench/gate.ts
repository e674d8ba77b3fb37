// The gate: compares the binary of the working tree with that of the last commit that passed, in turns within one run, by what a first
// start, an idle program and the hot requests cost. Usage: `./denow task bench:gate [COMMIT]`. It takes three to four minutes and fails
// beyond 5%.
import { output, root } from "../tests/support/build/sources.ts";
import { killProgram, type Program, startProgram } from "../tests/support/process/program.ts";
import { sendJson } from "../tests/support/process/journey.ts";
import { signUp } from "./account.ts";
import { processorMs } from "./cpu.ts";
import { requireWrk, runLoad } from "./load.ts";
import type { LoadRequest } from "./lua.ts";
import { printLine, runToEnd, SetUpError } from "./settings.ts";
import { median } from "./statistics.ts";

/** The last commit that passed, for the next run. */
const passedFile = `${root}bench/gate.json`;
const ratioMax = 1.05;
const starts = 7;
/** V8 returns after a while what the start used. */
const idleSeconds = 30;
const rounds = 12;
const turnSeconds = 1;
const connections = 128;
const threads = "2";

/** A version of the program. */
interface Side {
  readonly folder: string;
  /** The path of its binary. */
  readonly command: string;
}

/** The costs of both sides, a pair for each round. */
type Costs = readonly (readonly [now: number, before: number])[];

const ratioOf = (costs: Costs) => median(costs.map(([now, before]) => now / before));

async function main(): Promise<void> {
  await requireWrk();
  const before = Deno.args[0] ??
    (JSON.parse(await Deno.readTextFile(passedFile)) as { commit: string }).commit;
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-gate-" });
  try {
    const sides = [
      await compiled(root, `${folder}/now`),
      await checkout(before, `${folder}/before`),
    ] as const;
    const costs = { ...await measureStarts(sides), ...await measureRequests(sides) };
    const ratios = Object.entries(costs).map(([name, all]) => {
      const ratio = ratioOf(all);
      const list = all.map(([now, before]) => (now / before).toFixed(2)).join(" ");
      const [now, then] = [0, 1].map((side) => median(all.map((pair) => pair[side] ?? NaN)).toFixed(1));
      printLine(`${name}: ${ratio.toFixed(3)} (${list}); ${now} now, ${then} before`);
      return { name, ratio };
    });
    const failed = ratios.filter(({ ratio }) => !(ratio <= ratioMax)).map(({ name }) => name);
    const line = ratios.map(({ name, ratio }) => `${name.replace(/,.*/, "")} ${ratio.toFixed(2)}`).join(", ");
    printLine(`gate against ${before.slice(0, 8)}: ${line}`);
    if (failed.length > 0) throw new SetUpError(`more than ${ratioMax} of before: ${failed.join("; ")}`);
    await notePassed();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** @param source A checkout, with a slash at its end. */
async function compiled(source: string, folder: string): Promise<Side> {
  const command = `${folder}/gatehouse`;
  await Deno.mkdir(folder, { recursive: true });
  await output(Deno.execPath(), ["task", "compile", command], { cwd: source });
  return { folder, command };
}

/** @param commit From a time when `deno task compile` took the path of the binary. */
async function checkout(commit: string, folder: string): Promise<Side> {
  const source = `${folder}/source/`;
  await Deno.mkdir(source, { recursive: true });
  await output("git", ["archive", `--output=${folder}/source.tar`, commit]);
  await output("tar", ["-xf", `${folder}/source.tar`, "-C", source]);
  return await compiled(source, folder);
}

function start({ folder, command }: Side, name: string): Program {
  const env = {
    ...{ DATABASE_URL: `file:${folder}/${name}.db`, HTTP_THREADS: threads, LOG_LEVEL: "warning" },
    API_KEY_REQUESTS_PER_SECOND: "0",
  };
  return startProgram({ folder, binary: command, env });
}

async function ready({ baseUrl }: Program): Promise<void> {
  for (;;) {
    const response = await fetch(`${baseUrl}/health/ready`).catch(() => null);
    await response?.body?.cancel();
    if (response?.ok) return;
    await pause(2);
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts both in turns and leaves all running, idle, until their memory is read. */
async function measureStarts(sides: readonly Side[]): Promise<Record<string, Costs>> {
  const programs: Program[][] = [];
  const cpu: number[][] = [];
  try {
    for (let n = -1; n < starts; n++) {
      // The first start creates the data file and fills the system's caches.
      const [row, times] = [[] as Program[], [] as number[]];
      for (const side of inTurn(sides, n)) {
        const program = start(side, `start${n}`);
        row.push(program);
        await ready(program);
        times.push(await processorMs(program.pid));
      }
      programs.push(inTurn(row, n));
      if (n >= 0) cpu.push(inTurn(times, n));
    }
    await pause(idleSeconds * 1_000);
    const memory = await Promise.all(programs.slice(1).map((row) => Promise.all(row.map(anonymousMb))));
    return { "CPU of a start, ms": cpu.map(pair), "idle memory, MB": memory.map(pair) };
  } finally {
    for (const program of programs.flat()) await killProgram(program);
  }
}

async function anonymousMb({ pid }: Program): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
}

/** Sends each hot request to both in turns. */
async function measureRequests(sides: readonly Side[]): Promise<Record<string, Costs>> {
  const programs: Program[] = [];
  try {
    const servers: { pid: number; requests: Record<string, LoadRequest> }[] = [];
    for (const side of sides) {
      const program = start(side, "load");
      programs.push(program);
      await ready(program);
      servers.push({ pid: program.pid, requests: await hotRequests(program, side) });
    }
    const names = Object.keys(servers[0]?.requests ?? {});
    const costs = Object.fromEntries(names.map((name) => [name, [] as (readonly [number, number])[]]));
    for (let n = -1; n < 2 * rounds; n++) {
      for (const [name, all] of Object.entries(costs)) {
        // What seems too dear is measured twice as long, because other work on the machine makes noise.
        if (n >= rounds && ratioOf(all.slice(0, rounds)) <= ratioMax) continue;
        const times: number[] = [];
        for (const { pid, requests } of inTurn(servers, n)) {
          const request = requests[name];
          if (request === undefined) throw new Error(name);
          const before = await processorMs(pid);
          const sent = await runLoad(request, { connections, seconds: turnSeconds });
          times.push((await processorMs(pid) - before) * 1_000 / sent.requests);
        }
        if (n >= 0) all.push(pair(inTurn(times, n)));
      }
    }
    return costs;
  } finally {
    for (const program of programs) await killProgram(program);
  }
}

/** @returns The requests whose CPU time is measured, by the name of the figure. */
async function hotRequests(
  { baseUrl }: Program,
  { folder, command }: Side,
): Promise<Record<string, LoadRequest>> {
  const account = await signUp(baseUrl, { keys: 1 });
  const token = (...scopes: readonly string[]) =>
    output(command, ["token", "create", "Gate", ...scopes.flatMap((scope) => ["--scope", scope])], {
      env: { DATABASE_URL: `file:${folder}/load.db` },
    });
  const apiKey = await token("organizations:write", "statements:write");
  const operator = async (method: string, path: string, json: unknown) => {
    const response = await sendJson(baseUrl, `/api/operator${path}`, { method, json, apiKey });
    if (!response.ok) throw new Error(await response.text());
  };
  const { organizationId } = JSON.parse(account.sessionUser) as { organizationId: string };
  await operator("POST", "/products", {
    ...{ slug: "models", name: "Models" },
    metrics: [{ slug: "tokens", name: "Tokens", dimensions: [["model"]] }],
  });
  const limit = { productSlug: "models", metric: "tokens", per: "month", quantity: 1e12, mode: "hard" };
  await operator("PATCH", `/organizations/${organizationId}`, { overrides: { limits: [limit] } });
  const origin = baseUrl.replace("localhost", "127.0.0.1");
  const key = account.apiKeys[0]?.fullKey ?? "";
  const post = (path: string, bearer: string, json: unknown): LoadRequest => ({
    ...{ method: "POST", url: `${origin}${path}`, body: JSON.stringify(json) },
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${bearer}` },
  });
  const dimensioned = {
    ...{ productSlug: "models", metric: "tokens", quantity: 1 },
    properties: { model: "large" },
  };
  return {
    "singles, µs": post("/api/v1/usage", key, { productSlug: "tiles", metric: "requests", quantity: 1 }),
    "me, µs": { method: "GET", url: `${origin}/api/auth/me`, headers: { Cookie: account.cookie } },
    "verify, µs": post("/api/v1/keys/verify", await token("keys:verify"), { key }),
    "limit with a dimension, µs": post("/api/v1/usage", key, dimensioned),
  };
}

/** @returns The same in every second round the other way around, so that nobody always comes first. */
function inTurn<T>(sides: readonly T[], round: number): T[] {
  return round % 2 === 0 ? [...sides] : [...sides].reverse();
}

function pair(values: readonly number[]): readonly [number, number] {
  return [values[0] ?? NaN, values[1] ?? NaN];
}

/** Notes the commit for the next run, if the working tree is a commit. */
async function notePassed(): Promise<void> {
  if (await output("git", ["status", "--porcelain"]) !== "") {
    printLine("passed; bench/gate.json names only committed trees, so it stays");
    return;
  }
  const commit = await output("git", ["rev-parse", "HEAD"]);
  await Deno.writeTextFile(passedFile, `{ "commit": "${commit}" }\n`);
  printLine("passed, noted in bench/gate.json");
}

if (import.meta.main) await runToEnd(main, "bench:gate");
