// Measures operators' lists, searches and the overview with 100,000 organizations, 300,000 users and 500,000 keys, over HTTP. Run
// it with `deno run --no-prompt --allow-all --unstable-net bench/operator_lists.ts`. BENCH_BINARY selects a compiled program.
import { hash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { Connection } from "../db/engine/connection.ts";
import { openEmbedded } from "../db/engine/embedded.ts";
import { migrate } from "../db/engine/migrate.ts";
import { integer, sql } from "../db/engine/database.ts";
import { newId } from "../domain/id.ts";
import { overviewKeptMs } from "../domain/limits.ts";
import { generateOperatorToken } from "../domain/access/operator_token.ts";
import { operatorScopes } from "../domain/access/operator_scope.ts";
import { hashSecretToken } from "../domain/secret_token.ts";
import { sendJson } from "../tests/support/process/journey.ts";
import { isReady, type Program, startProgram } from "../tests/support/process/program.ts";
import { fillCustomers } from "./customers.ts";
import { printLine, runToEnd } from "./settings.ts";

const requests = 40;
const overviews = 4;
const size = { organizations: 100_000, active: 30_000, users: 300_000, keys: 500_000 };

/** What to request, by name. Searches are for what everyone, many, one and no one have in common. */
const lists: Readonly<Record<string, string>> = {
  "organizations": "organizations?",
  "organizations by name": "organizations?sort=name",
  "organizations, suspended, by name": "organizations?status=suspended&sort=name",
  "organizations, all match": "organizations?search=cus_",
  "organizations, all match, by name": "organizations?search=cus_&sort=name",
  "organizations, 3% match": "organizations?search=orth",
  "organizations, 3% match, by name": "organizations?search=orth&sort=name",
  "organizations, one matches, by name": "organizations?search=cus_77777&sort=name",
  "organizations, two characters, none": "organizations?search=q7&sort=name",
  "organizations by usage": "organizations?sort=usage",
  "organizations by usage, bytes": "organizations?sort=usage&metric=bytes",
  "organizations by growth": "organizations?sort=growth",
  "organizations over a limit": "organizations?limits=over",
  "organizations near a limit, by name": "organizations?limits=near&sort=name",
  "organizations near a limit, by usage": "organizations?limits=near&sort=usage",
  "organizations, 3% match, by usage": "organizations?search=orth&sort=usage",
  "organizations, all match, by growth": "organizations?search=cus_&sort=growth",
  "users": "users?",
  "users, disabled": "users?status=disabled",
  "users, all match": "users?search=example",
  "users, 5% match": "users?search=elodie",
  "users, one matches": "users?search=maps77777",
  "users, none matches": "users?search=zzqq",
  "users, two characters, none": "users?search=q7",
  "users, disabled, all match": "users?search=example&status=disabled",
  "audit": "audit?",
};

/** Pages of the console's list of organizations. */
const pages: Readonly<Record<string, string>> = {
  "page by usage": "",
  "page by usage, the last": "?page=4000",
  "page by growth": "?sort=growth",
  "page by name": "?sort=name",
  "page, newest": "?sort=createdAt",
  "page, bytes": "?metric=bytes",
  "page, over a limit": "?limits=over",
  "page, near a limit": "?limits=near",
  "page, suspended": "?status=suspended",
  "page, 3% match": "?search=orth",
  "page, all match": "?search=cus_",
};

interface Credentials {
  readonly fullToken: string;
  readonly cookie: string;
}

async function fill(path: string): Promise<Credentials> {
  const now = Date.now();
  const database = await openEmbedded({
    path,
    create: "folder",
    onFatal: (error) => {
      throw error;
    },
  });
  await migrate(database, { now });
  await database.close();
  const connection = new Connection(path, { readOnly: false });
  const began = performance.now();
  fillCustomers(connection, { ...size, now });
  const { fullToken, tokenPrefix } = generateOperatorToken();
  const session = hash("sha256", crypto.randomUUID(), "base64url");
  const userId = newId("usr");
  for (
    const statement of [
      sql`INSERT INTO operator_tokens (id, token_hash, token_prefix, name, scopes, addresses, created_at)
        VALUES (${newId("opt")}, ${hashSecretToken(fullToken)}, ${tokenPrefix}, 'Bench', ${
        JSON.stringify(operatorScopes)
      }, '[]', ${integer(now)})`,
      sql`INSERT INTO users (id, email, name, password_hash, email_verified_at, operator_since, created_at)
        VALUES (${userId}, 'bench@example.com', 'Bench', '', ${now}, ${now}, ${now})`,
      sql`INSERT INTO sessions (token_hash, id, user_id, created_at, last_seen_at, proved_at, second_factor_at, address,
          user_agent)
        VALUES (${hash("sha256", session, "hex")}, ${
        newId("ses")
      }, ${userId}, ${now}, ${now}, ${now}, ${now}, '', '')`,
    ]
  ) connection.run(statement);
  connection.checkpoint({ busyTimeoutMs: 1000 });
  connection.close();
  const { size: bytes } = await Deno.stat(path);
  printLine(
    `filled in ${((performance.now() - began) / 1000).toFixed()} s, ${(bytes / 1e6).toFixed()} MB`,
  );
  return { fullToken, cookie: `access_token=${session}` };
}

/** @returns The processor time of a process so far, in milliseconds. Other programs on the machine hardly change it. */
async function cpuMs(pid: number): Promise<number> {
  const fields = (await Deno.readTextFile(`/proc/${pid}/stat`)).split(") ")[1]?.split(" ") ?? [];
  const ticksPerSecond = 100;
  return (Number(fields[11]) + Number(fields[12])) * 1000 / ticksPerSecond;
}

/** @returns How long a request takes, in milliseconds. */
async function time(send: () => Promise<Response>): Promise<number> {
  const started = performance.now();
  const response = await send();
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text.slice(0, 300)}`);
  return performance.now() - started;
}

function line(name: string, [first = NaN, ...others]: readonly number[], cpu: number): string {
  const sorted = others.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.ceil(sorted.length * share) - 1] ?? NaN).toFixed(1);
  return `${name.padEnd(38)} first ${first.toFixed(1)} ms, then median ${at(0.5)} ms, 95% ${
    at(0.95)
  } ms, CPU ${cpu.toFixed(1)} ms`;
}

async function measure({ baseUrl, pid }: Program, { fullToken, cookie }: Credentials): Promise<void> {
  /** Sends the request several times, one at a time. @returns The times, and the server's CPU time for one. */
  async function repeat(times: number, send: () => Promise<Response>): Promise<[number[], cpu: number]> {
    const before = await cpuMs(pid);
    const measured: number[] = [];
    for (let n = 0; n < times; n++) measured.push(await time(send));
    return [measured, (await cpuMs(pid) - before) / times];
  }
  for (const [name, path] of Object.entries(lists)) {
    const send = () => sendJson(baseUrl, `/api/operator/${path}`, { apiKey: fullToken });
    printLine(line(name, ...await repeat(requests, send)));
  }
  for (const [name, query] of Object.entries(pages)) {
    const send = () => sendJson(baseUrl, `/operator/organizations${query}`, { cookie });
    printLine(line(name, ...await repeat(requests, send)));
  }
  const csv = () => sendJson(baseUrl, "/api/operator/organizations.csv?sort=usage", { apiKey: fullToken });
  printLine(line("CSV of all", ...await repeat(2, csv)));
  const overview = () => sendJson(baseUrl, "/operator", { cookie });
  const uncached: number[] = [];
  let cpu = 0;
  for (let n = 0; n < overviews; n++) {
    if (n > 0) await setTimeout(overviewKeptMs + 1000);
    const [times, each] = await repeat(1, overview);
    uncached.push(...times);
    cpu += each / overviews;
  }
  printLine(line("overview, not cached", uncached, cpu));
  printLine(line("overview, cached", ...await repeat(requests, overview)));
}

async function main(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-bench-" });
  const binary = Deno.env.get("BENCH_BINARY");
  try {
    const credentials = await fill(`${folder}/data/gatehouse.db`);
    const program = startProgram({ folder, ...(binary === undefined ? {} : { binary }) });
    try {
      await isReady(program);
      await measure(program, credentials);
    } finally {
      program.kill("SIGTERM");
      await program.ended();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await runToEnd(main);
