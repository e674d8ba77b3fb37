// Operator tokens over the API: creating, listing and revoking them, and every reason to reject one.
import assert from "node:assert/strict";
import { generateOperatorToken } from "../../../../domain/operator/operator_token.ts";
import { operatorScopes } from "../../../../domain/operator/operator_scope.ts";
import { rejectedApiKeysPerMinuteMax } from "../../../../domain/limits.ts";
import { type Database, sql } from "../../../../db/engine/database.ts";
import {
  assertError,
  cookieOf,
  createTestKey,
  startTestApp,
  type TestApp,
  testApp,
  testPassword,
} from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { embeddedTestDatabase } from "../../../support/database/database.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { mailedToken } from "../../../support/people/people.ts";
import { poll } from "../../../support/runner/poll.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const path = "/api/operator/tokens";
/** A route with the scope `users:read`. */
const users = "/api/operator/users";
const hourMs = 3_600_000;

function useToken(test: TestApp, fullToken: string, peerAddress = "127.0.0.1"): Promise<Response> {
  return test.send(users, { apiKey: fullToken, peerAddress });
}

testApp("organizations:write alone can invite an OWNER, who reads everything", async (test) => {
  const { organizationId } = await test.signUp();
  const { fullToken: apiKey } = await newOperatorToken(test, ["organizations:write"]);
  const members = `/api/portal/organizations/${organizationId}/members`;
  const email = "mallory@example.com";
  const path = `/api/operator/organizations/${organizationId}/invitations`;
  assert.equal((await test.send(path, { apiKey, json: { email, role: "OWNER" } })).status, 201);
  const invitationToken = await mailedToken(test, email);
  const json = { name: "Mallory", email, password: testPassword, invitationToken };
  const cookie = cookieOf(await test.send("/api/auth/sign-up", { json }));
  assert.equal((await test.send(members, { cookie })).status, 200);
});

testApp("keys:write alone can create a key that reads and voids usage", async (test) => {
  const { organizationId } = await test.signUp();
  const { fullToken } = await newOperatorToken(test, ["keys:write"]);
  const permissions = ["usage:read", "usage:void", "usage:write"];
  const created = await test.send(`/api/operator/organizations/${organizationId}/api-keys`, {
    apiKey: fullToken,
    json: { name: "Mallory", permissions },
  });
  assert.equal(created.status, 201);
  const { apiKey, fullKey } = await created.json();
  assert.deepEqual(apiKey.permissions, permissions);
  assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey })).status, 200);
});

onEveryDatabase("an operator creates, lists and revokes tokens, and each is audited", async (test) => {
  const { cookie, userId } = await newOperator(test);
  const expiresAt = new Date(test.now() + hourMs).toISOString();
  const json = { name: " Billing ", scopes: ["users:read", "usage:read", "users:read"], expiresAt };
  const response = await test.send(path, { cookie, json });
  assert.equal(response.status, 201, await response.clone().text());
  const { token, fullToken } = await response.json();
  assert.match(fullToken, /^service_operator_[0-9A-Za-z]{38}$/);
  assert.deepEqual(token, {
    id: token.id,
    name: "Billing",
    tokenPrefix: `${fullToken.slice(0, "service_operator_".length + 8)}…`,
    scopes: ["usage:read", "users:read"],
    addresses: [],
    createdAt: new Date(test.now()).toISOString(),
    createdBy: { id: userId, name: "Mara Rossi" },
    lastUsedAt: null,
    expiresAt,
    revokedAt: null,
    status: "active",
  });
  assert.equal((await useToken(test, fullToken)).status, 200);
  const stored = JSON.stringify(await test.opened.database.read(sql`SELECT * FROM operator_tokens`));
  assert.ok(!stored.includes(fullToken.slice(-20)));

  await test.send(path, { cookie, json: { name: "Second", scopes: ["usage:read"] } });
  const list = async (query = "") => await (await test.send(path + query, { cookie })).json();
  const first = await list("?limit=1");
  assert.deepEqual(first.tokens.map(({ name }: { name: string }) => name), ["Second"]);
  const rest = await list(`?limit=1&cursor=${first.nextCursor}`);
  assert.deepEqual([rest.tokens[0].id, rest.nextCursor], [token.id, null]);

  const revoke = () => test.send(`${path}/${token.id}`, { cookie, method: "DELETE" });
  assert.equal((await (await revoke()).json()).token.status, "revoked");
  await assertError(await useToken(test, fullToken), 401, "invalid_operator_token");
  assert.equal((await (await revoke()).json()).token.status, "revoked");
  const entries = await test.opened.database.read(sql`
    SELECT action, actor_id, target_name, organization_id FROM audit_events
    WHERE action LIKE 'operator_token.%' ORDER BY id`);
  const entry = { actor_id: userId, target_name: "Billing", organization_id: null };
  assert.deepEqual(entries, [
    { action: "operator_token.created", ...entry },
    { action: "operator_token.created", ...entry, target_name: "Second" },
    { action: "operator_token.revoked", ...entry },
  ]);
});

testApp("names an unknown scope, a bad address and an expiry in the past", async (test) => {
  const { cookie } = await newOperator(test);
  const faultOf = async (json: Record<string, unknown>) => {
    const response = await test.send(path, { cookie, json: { name: "A", scopes: ["usage:read"], ...json } });
    const { error } = await assertError(response, 422, "validation_failed");
    return `${error.details?.[0]?.path} ${error.details?.[0]?.message}`;
  };
  assert.equal(
    await faultOf({ scopes: ["usage:read", "usage:delete"] }),
    `scopes[1] “usage:delete” is not a scope. The scopes are ${operatorScopes.join(", ")}.`,
  );
  assert.match(await faultOf({ scopes: [] }), /^scopes must have at least one scope/);
  assert.match(await faultOf({ scopes: [7] }), /^scopes\[0\] must be/);
  assert.equal(
    await faultOf({ addresses: ["10.0.0.0/8", "10.0.0.0/99"] }),
    "addresses[1] must be an IP address or a CIDR block.",
  );
  assert.match(await faultOf({ expiresAt: new Date(test.now()).toISOString() }), /^expiresAt must be in the/);
  const unknown = await test.send(`${path}/opt_${"0".repeat(32)}`, { cookie, method: "DELETE" });
  await assertError(unknown, 404, "not_found");
});

testApp("rejects every token that doesn't work with the same bytes", async (test) => {
  const revoked = await newOperatorToken(test);
  await run(test, "UPDATE operator_tokens SET revoked_at = 1 WHERE id = ?", revoked.id);
  const { fullToken: expired } = await newOperatorToken(test, operatorScopes, { expiresAt: test.now() });
  const { fullToken: elsewhere } = await newOperatorToken(test, operatorScopes, {
    addresses: ["10.0.0.0/8"],
  });
  const { fullToken: unknown } = generateOperatorToken();
  const { fullKey } = await createTestKey(test, await test.signUp());
  const mistyped = unknown.slice(0, -1) + (unknown.endsWith("0") ? "1" : "0");
  const { cookie } = await newOperator(test);
  const responses = new Set<string>();
  for (const token of [revoked.fullToken, expired, elsewhere, unknown, mistyped, fullKey, "x", "a b"]) {
    // The session of an operator is ignored beside a token.
    const response = await test.send(users, { apiKey: token, cookie });
    assert.equal(response.headers.get("www-authenticate"), "Bearer");
    const { error } = await assertError(response, 401, "invalid_operator_token");
    responses.add(JSON.stringify([error, [...response.headers].filter(([name]) => name !== "x-request-id")]));
  }
  assert.equal(responses.size, 1, [...responses].join("\n"));
});

testApp("a token works only from its addresses", async (test) => {
  const addresses = ["198.51.100.0/24", "2001:db8::/32", "203.0.113.7"];
  const { fullToken } = await newOperatorToken(test, ["users:read"], { addresses });
  const statusFrom = async (address: string) => (await useToken(test, fullToken, address)).status;
  for (const address of ["198.51.100.255", "::ffff:198.51.100.1", "2001:db8:1::1", "203.0.113.7"]) {
    assert.equal(await statusFrom(address), 200, address);
  }
  for (const address of ["198.51.101.1", "203.0.113.8", "2001:db9::1", "127.0.0.1", "unix"]) {
    assert.equal(await statusFrom(address), 401, address);
  }
});

testApp("an expired token is rejected from that moment on", async (test) => {
  const { fullToken } = await newOperatorToken(test, ["users:read"], { expiresAt: test.now() + hourMs });
  test.advance(hourMs - 1);
  assert.equal((await useToken(test, fullToken)).status, 200);
  test.advance(1);
  await assertError(await useToken(test, fullToken), 401, "invalid_operator_token");
});

testApp("names the scope that a token lacks", async (test) => {
  const { fullToken } = await newOperatorToken(
    test,
    operatorScopes.filter((scope) => scope !== "users:read"),
  );
  const lacking = await assertError(await useToken(test, fullToken), 403, "scope_missing");
  assert.match(lacking.error.message, /users:read/);
  await assertError(await test.send(path, { apiKey: fullToken }), 403, "scope_missing");
});

testApp("notes when a token was last used, at most once a minute", async (test) => {
  const { id, fullToken } = await newOperatorToken(test, ["users:read"]);
  const lastUsedAt = async () => {
    const select = sql`SELECT last_used_at AS at FROM operator_tokens WHERE id = ${id}`;
    return (await test.opened.database.readFirst<{ at: number | null }>(select))?.at;
  };
  const start = test.now();
  await useToken(test, fullToken);
  await poll(async () => await lastUsedAt() === start);
  test.advance(59_999);
  await useToken(test, fullToken);
  assert.equal(await lastUsedAt(), start);
  test.advance(1);
  await useToken(test, fullToken);
  await poll(async () => await lastUsedAt() === start + 60_000);
});

testApp("limits invalid tokens by address, and no valid one", async (test) => {
  const { fullToken } = await newOperatorToken(test, ["users:read"]);
  const invalid = () => useToken(test, generateOperatorToken().fullToken, "10.9.9.9");
  for (let n = 0; n < rejectedApiKeysPerMinuteMax; n++) {
    await assertError(await invalid(), 401, "invalid_operator_token");
  }
  const limited = await invalid();
  assert.ok(Number(limited.headers.get("retry-after")) > 0);
  await assertError(limited, 429, "rate_limited");
  assert.equal((await useToken(test, fullToken, "10.9.9.9")).status, 200);
});

Deno.test("a mistyped token is rejected without reading the database", async () => {
  let reads = 0;
  const test = await startTestApp({}, {
    open: async () => {
      const opened = await embeddedTestDatabase();
      const { database } = opened;
      const counting: Database = {
        source: database.source,
        read: (statement) => (reads++, database.read(statement)),
        readFirst: (statement) => (reads++, database.readFirst(statement)),
        write: (batch, options) => (reads++, database.write(batch, options)),
        close: () => database.close(),
      };
      return { ...opened, database: counting };
    },
  });
  try {
    const { fullToken } = generateOperatorToken();
    const before = reads;
    const mistyped = fullToken.slice(0, -1) + (fullToken.endsWith("0") ? "1" : "0");
    await assertError(await useToken(test, mistyped), 401, "invalid_operator_token");
    assert.equal(reads, before);
    await assertError(await useToken(test, fullToken), 401, "invalid_operator_token");
    assert.ok(reads > before);
  } finally {
    await test.dispose();
  }
});
