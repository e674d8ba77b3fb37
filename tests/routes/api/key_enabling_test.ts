// Disabling and enabling API keys: every door that a key opens closes on the next request, and opens again.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { assertRows, fetchJson, sendRow } from "../../support/app/rows.ts";
import { assertDoorsClosed, assertDoorsOpen } from "../../support/meter/key_doors.ts";
import { onEveryDatabase, recordOne } from "../../support/meter/usage.ts";
import { asOperator, assertSent, operatorOf } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { changePlan } from "../../support/operators/plans.ts";
import { newScene, run } from "../../support/people/scene.ts";

const path = "/api/portal/api-keys";

const setEnabled = (test: TestApp, person: TestPerson, id: string, enabled: boolean) =>
  fetchJson(test, person, `PATCH ${path}/${id}`, { enabled });

async function voidingKey(test: TestApp) {
  const send = await operatorOf(test);
  const ada = await test.signUp("Ada");
  const key = await createTestKey(test, ada);
  await send(`PATCH /api-keys/${key.id}`, { permissions: ["usage:read", "usage:void", "usage:write"] });
  const record = await recordOne(test, key.fullKey);
  return { send, ada, key, apiKey: key.fullKey, record };
}

onEveryDatabase(
  "a disabled key opens no door from the next request on, until it is enabled",
  async (test) => {
    const { ada, key, apiKey, record } = await voidingKey(test);
    await assertDoorsOpen(test, { apiKey }, record.id);
    const { apiKey: disabled } = await setEnabled(test, ada, key.id, false);
    assert.deepEqual([disabled.enabled, disabled.disabledByOperator, disabled.status], [
      false,
      false,
      "active",
    ]);
    await assertDoorsClosed(test, { apiKey }, record.id);
    await setEnabled(test, ada, key.id, true);
    await assertDoorsOpen(test, { apiKey }, record.id);
  },
);

testApp("a disabled key's response has the same bytes as that of a revoked one", async (test) => {
  const { ada, key, apiKey } = await voidingKey(test);
  const bodyOf = async () => {
    const { answer, html } = await sendRow(test, { apiKey }, "POST /api/v1/usage", {});
    const headers = [...answer.headers].filter(([name]) => name !== "x-request-id");
    return [answer.status, headers, html.replace(/req_\w+|"requestId":"[^"]*"/g, "")];
  };
  await setEnabled(test, ada, key.id, false);
  const disabled = await bodyOf();
  await fetchJson(test, ada, `DELETE ${path}/${key.id}`);
  assert.deepEqual(await bodyOf(), disabled);
});

onEveryDatabase("verification says DISABLED, with and without recording", async (test) => {
  const { ada, key, apiKey } = await voidingKey(test);
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  const usage = { productSlug: "tiles", metric: "requests", record: true };
  const codes = async () => {
    const codes: string[] = [];
    for (const more of [{}, { usage: { ...usage, record: false } }, { usage }]) {
      const by = { apiKey: fullToken };
      codes.push((await fetchJson(test, by, "POST /api/v1/keys/verify", { key: apiKey, ...more })).code);
    }
    return codes;
  };
  assert.deepEqual(await codes(), ["VALID", "VALID", "VALID"]);
  await setEnabled(test, ada, key.id, false);
  assert.deepEqual(await codes(), ["DISABLED", "DISABLED", "DISABLED"]);
  await setEnabled(test, ada, key.id, true);
  assert.deepEqual(await codes(), ["VALID", "VALID", "VALID"]);
  await setEnabled(test, ada, key.id, false);
  await fetchJson(test, ada, `DELETE ${path}/${key.id}`);
  assert.deepEqual(await codes(), ["REVOKED", "REVOKED", "REVOKED"]);
});

testApp("a disabled key counts among the active keys, and can't be rotated", async (test) => {
  const { send, ada, key } = await voidingKey(test);
  await changePlan(test, "api_keys_max", 1);
  await setEnabled(test, ada, key.id, false);
  await assertRows(test, ada, [
    [`POST ${path}`, { name: "Second" }, "409 key_limit_reached"],
    [`POST ${path}/${key.id}/rotate`, { expireOldAt: "now" }, "409 key_disabled"],
  ]);
  await assertSent(send, [[`POST /api-keys/${key.id}/rotate`, {}, "409 key_disabled"]]);
});

testApp("only operators enable what an operator disabled", async (test) => {
  const { send, ada, key } = await voidingKey(test);
  const change = `PATCH ${path}/${key.id}`;
  await setEnabled(test, ada, key.id, false);
  const { body } = await send(`PATCH /api-keys/${key.id}`, { enabled: false });
  assert.equal(body.apiKey.disabledByOperator, true);
  await assertRows(test, ada, [
    [change, { enabled: false }, 200],
    [change, { enabled: true }, "403 forbidden"],
    [change, { name: "Renamed" }, 200],
  ]);
  await assertSent(send, [[`PATCH /api-keys/${key.id}`, { enabled: true }, "200"]]);
  const { apiKey } = await setEnabled(test, ada, key.id, false);
  assert.equal(apiKey.disabledByOperator, false);
  await setEnabled(test, ada, key.id, true);
});

testApp("members can't disable or enable keys, also their own", async (test) => {
  const scene = await newScene(test, "member");
  const { id } = await createTestKey(test, scene.me);
  const rows = [true, false].map((enabled) => [`PATCH ${path}/${id}`, { enabled }, "403 forbidden"] as const);
  await assertRows(test, scene.me, rows);
});

testApp("the audit log says who disabled and enabled a key, once for each change", async (test) => {
  const { send, ada, key } = await voidingKey(test);
  for (const enabled of [true, false, false, true]) await setEnabled(test, ada, key.id, enabled);
  await send(`PATCH /api-keys/${key.id}`, { enabled: false });
  const { events } = await listAudit(test, ada.cookie, "?action=keys");
  assert.deepEqual(
    events.slice(0, 3).map(({ action, actor, target }) => [action, actor.type, target?.id]),
    [["api_key.disabled", "operator", key.id], ["api_key.enabled", "session", key.id], [
      "api_key.disabled",
      "session",
      key.id,
    ]],
  );
});

onEveryDatabase("operators rotate a customer's key, which stays one of its creator", async (test) => {
  const { ada, key, apiKey } = await voidingKey(test);
  const send = asOperator(test, (await newOperatorToken(test, ["keys:write"])).fullToken);
  const { status, body } = await send(`POST /api-keys/${key.id}/rotate`, { expireOldAt: "now" });
  assert.deepEqual([status, body.apiKey.createdBy.id, body.apiKey.name], [201, ada.userId, "Production"]);
  await recordOne(test, body.fullKey);
  await assertRows(test, { apiKey }, [["POST /api/v1/usage", {}, "401 invalid_api_key"]]);
  const reader = asOperator(test, (await newOperatorToken(test, ["keys:read"])).fullToken);
  await assertSent(reader, [[`POST /api-keys/${body.apiKey.id}/rotate`, {}, "403 scope_missing"]]);
  const { events } = await listAudit(test, ada.cookie, "?action=keys");
  assert.deepEqual([events[0]?.action, events[0]?.actor.type], ["api_key.rotated", "operator"]);
});

testApp("pages disable and enable a key after confirmation, without scripts", async (test) => {
  const { ada, key, apiKey } = await voidingKey(test);
  const page = `/portal/api-keys/${key.id}`;
  await assertRows(test, ada, [
    [`GET ${page}`, null, 200, { shows: ["Disable key"], hides: ["This key is disabled"] }],
    [`GET ${page}/disable`, null, 200, { shows: ["Requests with this key will fail immediately."] }],
    [`POST ${page}/disable`, {}, 303],
    [`GET ${page}?done=disabled`, null, 200, { shows: ["has been disabled.", "Disabled", "Enable"] }],
    [`GET ${page}/rotate`, null, 303],
    ["GET /portal/api-keys", null, 200, { shows: ["Disabled"] }],
    ["POST /api/v1/usage", {}, 401],
    [`POST ${page}/enable`, {}, 303],
    [`GET ${page}?done=enabled`, null, 200, { shows: ["has been enabled."], hides: ["Enable key"] }],
  ]);
  await recordOne(test, apiKey);
  await run(test, "UPDATE api_keys SET disabled_at = 1, disabled_by_operator = 1 WHERE id = ?", key.id);
  await assertRows(test, ada, [
    [`GET ${page}`, null, 200, { shows: ["The operator of this service disabled this key."] }],
    [`GET ${page}/enable`, null, 303],
    [`POST ${page}/enable`, {}, 403],
  ]);
});
