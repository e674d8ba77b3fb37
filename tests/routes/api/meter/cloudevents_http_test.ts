// CloudEvents over HTTP as tables of requests: content types, headers, sizes, faults, and arbitrary input.
import assert from "node:assert/strict";
import { assertError, testApp, testStart } from "../../../support/app/app.ts";
import {
  batchType,
  checkScenarios,
  type EventScenario,
  eventType,
  inHeaders,
  newKey,
  sendBatch,
  sendBinary,
  sendEvent,
} from "../../../support/meter/cloud_events.ts";
import { repeats } from "../../../support/runner/extent.ts";
import fc from "../../../support/runner/fast_check.ts";
import { listAll, unlimited } from "../../../support/meter/usage.ts";

const event = { specversion: "1.0", id: "1", source: "/products/tiles", type: "requests" };
const plain = { productSlug: "tiles", metric: "requests", quantity: 1 };
const json = "application/json";
const headers = inHeaders(event);
const unread = [415, "unsupported_media_type"] as const;
const invalid = [422, "validation_failed"] as const;

/** Makes a scenario of each value, which its name ends with. */
function each<Value>(
  name: string,
  values: readonly Value[],
  scenario: (value: Value) => EventScenario,
): Record<string, EventScenario> {
  return Object.fromEntries(values.map((value) => [`${name} ${JSON.stringify(value)}`, scenario(value)]));
}

testApp("the content type alone determines how a body is read", (test) =>
  checkScenarios(test, {
    "a plain record": { type: json, body: plain, gives: 201 },
    "a plain record with parameters": { type: "Application/JSON; charset=utf-8", body: plain, gives: 201 },
    "an event": { type: "Application/CloudEvents+JSON; charset=UTF-8", body: event, gives: 201 },
    "a batch": { type: `${batchType};charset="utf-8"`, body: [event], gives: 201 },
    "an event as a plain record": { type: json, body: event, gives: invalid },
    "a plain record as an event": { body: plain, gives: invalid },
    "an event as a batch": { type: batchType, body: event, gives: invalid },
    "a batch as an event": { body: [event], gives: invalid },
    "a batch as a plain record": { type: json, body: [event], gives: invalid },
    ...each(
      "content type",
      [
        ...["text/plain", "application/xml", "", "application/jsonx", "application/json; charset=latin1"],
        ...["application/cloudevents", "application/cloudevents+xml", "application/cloudevents+jsonx"],
        ...["application/cloudevents-batch+xml", `${eventType}; charset=latin1`],
      ],
      (type) => ({ type, body: event, gives: unread }),
    ),
    ...each("plain batches take no", [eventType, batchType], (type) => ({
      path: "/api/v1/usage/batch",
      type,
      body: [event],
      gives: unread,
    })),
    "other routes take none": { path: "/api/portal/api-keys", body: event, gives: [401, "unauthenticated"] },
    "compressed": { headers: { "content-encoding": "gzip" }, body: event, gives: unread },
  }), unlimited);

testApp("the body of a binary event is JSON or empty", (test) =>
  checkScenarios(test, {
    "a form": { type: "application/x-www-form-urlencoded", headers, body: "quantity=1", gives: unread },
    "XML": { type: "application/xml", headers, body: "<a/>", gives: unread },
    "broken JSON": { type: json, headers, body: "{", gives: [400, "malformed_request"] },
    ...each("not an object:", ["[]", "5", '"x"'], (body) => ({
      type: json,
      headers,
      body,
      gives: [...invalid, "data"],
    })),
    // The Python SDK sends no content type by default. Others send their own JSON content type.
    ...each(
      "data as",
      [null, "application/json; charset=utf-8", "application/vnd.acme.v1+json", "Text/JSON; charset=UTF-8"],
      (type) => ({ type, headers, body: { quantity: 3 }, gives: 201, records: [{ quantity: 3 }] }),
    ),
    "no type, and no JSON": { type: null, headers, body: "quantity=3", gives: [400, "malformed_request"] },
    ...each(
      "content type",
      ["application/json; charset=utf-16", "application/json-seq", "text/plain", ""],
      (type) => ({ type, headers, body: "{}", gives: unread }),
    ),
    "a plain record without ce-specversion": {
      type: json,
      headers: { "ce-id": "1", "ce-source": "/products/tiles", "ce-type": "requests" },
      body: plain,
      gives: 201,
      records: [{ idempotencyKey: null }],
    },
  }));

testApp("an attribute in a header is unquoted and percent-decoded, once", async (test) => {
  const apiKey = await newKey(test);
  await sendEvent(test, apiKey, { ...event, id: 'é "x" 50%25' });
  // The JavaScript SDK does not encode, so a percent sign may stand for itself.
  await sendEvent(test, apiKey, { ...event, id: "100%" });
  for (const id of ["%C3%A9%20%22x%22%2050%2525", '"%c3%a9 \\"x\\" 50%2525"', "100%"]) {
    const response = await sendBinary(test, apiKey, { attributes: { ...event, id } });
    assert.equal(response.status, 200, `${id} ${await response.clone().text()}`);
    assert.equal((await response.json()).duplicate, true);
  }
  const withHeader = (name: string, value: string, gives: EventScenario["gives"]) => ({
    type: json,
    headers: { ...headers, [`ce-${name}`]: value },
    body: { quantity: 1 },
    gives,
  });
  await checkScenarios(test, {
    "not encoded": withHeader("id", "\u00e9", [...invalid, "ce-id"]),
    "a null character": withHeader("id", "%00", [...invalid, "ce-id"]),
    "a line break": withHeader("subject", "a%0Ab", [...invalid, "ce-subject"]),
    "a delete character": withHeader("type", "%7F", [...invalid, "ce-type"]),
    "an extension": withHeader("partitionkey", "\u00e9", 201),
    "a trace": withHeader("traceparent", "00-1", 201),
  });
});

testApp("rejects the header Idempotency-Key with an event", (test) => {
  const key = { "idempotency-key": "a" };
  const gives = [...invalid, "Idempotency-Key"] as const;
  return checkScenarios(test, {
    "an event": { headers: key, body: event, gives },
    "a batch": { type: batchType, headers: key, body: [event], gives },
    "a binary event": { type: json, headers: { ...key, ...headers }, body: {}, gives },
  });
});

testApp("without an active key, an event gets no validation errors", async (test) => {
  const apiKey = await newKey(test);
  const stranger = `${apiKey.slice(0, -1)}${apiKey.endsWith("a") ? "b" : "a"}`;
  const attributes = { specversion: "9" };
  for (
    const response of [
      await sendEvent(test, stranger, { nonsense: 1 }),
      await sendBatch(test, stranger, { nonsense: 1 }),
      await sendBinary(test, stranger, { attributes }),
    ]
  ) await assertError(response, 401, "invalid_api_key");
});

testApp("a body has at most 1 MiB, and a batch 1,000 events", async (test) => {
  const large = { x: "a".repeat(1024 * 1024) };
  await checkScenarios(test, {
    "an event": { body: large, gives: [413, "body_too_large"] },
    "a batch": { type: batchType, body: large, gives: [413, "body_too_large"] },
    "a binary event": { type: json, headers, body: large, gives: [413, "body_too_large"] },
    "too many events": { type: batchType, body: Array(1001).fill(event), gives: [...invalid, ""] },
  });
  const apiKey = await newKey(test);
  const data = { quantity: 1, region: "eu" };
  const many = Array.from({ length: 1000 }, (_, n) => ({ ...event, id: `e${n}`, data }));
  for (const accepted of [1000, 0]) {
    const response = await sendBatch(test, apiKey, many);
    assert.deepEqual(await response.json(), { accepted, duplicates: 1000 - accepted });
  }
}, unlimited);

const properties = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, n]));
const { k16: _one, ...sixteen } = properties;
const ago = (ms: number) => new Date(testStart - ms).toISOString();
const nothing = ["", 1, null, undefined, {}];

/** Wrong values by the path of their fault. */
const wrongValues: Readonly<Record<string, readonly unknown[]>> = {
  specversion: ["0.3", "1", 1, null, undefined],
  id: nothing,
  source: nothing,
  type: [...nothing, "a b", "-a", "é", "a/b", "a".repeat(65)],
  time: ["now", "2026-11-21", "2026-11-21T14:00:00", 1, ago(35 * 24 * 3_600_000 + 1), ago(-300_001)],
  subject: ["", 1, "x".repeat(256)],
  datacontenttype: ["", "text/plain", "application/xml", 1],
  data: [1, "x", [], true, properties],
  data_base64: ["AA=="],
  // Of plain records.
  quantity: [5],
  timestamp: ["2026-11-21T14:00:00Z"],
  idempotencyKey: ["a"],
  Time: ["2026-11-21T14:00:00Z"],
};
const wrongData: Readonly<Record<string, readonly unknown[]>> = {
  quantity: [
    ...[-1, 0.0000001, 2 ** 53, "", " 1", "1e3", "-1", "0x1", "1.2345678", ".5", "9007199254740991.5", "NaN"],
    ...[null, true, {}],
  ],
  nested: [{ a: 1 }],
  list: [[]],
  long: ["x".repeat(256)],
  account: [12345678901234567890],
  ["n".repeat(65)]: [""],
};
const faults: [path: string, more: Record<string, unknown>][] = [
  ...Object.entries(wrongValues).flatMap(([path, values]) =>
    values.map((value) => [path, { [path]: value }] as [string, Record<string, unknown>])
  ),
  ...Object.entries(wrongData).flatMap(([name, values]) =>
    values.map((value) => [`data.${name}`, { data: { [name]: value } }] as [string, Record<string, unknown>])
  ),
  ["data", { data: sixteen, subject: "customer-1" }],
  ["data.subject", { data: { subject: "a" }, subject: "b" }],
];

testApp("each fault of an event is reported, in every mode, and nothing is recorded", async (test) => {
  for (const [path, more] of faults) {
    const { data, ...attributes } = { ...event, ...more } as Record<string, unknown>;
    const isHeader = Object.values(attributes).every((value) => typeof value === "string") &&
      !/^(data_|datac|idem|Time)/.test(path);
    const told = JSON.stringify(more);
    const batch = [event, { ...event, id: "2" }, { ...event, ...more }];
    await checkScenarios(test, {
      [`an event with ${told}`]: { body: { ...event, ...more }, gives: [...invalid, path] },
      [`a batch with ${told}`]: { type: batchType, body: batch, gives: [...invalid, `[2].${path}`] },
      ...(isHeader
        ? {
          [`a binary event with ${told}`]: {
            type: data === undefined ? null : json,
            headers: inHeaders(attributes as Record<string, string>),
            body: data === undefined ? "" : JSON.stringify(data),
            gives: [...invalid, path.startsWith("data") ? path : `ce-${path}`],
          },
        }
        : {}),
    });
  }
  await checkScenarios(test, {
    ...each("a batch of", [[], {}, event, null, "x"], (body) => ({
      type: batchType,
      body: JSON.stringify(body),
      gives: [...invalid, ""],
    })),
    "a batch with others": { type: batchType, body: [event, null, 1], gives: [...invalid, "[1]", "[2]"] },
    ...each("an event that is", [[], [event], null, "x", 1], (body) => ({
      body: JSON.stringify(body),
      gives: invalid,
    })),
  });
}, unlimited);

testApp("the OpenAPI document describes events by content type", async (test) => {
  const document = await (await test.send("/api/openapi.json")).json();
  const { description, parameters, requestBody, responses } = document.paths["/api/v1/usage"].post;
  const headers = parameters.map((one: { name: string; in: string }) => `${one.in} ${one.name}`);
  const attributes = ["specversion", "id", "source", "type", "time", "subject"];
  assert.deepEqual(headers, ["header Idempotency-Key", ...attributes.map((name) => `header ce-${name}`)]);
  assert.deepEqual(Object.keys(requestBody.content), ["application/json", eventType]);
  assert.equal(requestBody.content[eventType].schema.$ref, "#/components/schemas/CloudEvent");
  // One type for clients. A batch gets another response, which the description names.
  assert.equal(responses[201].content["application/json"].schema.$ref, "#/components/schemas/RecordedUsage");
  assert.ok(description.includes(`\`${batchType}\``) && description.includes("`POST /api/v1/usage/batch`"));
  const { CloudEvent } = document.components.schemas;
  assert.deepEqual(CloudEvent.required, ["specversion", "id", "source", "type"]);
});

testApp("arbitrary events get a documented response", async (test) => {
  const apiKey = await newKey(test);
  const odd = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom(
      "1.0",
      "/tiles",
      "tiles",
      "requests",
      "__proto__",
      "2026-11-21T14:00:00Z",
      "application/json",
    ),
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.double(),
  );
  const name = fc.constantFrom(
    ...["specversion", "id", "source", "type", "time", "subject", "datacontenttype", "data", "data_base64"],
    ...["quantity", "constructor", "toString", "extension", "__proto__"],
  );
  const data = fc.dictionary(fc.oneof(fc.constantFrom("quantity", "subject", "__proto__"), fc.string()), odd);
  const candidate = fc.tuple(
    fc.dictionary(fc.oneof(name, fc.string()), odd, { maxKeys: 3 }),
    fc.option(data, { nil: undefined }),
  ).map(([more, given]) => ({ ...event, ...(given === undefined ? {} : { data: given }), ...more }));
  const header = fc.dictionary(
    fc.constantFrom("id", "source", "type", "time", "subject", "specversion", "quantity", "x"),
    fc.oneof(
      fc.string({ maxLength: 40 }),
      fc.constantFrom("%", "%zz", "%00", '"', '"\\"', "%ed%a0%80", "\u00ff"),
    ),
  );
  const seen = new Set<number>();
  const expected = new Set([200, 201, 204, 400, 409, 422]);
  const look = async (response: Response, told: unknown) => {
    const text = await response.text();
    assert(expected.has(response.status), `${response.status} ${text} for ${JSON.stringify(told)}`);
    seen.add(response.status);
  };
  await fc.assert(
    fc.asyncProperty(
      candidate,
      fc.oneof(fc.array(candidate, { maxLength: 3 }), odd),
      header,
      async (one, batch, more) => {
        await look(await sendEvent(test, apiKey, one), one);
        await look(await sendBatch(test, apiKey, batch ?? null), batch);
        const attributes = { ...event, ...more };
        await look(await sendBinary(test, apiKey, { attributes, data: one.data }), attributes);
        const events = "/api/v1/events?value=1";
        await look(await test.send(events, { apiKey, json: batch ?? null }), batch);
        await look(await test.send(events, { apiKey, json: { ...one, id: "o" } }), one);
      },
    ),
    { seed: 20261121, numRuns: repeats({ quick: 40, full: 300 }) },
  );
  assert.deepEqual([...seen].sort(), [200, 201, 204, 409, 422]);
  const { length } = await listAll(test, apiKey);
  const [counted] = await test.opened.database.read<{ count: number }>({
    sql: "SELECT sum(count) AS count FROM usage_rollups_monthly WHERE organization <> 0",
    args: [],
  });
  assert.equal(counted?.count, length);
}, unlimited);
