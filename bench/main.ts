// The benchmark: each figure as a ratio to what Hono on Deno answers with no work at all, in one run and in turn,
// because machines are noisy. Needs `wrk` on the PATH. Figures go to standard output.
import { median, runWrk } from "./wrk.ts";
import { measureBinary } from "./binary.ts";
import { prepare } from "./prepare.ts";
import { isReady, startProgram } from "../tests/support/program.ts";
import { freePort } from "../tests/support/sqld.ts";

const rounds = Number(Deno.env.get("BENCH_ROUNDS") ?? "3");
const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? "5");
const connections = 128;
const print = (line: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

/** One thing that is measured. */
interface Subject {
  readonly name: string;
  readonly url: string;
  readonly script: string;
  /** What it is compared with. */
  readonly ceiling?: string;
  readonly aim?: number;
}

async function main(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-bench-" });
  const echoPort = freePort();
  const echo = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-prompt",
      "--allow-net",
      new URL("echo.ts", import.meta.url).pathname,
      String(echoPort),
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const server = startProgram({
    folder,
    env: { API_KEY_REQUESTS_PER_SECOND: "1000000", LOG_LEVEL: "warning" },
  });
  try {
    await isReady(server);
    const { cookie, apiKey, sessionUser } = await prepare(server.baseUrl);
    const usage = JSON.stringify({ productSlug: "tiles", metric: "requests", quantity: 1 });
    const echoUrl = `http://127.0.0.1:${echoPort}`;
    const local = server.baseUrl.replace("localhost", "127.0.0.1");
    const json = { "Content-Type": "application/json" };
    const subjects: Subject[] = [
      {
        name: "echo of the session JSON",
        url: `${echoUrl}/echo`,
        script: wrkScript("POST", json, sessionUser),
      },
      { name: "echo of the usage JSON", url: `${echoUrl}/echo`, script: wrkScript("POST", json, usage) },
      {
        name: "GET /api/auth/me with a session",
        url: `${local}/api/auth/me`,
        script: wrkScript("GET", { Cookie: cookie }),
        ceiling: "echo of the session JSON",
        aim: 0.5,
      },
      {
        name: "POST /api/v1/usage singly, durable",
        url: `${local}/api/v1/usage`,
        script: wrkScript("POST", { ...json, Authorization: `Bearer ${apiKey}` }, usage),
        ceiling: "echo of the usage JSON",
        aim: 0.4,
      },
    ];
    print(
      `${navigator.hardwareConcurrency} cores, ${connections} connections, ${rounds} rounds of ${seconds} s each, in turn\n`,
    );
    const rates = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
    const tails = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round++) {
      for (const { name, url, script } of subjects) {
        const result = await runWrk({ url, script, connections, seconds });
        rates.get(name)?.push(result.perSecond);
        tails.get(name)?.push(result.p99Ms);
      }
    }
    for (const { name, ceiling, aim } of subjects) {
      const own = rates.get(name) ?? [];
      const against = ceiling === undefined ? undefined : rates.get(ceiling);
      const ratios = own.map((rate, round) => rate / (against?.[round] ?? Number.NaN));
      const compared = against === undefined
        ? ""
        : `  ratio ${median(ratios).toFixed(2)} (${
          ratios.map((ratio) => ratio.toFixed(2)).join(" ")
        }; aim ${aim})`;
      const tail = `p99 ${median(tails.get(name) ?? []).toFixed(1)} ms`;
      print(
        `${name.padEnd(36)} ${Math.round(median(own)).toLocaleString("en").padStart(8)}/s  ${
          tail.padEnd(13)
        }${compared}`,
      );
    }
  } finally {
    server.kill("SIGTERM");
    echo.kill("SIGKILL");
    await Promise.all([server.ended(), echo.status]);
    await Deno.remove(folder, { recursive: true });
  }
  await measureBinary(print);
}

function wrkScript(method: string, headers: Readonly<Record<string, string>>, body = ""): string {
  const lines = Object.entries(headers).map(([name, value]) => `wrk.headers["${name}"] = [[${value}]]`);
  return [`wrk.method = "${method}"`, ...lines, ...(body === "" ? [] : [`wrk.body = [[${body}]]`])].join(
    "\n",
  );
}

if (import.meta.main) await main();
