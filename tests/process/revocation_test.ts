// A revoked key or operator token, a session that was signed out, a role that was taken away, and a suspended organization are
// rejected on the very next request, whichever HTTP thread takes it. The operator token is revoked by another process. A key that one
// instance revokes is revoked in the very next verification by another.
import assert from "node:assert/strict";
import { cookieOf, testPassword } from "../support/app/app.ts";
import { runCommand } from "../support/process/command.ts";
import { sendJson } from "../support/process/journey.ts";
import { isReady, killProgram, type Program, startProgram } from "../support/process/program.ts";
import { mailedToken } from "../support/network/proxy_scene.ts";
import { isFull } from "../support/runner/extent.ts";
import { sqldMissing, startSqld } from "../support/database/sqld.ts";

/** Enough that each of four threads gets some: the system chooses one for each connection. */
const connections = 16;

/** Sends the same request over new connections at the same time. @returns The different responses. */
async function overNewConnections(
  url: string,
  { headers, json }: { headers: Record<string, string>; json?: unknown },
): Promise<string[]> {
  const responses = Array.from({ length: connections }, async () => {
    using client = Deno.createHttpClient({});
    const response = await fetch(url, {
      client,
      headers,
      ...(json === undefined ? {} : { method: "POST", body: JSON.stringify(json) }),
    });
    const text = await response.text();
    return `${response.status} ${/"(?:code|authenticated)":("?\w+"?)/.exec(text)?.[1] ?? ""}`.trim();
  });
  return [...new Set(await Promise.all(responses))];
}

/** Suspends and resumes an organization, twice. */
async function checkSuspension(
  { baseUrl }: Program,
  { cookie, organizationId, operatorToken }: {
    cookie: string;
    organizationId: string;
    operatorToken: string;
  },
): Promise<void> {
  const created = await sendJson(baseUrl, "/api/portal/api-keys", { cookie, json: { name: "Suspended" } });
  const headers = {
    authorization: `Bearer ${(await created.json()).fullKey}`,
    "content-type": "application/json",
  };
  const keyRequests = [
    { path: "/api/v1/usage", headers, json: { productSlug: "tiles", metric: "requests", quantity: 1 } },
    { path: "/api/v1/usage", headers },
    { path: "/api/auth/forward?accept=key", headers },
  ];
  const asMember = { headers: { cookie, "content-type": "application/json" }, json: { name: "Key" } };
  const suspended = ['403 "organization_suspended"'];
  for (let round = 0; round < 2; round++) {
    for (const status of ["suspended", "active"]) {
      const changed = await fetch(`${baseUrl}/api/operator/organizations/${organizationId}`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${operatorToken}`, "content-type": "application/json" },
        body: JSON.stringify({ status }),
      });
      assert.equal(changed.status, 200, await changed.text());
      const isActive = status === "active";
      for (const { path, ...request } of keyRequests) {
        const outcomes = await overNewConnections(baseUrl + path, request);
        assert.deepEqual(outcomes, isActive ? ["json" in request ? "201" : "200"] : suspended, path);
      }
      const keys = await overNewConnections(`${baseUrl}/api/portal/api-keys`, asMember);
      assert.deepEqual(keys, isActive ? ["201"] : suspended);
    }
  }
}

/** Verifies keys, without and with recording, until one is revoked. @param revoking The instance that revokes. */
async function checkVerification(
  { baseUrl }: Program,
  { cookie, operatorToken }: { cookie: string; operatorToken: string },
  revoking = baseUrl,
): Promise<void> {
  const headers = { authorization: `Bearer ${operatorToken}`, "content-type": "application/json" };
  const series = { productSlug: "tiles", metric: "requests" };
  for (const question of [{}, { usage: series }, { usage: { ...series, record: true } }]) {
    const created = await sendJson(revoking, "/api/portal/api-keys", { cookie, json: { name: "Verified" } });
    const { apiKey: { id }, fullKey: key } = await created.json();
    const json = { key, ...question };
    const verify = () => overNewConnections(`${baseUrl}/api/v1/keys/verify`, { headers, json });
    assert.deepEqual(await verify(), ['200 "VALID"']);
    const revoked = await sendJson(revoking, `/api/portal/api-keys/${id}`, { method: "DELETE", cookie });
    assert(revoked.ok, await revoked.text());
    assert.deepEqual(await verify(), ['200 "REVOKED"']);
  }
}

async function checkRevocations(env: Record<string, string>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-revocation-" });
  const program = startProgram({ folder, env: { HTTP_THREADS: "4", ...env } });
  try {
    await isReady(program);
    const { baseUrl } = program;
    const signUp = async (json: Record<string, string>) => {
      const response = await sendJson(baseUrl, "/api/auth/sign-up", {
        json: { password: testPassword, ...json },
      });
      assert.equal(response.status, 201, await response.clone().text());
      const { user, organizationId } = await response.json();
      return { cookie: cookieOf(response), userId: user.id, organizationId };
    };
    const ada = await signUp({ name: "Ada", email: "ada@example.com" });
    const organization = `/api/portal/organizations/${ada.organizationId}`;
    const change = async (path: string, options: { method?: string; json?: unknown; cookie?: string }) => {
      const response = await sendJson(baseUrl, path, { cookie: ada.cookie, ...options });
      assert(response.ok, await response.clone().text());
      return response;
    };
    const token = await mailedToken(program, "ada@example.com");
    await change("/api/auth/email/verify", { json: { token } });
    await change(`${organization}/invitations`, { json: { email: "bob@example.com", role: "ADMIN" } });
    const bob = await signUp({ name: "Bob", invitationToken: await mailedToken(program, "bob@example.com") });

    const key = await (await change("/api/portal/api-keys", { json: { name: "Production" } })).json();
    const asKey = {
      headers: { authorization: `Bearer ${key.fullKey}`, "content-type": "application/json" },
      json: { productSlug: "tiles", metric: "requests", quantity: 1 },
    };
    assert.deepEqual(await overNewConnections(`${baseUrl}/api/v1/usage`, asKey), ["201"]);
    await change(`/api/portal/api-keys/${key.apiKey.id}`, { method: "DELETE" });
    assert.deepEqual(await overNewConnections(`${baseUrl}/api/v1/usage`, asKey), ['401 "invalid_api_key"']);

    const run = async (...args: readonly string[]) => {
      const end = await runCommand({ folder, env }, ...args);
      assert.equal(end.status, 0, end.stderr);
      return end.stdout.trim();
    };
    const authorization = `Bearer ${await run("token", "create", "Support", "--scope", "users:read")}`;
    const users = `${baseUrl}/api/operator/users`;
    assert.deepEqual(await overNewConnections(users, { headers: { authorization } }), ["200"]);
    const { id } = JSON.parse(await run("token", "list", "--json"));
    await run("token", "revoke", id);
    const rejected = ['401 "invalid_operator_token"'];
    assert.deepEqual(await overNewConnections(users, { headers: { authorization } }), rejected);

    const operatorToken = await run("token", "create", "Billing", "--scope", "organizations:write");
    await checkSuspension(program, { ...ada, operatorToken });
    const verifying = await run("token", "create", "Tiles", "--scope", "keys:verify");
    await checkVerification(program, { ...ada, operatorToken: verifying });

    const asBob = { headers: { cookie: bob.cookie } };
    const invitations = `${baseUrl}${organization}/invitations`;
    assert.deepEqual(await overNewConnections(invitations, asBob), ["200"]);
    await change(`${organization}/members/${bob.userId}`, { method: "PATCH", json: { role: "MEMBER" } });
    assert.deepEqual(await overNewConnections(invitations, asBob), ['403 "forbidden"']);

    assert.deepEqual(await overNewConnections(`${baseUrl}/api/auth/me`, asBob), ["200 true"]);
    await change("/api/auth/sign-out", { method: "POST", cookie: bob.cookie });
    assert.deepEqual(await overNewConnections(`${baseUrl}/api/auth/me`, asBob), ["200 false"]);
  } finally {
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
}

const name =
  "rejects a revoked key or operator token, an ended session, a former role and a suspended organization on the " +
  "next request, on any thread";

Deno.test(`embedded database: ${name}`, () => checkRevocations({}));

Deno.test({
  name: `remote database: ${name}`,
  ignore: sqldMissing() !== null || !isFull,
  async fn() {
    const server = await startSqld();
    try {
      await checkRevocations({ DATABASE_URL: server.url, HTTP_THREADS: "2" });
    } finally {
      await server.stop();
    }
  },
});

Deno.test({
  name: "a key revoked by one instance is REVOKED in the next verification by another, also one that records",
  ignore: sqldMissing() !== null,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-revocation-" });
    const server = await startSqld();
    const env = { DATABASE_URL: server.url, HTTP_THREADS: "2" };
    const programs: Program[] = [];
    const start = async () => {
      const program = startProgram({ folder, env });
      programs.push(program);
      await isReady(program);
      return program;
    };
    try {
      const [revoking, verifying] = [await start(), await start()];
      const signedUp = await sendJson(revoking.baseUrl, "/api/auth/sign-up", {
        json: { name: "Ada", email: "ada@example.com", password: testPassword },
      });
      assert.equal(signedUp.status, 201, await signedUp.clone().text());
      const token = ["token", "create", "Tiles", "--scope", "keys:verify"];
      const { stdout } = await runCommand({ folder, env }, ...token);
      const given = { cookie: cookieOf(signedUp), operatorToken: stdout.trim() };
      await checkVerification(verifying, given, revoking.baseUrl);
    } finally {
      await Promise.all(programs.map(killProgram));
      await server.stop();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
