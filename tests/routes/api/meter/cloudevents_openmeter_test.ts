// POST /api/v1/events takes what OpenMeter's SDKs send: the field of the data that the query names is the quantity, and no event
// counts without one. The SDK for JavaScript runs against a server.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix
import { type Event, HTTPError, OpenMeter } from "npm:@openmeter/sdk@1.0.0-beta.232";
import { assertError, type TestApp, testApp } from "../../../support/app/app.ts";
import {
  batchType,
  checkScenarios,
  type EventScenario,
  eventType,
  inHeaders,
  newKey,
  sendEvent,
} from "../../../support/meter/cloud_events.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { listAll, onEveryDatabase, readSums, unlimited } from "../../../support/meter/usage.ts";

const event = { specversion: "1.0", id: "1", source: "/products/tiles", type: "ai-tokens" };

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

const json = "application/json";
const invalid = [422, "validation_failed"] as const;

/** Makes a scenario of an event whose quantity the query names. */
const named = (query: string, body: unknown, gives: EventScenario["gives"] = 204) => ({
  path: `/api/v1/events${query}`,
  type: json,
  body,
  gives,
});

testApp(
  "the query names a field of the data, also within objects, or counts each event as 1",
  async (test) => {
    const data = { usage: { tokens: "7.25", model: "a" }, quantity: 2, tokens: 5, "in.a": { "b.c": 9 } };
    const others = { "usage.tokens": "7.25", "usage.model": "a", quantity: "2", tokens: "5" };
    const quantities: Readonly<Record<string, number>> = {
      "": 2,
      "?value=tokens": 5,
      "?value=$.tokens": 5,
      "?value=%24.usage.tokens": 7.25,
      "?value=usage.tokens": 7.25,
      "?value=in.a.b.c": 9,
      "?value=1": 1,
    };
    const propertiesOf: Readonly<Record<string, object>> = {
      "?value=1": { ...others, "in.a.b.c": "9" },
      "?value=in.a.b.c": others,
    };
    for (const [query, quantity] of Object.entries(quantities)) {
      const record = { quantity, ...propertiesOf[query] && { properties: propertiesOf[query] } };
      await checkScenarios(test, { [query]: { ...named(query, { ...event, data }), records: [record] } });
    }
    const malformed = "2 0 1.5 $ $. $.1 tokens. .tokens a..b $.a[0] $['a'] *".split(" ");
    const values = ["", "a b", "x".repeat(67), ...malformed];
    for (const value of values) {
      const scenario = named(`?value=${encodeURIComponent(value)}`, event, [...invalid, "value"]);
      await checkScenarios(test, { [`the value ${value}`]: scenario });
    }
    await checkScenarios(test, {
      "no data, counted as 1": named("?value=1", event),
      "two values": named("?value=tokens&value=1", event, invalid),
      "an unknown parameter": named("?value=1&x=1", event, invalid),
      "a parameter in capitals": named("?Value=1", event, invalid),
      "a former parameter": named("?count=true", event, invalid),
    });
  },
);

/** Data without a valid quantity in its field `tokens`, by what the error says. */
const wrongQuantities: Readonly<Record<string, readonly unknown[]>> = {
  "is required. The quantity is taken from this field, because the query parameter value is “tokens”.": [
    ...[undefined, null, {}, { tokens: null }, { quantity: 5 }, { a: { tokens: 5 } }],
  ],
  'must be a number, such as 12.5, or a string of digits, such as "12.5".': [
    ...["", " ", "12 ", "1e3", "NaN", "twelve", true, [], [1], {}, { a: 1 }, "0x1"].map((tokens) => ({
      tokens,
    })),
  ],
  "must not be negative. To take usage back, void its record.": [
    ...[-1, "-1", -0.5, "-0.5"].map((tokens) => ({ tokens })),
  ],
  "must have at most 6 decimal places. Round it before you send it.": [
    ...[0.1 + 0.2, 1e-7, "1.2345678"].map((tokens) => ({ tokens })),
  ],
  "must be at most 9007199254740991.": [
    ...[2 ** 53, 1e300, "9007199254740992"].map((tokens) => ({ tokens })),
  ],
};

testApp("an event without a valid quantity is rejected in words, and nothing is recorded", async (test) => {
  const apiKey = await newKey(test);
  const query = "?value=tokens";
  const good = { ...event, data: { tokens: 1 } };
  for (const [message, wrong] of Object.entries(wrongQuantities)) {
    for (const data of wrong) {
      const bad = { ...event, id: "bad", data };
      const one = await assertError(await send(test, apiKey, bad, { query }), ...invalid);
      assert.deepEqual(one.error.details, [{ path: "data.tokens", message }], JSON.stringify(data));
      const sent = await send(test, apiKey, [good, good, good, bad], { query, type: batchType });
      const batch = await assertError(sent, ...invalid);
      assert.deepEqual(batch.error.details, [{ path: "[3].data.tokens", message }], JSON.stringify(data));
    }
  }
  assert.deepEqual(await listAll(test, apiKey), []);
}, unlimited);

testApp("other faults of an event are named, and one without a product says how to name it", async (test) => {
  const rejected = (path: string, more: object) =>
    named("?value=tokens", { ...event, data: { tokens: 1 }, ...more }, [...invalid, path]);
  const ofData = (path: string, data: object) => rejected(`data.${path}`, { data: { tokens: 1, ...data } });
  const [long, name, tooLong] = ["x".repeat(256), "n".repeat(60), "n".repeat(65)];
  await checkScenarios(test, {
    "no source": rejected("source", { source: undefined }),
    "the default source": rejected("source", { source: "@openmeter/sdk" }),
    "a source without a path": rejected("source", { source: "https://app.example.com" }),
    "a quantity outside of the data": rejected("quantity", { quantity: 5 }),
    "a list as data": rejected("data", { data: [] }),
    "a list in the data": ofData("list", { list: [1] }),
    "one path twice": ofData("a.b", { "a.b": 1, a: { b: 2 } }),
    "a long text": ofData("long.text", { long: { text: long } }),
    "a long path": ofData(`${name}.nested`, { [name]: { nested: 1 } }),
    "a long name": ofData(tooLong, { [tooLong]: { a: {} } }),
  });
  const apiKey = await newKey(test);
  const unnamed = { ...event, source: undefined };
  for (
    const response of [
      await send(test, apiKey, unnamed),
      // On the other address too.
      await sendEvent(test, apiKey, unnamed),
    ]
  ) assert.match((await assertError(response, ...invalid)).error.message, /such as \/products\/tiles/);
});

onEveryDatabase("an event counts once in every form, at both addresses", async (test) => {
  const apiKey = await newKey(test);
  const sent = { ...event, data: { tokens: 4, region: "eu" } };
  const query = "?value=tokens";
  const { data, ...attributes } = sent;
  const headers = inHeaders(attributes);
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
  assert.equal((await sendEvent(test, apiKey, same)).status, 200);
  assert.deepEqual((await readSums(test, apiKey)).map(({ sum, count }) => [sum, count]), [[4, 1]]);

  const other = { ...sent, data: { tokens: 5 } };
  const conflict = await assertError(
    await send(test, apiKey, [other], { query }),
    409,
    "idempotency_conflict",
  );
  assert.deepEqual(conflict.error.details?.map(({ path }) => path), ["[0].id"]);
  const unread = [415, "unsupported_media_type"] as const;
  const scenario = { path: `/api/v1/events${query}`, type: json, body: sent, gives: invalid };
  await checkScenarios(test, {
    "a list as one event": { ...scenario, body: [sent], type: eventType },
    "one event as a list": { ...scenario, type: batchType },
    "no events": { ...scenario, body: [] },
    "an empty batch": { ...scenario, body: [], type: batchType },
    "an idempotency key": { ...scenario, headers: { "idempotency-key": "a" } },
    "another content type": { ...scenario, type: "text/plain", gives: unread },
  });
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
