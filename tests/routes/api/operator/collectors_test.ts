// Usage that gateways report: one credential for all customers, each event recorded by its mapping, whole or not at all.
import assert from "node:assert/strict";
import { addLimit } from "../../../support/meter/limits.ts";
import {
  collectorScene,
  input,
  litellmEvent,
  metrics,
  output,
} from "../../../support/meter/collector_scene.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { operatorOf } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";

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

onEveryDatabase("a binary event is recorded, or rejected with its headers and noted", async (test) => {
  const { records, organizationId } = await collectorScene(test);
  const { fullToken: apiKey } = await newOperatorToken(test, ["usage:collect"]);
  const { data, specversion, type, source, subject } = litellmEvent("1", organizationId);
  const send = async (headers: object, body: unknown = data) => {
    const response = await test.send("/api/v1/events", {
      apiKey,
      method: "POST",
      body: JSON.stringify(body),
      headers: {
        ...{
          "content-type": "application/json",
          "ce-specversion": specversion,
          "ce-type": type,
          "ce-id": "1",
        },
        ...{ "ce-source": source, "ce-subject": subject, ...headers },
      },
    });
    const text = await response.text();
    if (response.status === 204) return "204";
    return `${response.status} ${
      JSON.parse(text).error.details.map(({ path }: { path: string }) => path).join()
    }`;
  };
  assert.equal(await send({}), "204");
  assert.deepEqual(await records(), [[10, input], [5, output]]);
  assert.equal(await send({ "ce-id": "caf\u00e9", "ce-source": "a%00b" }), "422 ce-id,ce-source");
  assert.equal(await send({ "ce-id": "2", "ce-time": "yesterday" }), "422 ce-time");
  assert.equal(await send({ "ce-id": "3", "ce-specversion": "0.3" }), "422 ce-specversion");
  assert.equal(await send({ "ce-id": "4", "ce-type": "other" }), "422 ce-type");
  assert.equal(await send({ "ce-id": "5" }, { prompt_tokens: "many" }), "422 data.prompt_tokens");
  assert.equal(await send({ "ce-id": "6" }, [1]), "422 data");
  const faults = await test.opened.database.read<{ event_id: string; path: string; subject: string }>({
    sql: "SELECT event_id, path, subject FROM event_faults ORDER BY number",
    args: [],
  });
  assert.deepEqual(faults.map(({ event_id, path }) => `${event_id} ${path}`), [
    " id",
    " source",
    "2 time",
    "3 specversion",
    "4 type",
    "5 data.prompt_tokens",
    "6 data",
  ]);
  assert.ok(faults.every(({ subject }) => subject === organizationId));
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
    [["tokens", 10], ["tokens", 5], ["micro_dollars", 12.3]],
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
