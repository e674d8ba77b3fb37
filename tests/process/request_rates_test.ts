// A changed rate of requests takes effect on every HTTP thread of every server, after a request that sees it.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { runCommand } from "../support/process/command.ts";
import { sendJson, signUpAndRecord } from "../support/process/journey.ts";
import { isReady, killProgram, type Program, startProgram } from "../support/process/program.ts";
import { isFull } from "../support/runner/extent.ts";
import { sqldMissing, startSqld } from "../support/database/sqld.ts";

/** Enough that each of four threads gets some: the system chooses one for each connection. */
const connections = 16;
const rounds = 10;

/** Returns the different statuses and policies of the same request over new connections at the same time. */
async function policiesOf(
  url: string,
  { headers, json }: { headers: Record<string, string>; json?: unknown },
): Promise<string[]> {
  const responses = Array.from({ length: connections }, async () => {
    using client = Deno.createHttpClient({});
    const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
    const response = await fetch(url, { client, headers, ...body });
    await response.body?.cancel();
    return `${response.status} ${response.headers.get("ratelimit-policy") ?? ""}`.trim();
  });
  return [...new Set(await Promise.all(responses))];
}

async function checkRates(servers: readonly Program[], token: string): Promise<void> {
  const baseUrl = servers[0]?.baseUrl ?? "";
  const { fullKey, cookie } = await signUpAndRecord(baseUrl);
  const { organizations: [organization] } =
    await (await sendJson(baseUrl, "/api/portal/organizations", { cookie })).json();
  const headers = { authorization: `Bearer ${fullKey}`, "content-type": "application/json" };
  const requests = [
    { path: "/api/v1/usage", headers, json: { productSlug: "tiles", metric: "requests", quantity: 1 } },
    { path: "/api/v1/usage", headers },
    { path: "/api/auth/forward?accept=key", headers },
  ];
  for (const requestsPerSecond of [1001, 0, 1002, null, 1003]) {
    const changed = await fetch(`${baseUrl}/api/operator/organizations/${organization.id}`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ overrides: { requestsPerSecond } }),
    });
    assert.equal(changed.status, 200, await changed.text());
    const policy = requestsPerSecond === 0 ? "" : ` "key";q=${requestsPerSecond ?? 2000};w=1`;
    for (const { path, ...request } of requests) {
      const expected = [`${"json" in request ? 201 : 200}${policy}`];
      for (const server of servers) {
        let found: string[] = [];
        // Each round shows the rate to more of the threads.
        for (let round = 0; round < rounds && !isDeepStrictEqual(found, expected); round++) {
          found = await policiesOf(server.baseUrl + path, request);
        }
        assert.deepEqual(found, expected, path);
      }
    }
  }
}

async function testRates(count: number, env: Record<string, string>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-rates-" });
  const servers: Program[] = [];
  try {
    for (let n = 0; n < count; n++) {
      const server = startProgram({ folder, env: { API_KEY_REQUESTS_PER_SECOND: "2000", ...env } });
      servers.push(server);
      await isReady(server);
    }
    const { stdout } = await runCommand(
      { folder, env },
      ...["token", "create", "Plans", "--scope", "organizations:write"],
    );
    await checkRates(servers, stdout.trim());
  } finally {
    await Promise.all(servers.map(killProgram));
    await Deno.remove(folder, { recursive: true });
  }
}

const name = "a changed rate takes effect after a request that sees it, on every thread";
// The quick run has two servers with two threads each.
Deno.test({
  name: `embedded database: ${name}`,
  ignore: !isFull && sqldMissing() === null,
  fn: () => testRates(1, { HTTP_THREADS: "4" }),
});

Deno.test({
  name: `remote database: ${name} of both servers`,
  ignore: sqldMissing() !== null,
  async fn() {
    const server = await startSqld();
    try {
      await testRates(2, { HTTP_THREADS: "2", DATABASE_URL: server.url });
    } finally {
      await server.stop();
    }
  },
});
