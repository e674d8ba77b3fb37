// CloudEvents to POST /api/v1/usage: sent with the CloudEvents SDK in every mode, and counted exactly and once across all modes.
import assert from "node:assert/strict";
import { assertError, testApp } from "../../../support/app/app.ts";
import {
  checkScenarios,
  CloudEvent,
  HTTP,
  inHeaders,
  newKey,
  sendBatch,
  sendBinary,
  sendEvent,
  sendMessage,
} from "../../../support/meter/cloud_events.ts";
import { listAll, onEveryDatabase, readSums, unlimited } from "../../../support/meter/usage.ts";

const event = { specversion: "1.0", id: "1", source: "/products/tiles", type: "requests" };
const recordOf = async (response: Response) => {
  assert.equal(response.status, 201, await response.clone().text());
  return (await response.json()).usageRecord;
};
onEveryDatabase("the SDK's events are recorded in each mode, and only once across modes", async (test) => {
  const apiKey = await newKey(test);
  const sent = new CloudEvent({
    id: "4711",
    source: "https://app.example.com/products/tiles",
    type: "requests",
    time: "2026-11-20T23:59:59.999+01:00",
    subject: "customer-1",
    data: { quantity: 2.5, region: "eu-central", zoom: 12, cached: true, referrer: null },
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  });
  const { usageRecord } = await (await sendMessage(test, apiKey, HTTP.structured(sent))).json();
  assert.deepEqual(usageRecord, {
    ...usageRecord,
    productSlug: "tiles",
    metric: "requests",
    quantity: 2.5,
    timestamp: "2026-11-20T22:59:59.999Z",
    recordedAt: "2026-11-21T14:03:11.250Z",
    properties: { cached: "true", region: "eu-central", subject: "customer-1", zoom: "12" },
  });
  assert.match(usageRecord.idempotencyKey, /^ce:[\w-]{43}$/);
  for (const mode of [HTTP.binary, HTTP.structured]) {
    // A retry may have another trace id.
    const traced = sent.cloneWith({ traceparent: "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });
    const again = await sendMessage(test, apiKey, mode(traced));
    assert.equal(again.status, 200, await again.clone().text());
    assert.deepEqual(await again.json(), { duplicate: true, usageRecord });
  }
  const others = [1, 2, 2].map((n) => sent.cloneWith({ id: `batch-${n}`, data: { quantity: n } }));
  for (const accepted of [2, 0]) {
    const response = await sendBatch(test, apiKey, [sent, ...others]);
    assert.equal(response.status, 201, await response.clone().text());
    assert.deepEqual(await response.json(), { accepted, duplicates: 4 - accepted });
  }
  assert.deepEqual((await readSums(test, apiKey)).map(({ sum, count }) => [sum, count]), [[5.5, 3]]);
});

testApp("an event without data, time and quantity counts 1, now", async (test) => {
  // Null means that an attribute is absent.
  const unset = {
    data: null,
    data_base64: null,
    time: null,
    subject: null,
    quantity: null,
    dataschema: null,
  };
  const records = [{ quantity: 1, timestamp: "2026-11-21T14:03:11.250Z", properties: null }];
  const headers = inHeaders(event);
  const json = "application/json";
  await checkScenarios(test, {
    "an event": { body: event, gives: 201, records },
    "attributes that are null": { body: { ...event, ...unset }, gives: 201, records },
    "empty data": {
      body: { ...event, data: {}, datacontenttype: "text/json; charset=utf-8" },
      gives: 201,
      records,
    },
    "a binary event": { type: null, headers, body: "", gives: 201, records },
    "a binary event with empty data": { type: json, headers, body: {}, gives: 201, records },
  });
  // A later event without a time is still a repeat.
  const apiKey = await newKey(test);
  const sdk = new CloudEvent({ ...event, time: "2026-11-21T14:03:11.250Z" });
  assert.equal((await recordOf(await sendMessage(test, apiKey, HTTP.binary(sdk)))).quantity, 1);
  test.advance(60_000);
  assert.equal((await sendEvent(test, apiKey, event)).status, 200);
});

testApp("only source and id together identify an event", async (test) => {
  const apiKey = await newKey(test);
  const long = "x".repeat(5000);
  const pairs = [
    ["/tiles", "1"],
    ["/tiles", "11"],
    ["/1/tiles", "1"],
    ["/tiles/", "1"],
    ["/tiles?", "1"],
    ["/ünï/tiles", "🗺"],
    [`/${long}/tiles`, long],
    [`/${long}/tiles`, `${long}y`],
    ["7:/tiles", "1"],
  ];
  for (const [source, id] of pairs) {
    const response = await sendEvent(test, apiKey, { ...event, source, id });
    const { idempotencyKey, productSlug } = await recordOf(response);
    assert.equal(productSlug, "tiles");
    assert.equal(idempotencyKey.length, 46);
  }
  const [first] = pairs;
  const changed = { ...event, source: first?.[0], id: first?.[1] };
  for (
    const other of [
      { ...changed, type: "bytes" },
      { ...changed, data: { quantity: 2 } },
      { ...changed, subject: "customer-1" },
      { ...changed, data: { region: "eu" } },
      { ...changed, time: "2026-11-21T14:00:00Z" },
    ]
  ) {
    const { error } = await assertError(await sendEvent(test, apiKey, other), 409, "idempotency_conflict");
    assert.deepEqual(error.details?.map(({ path }) => path), ["id"]);
  }
  const other = { ...changed, type: "b" };
  for (
    const [path, response] of [
      ["[2].id", await sendBatch(test, apiKey, [{ ...event, id: "new" }, event, other])],
      ["[0].id", await sendBatch(test, apiKey, [other])],
      ["ce-id", await sendBinary(test, apiKey, { attributes: other as never })],
    ] as const
  ) {
    const { error } = await assertError(response, 409, "idempotency_conflict");
    assert.deepEqual(error.details?.map((one) => one.path), [path]);
  }
  assert.equal((await listAll(test, apiKey)).length, pairs.length);
}, unlimited);

testApp(
  "a plain record with an event's idempotency key gets the same record, or a conflict",
  async (test) => {
    const apiKey = await newKey(test);
    const { idempotencyKey } = await recordOf(await sendEvent(test, apiKey, event));
    const same = { productSlug: "tiles", metric: "requests", quantity: 1, idempotencyKey };
    assert.equal((await test.send("/api/v1/usage", { apiKey, json: same })).status, 200);
    const other = await test.send("/api/v1/usage", { apiKey, json: { ...same, quantity: 2 } });
    await assertError(other, 409, "idempotency_conflict");
  },
);

const products: Readonly<Record<string, string>> = {
  "tiles": "tiles",
  "/tiles": "tiles",
  "a/b/tiles//": "tiles",
  "https://app.example.com:8443/v1/tiles?zoom=/3#/x": "tiles",
  "//app.example.com/tiles": "tiles",
  "urn:example:tiles": "urn:example:tiles",
  "/map%2Dtiles": "map-tiles",
};
const withoutProduct = [
  ...["", "/", "//", "https://app.example.com", "https://app.example.com/?a/tiles", "//tiles", "/a b", "/é"],
  // The default of OpenMeter's SDK names no product.
  ...["@openmeter/sdk", "/..", "/a%2Fb", "/%", "/%ff", "mailto:a@b.example", `/${"a".repeat(65)}`],
];

testApp("the product is the last path segment of the source", (test) =>
  checkScenarios(test, {
    ...Object.fromEntries(
      Object.entries(products).map(([source, productSlug]) => [
        source,
        { body: { ...event, source }, gives: 201, records: [{ productSlug }] },
      ]),
    ),
    ...Object.fromEntries(
      withoutProduct.map((source) => [
        source,
        { body: { ...event, source }, gives: [422, "validation_failed", "source"] as const },
      ]),
    ),
  }));

testApp("sums of events are exact, for numbers and strings of digits", async (test) => {
  const apiKey = await newKey(test);
  const tenths = [0.1, "0.1", "0.10", "0.1000000000"];
  const quantities = [...tenths, 0, "0", 1e-6, "0.000001", 2 ** 53 - 2, "9007199254740990"];
  const events = quantities.map((quantity, n) => ({ ...event, id: `e${n}`, data: { quantity } }));
  assert.deepEqual(await (await sendBatch(test, apiKey, events)).json(), { accepted: 10, duplicates: 0 });
  const metric = (name: string, quantity: unknown) =>
    sendEvent(test, apiKey, { ...event, type: name, id: name, data: { quantity } });
  // A floating-point number would lose the quarter.
  assert.equal((await metric("large", "4503599627370497.25")).status, 201);
  assert.equal((await metric("quarters", "0.75")).status, 201);
  const records = await listAll(test, apiKey);
  assert.deepEqual(records.slice(2).map(({ quantity }) => quantity).toReversed(), quantities.map(Number));
  const [{ whole, micro } = {}] = await test.opened.database.read<Record<string, number>>({
    sql:
      "SELECT quantity_whole AS whole, quantity_micro AS micro FROM usage_records WHERE quantity_micro = 250000",
    args: [],
  });
  assert.deepEqual([whole, micro], [4503599627370497, 250_000]);
  const small = events.slice(0, 4).map((one) => ({ ...one, id: `s${one.id}`, type: "small" }));
  await sendBatch(test, apiKey, small);
  const [sum] = await readSums(test, apiKey, "?window=month&metric=small");
  assert.deepEqual([sum?.sum, sum?.count], [0.4, 4]);
}, unlimited);
