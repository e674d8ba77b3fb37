// The console's pages of collectors: mappings, subjects, and events that were not recorded.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { assertRows, fetchJson } from "../../../support/app/rows.ts";
import { doWork } from "../../../support/meter/background_work.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";

const path = "/operator/collectors";

const event = (more: object = {}) => ({
  specversion: "1.0",
  type: "call",
  source: "gateway",
  id: "1",
  subject: "user-1",
  data: { count: 3, model: "small" },
  ...more,
});

const mapping = {
  "name": "Calls",
  "type": "call",
  "properties": "model = model",
  "metrics[0].productSlug": "models",
  "metrics[0].metric": "calls",
  "metrics[0].path": "count",
  "metrics[0].scale": "1.5",
  "metrics[0].round": "up",
  "metrics[0].properties": "kind = a, tier = b",
};

async function collectorOf(test: TestApp) {
  const { fullToken: apiKey } = await newOperatorToken(test, ["usage:collect"]);
  return async (json: object) => (await test.send("/api/v1/events", { apiKey, json })).status;
}

testApp("operators add, try, edit and delete mappings", async (test) => {
  const mara = await newOperator(test);
  const listed = async () => (await fetchJson(test, mara, "GET /api/operator/event-mappings")).mappings;
  await assertRows(test, mara, [
    [`GET ${path}`, null, 200, { shows: ["No mappings yet", "No rejected events"] }],
    [`GET ${path}/mappings/new?preset=litellm`, null, 200, {
      shows: ['value="litellm_tokens"', 'value="1000000"', 'value="type = input"'],
    }],
    [`POST ${path}/mappings/new`, { ...mapping, "metrics[0].path": "a b", "properties": "model" }, 422, {
      shows: ['id="metrics[0].path-error"', 'id="properties-error"', 'value="a b"'],
    }],
    [`POST ${path}/mappings/new`, mapping, `303 ${path}?done=added`],
    [`POST ${path}/mappings/new`, mapping, 409, { shows: ["Another mapping is for events"] }],
    [`GET ${path}?done=added`, null, 200, { shows: ["Mapping added.", "models calls"] }],
  ]);
  const [{ id, createdAt: _, ...added }] = await listed();
  assert.deepEqual(added, {
    name: "Calls",
    type: "call",
    source: null,
    subject: null,
    properties: { model: "model" },
    metrics: [{
      productSlug: "models",
      metric: "calls",
      path: "count",
      scale: "1.5",
      round: "up",
      whenMissing: "reject",
      properties: { kind: "a", tier: "b" },
    }],
  });
  const at = `${path}/mappings/${id}`;
  await assertRows(test, mara, [
    [`GET ${at}/try`, null, 200, { shows: ["Nothing is recorded."] }],
    [`POST ${at}/try`, { data: JSON.stringify(event(), null, 2) }, 200, {
      shows: ["user-1", ">5<", "model = small, kind = a, tier = b"],
    }],
    [`POST ${at}/try`, { data: "{" }, 422, { shows: ["not valid JSON"] }],
    [`POST ${at}/try`, { data: JSON.stringify(event({ data: { count: -1 } })) }, 422, {
      shows: ["must not be negative"],
    }],
    [`POST ${at}/edit`, { ...mapping, "name": "Requests", "metrics[0].properties": "" }, 303],
    [`GET ${at}/edit`, null, 200, { shows: ['value="Requests"', 'value="model = model"'] }],
    [`GET ${at}/delete`, null, 200, { shows: ["Delete “<bdi>Requests</bdi>”?"] }],
    [`POST ${at}/delete`, {}, `303 ${path}?done=deleted`],
    [`GET ${at}/edit`, null, 404],
  ]);
  assert.deepEqual(await listed(), []);
});

testApp("operators assign and discard subjects, and see why events were not recorded", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada");
  const key = await createTestKey(test, ada);
  const send = await collectorOf(test);
  await assertRows(test, mara, [[`POST ${path}/mappings/new`, mapping, 303]]);
  assert.equal(await send(event()), 422);
  assert.equal(await send(event({ subject: "user-2" })), 422);
  assert.equal(await send(event({ id: "2", subject: ada.organizationId, data: { count: "secret" } })), 422);
  assert.equal(await send({ type: "call", id: "3", source: "gateway" }), 422);
  const assign = { subject: "user-1", target: "unknown" };
  await assertRows(test, mara, [
    [`GET ${path}`, null, 200, {
      shows: ["user-1", "“data.count”: must be a number", "“specversion”:"],
      hides: ["secret"],
    }],
    [`GET ${path}/subjects/assign?subject=user-1`, null, 200, { shows: ["count again", 'value="user-1"'] }],
    [`POST ${path}/subjects/assign`, assign, 422, { shows: ["must name an existing organization"] }],
    [`POST ${path}/subjects/assign`, { ...assign, target: ada.organizationId }, `303 ${path}?done=assigned`],
  ]);
  await doWork(test, "kept events of assigned subjects");
  const { usageRecords } = await (await test.send("/api/v1/usage/records", { apiKey: key.fullKey })).json();
  assert.deepEqual(usageRecords.map(({ quantity }: { quantity: number }) => quantity), [5]);
  const subjects: { id: string; subject: string }[] =
    (await fetchJson(test, mara, "GET /api/operator/subjects")).subjects;
  for (const [done, one] of [["ended", subjects[0]], ["discarded", subjects[1]]] as const) {
    if (one === undefined) continue;
    await assertRows(test, mara, [[
      `POST ${path}/subjects/${one.id}/delete`,
      {},
      `303 ${path}?done=${done}`,
    ]]);
  }
  assert.deepEqual((await fetchJson(test, mara, "GET /api/operator/subjects")).subjects, []);
});
