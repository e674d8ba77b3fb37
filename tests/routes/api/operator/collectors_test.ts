// Usage that gateways report: one credential for all customers, each event recorded by its mapping, whole or not at all.
import assert from "node:assert/strict";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { doWork } from "../../../support/meter/background_work.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { operatorOf } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";

const metrics = [
  { productSlug: "models", metric: "tokens", path: "prompt_tokens", properties: { type: "input" } },
  { productSlug: "models", metric: "tokens", path: "completion_tokens", properties: { type: "output" } },
];

/** As LiteLLM's callback `openmeter` sends it. */
const litellmEvent = (id: string, subject: string, data: object = {}) => ({
  specversion: "1.0",
  type: "litellm_tokens",
  id,
  time: "2026-11-21T14:03:11.123456+00:00",
  subject,
  source: "litellm-proxy",
  data: {
    model: "gpt-4o-mini",
    cost: 0.0000123,
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    ...data,
  },
});

/** A collector's token, a mapping, and a customer. */
async function collectorScene(test: TestApp, mapping: object = {}) {
  const person = await test.signUp();
  const key = await createTestKey(test, person);
  const operator = await operatorOf(test);
  const { fullToken } = await newOperatorToken(test, ["usage:collect"]);
  test.advance(Date.parse("2026-11-21T14:03:12Z") - test.now());
  const { body: { mapping: { id: mappingId } } } = await operator("POST /event-mappings", {
    name: "LiteLLM",
    type: "litellm_tokens",
    metrics,
    properties: { model: "model" },
    ...mapping,
  });
  const send = async (events: unknown, { path = "/api/v1/events", apiKey = fullToken } = {}) => {
    const type = Array.isArray(events)
      ? "application/cloudevents-batch+json"
      : "application/cloudevents+json";
    const response = await test.send(path, {
      apiKey,
      method: "POST",
      body: JSON.stringify(events),
      headers: { "content-type": type },
    });
    const text = await response.text();
    if (response.status === 204) return "204";
    const { error } = JSON.parse(text);
    const paths = error.details?.map(({ path }: { path: string }) => path) ?? [];
    return [response.status, error.code, ...paths].join(" ");
  };
  const records = async (apiKey = key.fullKey): Promise<[number, object][]> => {
    const { usageRecords } = await (await test.send("/api/v1/usage/records", { apiKey })).json();
    return usageRecords.map((
      { quantity, properties }: { quantity: number; properties: object },
    ) => [quantity, properties]).sort((a: [number], b: [number]) => b[0] - a[0]);
  };
  return { person, key, operator, mappingId, send, records, organizationId: person.organizationId };
}

const input = { model: "gpt-4o-mini", type: "input" };
const output = { model: "gpt-4o-mini", type: "output" };

onEveryDatabase("records an event of LiteLLM once, by its mapping", async (test) => {
  const { send, records, organizationId } = await collectorScene(test);
  const event = litellmEvent("1", organizationId);
  assert.equal(await send(event), "204");
  assert.equal(await send(event), "204");
  assert.equal(await send([event, event], { path: "/api/v1/usage" }), "204");
  assert.deepEqual(await records(), [[10, input], [5, output]]);
});

onEveryDatabase("records all good events of a batch, and names the others", async (test) => {
  const { send, records, organizationId: id, operator } = await collectorScene(test);
  const events = [
    litellmEvent("1", id),
    litellmEvent("2", id, { prompt_tokens: "many" }),
    { ...litellmEvent("3", id), type: "other" },
    litellmEvent("4", "nobody"),
    { ...litellmEvent("5", id), time: "2026-01-01T00:00:00Z" },
    { ...litellmEvent("6", id), id: 6 },
    litellmEvent("7", id, { prompt_tokens: 1, completion_tokens: 0 }),
  ];
  const rejected = "422 validation_failed [1].data.prompt_tokens [2].type [3].subject [4].time [5].id";
  assert.equal(await send(events), rejected);
  assert.equal(await send(events), rejected);
  assert.deepEqual(await records(), [[10, input], [5, output], [1, input], [0, output]]);
  const { body: { subjects } } = await operator("GET /subjects");
  assert.deepEqual(
    subjects.map(({ subject, kept, organizationId }: Record<string, unknown>) => [
      subject,
      kept,
      organizationId,
    ]),
    [["nobody", 1, null]],
  );
});

onEveryDatabase("responds with the reason for an event that is sent alone", async (test) => {
  const { send, organizationId: id } = await collectorScene(test, {
    metrics: metrics.map((metric) => ({ ...metric, whenMissing: "skip" })),
  });
  assert.equal(await send({ ...litellmEvent("1", id), type: "other" }), "422 event_unmapped type");
  assert.equal(await send(litellmEvent("1", "nobody")), "422 subject_unknown subject");
  const { subject: _, ...without } = litellmEvent("1", id);
  assert.equal(await send(without), "422 validation_failed subject");
  const none = { prompt_tokens: null, completion_tokens: undefined };
  assert.equal(await send(litellmEvent("1", id, none)), "422 nothing_to_record data");
  assert.equal(
    await send([litellmEvent("1", "a"), litellmEvent("2", "b")]),
    [
      "422 subject_unknown",
      "[0].subject",
      "[1].subject",
    ].join(" "),
  );
  for (const events of [[], {}, "x", 5, [[]]]) assert.match(await send(events), /^422 validation_failed/);
});

onEveryDatabase("a changed mapping makes no event count twice", async (test) => {
  const { send, records, organizationId: id, operator, mappingId } = await collectorScene(test);
  assert.equal(await send(litellmEvent("1", id)), "204");
  const change = (json: object) => operator(`PATCH /event-mappings/${mappingId}`, json);
  const [first, second] = metrics;
  const added = {
    productSlug: "models",
    metric: "requests",
    path: "total_tokens",
    scale: "0.1",
    round: "up",
  };
  assert.equal((await change({ metrics: [first, second, added] })).status, 200);
  assert.equal(await send(litellmEvent("1", id)), "204");
  assert.deepEqual(await records(), [[10, input], [5, output], [2, { model: "gpt-4o-mini" }]]);
  await change({ metrics: [{ ...first, scale: "2" }, second] });
  assert.equal(await send(litellmEvent("1", id)), "409 idempotency_conflict id");
  assert.equal(await send(litellmEvent("2", id)), "204");
  assert.equal((await records()).length, 5);
});

onEveryDatabase("no limit rejects an event, which then denies the next question", async (test) => {
  const { send, records, organizationId, key } = await collectorScene(test);
  await addLimit(test, { organizationId }, {
    productSlug: "models",
    metric: "tokens",
    per: "day",
    quantity: 3,
    mode: "hard",
  });
  assert.equal(await send(litellmEvent("1", organizationId)), "204");
  assert.equal((await records()).length, 2);
  const json = { productSlug: "models", metric: "tokens", quantity: 1 };
  assert.equal((await test.send("/api/v1/usage", { apiKey: key.fullKey, json })).status, 429);
});

onEveryDatabase("a subject is an id, an assigned one or an external id", async (test) => {
  const { send, records, organizationId, operator, key, person } = await collectorScene(test);
  const testKey = await createTestKey(test, person, { environment: "test" });
  await operator(`PATCH /organizations/${organizationId}`, { externalId: "cus_1" });
  assert.equal(await send(litellmEvent("1", key.id)), "204");
  assert.equal(await send(litellmEvent("2", "cus_1")), "204");
  assert.equal(await send(litellmEvent("3", testKey.id)), "204");
  assert.equal((await records()).length, 4);
  assert.equal((await records(testKey.fullKey)).length, 2);
  const other = await test.signUp("Grace");
  const otherKey = await createTestKey(test, other);
  await operator("POST /subjects/assign", { subject: "cus_1", organizationId: other.organizationId });
  assert.equal(await send(litellmEvent("4", "cus_1")), "204");
  assert.deepEqual([(await records()).length, (await records(otherKey.fullKey)).length], [4, 2]);
  // Suspended organizations and revoked keys are recorded.
  await test.send(`/api/portal/api-keys/${key.id}`, { cookie: person.cookie, method: "DELETE" });
  await operator(`PATCH /organizations/${organizationId}`, { suspended: true });
  assert.equal(await send(litellmEvent("5", key.id)), "204");
  assert.equal(await send(litellmEvent("6", organizationId)), "204");
});

onEveryDatabase("events of an unknown subject are recorded once when it is assigned", async (test) => {
  const { send, records, operator, organizationId } = await collectorScene(test);
  const { time: _, ...timeless } = litellmEvent("2", "u1", { prompt_tokens: 20 });
  const old = { ...litellmEvent("1", "u1"), time: "2026-10-18T00:00:00Z" };
  assert.equal(await send(old), "422 subject_unknown subject");
  assert.equal(await send([old, timeless]), "422 subject_unknown [0].subject [1].subject");
  test.advance(29 * 86_400_000);
  const { status, body } = await operator("POST /subjects/assign", { subject: "u1", organizationId });
  assert.deepEqual([status, body.kept, body.organizationId], [200, 2, organizationId]);
  const sentAgain = { ...timeless };
  assert.equal(await send(sentAgain), "204");
  await doWork(test, "kept events of assigned subjects");
  assert.equal(await send(sentAgain), "204");
  assert.equal(await send({ ...old, id: "3" }), "422 validation_failed time");
  assert.deepEqual((await records()).map(([quantity]) => quantity), [20, 10, 5, 5]);
  const { body: { subjects } } = await operator("GET /subjects");
  assert.deepEqual(subjects.map(({ kept }: { kept: number }) => kept), [0]);
  const { id } = subjects[0];
  assert.equal((await operator(`DELETE /subjects/${id}`)).status, 204);
  assert.match(await send({ ...timeless, id: "9" }), /subject_unknown/);
});

onEveryDatabase("a kept event that the sender repeats after the assignment counts once", async (test) => {
  const { send, records, operator, organizationId } = await collectorScene(test);
  const { time: _, ...timeless } = litellmEvent("1", "u1");
  assert.match(await send(timeless), /subject_unknown/);
  test.advance(1_000);
  await operator("POST /subjects/assign", { subject: "u1", organizationId });
  await doWork(test, "kept events of assigned subjects");
  test.advance(1_000);
  assert.equal(await send(timeless), "204");
  assert.equal((await records()).length, 2);
  assert.equal(
    await send({ ...timeless, data: { prompt_tokens: 1, completion_tokens: 1 } }),
    [
      "409 idempotency_conflict",
      "id",
    ].join(" "),
  );
});

onEveryDatabase("a collector's token does nothing else, and other tokens don't collect", async (test) => {
  const { send, organizationId } = await collectorScene(test);
  const collector = await operatorOf(test, ["usage:collect"]);
  assert.equal((await collector("GET /subjects")).status, 403);
  assert.equal((await collector("POST /usage", { records: [] })).status, 403);
  const { fullToken } = await newOperatorToken(test, ["usage:write", "keys:verify"]);
  const event = litellmEvent("1", organizationId);
  assert.equal(await send(event, { apiKey: fullToken }), "403 scope_missing");
  assert.match(await send(event, { apiKey: `${fullToken.slice(0, -1)}x` }), /^401 invalid_operator_token/);
});

onEveryDatabase("a mapping is added with a preset, tried, changed and deleted", async (test) => {
  const { operator, organizationId } = await collectorScene(test);
  const { status, body: { mapping } } = await operator("POST /event-mappings", { preset: "litellm" });
  assert.equal(status, 201);
  assert.deepEqual([mapping.name, mapping.source, mapping.metrics.length], ["LiteLLM", "litellm-proxy", 3]);
  const path = `/event-mappings/${mapping.id}`;
  const tried = await operator(`POST ${path}/try`, { event: litellmEvent("1", organizationId) });
  assert.deepEqual(
    tried.body.records.map(({ metric, quantity }: Record<string, unknown>) => [metric, quantity]),
    [["tokens", 10], ["tokens", 5], ["micro_dollars", 13]],
  );
  assert.equal(
    (await operator("POST /event-mappings", { preset: "litellm" })).body.error.code,
    "mapping_taken",
  );
  assert.equal((await operator("POST /event-mappings", { name: "A" })).status, 422);
  assert.equal((await operator(`PATCH ${path}`, { source: null })).body.error.code, "mapping_taken");
  assert.equal((await operator(`PATCH ${path}`, { name: "Proxy" })).body.mapping.name, "Proxy");
  assert.equal((await operator("GET /event-mappings")).body.mappings.length, 2);
  assert.equal((await operator(`DELETE ${path}`)).status, 204);
  assert.equal((await operator(`GET ${path}`)).status, 404);
});

onEveryDatabase(
  "events of unknown subjects are kept for 30 days, and those of assigned ones until they are recorded",
  async (test) => {
    const { send, records, operator, organizationId } = await collectorScene(test);
    const { time: _, ...timeless } = litellmEvent("1", "u1");
    assert.match(await send([timeless, { ...timeless, subject: "u2", id: "2" }]), /subject_unknown/);
    await operator("POST /subjects/assign", { subject: "u1", organizationId });
    test.advance(31 * 86_400_000);
    await doWork(test, "old kept events");
    const { body: { subjects } } = await operator("GET /subjects");
    assert.deepEqual(subjects.map(({ subject, kept }: Record<string, unknown>) => [subject, kept]), [[
      "u1",
      1,
    ]]);
    await doWork(test, "kept events of assigned subjects");
    assert.equal((await records()).length, 2);
  },
);

onEveryDatabase("a repeat that is recorded before the kept event is no fault", async (test) => {
  const { send, records, operator, organizationId } = await collectorScene(test);
  const { time: _, ...timeless } = litellmEvent("1", "u1");
  assert.match(await send(timeless), /subject_unknown/);
  await operator("POST /subjects/assign", { subject: "u1", organizationId });
  test.advance(1_000);
  assert.equal(await send(timeless), "204");
  await doWork(test, "kept events of assigned subjects");
  assert.equal((await records()).length, 2);
  assert.deepEqual(await test.opened.database.read({ sql: "SELECT * FROM event_faults", args: [] }), []);
});

onEveryDatabase("kept events are recorded for the subject that the mapping of now takes", async (test) => {
  const { send, records, operator, organizationId, mappingId } = await collectorScene(test);
  const other = await test.signUp("Grace");
  const otherKey = await createTestKey(test, other);
  const events = ["1", "2"].map((id) =>
    litellmEvent(id, "proxy", { user: id === "1" ? organizationId : "nobody" })
  );
  assert.match(await send(events), /subject_unknown/);
  await operator(`PATCH /event-mappings/${mappingId}`, { subject: "user" });
  await operator("POST /subjects/assign", { subject: "proxy", organizationId: other.organizationId });
  await doWork(test, "kept events of assigned subjects");
  assert.deepEqual([(await records()).length, (await records(otherKey.fullKey)).length], [2, 0]);
  const faults = await test.opened.database.read({
    sql: "SELECT event_id, code FROM event_faults",
    args: [],
  });
  assert.deepEqual(faults.map((row) => ({ ...row })), [{ event_id: "2", code: "subject_unknown" }]);
});

onEveryDatabase("a full subject takes no room from another one", async (test) => {
  const { send, operator } = await collectorScene(test);
  assert.match(await send(litellmEvent("0", "full")), /subject_unknown/);
  const { database } = test.opened;
  const full = "UPDATE event_subjects SET kept = 10000 WHERE subject = 'full'";
  await database.write([
    { sql: full, args: [] },
    { sql: "UPDATE kept_event_count SET kept = 99999", args: [] },
  ]);
  const events = [litellmEvent("1", "full"), litellmEvent("2", "a"), litellmEvent("3", "b")];
  assert.match(await send(events), /^422 subject_unknown/);
  const { body: { subjects } } = await operator("GET /subjects");
  assert.deepEqual(
    subjects.map(({ subject, kept, lost }: Record<string, unknown>) => [subject, kept, lost]),
    [["a", 1, 0], ["full", 10_000, 1]],
  );
});
