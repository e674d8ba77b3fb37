// API keys of customers over the operators' API.
import assert from "node:assert/strict";
import { assertError, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { asOperator, type OperatorResponse } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { onEveryDatabase, recordOne } from "../../../support/meter/usage.ts";

const keysOf = (organizationId: string) => `/organizations/${organizationId}/api-keys`;

async function operatorOf(test: TestApp) {
  const { fullToken } = await newOperatorToken(test, ["keys:read", "keys:write"]);
  return asOperator(test, fullToken);
}

function assertCode({ status, body }: OperatorResponse, expected: [status: number, code: string]): void {
  assert.deepEqual([status, body.error?.code], expected);
}

onEveryDatabase("creates, lists, changes and revokes keys of any organization", async (test) => {
  const send = await operatorOf(test);
  const ada = await test.signUp("Ada");
  const keys = keysOf(ada.organizationId);
  const created = await send(`POST ${keys}`, {
    name: "Billing",
    permissions: ["usage:write", "usage:void", "maps:render"],
    expiresAt: "2027-01-31",
  });
  assert.equal(created.status, 201);
  const { apiKey, fullKey } = created.body;
  assert.deepEqual(apiKey, {
    id: apiKey.id,
    name: "Billing",
    keyPrefix: apiKey.keyPrefix,
    environment: "live",
    createdAt: "2026-11-21T14:03:11.250Z",
    createdBy: null,
    createdByOperator: true,
    permissions: ["maps:render", "usage:void", "usage:write"],
    budget: [],
    lastUsedAt: null,
    leakedAt: null,
    expiresAt: "2027-01-31T00:00:00.000Z",
    revokedAt: null,
    status: "active",
  });
  await recordOne(test, fullKey);
  const own = await createTestKey(test, ada);
  const granted = await send(`PATCH /api-keys/${own.id}`, { permissions: ["usage:void"] });
  assert.deepEqual(granted.body.apiKey.permissions, ["usage:void"]);
  assert.deepEqual(granted.body.apiKey.createdBy, { id: ada.userId, name: "Ada" });
  await assertError(await test.send("/api/v1/usage", { apiKey: own.fullKey }), 403, "permission_missing");
  const listed = await send(`GET ${keys}?limit=1`);
  assert.deepEqual(listed.body.apiKeys.map(({ id }: { id: string }) => id), [own.id]);
  const rest = await send(`GET ${keys}?limit=1&cursor=${listed.body.nextCursor}`);
  assert.equal(rest.body.apiKeys[0].id, apiKey.id);
  assert.equal(rest.body.nextCursor, null);
  const mine = await (await test.send("/api/portal/api-keys", { cookie: ada.cookie })).json();
  assert.deepEqual(mine.apiKeys[1], rest.body.apiKeys[0]);

  assert.equal((await send(`DELETE /api-keys/${apiKey.id}`)).body.apiKey.status, "revoked");
  assert.equal((await send(`DELETE /api-keys/${apiKey.id}`)).status, 200);
  await assertError(await test.send("/api/v1/usage", { apiKey: fullKey }), 401, "invalid_api_key");

  const { events } = await listAudit(test, ada.cookie, "?action=keys");
  assert.deepEqual(
    events.filter(({ actor }) => actor.type === "operator").map(({ action, target }) => [action, target?.id]),
    [
      ["api_key.revoked", apiKey.id],
      ["api_key.permissions_changed", own.id],
      ["api_key.created", apiKey.id],
    ],
  );
});

testApp("operators' keys count toward the limit, also in suspended organizations", async (test) => {
  const send = await operatorOf(test);
  const ada = await test.signUp();
  const suspended = "UPDATE organizations SET suspended_at = 1 WHERE id = ?";
  await test.opened.database.write([{ sql: suspended, args: [ada.organizationId] }]);
  const keys = keysOf(ada.organizationId);
  for (let n = 0; n < 100; n++) {
    assert.equal((await send(`POST ${keys}`, { name: `Key ${n}` })).status, 201);
  }
  assertCode(await send(`POST ${keys}`, { name: "One more" }), [409, "key_limit_reached"]);
});

testApp("nothing is done with keys of a deleted organization", async (test) => {
  const { fullToken } = await newOperatorToken(test);
  const send = asOperator(test, fullToken);
  const ada = await test.signUp();
  const { id } = await createTestKey(test, ada);
  assert.equal((await send(`DELETE /organizations/${ada.organizationId}`)).status, 204);
  for (
    const response of [
      await send(`GET ${keysOf(ada.organizationId)}`),
      await send(`POST ${keysOf(ada.organizationId)}`, { name: "Key" }),
      await send(`PATCH /api-keys/${id}`, { name: "Key" }),
      await send(`DELETE /api-keys/${id}`),
    ]
  ) assertCode(response, [404, "not_found"]);
});

testApp("rejects invalid keys of operators as those of people", async (test) => {
  const send = await operatorOf(test);
  const keys = keysOf((await test.signUp()).organizationId);
  for (
    const json of [
      {},
      { name: "" },
      { name: "Key", permissions: ["usage:delete"] },
      { name: "Key", expiresAt: "2020-01-01" },
      { name: "Key", organizationId: "org_1" },
    ]
  ) assertCode(await send(`POST ${keys}`, json), [422, "validation_failed"]);
});
