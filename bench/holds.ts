// Compares holding and settling with single records, and with records of the same limit: how many of both together the program does for
// each single record. Run it with `deno run --no-prompt --allow-all bench/holds.ts`.
import { sendJson } from "../tests/support/process/journey.ts";
import { isReady, killProgram, startProgram } from "../tests/support/process/program.ts";
import { runCommand } from "../tests/support/process/command.ts";
import { signUp } from "./account.ts";
import { processorMs } from "./cpu.ts";
import { requireWrk, runLoad } from "./load.ts";
import type { LoadRequest } from "./lua.ts";
import { printLine, runToEnd, whole } from "./settings.ts";
import { median } from "./statistics.ts";

const rounds = whole("BENCH_ROUNDS", 9);
const seconds = whole("BENCH_SECONDS", 2);
const threads = Deno.env.get("HTTP_THREADS") ?? "2";
const connections = 128;
const usage = { productSlug: "models", metric: "tokens", quantity: 1 };

const pairs = "hold and settle";

/** One round of one kind of work. A hold with its settlement counts as one. */
interface Round {
  readonly rate: number;
  /** Microseconds of CPU. */
  readonly costs: number;
}

/** Lua that holds, and settles each hold once. */
const holdAndSettle = `
local waiting = {}
function request()
  local id = table.remove(waiting)
  if id == nil then return wrk.format() end
  return wrk.format("POST", "/api/v1/holds/" .. id .. "/settle")
end
function response(_, _, body)
  if body:find('"status":"active"', 1, true) then waiting[#waiting + 1] = body:match('hld_%x+') end
end`;

async function main(): Promise<void> {
  await requireWrk();
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-holds-" });
  const env = { HTTP_THREADS: threads, LOG_LEVEL: "warning", API_KEY_REQUESTS_PER_SECOND: "0" };
  const program = startProgram({ folder, env });
  try {
    await isReady(program);
    const requests = await requestsOf(program.baseUrl, folder);
    const names = Object.keys(requests);
    const all = Object.fromEntries(names.map((name) => [name, [] as Round[]]));
    for (let round = -1; round < rounds; round++) {
      for (const name of round % 2 === 0 ? names : names.toReversed()) {
        const before = await processorMs(program.pid);
        const { perSecond, requests: sent } = await runLoad(requests[name]!, { connections, seconds });
        const costs = (await processorMs(program.pid) - before) * 1_000 / sent;
        const each = name === pairs ? 2 : 1;
        if (round >= 0) all[name]!.push({ rate: perSecond / each, costs: costs * each });
      }
    }
    for (const name of names) {
      const ratio = (of: (round: Round, other: Round) => number) =>
        median(all[pairs]!.map((one, round) => of(one, all[name]![round]!))).toFixed(2);
      const rate = Math.round(median(all[name]!.map(({ rate }) => rate))).toLocaleString("en");
      const costs = median(all[name]!.map(({ costs }) => costs)).toFixed(0);
      printLine(
        `${name}: ${rate} a second, ${costs} µs of CPU; hold and settle: ${
          ratio((one, other) => one.rate / other.rate)
        } of the rate, ` +
          `${ratio((one, other) => other.costs / one.costs)} for the same CPU`,
      );
    }
  } finally {
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
}

async function requestsOf(baseUrl: string, folder: string): Promise<Record<string, LoadRequest>> {
  const { apiKeys, sessionUser } = await signUp(baseUrl, { keys: 1 });
  const created = await runCommand({ folder }, "token", "create", "Bench", "--scope", "organizations:write");
  const limit = { ...usage, per: "month", quantity: 1e12, mode: "hard" };
  const { organizationId } = JSON.parse(sessionUser) as { organizationId: string };
  const changed = await sendJson(baseUrl, `/api/operator/organizations/${organizationId}`, {
    ...{ method: "PATCH", json: { overrides: { limits: [limit] } }, apiKey: created.stdout.trim() },
  });
  if (!changed.ok) throw new Error(await changed.text());
  const headers = {
    "Content-Type": "application/json",
    Authorization: `Bearer ${apiKeys[0]?.fullKey}`,
  };
  const post = (path: string, json: unknown, script?: string): LoadRequest => ({
    ...{ method: "POST", url: baseUrl.replace("localhost", "127.0.0.1") + path, headers },
    body: JSON.stringify(json),
    ...script !== undefined && { script },
  });
  return {
    "single records": post("/api/v1/usage", { ...usage, productSlug: "tiles" }),
    "single records with a limit": post("/api/v1/usage", usage),
    [pairs]: post("/api/v1/holds", { records: [usage] }, holdAndSettle),
  };
}

await runToEnd(main, "bench/holds.ts");
