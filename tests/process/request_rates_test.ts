// A changed rate of requests takes effect on every HTTP thread of every server, after a request that sees it.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { sendJson, signUpAndRecord } from "../support/process/journey.ts";
import type { Program } from "../support/process/program.ts";
import { remoteTest } from "../support/process/remote.ts";
import { inScene } from "../support/process/scene.ts";
import { overNewConnections } from "../support/process/threads.ts";
import { isFull } from "../support/runner/extent.ts";
import { sqldMissing } from "../support/database/sqld.ts";

const rounds = 10;

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
          found = await overNewConnections(
            server.baseUrl + path,
            request,
            ({ status, headers }) => `${status} ${headers.get("ratelimit-policy") ?? ""}`,
          );
        }
        assert.deepEqual(found, expected, path);
      }
    }
  }
}

function testRates(count: number, env: Record<string, string>): Promise<void> {
  return inScene({ env: { API_KEY_REQUESTS_PER_SECOND: "2000", ...env } }, async ({ start, run }) => {
    const servers: Program[] = [];
    while (servers.length < count) servers.push(await start());
    const { stdout } = await run("token", "create", "Plans", "--scope", "organizations:write");
    await checkRates(servers, stdout.trim());
  });
}

const name = "a changed rate takes effect after a request that sees it, on every thread";
// The quick run has two servers with two threads each.
Deno.test({
  name: `embedded database: ${name}`,
  ignore: !isFull && sqldMissing() === null,
  fn: () => testRates(1, { HTTP_THREADS: "4" }),
});

remoteTest(
  `remote database: ${name} of both servers`,
  ({ url }) => testRates(2, { HTTP_THREADS: "2", DATABASE_URL: url }),
);
