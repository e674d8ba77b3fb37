// A revoked key or operator token, a session that was signed out, a role that was taken away, and a suspended organization are
// rejected on the very next request, whichever HTTP thread takes it. The operator token is revoked by another process. A key that one
// instance revokes is revoked in the very next verification by another.
import assert from "node:assert/strict";
import { cookieOf, testPassword } from "../support/app/app.ts";
import { sendJson } from "../support/process/journey.ts";
import type { Program } from "../support/process/program.ts";
import { remoteTest } from "../support/process/remote.ts";
import { inScene, onServer } from "../support/process/scene.ts";
import { overNewConnections } from "../support/process/threads.ts";
import { mailedToken } from "../support/network/proxy_scene.ts";
import { isFull } from "../support/runner/extent.ts";

/** @returns The different statuses and codes of the same request to all threads. */
function outcomesOf(url: string, request: Parameters<typeof overNewConnections>[1]): Promise<string[]> {
  return overNewConnections(
    url,
    request,
    ({ status }, text) => `${status} ${/"(?:code|authenticated)":("?\w+"?)/.exec(text)?.[1] ?? ""}`,
  );
}

/** Suspends and resumes an organization, twice. */
async function checkSuspension(
  { baseUrl }: Program,
  { cookie, organizationId, operatorToken }: Record<"cookie" | "organizationId" | "operatorToken", string>,
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
        const outcomes = await outcomesOf(baseUrl + path, request);
        assert.deepEqual(outcomes, isActive ? ["json" in request ? "201" : "200"] : suspended, path);
      }
      const keys = await outcomesOf(`${baseUrl}/api/portal/api-keys`, asMember);
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
    const verify = () => outcomesOf(`${baseUrl}/api/v1/keys/verify`, { headers, json });
    assert.deepEqual(await verify(), ['200 "VALID"']);
    const revoked = await sendJson(revoking, `/api/portal/api-keys/${id}`, { method: "DELETE", cookie });
    assert(revoked.ok, await revoked.text());
    assert.deepEqual(await verify(), ['200 "REVOKED"']);
  }
}

function checkRevocations(env: Record<string, string>): Promise<void> {
  return onServer({ env: { HTTP_THREADS: "4", ...env } }, async (scene) => {
    const { program, baseUrl } = scene;
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
    assert.deepEqual(await outcomesOf(`${baseUrl}/api/v1/usage`, asKey), ["201"]);
    await change(`/api/portal/api-keys/${key.apiKey.id}`, { method: "DELETE" });
    assert.deepEqual(await outcomesOf(`${baseUrl}/api/v1/usage`, asKey), ['401 "invalid_api_key"']);

    const run = async (...args: readonly string[]) => {
      const end = await scene.run(...args);
      assert.equal(end.status, 0, end.stderr);
      return end.stdout.trim();
    };
    const authorization = `Bearer ${await run("token", "create", "Support", "--scope", "users:read")}`;
    const users = `${baseUrl}/api/operator/users`;
    assert.deepEqual(await outcomesOf(users, { headers: { authorization } }), ["200"]);
    const { id } = JSON.parse(await run("token", "list", "--json"));
    await run("token", "revoke", id);
    const rejected = ['401 "invalid_operator_token"'];
    assert.deepEqual(await outcomesOf(users, { headers: { authorization } }), rejected);

    const operatorToken = await run("token", "create", "Billing", "--scope", "organizations:write");
    await checkSuspension(program, { ...ada, operatorToken });
    const verifying = await run("token", "create", "Tiles", "--scope", "keys:verify");
    await checkVerification(program, { ...ada, operatorToken: verifying });

    const asBob = { headers: { cookie: bob.cookie } };
    const invitations = `${baseUrl}${organization}/invitations`;
    assert.deepEqual(await outcomesOf(invitations, asBob), ["200"]);
    await change(`${organization}/members/${bob.userId}`, { method: "PATCH", json: { role: "MEMBER" } });
    assert.deepEqual(await outcomesOf(invitations, asBob), ['403 "forbidden"']);

    assert.deepEqual(await outcomesOf(`${baseUrl}/api/auth/me`, asBob), ["200 true"]);
    await change("/api/auth/sign-out", { method: "POST", cookie: bob.cookie });
    assert.deepEqual(await outcomesOf(`${baseUrl}/api/auth/me`, asBob), ["200 false"]);
  });
}

const name =
  "rejects a revoked key or operator token, an ended session, a former role and a suspended organization on the " +
  "next request, on any thread";

Deno.test(`embedded database: ${name}`, () => checkRevocations({}));

remoteTest(
  `remote database: ${name}`,
  ({ url }) => checkRevocations({ DATABASE_URL: url, HTTP_THREADS: "2" }),
  { ignore: !isFull },
);

remoteTest(
  "a key revoked by one instance is REVOKED in the next verification by another, also one that records",
  ({ url }) =>
    inScene({ env: { DATABASE_URL: url, HTTP_THREADS: "2" } }, async ({ start, run }) => {
      const [revoking, verifying] = [await start(), await start()];
      const signedUp = await sendJson(revoking.baseUrl, "/api/auth/sign-up", {
        json: { name: "Ada", email: "ada@example.com", password: testPassword },
      });
      assert.equal(signedUp.status, 201, await signedUp.clone().text());
      const { stdout } = await run("token", "create", "Tiles", "--scope", "keys:verify");
      const given = { cookie: cookieOf(signedUp), operatorToken: stdout.trim() };
      await checkVerification(verifying, given, revoking.baseUrl);
    }),
);
