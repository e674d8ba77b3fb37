// Operator tokens over the API: creating, listing and revoking them, and every reason to reject one.
import assert from "node:assert/strict";
import { generateOperatorToken } from "../../../../domain/access/operator_token.ts";
import { operatorScopes } from "../../../../domain/access/operator_scope.ts";
import { rejectedApiKeysPerMinuteMax } from "../../../../domain/limits.ts";
import { sql } from "../../../../db/engine/database.ts";
import {
  assertError,
  cookieOf,
  createTestKey,
  type TestApp,
  testApp,
  testPassword,
} from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { mailedToken } from "../../../support/people/people.ts";
import { poll } from "../../../support/runner/poll.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";
import { assertOutcome, assertRows, fetchJson, type Row } from "../../../support/app/rows.ts";
import { assertSent, operatorOf } from "../../../support/operators/operator_api.ts";

const path = "/api/operator/tokens";
/** A route with the scope `users:read`. */
const users = "/api/operator/users";
const hourMs = 3_600_000;

function useToken(test: TestApp, fullToken: string, peerAddress = "127.0.0.1"): Promise<Response> {
  return test.send(users, { apiKey: fullToken, peerAddress });
}

testApp(
  "organizations:write alone can invite an OWNER, keys:write create a key that reads and voids",
  async (test) => {
    const { organizationId } = await test.signUp();
    const send = await operatorOf(test, ["organizations:write"]);
    const email = "mallory@example.com";
    await assertSent(send, [[
      `POST /organizations/${organizationId}/invitations`,
      { email, role: "OWNER" },
      "201",
    ]]);
    const json = {
      name: "Mallory",
      email,
      password: testPassword,
      invitationToken: await mailedToken(test, email),
    };
    const cookie = cookieOf(await test.send("/api/auth/sign-up", { json }));
    await assertRows(test, { cookie }, [[
      `GET /api/portal/organizations/${organizationId}/members`,
      null,
      200,
    ]]);
    const sendKeys = await operatorOf(test, ["keys:write"]);
    const permissions = ["usage:read", "usage:void", "usage:write"];
    const { body } = await sendKeys(`POST /organizations/${organizationId}/api-keys`, {
      name: "Mallory",
      permissions,
    });
    assert.deepEqual(body.apiKey.permissions, permissions);
    await assertRows(test, { apiKey: body.fullKey }, [["GET /api/v1/usage", null, 200]]);
  },
);

onEveryDatabase("an operator creates, lists and revokes tokens, and each is audited", async (test) => {
  const mara = await newOperator(test);
  const expiresAt = new Date(test.now() + hourMs).toISOString();
  const json = { name: " Billing ", scopes: ["users:read", "usage:read", "users:read"], expiresAt };
  const { token, fullToken } = await fetchJson(test, mara, `POST ${path}`, json);
  assert.match(fullToken, /^service_operator_[0-9A-Za-z]{38}$/);
  assert.deepEqual(token, {
    ...{
      id: token.id,
      name: "Billing",
      scopes: ["usage:read", "users:read"],
      addresses: [],
      status: "active",
    },
    tokenPrefix: `${fullToken.slice(0, "service_operator_".length + 8)}…`,
    ...{ createdAt: new Date(test.now()).toISOString(), createdBy: { id: mara.userId, name: "Mara Rossi" } },
    ...{ lastUsedAt: null, expiresAt, revokedAt: null },
  });
  await assertOutcome(useToken(test, fullToken), 200);
  const stored = JSON.stringify(await test.opened.database.read(sql`SELECT * FROM operator_tokens`));
  assert.ok(!stored.includes(fullToken.slice(-20)));

  await fetchJson(test, mara, `POST ${path}`, { name: "Second", scopes: ["usage:read"] });
  const first = await fetchJson(test, mara, `GET ${path}?limit=1`);
  assert.deepEqual(first.tokens.map(({ name }: { name: string }) => name), ["Second"]);
  const rest = await fetchJson(test, mara, `GET ${path}?limit=1&cursor=${first.nextCursor}`);
  assert.deepEqual([rest.tokens[0].id, rest.nextCursor], [token.id, null]);

  for (let n = 0; n < 2; n++) {
    assert.equal((await fetchJson(test, mara, `DELETE ${path}/${token.id}`)).token.status, "revoked");
    await assertOutcome(useToken(test, fullToken), "401 invalid_operator_token");
  }
  const entries = await test.opened.database.read(sql`
    SELECT action, actor_id, target_name, organization_id FROM audit_events
    WHERE action LIKE 'operator_token.%' ORDER BY id`);
  const entry = { actor_id: mara.userId, target_name: "Billing", organization_id: null };
  assert.deepEqual(entries, [
    { action: "operator_token.created", ...entry },
    { action: "operator_token.created", ...entry, target_name: "Second" },
    { action: "operator_token.revoked", ...entry },
  ]);
});

testApp("names an unknown scope, a bad address and an expiry in the past", async (test) => {
  const scopes = `“usage:delete” is not a scope. The scopes are ${operatorScopes.join(", ")}.`;
  const token = (json: Record<string, unknown>) => ({ name: "A", scopes: ["usage:read"], ...json });
  const rows: readonly (readonly [json: Record<string, unknown>, path: string, message: string])[] = [
    [{ scopes: ["usage:read", "usage:delete"] }, "scopes[1]", scopes],
    [{ scopes: [] }, "scopes", "must have at least one scope"],
    [{ scopes: [7] }, "scopes[0]", "must be"],
    [{ addresses: ["10.0.0.0/8", "10.0.0.0/99"] }, "addresses[1]", "must be an IP address or a CIDR block."],
    [{ expiresAt: new Date(test.now()).toISOString() }, "expiresAt", "must be in the"],
  ];
  await assertRows(test, await newOperator(test), [
    ...rows.map(([json, at, message]): Row => [
      `POST ${path}`,
      token(json),
      `422 validation_failed ${at}`,
      { shows: [`"message":"${message}`] },
    ]),
    [`DELETE ${path}/opt_${"0".repeat(32)}`, null, "404 not_found"],
  ]);
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

testApp(
  "a token works only from its addresses, until it expires, and names the scope that it lacks",
  async (test) => {
    const addresses = ["198.51.100.0/24", "2001:db8::/32", "203.0.113.7"];
    const expiresAt = test.now() + hourMs;
    const { fullToken } = await newOperatorToken(test, ["users:read"], { addresses, expiresAt });
    const own = ["198.51.100.255", "::ffff:198.51.100.1", "2001:db8:1::1", "203.0.113.7"];
    for (const address of own) await assertOutcome(useToken(test, fullToken, address), 200);
    const others = ["198.51.101.1", "203.0.113.8", "2001:db9::1", "127.0.0.1", "unix"];
    for (const address of others) await assertOutcome(useToken(test, fullToken, address), 401);
    const lacking: Row = [`GET /api/operator/usage`, null, "403 scope_missing", { shows: ["usage:read"] }];
    await assertRows(test, { apiKey: fullToken, peerAddress: "203.0.113.7" }, [lacking]);
    test.advance(hourMs - 1);
    await assertOutcome(useToken(test, fullToken, "203.0.113.7"), 200);
    test.advance(1);
    await assertOutcome(useToken(test, fullToken, "203.0.113.7"), "401 invalid_operator_token");
  },
);

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
    await assertOutcome(invalid(), "401 invalid_operator_token");
  }
  const limited = await invalid();
  assert.ok(Number(limited.headers.get("retry-after")) > 0);
  await assertOutcome(Promise.resolve(limited), "429 rate_limited");
  await assertOutcome(useToken(test, fullToken, "10.9.9.9"), 200);
});

testApp("a mistyped token is rejected without reading the database", async (test) => {
  let reads = 0;
  const { database } = test.opened;
  const { read, readFirst } = database;
  database.read = (statement) => (reads++, read.call(database, statement)) as never;
  database.readFirst = (statement) => (reads++, readFirst.call(database, statement)) as never;
  const { fullToken } = generateOperatorToken();
  const mistyped = fullToken.slice(0, -1) + (fullToken.endsWith("0") ? "1" : "0");
  await assertOutcome(useToken(test, mistyped), "401 invalid_operator_token");
  assert.equal(reads, 0);
  await assertOutcome(useToken(test, fullToken), "401 invalid_operator_token");
  assert.ok(reads > 0);
});
