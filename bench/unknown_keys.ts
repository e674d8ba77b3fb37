// Measures recording while unknown keys flood the server from a million addresses: none, mistyped keys of ours, which aren't looked
// up, and keys as another system issues them, which are, before and after keys were imported. It imports them as a customer moving in
// would, which is timed too. Run it with `deno run --no-prompt --allow-all bench/unknown_keys.ts`. BENCH_SQLD=1 uses a libSQL server.
import { randomBytes } from "node:crypto";
import { startSqld } from "../tests/support/database/sqld.ts";
import { runCommand } from "../tests/support/process/command.ts";
import { sendJson, signUpAndRecord } from "../tests/support/process/journey.ts";
import { isReady, startProgram } from "../tests/support/process/program.ts";
import { runLoad } from "./load.ts";
import { printLine, runToEnd, whole } from "./settings.ts";
import { median } from "./statistics.ts";

const rounds = whole("BENCH_ROUNDS", 9);
const seconds = whole("BENCH_SECONDS", 3);
const importedKeys = whole("BENCH_KEYS", 100_000);
const keysPerRequest = 1_000;
const connections = 32;
const floodConnections = 16;
/** Keys of one length: a tag and random characters. */
const floods = { mistyped: ["service_live_", 38], foreign: ["acme_live_", 41] } as const;

/** Sends keys as fast as they are rejected. @returns Responses per second. */
async function flood(baseUrl: string, [tag, length]: readonly [string, number]): Promise<number> {
  const script = await Deno.makeTempFile({ suffix: ".lua" });
  const characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  await Deno.writeTextFile(
    script,
    `local characters = "${characters}"
math.randomseed(os.time())
local body = '{"productSlug":"tiles","metric":"requests","quantity":1}'
local key = {}
function request()
  for n = 1, ${length} do
    local c = math.random(62)
    key[n] = characters:sub(c, c)
  end
  local address = string.format("10.%d.%d.%d", math.random(16), math.random(250), math.random(250))
  return wrk.format("POST", "/api/v1/usage", {
    ["Content-Type"] = "application/json",
    ["Authorization"] = "Bearer ${tag}" .. table.concat(key),
    ["X-Forwarded-For"] = address,
  }, body)
end`,
  );
  const args = ["-t1", `-c${floodConnections}`, `-d${seconds}s`, "-s", script, baseUrl];
  const { stdout } = await new Deno.Command("wrk", { args, stdin: "null" }).output();
  await Deno.remove(script);
  const text = new TextDecoder().decode(stdout);
  const [, requests, rejected] = /(\d+) requests in[\s\S]*Non-2xx or 3xx responses: (\d+)/.exec(text) ?? [];
  if (requests === undefined || requests !== rejected) throw new Error(text);
  return Number(rejected) / seconds;
}

interface Running {
  readonly baseUrl: string;
  readonly pid: number;
  readonly fullKey: string;
}

/** @returns The processor time that a process has used, in seconds. */
async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await Deno.readTextFile(`/proc/${pid}/stat`)).replace(/^.*\) /, "").split(" ");
  // utime and stime, in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Measures each kind of flood in turn. */
async function measure({ baseUrl, pid, fullKey }: Running, title: string): Promise<void> {
  const url = `${baseUrl.replace("localhost", "127.0.0.1")}`;
  const record = () =>
    runLoad({
      method: "POST",
      url: `${url}/api/v1/usage`,
      headers: { Authorization: `Bearer ${fullKey}`, "Content-Type": "application/json" },
      body: JSON.stringify({ productSlug: "tiles", metric: "requests", quantity: 1 }),
    }, { connections, seconds });
  const rejectedCpu = async (kind: keyof typeof floods) => {
    const before = await cpuSeconds(pid);
    const rejected = await flood(url, floods[kind]) * seconds;
    return (await cpuSeconds(pid) - before) * 1e6 / rejected;
  };
  const ratios: { rate: number; p50: number; p99: number; rejected: number }[] = [];
  const cpu: { mistyped: number; foreign: number }[] = [];
  const last = { none: 0, mistyped: 0, foreign: 0 };
  for (let round = -1; round < rounds; round++) {
    last.none = (await record()).perSecond;
    const run = async (kind: keyof typeof floods) => {
      const [recorded, rejected] = await Promise.all([record(), flood(url, floods[kind])]);
      last[kind] = recorded.perSecond;
      return { ...recorded, rejected };
    };
    // The order changes, because the machine may be busier from one to the next.
    const foreignFirst = round % 2 === 0 ? await run("foreign") : undefined;
    const mistyped = await run("mistyped");
    const foreign = foreignFirst ?? await run("foreign");
    const cpuOfRound = { mistyped: await rejectedCpu("mistyped"), foreign: await rejectedCpu("foreign") };
    // The first round warms up.
    if (round < 0) continue;
    cpu.push(cpuOfRound);
    ratios.push({
      rate: foreign.perSecond / mistyped.perSecond,
      p50: foreign.p50Ms / mistyped.p50Ms,
      p99: foreign.p99Ms / mistyped.p99Ms,
      rejected: foreign.rejected / mistyped.rejected,
    });
    printLine(
      `records/s: ${last.none.toFixed()} alone; ${last.mistyped.toFixed()} during ${mistyped.rejected.toFixed()} mistyped ` +
        `keys/s; ${last.foreign.toFixed()} during ${foreign.rejected.toFixed()} foreign keys/s; ` +
        `p99 ${mistyped.p99Ms.toFixed(1)} and ${foreign.p99Ms.toFixed(1)} ms`,
    );
  }
  const middle = (of: "rate" | "p50" | "p99" | "rejected") =>
    median(ratios.map((ratio) => ratio[of])).toFixed(2);
  const micros = (kind: keyof typeof floods) => median(cpu.map((one) => one[kind])).toFixed();
  printLine(`CPU of a rejected request: mistyped ${micros("mistyped")} µs, foreign ${micros("foreign")} µs`);
  printLine(
    `${title}: foreign to mistyped keys, medians: records/s ${middle("rate")}, response time ${
      middle("p50")
    }, ` +
      `p99 ${middle("p99")}; rejected keys/s ${middle("rejected")}`,
  );
}

/** Imports keys of many organizations, one request after the other. */
async function importMany(baseUrl: string, token: string): Promise<void> {
  const send = async (method: string, path: string, json: unknown) => {
    const response = await sendJson(baseUrl, `/api/operator${path}`, { method, apiKey: token, json });
    if (!response.ok) throw new Error(await response.text());
    return await response.json();
  };
  const organizations = 20;
  for (let n = 0; n < organizations; n++) {
    const { organization } = await send("POST", "/organizations", {
      name: "Customer",
      externalId: `customer-${n}`,
    });
    await send("PATCH", `/organizations/${organization.id}`, { overrides: { apiKeysMax: 10_000 } });
  }
  const started = performance.now();
  for (let at = 0; at < importedKeys; at += keysPerRequest) {
    const keys = Array.from({ length: keysPerRequest }, (_, n) => ({
      externalId: `customer-${n % organizations}`,
      name: "Production",
      sha256: randomBytes(32).toString("base64"),
      prefix: "acme_live_3ZaB",
    }));
    const { imported } = await send("POST", "/api-keys/import", { keys });
    if (imported !== keysPerRequest) throw new Error(`imported ${imported}`);
  }
  const took = (performance.now() - started) / 1_000;
  printLine(
    `imported ${importedKeys} keys in ${took.toFixed(1)} s, ${(importedKeys / took).toFixed()} a second`,
  );
}

async function main(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-bench-" });
  const sqld = Deno.env.get("BENCH_SQLD") === "1" ? await startSqld() : undefined;
  const env = {
    API_KEY_REQUESTS_PER_SECOND: "0",
    HTTP_THREADS: "2",
    LOG_LEVEL: "warning",
    TRUSTED_PROXIES: "127.0.0.1",
    ...(sqld === undefined ? {} : { DATABASE_URL: sqld.url }),
  };
  const program = startProgram({ folder, env });
  try {
    await isReady(program);
    const { baseUrl, pid } = program;
    const { fullKey } = await signUpAndRecord(baseUrl);
    await measure({ baseUrl, pid, fullKey }, "nothing imported");
    const scope = "organizations:write,keys:write";
    const { stdout } = await runCommand({ folder, env }, "token", "create", "Move", "--scope", scope);
    await importMany(baseUrl, stdout.trim());
    await measure({ baseUrl, pid, fullKey }, `${importedKeys} imported`);
  } finally {
    program.kill("SIGKILL");
    await program.ended();
    await sqld?.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await runToEnd(main);
