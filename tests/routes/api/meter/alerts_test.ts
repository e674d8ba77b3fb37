// Alerts over the API: what they are, who has them, and what is rejected.
import assert from "node:assert/strict";
import { alertsOfOrganizationMax } from "../../../../domain/outbox/webhook_limits.ts";
import { required } from "../../../../routes/schemas/messages.ts";
import {
  assertError,
  createTestKey,
  type TestApp,
  testApp,
  type TestPerson,
} from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";

const path = "/api/portal/alerts";
const tiles = { productSlug: "tiles", metric: "requests", per: "month", quantity: 1_000 };

async function alertsOf(test: TestApp, { cookie }: TestPerson) {
  const response = await test.send(path, { cookie });
  assert.equal(response.status, 200);
  return (await response.json()).alerts;
}

async function add(test: TestApp, { cookie }: TestPerson, json: unknown) {
  const response = await test.send(path, { cookie, json });
  assert.equal(response.status, 201, await response.clone().text());
  return (await response.json()).alert;
}

onEveryDatabase("an alert counts the usage of its window, also from before it was added", async (test) => {
  const ada = await test.signUp("Ada");
  const key = await createTestKey(test, ada);
  const other = await createTestKey(test, ada);
  const record = async ({ fullKey: apiKey }: { fullKey: string }, quantity: number) => {
    const json = { productSlug: "tiles", metric: "requests", quantity };
    assert.equal((await test.send("/api/v1/usage", { apiKey, json })).status, 201);
  };
  await record(key, 900);
  test.advance(60_000);
  const all = await add(test, ada, tiles);
  assert.deepEqual(all, {
    id: all.id,
    ...tiles,
    apiKey: null,
    notifyAt: [80, 100],
    used: null,
    resetsAt: "2026-12-01T00:00:00.000Z",
    createdAt: new Date(test.now()).toISOString(),
  });
  // Several may have the same scope.
  const rotated = await test.send(`/api/portal/api-keys/${key.id}/rotate`, { cookie: ada.cookie, json: {} });
  const { apiKey: { id, name }, fullKey } = await rotated.json();
  const ofKey = await add(test, ada, { ...tiles, apiKeyId: key.id, notifyAt: [500, 100] });
  assert.deepEqual([ofKey.apiKey, ofKey.notifyAt], [{ id, name }, [100, 500]]);
  await record({ fullKey }, 200);
  await record(other, 50);
  assert.deepEqual((await alertsOf(test, ada)).map(({ used }: { used: number }) => used).sort(), [
    1_100,
    1_150,
  ]);
  // An alert rejects nothing, and is no limit of the organization.
  assert.deepEqual((await (await test.send("/api/v1/limits", { apiKey: fullKey })).json()).limits, []);

  const one = { method: "PATCH", cookie: ada.cookie };
  const change = async (json: unknown) => {
    const response = await test.send(`${path}/${ofKey.id}`, { ...one, json });
    assert.equal(response.status, 200, await response.clone().text());
    const { alert } = await response.json();
    // Usage is added up when it is read.
    const read = (await (await test.send(`${path}/${ofKey.id}`, { cookie: ada.cookie })).json()).alert;
    assert.deepEqual({ ...alert, used: read.used }, read);
    return read;
  };
  const changed = await change({ notifyAt: null, quantity: 5 });
  assert.deepEqual(changed, { ...ofKey, used: 1_100, notifyAt: [80, 100], quantity: 5 });
  test.advance(1_000);
  const moved = await change({ apiKeyId: other.id, per: "total" });
  assert.deepEqual([moved.apiKey.id, moved.used, moved.resetsAt, moved.quantity], [other.id, 50, null, 5]);
  assert.deepEqual(await change({}), moved);
  assert.equal((await change({ apiKeyId: null, metric: "loads" })).used, 0);
  assert.equal((await test.send(`${path}/${all.id}`, { ...one, method: "DELETE" })).status, 204);
  await assertError(await test.send(`${path}/${all.id}`, { cookie: ada.cookie }), 404, "not_found");

  const { events } = await listAudit(test, ada.cookie, "?action=webhooks");
  const text = "tiles/requests per month: soft 1000";
  assert.deepEqual(events.map(({ action, target, details }) => [action, target?.name, details]), [
    ["alert.deleted", text, {}],
    ["alert.changed", "tiles/loads per total: soft 5", { from: "tiles/requests per total: soft 5" }],
    ["alert.changed", "tiles/requests per total: soft 5", {
      apiKey: "Production",
      from: "tiles/requests per month: soft 5",
    }],
    ["alert.changed", "tiles/requests per month: soft 5", {
      apiKey: name,
      from: `${text} (notify at 100, 500%)`,
    }],
    ["alert.created", `${text} (notify at 100, 500%)`, { apiKey: name }],
    ["alert.created", text, {}],
  ]);
});

testApp("rejects alerts of another form", async (test) => {
  const ada = await test.signUp("Ada");
  const bob = await test.signUp("Bob");
  const alert = await add(test, ada, tiles);
  const cases: readonly (readonly [path: string, json: object])[] = [
    ["productSlug", { productSlug: "-" }],
    ["metric", { metric: "" }],
    ["per", { per: "week" }],
    ...[-1, 0.0000001, 2 ** 53, "1", null].map((quantity) => ["quantity", { quantity }] as const),
    ...[[], [0], [1_001], [80.5], [80, 80], [1, 2, 3, 4, 5, 6], 80].map((notifyAt) =>
      ["notifyAt", { notifyAt }] as const
    ),
    ["notifyAt[1]", { notifyAt: [80, null] }],
    ["apiKeyId", { apiKeyId: "key_1" }],
    ["apiKeyId", { apiKeyId: (await createTestKey(test, bob)).id }],
    ["mode", { mode: "hard" }],
    ["id", { id: "lim_1" }],
  ];
  for (const [at, given] of cases) {
    for (
      const [method, url, json] of [["POST", path, { ...tiles, ...given }], [
        "PATCH",
        `${path}/${alert.id}`,
        given,
      ]]
    ) {
      const response = await test.send(url as string, { method: method as string, cookie: ada.cookie, json });
      const { error } = await assertError(response, 422, "validation_failed");
      assert.equal(error.details?.[0]?.path, at, JSON.stringify(json));
    }
  }
  const empty = await assertError(
    await test.send(path, { cookie: ada.cookie, json: {} }),
    422,
    "validation_failed",
  );
  assert.deepEqual(empty.error.details?.map(({ path, message }) => [path, message]), [
    ["per", required],
    ["quantity", required],
  ]);
  assert.deepEqual(await alertsOf(test, ada), [{ ...alert, used: 0 }]);
});

testApp("an organization has at most 20 alerts, however many are added at a time", async (test) => {
  const ada = await test.signUp("Ada");
  const { fullToken } = await newOperatorToken(test);
  const send = asOperator(test, fullToken);
  const ofOperator = `/organizations/${ada.organizationId}/alerts`;
  const { status, body } = await send(`POST ${ofOperator}`, tiles);
  assert.equal(status, 201);
  const responses = await Promise.all(
    Array.from(
      { length: alertsOfOrganizationMax + 5 },
      () => test.send(path, { cookie: ada.cookie, json: tiles }),
    ),
  );
  const rejected = responses.filter(({ status }) => status !== 201);
  assert.equal(rejected.length, 6);
  for (const response of rejected) {
    const { error } = await assertError(response, 409, "limit_reached");
    assert.equal(error.message, "An organization can have at most 20 alerts. Delete one first.");
  }
  assert.equal((await alertsOf(test, ada)).length, alertsOfOrganizationMax);
  const { alert } = (await send(`PATCH ${ofOperator}/${body.alert.id}`, { quantity: 7 })).body;
  assert.deepEqual((await send(`GET ${ofOperator}/${alert.id}`)).body.alert, { ...alert, used: 0 });
  assert.equal((await send(`DELETE ${ofOperator}/${alert.id}`)).status, 204);
  assert.equal((await send(`GET ${ofOperator}`)).body.alerts.length, alertsOfOrganizationMax - 1);
  assert.equal((await send(`PATCH ${ofOperator}/${alert.id}`, { quantity: 7 })).status, 404);
});
