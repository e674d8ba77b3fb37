// POST /api/v1/events takes what OpenMeter's SDKs send: the field of the data that the query names is the quantity, and no event
// counts without one. The SDK for JavaScript runs against a server.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix
import { type Event, HTTPError, OpenMeter } from "npm:@openmeter/sdk@1.0.0-beta.232";
import { assertError, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { batchType, eventType } from "../../../support/meter/cloud_events.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { listAll, onEveryDatabase, readSums, unlimited } from "../../../support/meter/usage.ts";

const event = { specversion: "1.0", id: "1", source: "/products/tiles", type: "ai-tokens" };
const newKey = async (test: TestApp) => (await createTestKey(test, await test.signUp())).fullKey;

/** Events to send by hand. `type`: the content type. */
interface Sending {
  readonly query?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(test: TestApp, apiKey: string, body: unknown, sending: Sending = {}): Promise<Response> {
  const { query = "", type = "application/json", headers } = sending;
  return test.send(`/api/v1/events${query}`, {
    method: "POST",
    apiKey,
    json: body,
    headers: { "content-type": type, ...headers },
  });
}

const quantitiesOf = async (test: TestApp, apiKey: string) =>
  (await listAll(test, apiKey)).map(({ quantity }) => quantity).toReversed();

/** Runs a test with the SDK, which sends to a server. @param run Gets a client for each query. */
function sdkTest(
  name: string,
  run: (
    test: TestApp,
    client: (query: string, apiKey?: string) => OpenMeter,
    apiKey: string,
  ) => Promise<void>,
): void {
  testApp(name, async (test) => {
    const own = await newKey(test);
    // The SDK's events happen now.
    test.advance(Date.now() - test.now());
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => test.app.fetch(request, { remoteAddr: { hostname: "127.0.0.1" } }),
    );
    const client = (query: string, apiKey = own) =>
      new OpenMeter({
        baseUrl: `http://127.0.0.1:${server.addr.port}`,
        apiKey,
        fetch: (request) => fetch(new Request(request.url + query, request)),
      });
    try {
      await run(test, client, own);
    } finally {
      await server.shutdown();
    }
  }, unlimited);
}

const ingested: Event = {
  id: "a",
  specversion: "1.0",
  source: "/products/tiles",
  type: "ai-tokens",
  subject: "customer-1",
  data: { tokens: 1250, model: "gpt-4o", cached: false },
};

sdkTest(
  "OpenMeter's SDK records events once, by the field that the query names",
  async (test, client, apiKey) => {
    const time = new Date(Date.now() - 60_000);
    const tokens = client("?value=tokens");
    assert.equal(await tokens.events.ingest({ ...ingested, time }), undefined);
    const { id: _id, ...unnamed } = ingested;
    await tokens.events.ingest([{ ...ingested, time }, { ...unnamed, data: { tokens: "0.5" } } as Event]);
    await client("").events.ingest({ ...ingested, id: "b", data: { quantity: 3 } });
    const records = (await listAll(test, apiKey)).toReversed() as { properties?: unknown }[];
    assert.deepEqual(records.map(({ properties, ...record }) => ({ properties, ...record })), [
      {
        ...records[0],
        productSlug: "tiles",
        metric: "ai-tokens",
        quantity: 1250,
        timestamp: time.toISOString(),
      },
      { ...records[1], quantity: 0.5 },
      { ...records[2], quantity: 3 },
    ]);
    assert.deepEqual(records[0]?.properties, { model: "gpt-4o", cached: "false", subject: "customer-1" });
  },
);

sdkTest("the errors of OpenMeter's SDK tell its user what to do", async (test, client, apiKey) => {
  const failure = async (query: string, events: Partial<Event>[], key = apiKey) => {
    const thrown = await client(query, key).events.ingest(events as Event[]).then(
      () => null,
      (error) => error,
    );
    assert.ok(thrown instanceof HTTPError, String(thrown));
    assert.deepEqual([thrown.client, thrown.type], ["OpenMeter", "about:blank"]);
    return thrown;
  };
  const { source: _source, ...withoutSource } = ingested;
  const noSource = await failure("?value=tokens", [withoutSource]);
  assert.equal(noSource.status, 422);
  assert.match(
    noSource.message,
    /\[422\]: “\[0\]\.source”: is the default of OpenMeter's SDK.*\/products\/tiles\.$/,
  );
  assert.equal(noSource.title, "Unprocessable Entity");

  const noValue = await failure("", [{ ...ingested, data: { quantity: 1 } }, ingested]);
  assert.match(noValue.message, /“\[1\]\.data\.quantity”: is required\. .*\?value=tokens.*\?value=1/);
  const several = await failure("?value=tokens", [ingested, { ...ingested, data: {} }, {
    ...ingested,
    data: {},
  }]);
  assert.match(
    several.message,
    /2 fields are invalid\. “\[1\]\.data\.tokens”: is required\. .*value is “tokens”\.$/,
  );
  const { code, details } = several.getField("error") as { code: string; details: { path: string }[] };
  assert.deepEqual([code, details.map(({ path }) => path)], [
    "validation_failed",
    ["[1].data.tokens", "[2].data.tokens"],
  ]);

  const badKey = await failure("", [ingested], `${apiKey.slice(0, -1)}${apiKey.endsWith("a") ? "b" : "a"}`);
  assert.deepEqual([badKey.status, /API key/.test(badKey.message)], [401, true]);
  await client("?value=tokens").events.ingest(ingested);
  const conflict = await failure("?value=tokens", [{ ...ingested, type: "requests" }]);
  assert.deepEqual([conflict.status, /source and id/.test(conflict.message)], [409, true]);
  await assert.rejects(client("").events.list(), /\[405\]: This path supports only POST/);
  assert.deepEqual(await quantitiesOf(test, apiKey), [1250]);
});

testApp(
  "the query names a field of the data, also within objects, or counts each event as 1",
  async (test) => {
    const apiKey = await newKey(test);
    const nested = { usage: { tokens: "7.25", model: "a" }, quantity: 2, tokens: 5, "in.a": { "b.c": 9 } };
    const values = [["", 2], ["?value=tokens", 5], ["?value=$.tokens", 5], [
      "?value=%24.usage.tokens",
      7.25,
    ]] as const;
    const more = [["?value=usage.tokens", 7.25], ["?value=in.a.b.c", 9], ["?value=1", 1]] as const;
    const wanted = [...values, ...more];
    for (const [n, [query]] of wanted.entries()) {
      const response = await send(test, apiKey, { ...event, id: `e${n}`, data: nested }, { query });
      assert.equal(response.status, 204, await response.text());
      assert.equal(response.body, null);
    }
    assert.deepEqual(await quantitiesOf(test, apiKey), wanted.map(([, quantity]) => quantity));
    const [counted, deep] = await listAll(test, apiKey) as { properties?: unknown }[];
    const all = { "usage.tokens": "7.25", "usage.model": "a", quantity: "2", tokens: "5", "in.a.b.c": "9" };
    assert.deepEqual(counted?.properties, all);
    const { "in.a.b.c": _value, ...others } = all;
    assert.deepEqual(deep?.properties, others);
    // Without data too, if each event counts as 1.
    assert.equal((await send(test, apiKey, { ...event, id: "bare" }, { query: "?value=1" })).status, 204);
    const invalid = [
      "",
      "2",
      "0",
      "1.5",
      "$",
      "$.",
      "$.1",
      "tokens.",
      ".tokens",
      "a..b",
      "$.a[0]",
      "$['a']",
      "a b",
      "*",
    ];
    for (const value of [...invalid, "x".repeat(67)]) {
      const query = `?value=${encodeURIComponent(value)}`;
      const { error } = await assertError(
        await send(test, apiKey, event, { query }),
        422,
        "validation_failed",
      );
      assert.deepEqual(error.details?.map(({ path }) => path), ["value"], value);
    }
    for (const query of ["?value=tokens&value=1", "?Value=1", "?count=true", "?value=1&x=1"]) {
      await assertError(await send(test, apiKey, event, { query }), 422, "validation_failed");
    }
    assert.equal((await listAll(test, apiKey)).length, wanted.length + 1);
  },
  unlimited,
);

testApp(
  "an event without a valid quantity or product is rejected in words, and nothing is recorded",
  async (test) => {
    const apiKey = await newKey(test);
    const anyNumber = 'must be a number, such as 12.5, or a string of digits, such as "12.5".';
    const negative = "must not be negative. To take usage back, void its record.";
    const precise = "must have at most 6 decimal places. Round it before you send it.";
    const large = "must be at most 9007199254740991.";
    const missing =
      "is required. The quantity is taken from this field, because the query parameter value is “tokens”.";
    const wrong: [data: unknown, message: string][] = [
      ...[undefined, null, {}, { tokens: null }, { quantity: 5 }, { a: { tokens: 5 } }].map((data) =>
        [data, missing] as [unknown, string]
      ),
      ...["", " ", "12 ", "1e3", "NaN", "twelve", true, [], [1], {}, { a: 1 }, "0x1"].map((tokens) =>
        [{ tokens }, anyNumber] as [unknown, string]
      ),
      ...[-1, "-1", -0.5, "-0.5"].map((tokens) => [{ tokens }, negative] as [unknown, string]),
      ...[0.1 + 0.2, 1e-7, "1.2345678"].map((tokens) => [{ tokens }, precise] as [unknown, string]),
      ...[2 ** 53, 1e300, "9007199254740992"].map((tokens) => [{ tokens }, large] as [unknown, string]),
    ];
    const query = "?value=tokens";
    const good = { ...event, data: { tokens: 1 } };
    for (const [data, message] of wrong) {
      const bad = { ...event, id: "bad", data };
      const one = await assertError(await send(test, apiKey, bad, { query }), 422, "validation_failed");
      assert.deepEqual(one.error.details, [{ path: "data.tokens", message }], JSON.stringify(data));
      const batch = await assertError(
        await send(test, apiKey, [good, good, good, bad], { query, type: batchType }),
        422,
        "validation_failed",
      );
      assert.deepEqual(batch.error.details, [{ path: "[3].data.tokens", message }], JSON.stringify(data));
    }
    const others: [path: string, event: Record<string, unknown>][] = [
      ["source", { ...good, source: undefined }],
      ["source", { ...good, source: "@openmeter/sdk" }],
      ["source", { ...good, source: "https://app.example.com" }],
      ["quantity", { ...good, quantity: 5 }],
      ["data", { ...good, data: [] }],
      ["data.list", { ...good, data: { tokens: 1, list: [1] } }],
      ["data.a.b", { ...good, data: { tokens: 1, "a.b": 1, a: { b: 2 } } }],
      ["data.long.text", { ...good, data: { tokens: 1, long: { text: "x".repeat(256) } } }],
      [`data.${"n".repeat(60)}.nested`, { ...good, data: { tokens: 1, ["n".repeat(60)]: { nested: 1 } } }],
      [`data.${"n".repeat(65)}`, { ...good, data: { tokens: 1, ["n".repeat(65)]: { a: {} } } }],
    ];
    for (const [path, bad] of others) {
      const { error } = await assertError(await send(test, apiKey, bad, { query }), 422, "validation_failed");
      assert.deepEqual(error.details?.map((one) => one.path), [path]);
      if (path === "source") assert.match(error.message, /such as \/products\/tiles/);
    }
    // On the other address too.
    const type = { "content-type": eventType };
    const usage = await test.send("/api/v1/usage", {
      apiKey,
      json: { ...event, source: undefined },
      headers: type,
    });
    assert.match(
      (await assertError(usage, 422, "validation_failed")).error.message,
      /such as \/products\/tiles/,
    );
    assert.deepEqual(await listAll(test, apiKey), []);
  },
  unlimited,
);

onEveryDatabase("an event counts once in every form, at both addresses", async (test) => {
  const apiKey = await newKey(test);
  const sent = { ...event, data: { tokens: 4, region: "eu" } };
  const query = "?value=tokens";
  const { data, ...attributes } = sent;
  const headers = Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value]),
  );
  for (
    const response of [
      await send(test, apiKey, sent, { query }),
      await send(test, apiKey, [sent], { query, type: "application/json; charset=utf-8" }),
      await send(test, apiKey, sent, { query, type: eventType }),
      await send(test, apiKey, [sent, sent], { query, type: batchType }),
      await send(test, apiKey, data, { query, headers }),
    ]
  ) assert.equal(response.status, 204, await response.clone().text());
  const same = { ...event, data: { quantity: 4, region: "eu" } };
  const usage = await test.send("/api/v1/usage", {
    apiKey,
    json: same,
    headers: { "content-type": eventType },
  });
  assert.equal(usage.status, 200);
  assert.deepEqual((await readSums(test, apiKey)).map(({ sum, count }) => [sum, count]), [[4, 1]]);

  const other = { ...sent, data: { tokens: 5 } };
  const conflict = await assertError(
    await send(test, apiKey, [other], { query }),
    409,
    "idempotency_conflict",
  );
  assert.deepEqual(conflict.error.details?.map(({ path }) => path), ["[0].id"]);
  for (
    const [body, type] of [[[sent], eventType], [sent, batchType], [[], batchType], [
      [],
      "application/json",
    ]] as const
  ) {
    await assertError(await send(test, apiKey, body, { query, type }), 422, "validation_failed");
  }
  const key = { "idempotency-key": "a" };
  await assertError(await send(test, apiKey, sent, { query, headers: key }), 422, "validation_failed");
  await assertError(
    await send(test, apiKey, sent, { query, type: "text/plain" }),
    415,
    "unsupported_media_type",
  );
});

testApp("events have the limits of usage", async (test) => {
  const apiKey = await newKey(test);
  const large = { x: "a".repeat(1024 * 1024) };
  await assertError(await send(test, apiKey, large), 413, "body_too_large");
  await assertError(await send(test, `${apiKey}x`, { nonsense: 1 }), 401, "invalid_api_key");
  const { id } = await addLimit(test, {}, { per: "day", quantity: 2, mode: "hard" });
  const counted = (n: number) => send(test, apiKey, { ...event, id: `e${n}` }, { query: "?value=1" });
  const first = await counted(1);
  assert.deepEqual([first.status, first.headers.get("ratelimit")?.includes(`"${id}";r=1`)], [204, true]);
  assert.equal((await counted(2)).status, 204);
  const { error } = await assertError(await counted(3), 429, "limit_exceeded");
  assert.deepEqual((error.details as unknown as { limitId: string }[]).map(({ limitId }) => limitId), [id]);
});
