// What became of requests with API keys: each way to send one, counted by outcome, and why the last were rejected.
import assert from "node:assert/strict";
import {
  assertError,
  createTestKey,
  type SendOptions,
  type TestApp,
  testApp,
} from "../../../support/app/app.ts";
import { holdScene, units } from "../../../support/meter/holds.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { outcomesOf, rejectionsOf } from "../../../support/meter/outcomes.ts";
import { onBothDatabases } from "../../../support/meter/usage.ts";
import { verifiedScene } from "../../../support/meter/verified.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { run } from "../../../support/people/scene.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const event = {
  specversion: "1.0",
  id: "e-1",
  source: "/maps/tiles",
  type: "requests",
  data: { quantity: 1 },
};
const cloudEvents = { "content-type": "application/cloudevents+json" };

/** @returns The request's id. */
async function send(test: TestApp, [status, path, options]: readonly [number, string, SendOptions]) {
  const response = await test.send(path, options);
  assert.equal(response.status, status, `${path} ${await response.text()}`);
  return response.headers.get("x-request-id");
}

/** Requests of a key with one repeated record, by status and outcome. */
const accepted: readonly [outcome: string, status: number, path: string, options: SendOptions][] = [
  ["accepted", 201, "/api/v1/usage", { json: { ...usage, idempotencyKey: "a" } }],
  ["duplicate", 200, "/api/v1/usage", { json: { ...usage, idempotencyKey: "a" } }],
  ["accepted", 201, "/api/v1/usage/batch", { json: { records: [usage, { ...usage, idempotencyKey: "a" }] } }],
  ["duplicate", 201, "/api/v1/usage/batch", { json: { records: [{ ...usage, idempotencyKey: "a" }] } }],
  ["accepted", 201, "/api/v1/usage", { body: JSON.stringify(event), headers: cloudEvents }],
  ["duplicate", 200, "/api/v1/usage", { body: JSON.stringify(event), headers: cloudEvents }],
  ["duplicate", 204, "/api/v1/events", { json: event }],
  ["accepted", 201, "/api/v1/holds", { json: { records: [usage], idempotencyKey: "h" } }],
  ["duplicate", 200, "/api/v1/holds", { json: { records: [usage], idempotencyKey: "h" } }],
  ["accepted", 200, "/api/auth/forward?accept=key", {}],
  ["accepted", 200, "/api/v1/keys/forward?meter=tiles/requests", {}],
  ["accepted", 200, "/api/v1/limits", {}],
  ["invalid", 422, "/api/v1/usage", { json: { ...usage, quantity: -1 } }],
  ["invalid", 409, "/api/v1/usage", { json: { ...usage, quantity: 2, idempotencyKey: "a" } }],
];

onBothDatabases("requests with a key are counted as accepted, duplicate and invalid", async (test) => {
  const ada = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, ada);
  const expected: Record<string, number> = {};
  for (const [outcome, status, path, options] of accepted) {
    await send(test, [status, path, {
      method: options.json || options.body ? "POST" : "GET",
      apiKey,
      ...options,
    }]);
    expected[outcome] = (expected[outcome] ?? 0) + 1;
  }
  assert.deepEqual(await outcomesOf(test, ada), expected);
});

onBothDatabases(
  "rejected requests are counted, and the last ones say when, why and by which limit",
  async (test) => {
    const { person, apiKey, keyId, limitId, hold } = await holdScene(test, { per: "day", quantity: 2 });
    const other = await createTestKey(test, person, { name: "Other", permissions: ["usage:read"] });
    const requestIds = [
      await send(test, [429, "/api/v1/usage", { apiKey, json: { ...usage, quantity: 3 } }]),
      await send(test, [429, "/api/v1/usage/batch", { apiKey, json: { records: [usage, usage, usage] } }]),
      await send(test, [
        429,
        "/api/v1/usage",
        { apiKey, body: JSON.stringify({ ...event, data: { quantity: 3 } }), headers: cloudEvents },
      ]),
      await send(test, [429, "/api/v1/holds", { apiKey, json: { records: units(3) } }]),
    ];
    await hold(2);
    requestIds.push(
      await send(test, [403, "/api/auth/forward?accept=key&meter=tiles/requests", { apiKey }]),
      await send(test, [429, "/api/v1/keys/forward?meter=tiles/requests", { apiKey }]),
    );
    const ofKey = `&apiKey=${keyId}`;
    assert.deepEqual(await outcomesOf(test, person, ofKey), { accepted: 1, limit_exceeded: 6 });
    const rejections = await rejectionsOf(test, person, ofKey);
    assert.deepEqual(new Set(rejections.map(({ requestId }) => requestId)), new Set(requestIds));
    for (const { requestId: _id, ...rejection } of rejections) {
      assert.deepEqual(rejection, {
        time: new Date(test.now()).toISOString(),
        outcome: "limit_exceeded",
        message: "This usage exceeds a limit of the organization or of the API key.",
        limit: { limitId, productSlug: null, metric: null, per: "day" },
        apiKey: { id: keyId, name: "Production" },
      });
    }

    await send(test, [403, "/api/v1/usage", { apiKey: other.fullKey, json: usage }]);
    await run(test, "UPDATE organizations SET suspended_at = ?", test.now());
    await send(test, [403, "/api/v1/limits", { apiKey: other.fullKey }]);
    await run(test, "UPDATE organizations SET suspended_at = NULL");
    const query = `&apiKey=${other.id}`;
    assert.deepEqual(await outcomesOf(test, person, query), { permission_missing: 1, suspended: 1 });
    const { message } =
      (await rejectionsOf(test, person, query)).find((one) => one.outcome !== "suspended") ?? {};
    assert.equal(message, "This API key lacks the permission usage:write.");
    const total = { accepted: 1, limit_exceeded: 6, permission_missing: 1, suspended: 1 };
    assert.deepEqual(await outcomesOf(test, person), total);
  },
);

onBothDatabases("a rejection by a limit per value names the value", async (test) => {
  const ada = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, ada);
  await addLimit(test, {}, {
    per: "day",
    quantity: 1,
    mode: "hard",
    by: "user",
    productSlug: "tiles",
    metric: "requests",
  });
  const json = { ...usage, quantity: 2, properties: { user: "u-17" } };
  await send(test, [429, "/api/v1/usage", { apiKey, json }]);
  const [{ limit } = { limit: null }] = await rejectionsOf(test, ada);
  assert.deepEqual([limit?.by, limit?.value, limit?.metric], ["user", "u-17", "requests"]);
});

onBothDatabases("verifications are counted for the key by their code", async (test) => {
  const { person, id, ask, addLimit } = await verifiedScene(test);
  await addLimit("requests", 2);
  const limited = { productSlug: "models", metric: "requests", quantity: 3 };
  const fits = { ...limited, quantity: 1 };
  const questions: readonly [code: string, question: object][] = [
    ["VALID", {}],
    ["VALID", { usage: [{ ...fits, idempotencyKey: "v" }], record: true }],
    ["VALID", { usage: [{ ...fits, idempotencyKey: "v" }], record: true }],
    ["USAGE_EXCEEDED", { usage: limited }],
    ["USAGE_EXCEEDED", { usage: [limited], record: true }],
    ["USAGE_EXCEEDED", { usage: [limited], hold: true }],
    ["INSUFFICIENT_PERMISSIONS", { permissions: ["maps:render"] }],
    ["FEATURE_MISSING", { features: ["sso"] }],
  ];
  for (const [code, question] of questions) assert.equal((await ask(question)).code, code);
  await ask({ key: `${"x".repeat(40)}` });
  const changes: readonly [code: string, sql: string][] = [
    ["ADDRESS_DENIED", `addresses = '["203.0.113.0/24"]'`],
    ["DISABLED", `addresses = NULL, disabled_at = 1`],
    ["EXPIRED", `expires_at = 1`],
    ["REVOKED", `revoked_at = 1`],
  ];
  for (const [code, sql] of changes) {
    await run(test, `UPDATE api_keys SET ${sql} WHERE id = ?`, id);
    assert.equal((await ask({})).code, code);
  }
  assert.deepEqual(await outcomesOf(test, person, `&apiKey=${id}`), {
    accepted: 2,
    duplicate: 1,
    limit_exceeded: 3,
    permission_missing: 1,
    feature_missing: 1,
    address_denied: 1,
    disabled: 1,
    expired: 1,
    revoked: 1,
  });
  const exceeded = (await rejectionsOf(test, person)).filter(({ outcome }) => outcome === "limit_exceeded");
  assert.deepEqual(exceeded.map(({ limit }) => limit?.metric), ["requests", "requests", "requests"]);
});

onBothDatabases(
  "requests with a key that doesn't work count for its organization, whether this server knew the key or not",
  async (test) => {
    const ada = await test.signUp();
    const ended: readonly [outcome: string, sql: string, isKnown: boolean][] = [
      ["revoked", "revoked_at = 1", true],
      ["expired", "expires_at = 1", false],
      ["disabled", "disabled_at = 1", true],
      ["address_denied", `addresses = '["203.0.113.0/24"]'`, false],
    ];
    for (const [outcome, sql, isKnown] of ended) {
      const { id, fullKey: apiKey } = await createTestKey(test, ada, { name: outcome });
      if (isKnown) await send(test, [201, "/api/v1/usage", { apiKey, json: usage }]);
      await run(test, `UPDATE api_keys SET ${sql} WHERE id = ?`, id);
      const ids = [
        await send(test, [401, "/api/v1/usage", { apiKey, json: usage }]),
        await send(test, [401, "/api/v1/limits", { apiKey }]),
        await send(test, [401, "/api/auth/forward?accept=key", { apiKey }]),
      ];
      const query = `&apiKey=${id}`;
      const counts = { ...isKnown && { accepted: 1 }, [outcome]: 3 };
      assert.deepEqual(await outcomesOf(test, ada, query), counts);
      const rejections = await rejectionsOf(test, ada, query);
      assert.deepEqual(new Set(rejections.map(({ requestId }) => requestId)), new Set(ids));
    }
  },
);

testApp(
  "requests beyond a key's rate are counted",
  async (test) => {
    const ada = await test.signUp();
    const { fullKey: apiKey } = await createTestKey(test, ada);
    await send(test, [201, "/api/v1/usage", { apiKey, json: usage }]);
    await send(test, [429, "/api/v1/usage", { apiKey, json: usage }]);
    await send(test, [429, "/api/v1/limits", { apiKey }]);
    assert.deepEqual(await outcomesOf(test, ada), { accepted: 1, rate_limited: 2 });
  },
  { API_KEY_REQUESTS_PER_SECOND: "1" },
);

onBothDatabases("counts are by hour, by day of a time zone, and by key", async (test) => {
  const ada = await test.signUp();
  const one = await createTestKey(test, ada, { name: "One" });
  const two = await createTestKey(test, ada, { name: "Two" });
  const use = (apiKey: string) => send(test, [201, "/api/v1/usage", { apiKey, json: usage }]);
  await use(one.fullKey);
  await use(two.fullKey);
  // In the next hour, which is another day in Tokyo.
  test.advance(3_600_000);
  await use(one.fullKey);
  await use(one.fullKey);
  await test.services.requestOutcomes.flush();
  const read = async (query: string) => {
    const response = await test.send(`/api/portal/outcomes?${query}`, { cookie: ada.cookie });
    const { data } = await response.json();
    return data.map(({ start, apiKey, count }: { start: string; apiKey?: string; count: number }) =>
      [start, apiKey, count].filter((value) => value !== undefined)
    );
  };
  assert.deepEqual(await read("window=hour"), [["2026-11-21T14:00:00.000Z", 2], [
    "2026-11-21T15:00:00.000Z",
    2,
  ]]);
  assert.deepEqual(await read(""), [["2026-11-21T00:00:00.000Z", 4]]);
  assert.deepEqual(await read("timezone=Asia/Tokyo"), [
    ["2026-11-21T00:00:00.000+09:00", 2],
    ["2026-11-22T00:00:00.000+09:00", 2],
  ]);
  const byKey = await read("window=total&groupBy=apiKey");
  const start = "2026-11-01T00:00:00.000Z";
  assert.deepEqual(
    new Set(byKey.map((row: unknown) => JSON.stringify(row))),
    new Set([[start, one.id, 3], [start, two.id, 1]].map((row) => JSON.stringify(row))),
  );
  assert.deepEqual(await read("from=2026-11-21T15:00:00Z&to=2026-11-21T15:15:00Z&window=total"), [
    ["2026-11-21T15:00:00.000Z", 2],
  ]);
});

testApp("another organization sees nothing, and operators need usage:read", async (test) => {
  const [ada, ben] = [await test.signUp(), await test.signUp()];
  const { id, fullKey: apiKey } = await createTestKey(test, ada);
  await send(test, [422, "/api/v1/usage", { apiKey, json: {} }]);
  const requestId = (await rejectionsOf(test, ada))[0]?.requestId;
  assert.deepEqual(await outcomesOf(test, ben, `&apiKey=${id}`), {});
  assert.deepEqual(await rejectionsOf(test, ben, `&apiKey=${id}`), []);
  assert.deepEqual(await rejectionsOf(test, ben), []);

  for (const path of ["outcomes", "rejections"]) {
    assert.equal((await test.send(`/api/portal/${path}`)).status, 401);
    const without = await newOperatorToken(test, ["organizations:read"]);
    const given = `/api/operator/${path}?organizationId=${ada.organizationId}`;
    await assertError(await test.send(given, { apiKey: without.fullToken }), 403, "scope_missing");
  }
  const { fullToken } = await newOperatorToken(test, ["usage:read"]);
  const read = async (path: string) => {
    const response = await test.send(`/api/operator/${path}`, { apiKey: fullToken });
    return [response.status, await response.json()];
  };
  const [, { data }] = await read(`outcomes?organizationId=${ada.organizationId}&groupBy=apiKey`);
  assert.deepEqual(
    data.map(({ apiKey, outcome, count }: Record<string, unknown>) => [apiKey, outcome, count]),
    [
      [id, "invalid", 1],
    ],
  );
  const [, { rejections }] = await read(`rejections?organizationId=${ada.organizationId}&apiKey=${id}`);
  assert.deepEqual(rejections.map((one: { requestId: string }) => one.requestId), [requestId]);
  assert.equal((await read("outcomes?organizationId=org_none"))[0], 404);
  assert.equal((await read("rejections"))[0], 422);
});

testApp("rejections come in pages, the newest first", async (test) => {
  const ada = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, ada);
  const sent: (string | null)[] = [];
  for (let n = 0; n < 5; n++) {
    if (n % 2 === 0) test.advance(1);
    sent.unshift(await send(test, [422, "/api/v1/usage", { apiKey, json: {} }]));
  }
  const all = (await rejectionsOf(test, ada)).map(({ requestId }) => requestId);
  assert.deepEqual(new Set(all), new Set(sent));
  assert.equal(all[0], sent[0]);
  const paged: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const response = await test.send(`/api/portal/rejections?limit=2${query}`, { cookie: ada.cookie });
    const { rejections, nextCursor } = await response.json();
    paged.push(...rejections.map((one: { requestId: string }) => one.requestId));
    cursor = nextCursor;
  }
  assert.deepEqual(paged, all);
  const wrong = await test.send("/api/portal/rejections?cursor=nope", { cookie: ada.cookie });
  await assertError(wrong, 422, "validation_failed");
});
