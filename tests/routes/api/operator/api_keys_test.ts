// API keys of customers over the operators' API.
import assert from "node:assert/strict";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { assertOutcome, fetchJson } from "../../../support/app/rows.ts";
import { assertSent, operatorOf } from "../../../support/operators/operator_api.ts";
import { changePlan } from "../../../support/operators/plans.ts";
import { onEveryDatabase, recordOne } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const scopes = ["keys:read", "keys:write"] as const;
const keysOf = (organizationId: string) => `/organizations/${organizationId}/api-keys`;

onEveryDatabase("creates, lists, changes and revokes keys of any organization", async (test) => {
  const send = await operatorOf(test, scopes);
  const ada = await test.signUp("Ada");
  const keys = keysOf(ada.organizationId);
  const permissions = ["usage:write", "usage:void", "maps:render"];
  const created = await send(`POST ${keys}`, { name: "Billing", permissions, expiresAt: "2027-01-31" });
  assert.equal(created.status, 201);
  const { apiKey, fullKey } = created.body;
  assert.deepEqual(apiKey, {
    ...{ id: apiKey.id, name: "Billing", keyPrefix: apiKey.keyPrefix, environment: "live", status: "active" },
    ...{ createdAt: "2026-11-21T14:03:11.250Z", createdBy: null, createdByOperator: true, lastUsedAt: null },
    ...{ permissions: permissions.toSorted(), budget: [], expiresAt: "2027-01-31T00:00:00.000Z" },
    ...{ leakedAt: null, revokedAt: null, enabled: true, disabledByOperator: false },
    ...{ addresses: null, requestsPerSecond: null, externalId: null, metadata: {} },
    organizationId: ada.organizationId,
  });
  await recordOne(test, fullKey);
  const own = await createTestKey(test, ada);
  const { body: granted } = await send(`PATCH /api-keys/${own.id}`, { permissions: ["usage:void"] });
  assert.deepEqual(granted.apiKey.permissions, ["usage:void"]);
  assert.deepEqual(granted.apiKey.createdBy, { id: ada.userId, name: "Ada" });
  await assertOutcome(test.send("/api/v1/usage", { apiKey: own.fullKey }), "403 permission_missing");
  const { body: first } = await send(`GET ${keys}?limit=1`);
  assert.deepEqual(first.apiKeys.map(({ id }: { id: string }) => id), [own.id]);
  const { body: rest } = await send(`GET ${keys}?limit=1&cursor=${first.nextCursor}`);
  assert.deepEqual([rest.apiKeys[0].id, rest.nextCursor], [apiKey.id, null]);
  const mine = await fetchJson(test, ada, "GET /api/portal/api-keys");
  const { organizationId: _id, externalId: _externalId, metadata: _metadata, ...shown } = rest.apiKeys[0];
  assert.deepEqual(mine.apiKeys[1], shown);

  assert.equal((await send(`DELETE /api-keys/${apiKey.id}`)).body.apiKey.status, "revoked");
  await assertSent(send, [[`DELETE /api-keys/${apiKey.id}`, undefined, "200"]]);
  await assertOutcome(test.send("/api/v1/usage", { apiKey: fullKey }), "401 invalid_api_key");

  const { events } = await listAudit(test, ada.cookie, "?action=keys");
  const byOperator = events.filter(({ actor }) => actor.type === "operator");
  assert.deepEqual(byOperator.map(({ action, target }) => [action, target?.id]), [
    ["api_key.revoked", apiKey.id],
    ["api_key.permissions_changed", own.id],
    ["api_key.created", apiKey.id],
  ]);
});

testApp("operators' keys are checked and count toward the limit, also while suspended", async (test) => {
  const send = await operatorOf(test, scopes);
  const { organizationId } = await test.signUp();
  await run(test, "UPDATE organizations SET suspended_at = 1 WHERE id = ?", organizationId);
  await changePlan(test, "api_keys_max", 2);
  const create = `POST ${keysOf(organizationId)}`;
  await assertSent(send, [
    [create, {}, "422 validation_failed name"],
    [create, { name: "" }, "422 validation_failed name"],
    [create, { name: "Key", permissions: ["usage:delete"] }, "422 validation_failed permissions[0]"],
    [create, { name: "Key", expiresAt: "2020-01-01" }, "422 validation_failed expiresAt"],
    [create, { name: "Key", organizationId: "org_1" }, "422 validation_failed organizationId"],
    [create, { name: "One" }, "201"],
    [create, { name: "Two" }, "201"],
    [create, { name: "One more" }, "409 key_limit_reached"],
  ]);
});

testApp("nothing is done with keys of a deleted organization", async (test) => {
  const send = await operatorOf(test);
  const ada = await test.signUp();
  const { id } = await createTestKey(test, ada);
  await assertSent(send, [
    [`DELETE /organizations/${ada.organizationId}`, undefined, "204"],
    [`GET ${keysOf(ada.organizationId)}`, undefined, "404 not_found"],
    [`POST ${keysOf(ada.organizationId)}`, { name: "Key" }, "404 not_found"],
    [`PATCH /api-keys/${id}`, { name: "Key" }, "404 not_found"],
    [`DELETE /api-keys/${id}`, undefined, "404 not_found"],
  ]);
});
