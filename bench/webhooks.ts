// Measures how long events of an organization take to arrive while an endpoint that never responds has 10,000 deliveries waiting, and
// records per second with these endpoints and without any, in turn. Run it with `deno run --no-prompt --allow-all bench/webhooks.ts`.
// BENCH_BINARY selects a compiled program.
import { sql } from "../db/engine/database.ts";
import { sendJson, signUpAndRecord } from "../tests/support/process/journey.ts";
import { changeDataFile } from "../tests/support/operators/operators.ts";
import { isReady, type Program, startProgram } from "../tests/support/process/program.ts";
import { runLoad } from "./load.ts";
import { keyPlace } from "./lua.ts";
import { printLine, runToEnd } from "./settings.ts";

const [rounds, seconds, eventsMax, waiting] = [3, 4, 100, 10_000];

interface Started {
  readonly program: Program;
  readonly folder: string;
  readonly cookie: string;
  readonly fullKey: string;
}

async function start(): Promise<Started> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-bench-" });
  const binary = Deno.env.get("BENCH_BINARY");
  const program = startProgram({
    folder,
    ...(binary === undefined ? {} : { binary }),
    env: { API_KEY_REQUESTS_PER_SECOND: "0", WEBHOOK_ALLOWED_HOSTS: "127.0.0.0/8" },
  });
  await isReady(program);
  return { program, folder, ...await signUpAndRecord(program.baseUrl, "webhooks@example.com") };
}

/** Adds an endpoint that responds and one that doesn't, which has deliveries waiting. */
function addEndpoints(folder: string, ports: { live: number; dead: number }): void {
  for (const [kind, port] of Object.entries(ports)) {
    changeDataFile(
      folder,
      sql`INSERT INTO webhooks (id, organization, url, events, description, secret, since_seq, created_at)
        SELECT ${`whk_${kind}`}, max(number), ${`http://127.0.0.1:${port}/`},
          ${kind === "live" ? '["api_key.*"]' : '["organization.*"]'}, '', 'plain:whsec_AAAA',
          (SELECT max(seq) FROM events), ${Date.now()} FROM organizations`,
    );
  }
  changeDataFile(
    folder,
    sql`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${waiting})
      INSERT INTO events (id, type, organization, at, facts)
      SELECT 'evt_' || printf('%032x', n), 'organization.resumed', o.number, ${Date.now()}, '{}'
      FROM n, (SELECT max(number) AS number FROM organizations) o`,
  );
}

/** Creates keys and revokes them. @returns For how long each event was on its way, in milliseconds, sorted. */
async function sendEvents({ program, cookie }: Started, arrivals: Map<string, number>): Promise<number[]> {
  const times: number[] = [];
  for (let sent = 0; sent < eventsMax; sent++) {
    const path = "/api/portal/api-keys";
    const response = await sendJson(program.baseUrl, path, {
      method: "POST",
      cookie,
      json: { name: "Event" },
    });
    const createdAt = performance.now();
    const { apiKey: { id } } = await response.json();
    await sendJson(program.baseUrl, `${path}/${id}`, { method: "DELETE", cookie });
    while (!arrivals.has(id)) await new Promise((resolve) => setTimeout(resolve, 2));
    times.push((arrivals.get(id) ?? NaN) - createdAt);
    // At another point between two looks of the worker.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 500));
  }
  return times.sort((a, b) => a - b);
}

async function record({ program, fullKey }: Started): Promise<number> {
  const { perSecond } = await runLoad({
    method: "POST",
    url: `${program.baseUrl}/api/v1/usage`,
    headers: { authorization: `Bearer ${fullKey}`, "content-type": "application/json" },
    body: JSON.stringify({ productSlug: "tiles", metric: "requests", quantity: 1, idempotencyKey: keyPlace }),
  }, { connections: 128, seconds });
  return perSecond;
}

async function main(): Promise<void> {
  const arrivals = new Map<string, number>();
  const live = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { data } = await request.json();
    if (!arrivals.has(data.apiKey.id)) arrivals.set(data.apiKey.id, performance.now());
    return new Response(null, { status: 204 });
  });
  const dead = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => new Promise(() => {}));
  const [plain, busy] = [await start(), await start()];
  try {
    const ratios: number[] = [];
    addEndpoints(busy.folder, { live: live.addr.port, dead: dead.addr.port });
    const times = await sendEvents(busy, arrivals);
    const at = (share: number) => (times[Math.floor((times.length - 1) * share)] ?? NaN).toFixed();
    printLine(
      `${times.length} events: median ${at(0.5)} ms, 99% ${at(0.99)} ms, worst ${at(1)} ms (aim: 2,000)`,
    );
    const metrics = await (await fetch(`${busy.program.baseUrl}/metrics`)).text();
    printLine(/^gatehouse_webhook_deliveries_waiting .*$/m.exec(metrics)?.[0] ?? "no metrics");
    for (let round = 0; round < rounds; round++) {
      const [without, beside] = [await record(plain), await record(busy)];
      ratios.push(beside / without);
      printLine(
        `records/s: ${without.toFixed()} without endpoints, ${beside.toFixed()} with ${waiting} waiting`,
      );
    }
    printLine(`median ratio ${ratios.sort((a, b) => a - b)[Math.floor(rounds / 2)]?.toFixed(3)}`);
  } finally {
    for (const { program, folder } of [plain, busy]) {
      program.kill("SIGKILL");
      await program.ended();
      await Deno.remove(folder, { recursive: true });
    }
    await live.shutdown();
  }
}

if (import.meta.main) await runToEnd(main);
