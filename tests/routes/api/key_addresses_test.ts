// Keys with addresses and rates of their own: from elsewhere no door opens, on any server, from the next request on.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { assertRows, fetchJson, type Row, sendRow } from "../../support/app/rows.ts";
import { assertDoorsClosed, assertDoorsOpen } from "../../support/meter/key_doors.ts";
import { onEveryDatabase, recordOne } from "../../support/meter/usage.ts";
import { operatorOf } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { newScene, run } from "../../support/people/scene.ts";

const path = "/api/portal/api-keys";
const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const [inside, outside] = ["203.0.113.7", "198.51.100.9"];
const block = "203.0.113.0/24";

const change = (test: TestApp, person: TestPerson, id: string, fields: Record<string, unknown>) =>
  fetchJson(test, person, `PATCH ${path}/${id}`, fields);

/** A key that may void, with a record of it. */
async function newKey(test: TestApp) {
  const send = await operatorOf(test);
  const ada = await test.signUp("Ada");
  const { id, fullKey: apiKey } = await createTestKey(test, ada);
  await send(`PATCH /api-keys/${id}`, { permissions: ["usage:read", "usage:void", "usage:write"] });
  const record = await recordOne(test, apiKey);
  return { ada, id, apiKey, recordId: record.id };
}

onEveryDatabase("a key with addresses opens every door from there, and none from elsewhere", async (test) => {
  const { ada, id, apiKey, recordId } = await newKey(test);
  await assertDoorsOpen(test, { apiKey, peerAddress: outside }, recordId);
  const { apiKey: changed } = await change(test, ada, id, { addresses: [block, "2001:db8::/32"] });
  assert.deepEqual(changed.addresses, [block, "2001:db8::/32"]);
  await assertDoorsClosed(test, { apiKey, peerAddress: outside }, recordId);
  await assertDoorsOpen(test, { apiKey, peerAddress: inside }, recordId);
  await assertDoorsOpen(test, { apiKey, peerAddress: "2001:db8::7" }, recordId);
  await assertDoorsOpen(test, { apiKey, peerAddress: `::ffff:${inside}` }, recordId);
  await assertDoorsClosed(test, { apiKey, peerAddress: outside }, recordId);
  await change(test, ada, id, { addresses: ["198.51.100.0/28"] });
  await assertDoorsClosed(test, { apiKey, peerAddress: inside }, recordId);
  await assertDoorsOpen(test, { apiKey, peerAddress: outside }, recordId);
  await change(test, ada, id, { addresses: null });
  await assertDoorsOpen(test, { apiKey, peerAddress: inside }, recordId);
});

testApp(
  "a response to an address that is denied has the same bytes as that for an unknown key",
  async (test) => {
    const { ada, id, apiKey } = await newKey(test);
    await change(test, ada, id, { addresses: [block] });
    const bodyOf = async (peerAddress: string) => {
      const { answer, html } = await sendRow(test, { apiKey, peerAddress }, "POST /api/v1/usage", usage);
      const headers = [...answer.headers].filter(([name]) => name !== "x-request-id");
      return [answer.status, headers, html.replace(/"requestId":"[^"]*"/, "")];
    };
    const denied = await bodyOf(outside);
    await change(test, ada, id, { enabled: false });
    assert.deepEqual(await bodyOf(inside), denied);
  },
);

onEveryDatabase("a server that knows a key judges its next record by the addresses of now", async (test) => {
  const { id, apiKey } = await newKey(test);
  const record = (peerAddress: string, outcome: string | number): Promise<unknown> =>
    assertRows(test, { apiKey, peerAddress }, [["POST /api/v1/usage", usage, outcome]]);
  // Changed as another server would: this one only learns of it from its next commit.
  const set = (addresses: string | null) =>
    run(test, "UPDATE api_keys SET addresses = ? WHERE id = ?", addresses, id);
  await record(outside, 201);
  await set(JSON.stringify([block]));
  await record(outside, "401 invalid_api_key");
  await set(null);
  await record(outside, 201);
  await set(JSON.stringify([block]));
  await record(inside, 201);
  await set(JSON.stringify([`${outside}/32`]));
  await record(outside, 201);
  await record(inside, "401 invalid_api_key");
  await set(JSON.stringify([block, outside]));
  await record(inside, 201);
  const { data } = await fetchJson(test, { apiKey, peerAddress: inside }, "GET /api/v1/usage?window=total");
  assert.equal(data.reduce((sum: number, { count }: { count: number }) => sum + count, 0), 6);
});

onEveryDatabase("a server that knows a key judges its next hold by the addresses of now", async (test) => {
  const { id, apiKey } = await newKey(test);
  const holds = "/api/v1/holds";
  const hold = async (peerAddress: string) =>
    (await fetchJson(test, { apiKey, peerAddress }, `POST ${holds}`, { records: [usage] })).hold.id;
  const send = (peerAddress: string, request: string, json: Row[1], outcome: string | number) =>
    assertRows(test, { apiKey, peerAddress }, [[request, json, outcome]]);
  const set = (addresses: string | null) =>
    run(test, "UPDATE api_keys SET addresses = ? WHERE id = ?", addresses, id);
  const ended = [await hold(outside), await hold(outside), await hold(outside)];
  const ends: [request: string, json: Row[1], status: number][] = [
    [`POST ${holds}/${ended[0]}/settle`, { records: [usage] }, 201],
    [`POST ${holds}/${ended[1]}/release`, {}, 200],
    [`POST ${holds}/${ended[2]}/extend`, { expiresIn: 900 }, 200],
  ];
  for (const [request, json, status] of ends) {
    await set(null);
    await send(outside, "POST /api/v1/usage", usage, 201);
    // Changed as another server would: this one only learns of it when it writes.
    await set(JSON.stringify([block]));
    await send(outside, request, json, "401 invalid_api_key");
    await set(null);
    await send(inside, "POST /api/v1/usage", usage, 201);
    await set(JSON.stringify([block]));
    await send(inside, request, json, status);
  }
  await set(null);
  await hold(outside);
  await set(JSON.stringify([block]));
  await send(outside, `POST ${holds}`, { records: [usage] }, "401 invalid_api_key");
  await set(null);
  await hold(inside);
  await set(JSON.stringify([block]));
  await hold(inside);
});

onEveryDatabase(
  "no record of an allowed client is lost or denied while the addresses change",
  async (test) => {
    const { ada, id, apiKey } = await newKey(test);
    const statuses: Promise<number>[] = [];
    for (let round = 0; round < 6; round++) {
      for (let n = 0; n < 10; n++) {
        const options = { apiKey, peerAddress: inside, json: usage };
        statuses.push(test.send("/api/v1/usage", options).then(({ status }) => status));
      }
      await change(test, ada, id, { addresses: round % 3 === 2 ? null : [block, `10.0.0.${round}`] });
    }
    assert.deepEqual(new Set(await Promise.all(statuses)), new Set([201]));
  },
);

onEveryDatabase(
  "verification takes the client's address, and denies a restricted key without one",
  async (test) => {
    const { ada, id, apiKey } = await newKey(test);
    const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
    const code = async (address: string | undefined, record: boolean) => {
      const json = { key: apiKey, ...(address && { address }), usage: { ...usage, record } };
      return (await fetchJson(test, { apiKey: fullToken }, "POST /api/v1/keys/verify", json)).code;
    };
    const codes = async () => {
      const all: string[] = [];
      for (const record of [false, true]) {
        for (const address of [inside, outside, undefined, "not an address"]) {
          all.push(
            await code(address, record),
          );
        }
      }
      return all;
    };
    assert.deepEqual(await codes(), Array(8).fill("VALID"));
    await change(test, ada, id, { addresses: [block] });
    const denied = Array(3).fill("ADDRESS_DENIED");
    assert.deepEqual(await codes(), ["VALID", ...denied, "VALID", ...denied]);
    await change(test, ada, id, { addresses: [outside] });
    assert.equal(await code(outside, true), "VALID");
    assert.equal(await code(inside, true), "ADDRESS_DENIED");
    await change(test, ada, id, { enabled: false });
    assert.equal(await code(inside, true), "DISABLED");
    await change(test, ada, id, { enabled: true, addresses: null });
    const { data } = await fetchJson(test, { apiKey }, "GET /api/v1/usage?window=total");
    assert.equal(data.reduce((sum: number, { count }: { count: number }) => sum + count, 0), 1 + 4 + 1 + 1);
    await assertRows(test, { apiKey: fullToken }, [
      [
        "POST /api/v1/keys/verify",
        { key: apiKey, address: "x".repeat(101) },
        "422 validation_failed address",
      ],
    ]);
  },
);

testApp("rejects invalid addresses and rates, and those of members", async (test) => {
  const scene = await newScene(test, "member");
  const own = await createTestKey(test, scene.me);
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  const fields = [{ addresses: [block] }, { addresses: null }, { requestsPerSecond: 5 }];
  await assertRows(
    test,
    scene.me,
    fields.flatMap((field): Row[] => [
      [`PATCH ${path}/${own.id}`, field, "403 forbidden"],
      [`POST ${path}`, { name: "Key", ...field }, "403 forbidden"],
    ]),
  );
  const wrong: [unknown, string][] = [
    [[], "addresses"],
    [Array(21).fill(inside), "addresses"],
    [["nowhere"], "addresses[0]"],
    [[block, "10.0.0.0/33"], "addresses[1]"],
    [["010.0.0.1"], "addresses[0]"],
    [inside, "addresses"],
  ];
  await assertRows(test, ada, [
    ...wrong.map((
      [addresses, at],
    ): Row => [`PATCH ${path}/${id}`, { addresses }, `422 validation_failed ${at}`]),
    ...[0, -1, 1.5, 1_000_001, "5"].map((requestsPerSecond): Row => [
      `PATCH ${path}/${id}`,
      { requestsPerSecond },
      "422 validation_failed requestsPerSecond",
    ]),
    [`PATCH ${path}/${id}`, { addresses: Array(20).fill(inside) }, 200],
  ]);
});

testApp("a rotated key hands its addresses and rate on, also those of its creation", async (test) => {
  const ada = await test.signUp("Ada");
  const fields = { addresses: [block], requestsPerSecond: 7 };
  const created = await fetchJson(test, ada, `POST ${path}`, { name: "Key", ...fields });
  const fieldsOf = ({ apiKey: { addresses, requestsPerSecond } }: {
    apiKey: { addresses: unknown; requestsPerSecond: unknown };
  }) => ({ addresses, requestsPerSecond });
  assert.deepEqual(fieldsOf(created), fields);
  const rotated = await fetchJson(test, ada, `POST ${path}/${created.apiKey.id}/rotate`, {});
  assert.deepEqual(fieldsOf(rotated), fields);
  const { apiKeys } = await fetchJson(test, ada, `GET ${path}`);
  assert.deepEqual(fieldsOf({ apiKey: apiKeys[0] }), fields);
  const by = { apiKey: rotated.fullKey };
  await assertRows(test, { ...by, peerAddress: outside }, [["POST /api/v1/usage", usage, 401]]);
  await assertRows(test, { ...by, peerAddress: inside }, [["POST /api/v1/usage", usage, 201]]);
});

testApp("the lower rate of a key and its plan takes effect", async (test) => {
  const { ada, id, apiKey } = await newKey(test);
  const policy = async () => {
    await recordOne(test, apiKey);
    const { headers } = await test.send("/api/v1/usage", { apiKey, json: usage });
    return /q=(\d+)/.exec(headers.get("ratelimit-policy") ?? "")?.[1] ?? null;
  };
  const setPlan = (rate: number) =>
    run(test, "UPDATE organizations SET requests_per_second = ? WHERE id = ?", rate, ada.organizationId);
  await setPlan(500);
  assert.equal(await policy(), "500");
  await change(test, ada, id, { requestsPerSecond: 400 });
  assert.equal(await policy(), "400");
  await setPlan(300);
  assert.equal(await policy(), "300");
  await setPlan(0);
  assert.equal(await policy(), "400");
  await change(test, ada, id, { requestsPerSecond: null });
  assert.equal(await policy(), null);
});

testApp("a key's own rate limits its requests and verifications", async (test) => {
  const ada = await test.signUp("Ada");
  const { fullKey } = await fetchJson(test, ada, `POST ${path}`, { name: "Slow", requestsPerSecond: 2 });
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  await assertRows(test, { apiKey: fullKey }, [
    ["POST /api/v1/usage", usage, 201],
    ["POST /api/v1/usage", usage, 201],
    ["POST /api/v1/usage", usage, "429 rate_limited"],
  ]);
  const { code } = await fetchJson(test, { apiKey: fullToken }, "POST /api/v1/keys/verify", { key: fullKey });
  assert.equal(code, "RATE_LIMITED");
});

testApp("an address that is denied takes nothing of the key's rate", async (test) => {
  const ada = await test.signUp("Ada");
  const fields = { addresses: [block], requestsPerSecond: 2 };
  const { fullKey } = await fetchJson(test, ada, `POST ${path}`, { name: "Key", ...fields });
  const send: Row = ["POST /api/v1/usage", usage, "401 invalid_api_key"];
  await assertRows(test, { apiKey: fullKey, peerAddress: outside }, [send, send, send, send]);
  const accepted: Row = ["POST /api/v1/usage", usage, 201];
  await assertRows(test, { apiKey: fullKey, peerAddress: inside }, [accepted, accepted]);
});

testApp("the audit log says how addresses and rates changed", async (test) => {
  const { ada, id } = await newKey(test);
  await change(test, ada, id, { addresses: [block, inside], requestsPerSecond: 5 });
  await change(test, ada, id, { addresses: [block, inside] });
  await change(test, ada, id, { addresses: null, requestsPerSecond: 6 });
  const { events } = await listAudit(test, ada.cookie, "?action=keys");
  assert.deepEqual(
    new Set(events.slice(0, 4).map(({ action, details }) => `${action} ${details["from"]} ${details["to"]}`)),
    new Set([
      "api_key.rate_changed 5 6",
      `api_key.addresses_changed ${block}, ${inside} none`,
      "api_key.rate_changed none 5",
      `api_key.addresses_changed none ${block}, ${inside}`,
    ]),
  );
});

testApp(
  "forms set addresses and the rate, show what is wrong, and members don't have the fields",
  async (test) => {
    const ada = await test.signUp("Ada");
    const { id } = await createTestKey(test, ada);
    const page = `/portal/api-keys/${id}`;
    const form = { name: "Key", expires: "never", permissions: "", addresses: "", requestsPerSecond: "" };
    await assertRows(test, ada, [
      [`GET ${page}/edit`, null, 200, { shows: ["Allowed addresses (optional)", "Requests per second"] }],
      [`POST ${page}/edit`, { ...form, addresses: `${block}, ${inside}`, requestsPerSecond: "9" }, 303],
      [`GET ${page}`, null, 200, { shows: [block, inside, "9 requests per second"] }],
      [`GET ${page}/edit`, null, 200, { shows: [`value="${block} ${inside}"`] as unknown as RegExp[] }],
      [`POST ${page}/edit`, { ...form, addresses: "nowhere" }, 422, { shows: ["must be an IP address"] }],
      [`POST ${page}/edit`, { ...form, requestsPerSecond: "x" }, 422],
      [`POST ${page}/edit`, form, 303],
      [`GET ${page}`, null, 200, { hides: ["9 requests per second"] }],
      ["GET /portal/api-keys/new", null, 200, { shows: ["Allowed addresses (optional)"] }],
      ["POST /portal/api-keys/new", { ...form, name: "New", addresses: inside }, 201],
    ]);
    const scene = await newScene(test, "member");
    await assertRows(test, scene.me, [
      ["GET /portal/api-keys/new", null, 200, { hides: ["Allowed addresses"] }],
      ["POST /portal/api-keys/new", { ...form, addresses: inside }, 403],
    ]);
  },
);
