// CloudEvents to POST /api/v1/usage: sent with the CloudEvents SDK in every mode, counted once across all modes, and
// rejected if ignoring a part of them could lose usage.
import assert from "node:assert/strict";
import { assertError, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import {
  CloudEvent,
  HTTP,
  sendBatch,
  sendBinary,
  sendEvent,
  sendMessage,
} from "../../../support/meter/cloud_events.ts";
import { listAll, onEveryDatabase, readSums, unlimited } from "../../../support/meter/usage.ts";

const event = { specversion: "1.0", id: "1", source: "/products/tiles", type: "requests" };
const newKey = async (test: TestApp) => (await createTestKey(test, await test.signUp())).fullKey;
const recordOf = async (response: Response) => {
  assert.equal(response.status, 201, await response.clone().text());
  return (await response.json()).usageRecord;
};
const faultsOf = async (response: Response) =>
  (await assertError(response, 422, "validation_failed")).error.details?.map(({ path }) => path);

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
  const apiKey = await newKey(test);
  // Null means that an attribute is absent.
  const unset = {
    data: null,
    data_base64: null,
    time: null,
    subject: null,
    quantity: null,
    dataschema: null,
  };
  for (
    const [n, response] of [
      await sendEvent(test, apiKey, event),
      await sendEvent(test, apiKey, { ...event, id: "2", ...unset }),
      await sendEvent(test, apiKey, {
        ...event,
        id: "3",
        data: {},
        datacontenttype: "text/json; charset=utf-8",
      }),
      await sendBinary(test, apiKey, { attributes: { ...event, id: "4" } }),
      await sendBinary(test, apiKey, { attributes: { ...event, id: "5" }, data: {} }),
      await sendMessage(
        test,
        apiKey,
        HTTP.binary(new CloudEvent({ ...event, id: "6", time: "2026-11-21T14:03:11.250Z" })),
      ),
    ].entries()
  ) {
    const { quantity, timestamp, properties } = await recordOf(response);
    assert.deepEqual([quantity, timestamp, properties], [1, "2026-11-21T14:03:11.250Z", null], String(n));
  }
  // A later event without a time is still a repeat.
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
  const many = await sendBatch(test, apiKey, [{ ...event, id: "new" }, event, { ...changed, type: "bytes" }]);
  const { error } = await assertError(many, 409, "idempotency_conflict");
  assert.deepEqual(error.details?.map(({ path }) => path), ["[2].id"]);
  const alone = await assertError(
    await sendBatch(test, apiKey, [{ ...changed, type: "b" }]),
    409,
    "idempotency_conflict",
  );
  assert.deepEqual(alone.error.details?.map(({ path }) => path), ["[0].id"]);
  const headers = await sendBinary(test, apiKey, { attributes: { ...changed, type: "b" } as never });
  const inHeader = await assertError(headers, 409, "idempotency_conflict");
  assert.deepEqual(inHeader.error.details?.map(({ path }) => path), ["ce-id"]);
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

testApp("the product is the last path segment of the source", async (test) => {
  const apiKey = await newKey(test);
  const sources = [
    ["tiles", "tiles"],
    ["/tiles", "tiles"],
    ["a/b/tiles//", "tiles"],
    ["https://app.example.com:8443/v1/tiles?zoom=/3#/x", "tiles"],
    ["//app.example.com/tiles", "tiles"],
    ["urn:example:tiles", "urn:example:tiles"],
    ["/map%2Dtiles", "map-tiles"],
  ];
  for (const [source, product] of sources) {
    assert.equal((await recordOf(await sendEvent(test, apiKey, { ...event, source }))).productSlug, product);
  }
  const bad = [
    "",
    "/",
    "//",
    "https://app.example.com",
    "https://app.example.com/?a/tiles",
    "//tiles",
    "/a b",
    "/é",
  ];
  // The default of OpenMeter's SDK names no product.
  for (
    const source of [
      ...bad,
      "@openmeter/sdk",
      "/..",
      "/a%2Fb",
      "/%",
      "/%ff",
      "mailto:a@b.example",
      `/${"a".repeat(65)}`,
    ]
  ) {
    assert.deepEqual(await faultsOf(await sendEvent(test, apiKey, { ...event, source })), ["source"], source);
  }
});

testApp("sums of events are exact, for numbers and strings of digits", async (test) => {
  const apiKey = await newKey(test);
  const quantities = [
    0.1,
    "0.1",
    "0.10",
    "0.1000000000",
    0,
    "0",
    1e-6,
    "0.000001",
    2 ** 53 - 2,
    "9007199254740990",
  ];
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

testApp("each fault of an event is reported, in every mode, and nothing is recorded", async (test) => {
  const apiKey = await newKey(test);
  const ago = (ms: number) => new Date(test.now() - ms).toISOString();
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, n]));
  const { k16: _one, ...sixteen } = many;
  const wrong: [path: string, more: Record<string, unknown>][] = [
    ...["0.3", "1", 1, null, undefined].map((value) =>
      ["specversion", { specversion: value }] as [string, never]
    ),
    ...["", 1, null, undefined, {}].flatMap((value) =>
      ["id", "source", "type"].map((name) => [name, { [name]: value }] as [string, never])
    ),
    ...["a b", "-a", "é", "a/b", "a".repeat(65)].map((type) => ["type", { type }] as [string, never]),
    ...["now", "2026-11-21", "2026-11-21T14:00:00", 1, ago(35 * 24 * 3_600_000 + 1), ago(-300_001)].map((
      time,
    ) => ["time", { time }] as [string, never]),
    ...["", 1, "x".repeat(256)].map((subject) => ["subject", { subject }] as [string, never]),
    ...["", "text/plain", "application/xml", 1].map((type) =>
      ["datacontenttype", { datacontenttype: type }] as [string, never]
    ),
    ...[1, "x", [], true, many].map((data) => ["data", { data }] as [string, never]),
    ["data", { data: sixteen, subject: "customer-1" }],
    ...[
      -1,
      0.0000001,
      2 ** 53,
      "",
      " 1",
      "1e3",
      "-1",
      "0x1",
      "1.2345678",
      ".5",
      "9007199254740991.5",
      "NaN",
      null,
      true,
      {},
    ]
      .map((quantity) => ["data.quantity", { data: { quantity } }] as [string, never]),
    ["data.nested", { data: { nested: { a: 1 } } }],
    ["data.list", { data: { list: [] } }],
    ["data.long", { data: { long: "x".repeat(256) } }],
    ["data.account", { data: { account: 12345678901234567890 } }],
    [`data.${"n".repeat(65)}`, { data: { ["n".repeat(65)]: "" } }],
    ["data.subject", { data: { subject: "a" }, subject: "b" }],
    ["data_base64", { data_base64: "AA==" }],
    ["quantity", { quantity: 5 }],
    ["timestamp", { timestamp: "2026-11-21T14:00:00Z" }],
    ["idempotencyKey", { idempotencyKey: "a" }],
    ["Time", { Time: "2026-11-21T14:00:00Z" }],
  ];
  for (const [path, more] of wrong) {
    const bad = { ...event, ...more };
    const told = JSON.stringify(more);
    assert.deepEqual(await faultsOf(await sendEvent(test, apiKey, bad)), [path], told);
    const batch = await sendBatch(test, apiKey, [event, { ...event, id: "2" }, bad]);
    assert.deepEqual(await faultsOf(batch), [`[2].${path}`], told);
    const { data, ...attributes } = bad as Record<string, unknown>;
    const isHeader = Object.values(attributes).every((value) => typeof value === "string");
    if (!isHeader || /^(data_|datac|idem|Time)/.test(path)) continue;
    const binary = await sendBinary(test, apiKey, { attributes: attributes as Record<string, string>, data });
    assert.deepEqual(await faultsOf(binary), [path.startsWith("data") ? path : `ce-${path}`], told);
  }
  for (const batch of [[], Array(1001).fill(event), {}, event, null, "x"]) {
    assert.deepEqual(await faultsOf(await sendBatch(test, apiKey, batch)), [""]);
  }
  assert.deepEqual(await faultsOf(await sendBatch(test, apiKey, [event, null, 1])), ["[1]", "[2]"]);
  for (const body of [[], [event], null, "x", 1]) {
    await assertError(await sendEvent(test, apiKey, body), 422, "validation_failed");
  }
  assert.deepEqual(await listAll(test, apiKey), []);
}, unlimited);
