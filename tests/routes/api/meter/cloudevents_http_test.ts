// CloudEvents over HTTP: content types, headers, sizes, plain records, and arbitrary input.
import assert from "node:assert/strict";
import { assertError, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import {
  batchType,
  eventType,
  sendBatch,
  sendBinary,
  sendEvent,
} from "../../../support/meter/cloud_events.ts";
import fc from "../../../support/runner/fast_check.ts";
import { listAll, unlimited } from "../../../support/meter/usage.ts";

const event = { specversion: "1.0", id: "1", source: "/products/tiles", type: "requests" };
const plain = { productSlug: "tiles", metric: "requests", quantity: 1 };
const newKey = async (test: TestApp) => (await createTestKey(test, await test.signUp())).fullKey;
const post = (test: TestApp, apiKey: string, more: { json?: unknown; headers: Record<string, string> }) =>
  test.send("/api/v1/usage", { method: "POST", apiKey, ...more });

testApp("the content type alone determines how a body is read", async (test) => {
  const apiKey = await newKey(test);
  const send = (type: string, json: unknown, path = "/api/v1/usage") =>
    test.send(path, { apiKey, json, headers: { "content-type": type } });
  assert.equal((await send("application/json", plain)).status, 201);
  assert.equal((await send("Application/JSON; charset=utf-8", plain)).status, 201);
  assert.equal((await send("Application/CloudEvents+JSON; charset=UTF-8", event)).status, 201);
  assert.equal((await send(`${batchType};charset="utf-8"`, [{ ...event, id: "2" }])).status, 201);
  // An event is not a plain record, and vice versa.
  const wrong: [string, unknown][] = [["application/json", event], [eventType, plain], [batchType, event]];
  for (const [type, json] of [...wrong, [eventType, [event]], ["application/json", [event]]] as const) {
    await assertError(await send(type, json), 422, "validation_failed");
  }
  const others = [
    "text/plain",
    "application/xml",
    "",
    "application/jsonx",
    "application/json; charset=latin1",
  ];
  for (
    const type of [
      ...others,
      "application/cloudevents",
      "application/cloudevents+xml",
      "application/cloudevents+jsonx",
      "application/cloudevents-batch+xml",
      `${eventType}; charset=latin1`,
    ]
  ) {
    await assertError(await send(type, event), 415, "unsupported_media_type");
  }
  for (const [type, json] of [[eventType, event], [batchType, [event]]] as const) {
    await assertError(await send(type, json, "/api/v1/usage/batch"), 415, "unsupported_media_type");
    await assertError(await send(type, json, "/api/portal/api-keys"), 401, "unauthenticated");
  }
  const gzip = { "content-type": eventType, "content-encoding": "gzip" };
  await assertError(await post(test, apiKey, { json: event, headers: gzip }), 415, "unsupported_media_type");
  assert.equal((await listAll(test, apiKey)).length, 4);
}, unlimited);

testApp("an attribute in a header is unquoted and percent-decoded, once", async (test) => {
  const apiKey = await newKey(test);
  const { idempotencyKey } = await (await sendEvent(test, apiKey, { ...event, id: 'é "x" 50%25' })).json()
    .then(({ usageRecord }) => usageRecord);
  const same = ["%C3%A9%20%22x%22%2050%2525", '"%c3%a9 \\"x\\" 50%2525"'];
  for (const id of same) {
    const response = await sendBinary(test, apiKey, { attributes: { ...event, id } });
    assert.equal(response.status, 200, await response.clone().text());
    assert.equal((await response.json()).usageRecord.idempotencyKey, idempotencyKey);
  }
  // The JavaScript SDK does not encode, so a percent sign may stand for itself.
  await sendEvent(test, apiKey, { ...event, id: "100%" });
  assert.equal((await sendBinary(test, apiKey, { attributes: { ...event, id: "100%" } })).status, 200);
  for (
    const [value, name] of [["\u00e9", "id"], ["%00", "id"], ["a%0Ab", "subject"], ["%7F", "type"]] as const
  ) {
    const { error } = await assertError(
      await sendBinary(test, apiKey, { attributes: { ...event, [name]: value } }),
      422,
      "validation_failed",
    );
    assert.deepEqual(error.details?.map(({ path }) => path), [`ce-${name}`]);
  }
  // Extension attributes and unrelated headers are ignored.
  const traced = { ...event, id: "traced", traceparent: "00-1", partitionkey: "\u00e9" };
  assert.equal((await sendBinary(test, apiKey, { attributes: traced, data: { quantity: 1 } })).status, 201);
});

testApp("the body of a binary event is JSON or empty", async (test) => {
  const apiKey = await newKey(test);
  const headers = Object.fromEntries(Object.entries(event).map(([name, value]) => [`ce-${name}`, value]));
  const send = (body: string, type: string | null) =>
    test.send("/api/v1/usage", {
      apiKey,
      // Plain text would need its own content type.
      body: new TextEncoder().encode(body),
      headers: { ...headers, ...(type === null ? {} : { "content-type": type }) },
    });
  await assertError(
    await send("quantity=1", "application/x-www-form-urlencoded"),
    415,
    "unsupported_media_type",
  );
  await assertError(await send("<a/>", "application/xml"), 415, "unsupported_media_type");
  await assertError(await send("{", "application/json"), 400, "malformed_request");
  for (const body of ["[]", "5", '"x"']) {
    const { error } = await assertError(await send(body, "application/json"), 422, "validation_failed");
    assert.equal(error.details?.[0]?.path, "data");
  }
  // A plain record is data here, and its quantity counts.
  const response = await send(JSON.stringify({ quantity: 3 }), "application/json; charset=utf-8");
  assert.equal((await response.json()).usageRecord.quantity, 3);
  // The Python SDK sends no content type by default. Others send their own JSON content type.
  for (const type of [null, "application/vnd.acme.v1+json", "Text/JSON; charset=UTF-8"]) {
    const repeat = await send(JSON.stringify({ quantity: 3 }), type);
    assert.equal((await repeat.json()).duplicate, true, String(type));
  }
  await assertError(await send("quantity=3", null), 400, "malformed_request");
  for (const type of ["application/json; charset=utf-16", "application/json-seq", "text/plain", ""]) {
    await assertError(await send("{}", type), 415, "unsupported_media_type");
  }
  // Without ce-specversion it is a plain record, regardless of other headers.
  const { "ce-specversion": _version, ...rest } = headers;
  const asPlain = await post(test, apiKey, { json: plain, headers: rest });
  assert.equal((await asPlain.json()).usageRecord.idempotencyKey, null);
});

testApp("rejects the header Idempotency-Key with an event", async (test) => {
  const apiKey = await newKey(test);
  const key = { "idempotency-key": "a" };
  const ce = Object.fromEntries(Object.entries(event).map(([name, value]) => [`ce-${name}`, value]));
  for (
    const more of [
      { json: event, headers: { ...key, "content-type": eventType } },
      { json: [event], headers: { ...key, "content-type": batchType } },
      { json: {}, headers: { ...key, ...ce } },
    ]
  ) {
    const { error } = await assertError(await post(test, apiKey, more), 422, "validation_failed");
    assert.deepEqual(error.details?.map(({ path }) => path), ["Idempotency-Key"]);
  }
  assert.deepEqual(await listAll(test, apiKey), []);
});

testApp(
  "without an active key, an event gets no validation errors; bodies are limited to 1 MiB",
  async (test) => {
    const apiKey = await newKey(test);
    const stranger = `${apiKey.slice(0, -1)}${apiKey.endsWith("a") ? "b" : "a"}`;
    for (const send of [sendEvent, sendBatch]) {
      await assertError(await send(test, stranger, { nonsense: 1 }), 401, "invalid_api_key");
      await assertError(await send(test, apiKey, { x: "a".repeat(1024 * 1024) }), 413, "body_too_large");
    }
    await assertError(
      await sendBinary(test, stranger, { attributes: { specversion: "9" } }),
      401,
      "invalid_api_key",
    );
    const large = { attributes: event, data: { x: "a".repeat(1024 * 1024) } };
    await assertError(await sendBinary(test, apiKey, large), 413, "body_too_large");
    const many = Array.from(
      { length: 1000 },
      (_, n) => ({ ...event, id: `e${n}`, data: { quantity: 1, region: "eu" } }),
    );
    for (const accepted of [1000, 0]) {
      assert.deepEqual(await (await sendBatch(test, apiKey, many)).json(), {
        accepted,
        duplicates: 1000 - accepted,
      });
    }
  },
);

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
    { seed: 20261121, numRuns: 300 },
  );
  assert.deepEqual([...seen].sort(), [200, 201, 204, 409, 422]);
  const { length } = await listAll(test, apiKey);
  const [counted] = await test.opened.database.read<{ count: number }>({
    sql: "SELECT sum(count) AS count FROM usage_rollups_monthly WHERE organization <> 0",
    args: [],
  });
  assert.equal(counted?.count, length);
}, unlimited);
