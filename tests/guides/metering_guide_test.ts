// The curl scripts of docs/metering.md, over a connection that rejects requests, loses responses and breaks: every record
// counts once.
import assert from "node:assert/strict";
import { readGuide, runLines } from "../support/runner/guides.ts";
import { cookieOf, testPassword } from "../support/app/app.ts";
import { sendJson } from "../support/process/journey.ts";
import { isReady, killProgram, type Program, startProgram } from "../support/process/program.ts";
import { startTcpProxy } from "../support/network/tcp_proxy.ts";

const block = await readGuide("metering.md");

/** Creates an organization. @returns Its API key. */
async function newKey(baseUrl: string, name: string): Promise<string> {
  const json = { name, email: `${name}@example.com`, password: testPassword };
  const signUp = await sendJson(baseUrl, "/api/auth/sign-up", { json });
  assert.equal(signUp.status, 201, await signUp.text());
  const created = await sendJson(baseUrl, "/api/portal/api-keys", {
    cookie: cookieOf(signUp),
    json: { name },
  });
  return (await created.json()).fullKey;
}

interface BadLine {
  readonly url: string;
  /** The batches received, each with its outcome and its time in milliseconds since 1970. */
  readonly batches: readonly { readonly fate: string; readonly at: number }[];
  close(): Promise<void>;
}

/** Starts a proxy that rejects the first two batches, and forwards the third but loses its response. */
function startBadLine(program: Program): BadLine {
  const refusals = [503, 429];
  const batches: { fate: string; at: number }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const isBatch = pathname === "/api/v1/usage/batch";
    const body = method === "POST" ? await request.bytes() : null;
    const status = isBatch ? refusals[batches.length] : undefined;
    const fate = status !== undefined ? String(status) : batches.length === 2 ? "lost" : "answered";
    if (isBatch) batches.push({ fate, at: Date.now() });
    if (status !== undefined) {
      return Response.json({ error: {} }, { status, headers: { "Retry-After": status === 429 ? "1" : "0" } });
    }
    const response = await fetch(program.baseUrl + pathname + search, { method, headers, body });
    const sent = new Response(await response.bytes(), response);
    // Other requests share the connection: only this response is lost.
    if (isBatch && fate === "lost") sent.headers.set("x-fate", "lost");
    return sent;
  });
  const line = startTcpProxy({ targetPort: server.addr.port });
  line.loseAnswers({ count: 1, answersWith: "x-fate: lost" });
  return {
    url: line.url,
    batches,
    async close() {
      await line.close();
      await server.shutdown();
    },
  };
}

Deno.test("the curl scripts of the guide record everything once, over a bad connection", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-metering-" });
  const program = startProgram({ folder, env: { HTTP_THREADS: "1" } });
  try {
    await isReady(program);
    await countsWithCurl(program, folder);
  } finally {
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
});

/** The curl scripts count once when they run twice, a batch is rejected, or a response is lost. */
async function countsWithCurl(program: Program, folder: string): Promise<void> {
  const key = await newKey(program.baseUrl, "curl");
  const cwd = await Deno.makeTempDir({ dir: folder });
  const line = startBadLine(program);
  const env = { GATEHOUSE_URL: line.url, GATEHOUSE_KEY: key };
  try {
    await runLines(block("curl, one record"), { cwd, env });
    await runLines(block("curl, one record"), { cwd, env });
    assert.equal(JSON.parse(await Deno.readTextFile(`${cwd}/response.json`)).duplicate, true);
    await runLines(block("curl, many records"), { cwd, env });
    assert.equal(await Deno.readTextFile(`${cwd}/response.json`), '{"accepted":0,"duplicates":2}');
    await runLines(block("curl, reading back"), { cwd, env });
    // A rejected request fails the script and prints why.
    const wrongKey = { GATEHOUSE_URL: program.baseUrl, GATEHOUSE_KEY: "service_live_x" };
    for (const name of ["curl, one record", "curl, many records", "curl, reading back"]) {
      const refused = runLines(block(name).replaceAll("sums.json", "refused.json"), { cwd, env: wrongKey });
      await assert.rejects(refused, /invalid_api_key/, name);
    }
    const { data } = JSON.parse(await Deno.readTextFile(`${cwd}/sums.json`)) as {
      data: { metric: string; sum: number; count: number }[];
    };
    assert.deepEqual(data.map(({ metric, sum, count }) => [metric, sum, count]), [
      ["exports", 12, 1],
      ["orders", 1, 1],
      ["uploads", 3.5, 1],
    ]);
  } finally {
    await line.close();
  }
  assert.deepEqual(line.batches.map(({ fate }) => fate), ["503", "429", "lost", "answered"]);
}
