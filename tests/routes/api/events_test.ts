// Events of changes over the API: one for each change, in the form of its schema, for those who may see it, and without secrets.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { type EventRow, findEvents, insertEvent } from "../../../db/outbox/events.ts";
import { eventBody } from "../../../domain/outbox/event.ts";
import { type EventType, eventTypes } from "../../../domain/outbox/event_types.ts";
import { exampleEvent, exampleFacts } from "../../../domain/outbox/example_event.ts";
import { eventBytesMax } from "../../../domain/outbox/webhook_limits.ts";
import { eventBodySchema } from "../../../routes/outbox/schemas/events.ts";
import {
  createTestKey,
  type SendOptions,
  type TestApp,
  testApp,
  type TestPerson,
} from "../../support/app/app.ts";
import { assertRows, fetchJson, type Sender } from "../../support/app/rows.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";
import { assertSent, operatorOf } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { joinedPerson, verifiedPerson } from "../../support/people/people.ts";

const types = Object.keys(eventTypes) as EventType[];
const newest = { at: Number.MAX_SAFE_INTEGER, seq: 0 };

/** @returns Every body that endpoints of a kind get. */
async function bodies(test: TestApp, isForOperators: boolean): Promise<string[]> {
  const rows = await findEvents(test.opened.database, {
    organizationId: null,
    types,
    from: 0,
    before: newest,
    limit: 1000,
  });
  return rows.map((row) => eventBody(row, { isForOperators }));
}

/** @returns A function that sends a request, and asserts its status and the types of the events that it adds. */
function changes(test: TestApp) {
  let seq = 0;
  const added = async () => {
    const rows = await test.opened.database.read<EventRow>(
      sql`SELECT * FROM events WHERE seq > ${seq} ORDER BY seq`,
    );
    seq = rows.at(-1)?.seq ?? seq;
    return rows.map(({ type }) => type);
  };
  const send = async (
    route: string,
    options: SendOptions,
    status: number,
    expected: readonly EventType[],
  ) => {
    const [method = "", path = ""] = route.split(" ");
    const response = await test.send(path, { method, ...options });
    assert.equal(response.status, status, `${route} ${await response.clone().text()}`);
    assert.deepEqual(await added(), expected, route);
    return response.headers.get("content-type")?.includes("json") ? await response.json() : null;
  };
  return { send, added };
}

onEveryDatabase("each change is one event, and what failed or changed nothing is none", async (test) => {
  const { send, added } = changes(test);
  const ada = await verifiedPerson(test);
  assert.deepEqual(await added(), ["organization.created"]);
  const { cookie, organizationId } = ada;
  const keys = "/api/portal/api-keys";
  const key = async (by: TestPerson, name = "Key") =>
    (await send(`POST ${keys}`, { cookie: by.cookie, json: { name } }, 201, ["api_key.created"])).apiKey.id;
  const [first, second, third] = [await key(ada), await key(ada), await key(ada)];
  await send(`POST ${keys}/${first}/rotate`, { cookie, json: {} }, 201, ["api_key.rotated"]);
  await send(`POST ${keys}/${second}/rotate`, { cookie, json: { expireOldAt: "now" } }, 201, [
    "api_key.rotated",
  ]);
  await send(`POST ${keys}/${second}/rotate`, { cookie, json: {} }, 422, []);
  await send(`PATCH ${keys}/${third}`, { cookie, json: { name: "New" } }, 200, []);
  await send(`DELETE ${keys}/${third}`, { cookie }, 200, ["api_key.revoked"]);
  await send(`DELETE ${keys}/${third}`, { cookie }, 200, []);
  const form = Object.fromEntries([await key(ada), await key(ada), third].map((id) => [id, "on"]));
  const revoked: EventType[] = ["api_key.revoked", "api_key.revoked"];
  await send("POST /portal/api-keys/revoke", { cookie, form }, 303, revoked);
  await send("POST /portal/api-keys/revoke", { cookie, form }, 303, []);

  const members = `/api/portal/organizations/${organizationId}/members`;
  const people: TestPerson[] = [];
  for (const _ of Array(4)) {
    const person = await joinedPerson(test, ada, "MEMBER");
    people.push(person);
    assert.deepEqual(await added(), ["member.added"]);
    await key(person);
    const ended = await key(person);
    await send(`DELETE ${keys}/${ended}`, { cookie: person.cookie }, 200, ["api_key.revoked"]);
  }
  const [removed, kept, left, deleted] = people as [TestPerson, TestPerson, TestPerson, TestPerson];
  const ending: EventType[] = ["member.removed", "api_key.revoked"];
  await send(`DELETE ${members}/${ada.userId}`, { cookie: kept.cookie }, 403, []);
  await send(`DELETE ${members}/${removed.userId}`, { cookie }, 204, ending);
  await send(`DELETE ${members}/${removed.userId}`, { cookie }, 404, []);
  await send(`DELETE ${members}/${kept.userId}?keys=keep`, { cookie }, 204, ["member.removed"]);
  await send(`DELETE ${members}/${left.userId}`, { cookie: left.cookie }, 204, ending);
  await send("DELETE /api/portal/account", { cookie: deleted.cookie }, 204, ending);

  const { fullToken: apiKey } = await newOperatorToken(test, ["organizations:write", "statements:write"]);
  const at = "/api/operator/organizations";
  const { organization } = await send(`POST ${at}`, { apiKey, json: { name: "B" } }, 201, [
    "organization.created",
  ]);
  const one = `${at}/${organization.id}`;
  const { plan } = await send(`POST /api/operator/plans`, { apiKey, json: { name: "Gold" } }, 201, []);
  const status = (text: string) => ({ apiKey, json: { status: text } });
  await send(`PATCH ${one}`, { apiKey, json: { planId: plan.id } }, 200, ["organization.plan_changed"]);
  await send(`PATCH ${one}`, { apiKey, json: { planId: plan.id } }, 200, []);
  await send(`PATCH ${one}`, status("suspended"), 200, ["organization.suspended"]);
  await send(`PATCH ${one}`, status("suspended"), 200, []);
  await send(`PATCH ${one}`, status("active"), 200, ["organization.resumed"]);
  const taken = { planId: organization.planId, externalId: "x" };
  await send(`PATCH ${at}/${organizationId}`, { apiKey, json: { externalId: "x" } }, 200, []);
  // The batch is rolled back, with the entry of the plan.
  await send(`PATCH ${one}`, { apiKey, json: taken }, 409, []);
  await send(`DELETE ${one}`, { apiKey }, 204, ["organization.deleted"]);
  await send(`DELETE ${one}`, { apiKey }, 404, []);
  const period = { apiKey, json: { period: "2026-10" } };
  await send("POST /api/operator/statements", period, 201, ["statement.closed"]);
  await send("POST /api/operator/statements", period, 200, []);
  await send(`DELETE /api/portal/organizations/${organizationId}`, { cookie, json: { name: "?" } }, 422, []);
  const json = { name: "Ada Lovelace’s organization" };
  await send(`DELETE /api/portal/organizations/${organizationId}`, { cookie, json }, 204, [
    "organization.deleted",
  ]);

  const all = [...await bodies(test, true), ...await bodies(test, false)];
  for (const body of all) {
    const value = JSON.parse(body);
    assert.deepEqual(eventBodySchema(value.type).parse(value), value);
    assert.ok(body.length < eventBytesMax / 10, body);
    assert.doesNotMatch(body, /@|_live_|"details"|"target"/);
  }
  const parsed = all.map((body) => JSON.parse(body));
  const find = (type: EventType) => parsed.filter((one) => one.type === type).map(({ data }) => data);
  assert.deepEqual(find("organization.plan_changed")[0].plan, { id: plan.id, name: "Gold" });
  assert.deepEqual(
    find("api_key.rotated").map(({ apiKey: { id, expiresAt } }) => [id, expiresAt]).slice(0, 2),
    [
      [second, new Date(test.now()).toISOString()],
      [first, new Date(test.now() + 86_400_000).toISOString()],
    ],
  );
  const added2 = find("member.added").map(({ member }) => member.name);
  assert.ok(added2.every((name) => name.startsWith("Joined ")), added2.join());
  const [byOperator, forCustomers] = find("organization.suspended");
  assert.ok(byOperator.actor.id.startsWith("opt_"));
  assert.deepEqual(forCustomers.actor, { type: "operator", id: null, name: null });
});

Deno.test("the example of each type has the form of its schema", () => {
  for (const type of types) {
    const example = exampleEvent(type);
    assert.deepEqual(eventBodySchema(type).parse(example), example);
  }
});

testApp("an organization lists its events, newest first, by type and time, in pages", async (test) => {
  const ada = await test.signUp();
  for (const name of ["a", "b", "c"]) {
    test.advance(60_000);
    await createTestKey(test, ada, { name });
  }
  const bob = await test.signUp("Bob");
  await createTestKey(test, bob, { name: "d" });
  const list = (query = "", by: Sender = ada) => fetchJson(test, by, `GET /api/portal/events?${query}`);
  const names = (all: { data: { apiKey?: { name: string } } }[]) => all.map(({ data }) => data.apiKey?.name);
  const { events, nextCursor } = await list();
  assert.deepEqual([names(events), nextCursor], [["c", "b", "a"], null]);
  assert.equal(events[0].timestamp, new Date(test.now()).toISOString());
  assert.deepEqual(Object.keys(events[0]), ["id", "type", "timestamp", "data"]);
  const page = await list("limit=2&type=api_key.created");
  const rest = await list(`limit=2&type=api_key.created&cursor=${page.nextCursor}`);
  assert.deepEqual([names(page.events), names(rest.events), rest.nextCursor], [["c", "b"], ["a"], null]);
  assert.deepEqual(names((await list(`cursor=${events[1].id}`)).events), ["a"]);
  const { events: [othersEvent] } = await list("", bob);
  assert.deepEqual(await list(`cursor=${othersEvent.id}`), { events: [], nextCursor: null });
  const [to, from] = events.map(({ timestamp }: { timestamp: string }) => timestamp);
  assert.deepEqual(names((await list(`from=${from}&to=${to}`)).events), ["b"]);
  await assertRows(test, { ...ada, at: "/api/portal/events" }, [
    ["GET ?type=nope", null, "422 validation_failed type"],
    ["GET ?type=statement.closed", null, "422 validation_failed type"],
    ["GET ?type=organization.created", null, "422 validation_failed type"],
    ["GET ?cursor=1", null, "422 validation_failed cursor"],
    [`GET ?from=${to}&to=2026-01-01`, null, "422 validation_failed to"],
  ]);
});

testApp("operators list events of all organizations or one, but none of single endpoints", async (test) => {
  const bob = await test.signUp("Bob");
  await createTestKey(test, bob, { name: "d" });
  const send = await operatorOf(test);
  await assertSent(send, [[`PATCH /organizations/${bob.organizationId}`, { externalId: "c/1" }, "200"]]);
  const actor = { type: "system", id: null, name: null };
  const facts = { target: { id: "stm_1", name: "2026-10" }, actor };
  const number = sql`(SELECT number FROM organizations WHERE id = ${bob.organizationId})`;
  const about = { organization: number, at: test.now() };
  await test.opened.database.write([
    insertEvent({ type: "statement.closed", organization: null, at: test.now(), facts }),
    insertEvent({ ...about, type: "limit.reached", facts: exampleFacts("limit.reached"), webhook: sql`1` }),
    insertEvent({ ...about, type: "limit.cleared", facts: exampleFacts("limit.cleared") }),
  ]);
  const typesOf = ({ events }: { events: { type: string }[] }) => events.map(({ type }) => type);
  const { body: newest } = await send("GET /events?limit=2");
  assert.deepEqual(typesOf(newest), ["limit.cleared", "statement.closed"]);
  const { body: ofBob } = await send("GET /events?organizationId=external:c%2F1");
  assert.deepEqual(typesOf(ofBob), ["limit.cleared", "api_key.created", "organization.created"]);
  const own = await fetchJson(test, bob, "GET /api/portal/events");
  assert.deepEqual(typesOf(own), ["limit.cleared", "api_key.created"]);
  await assertSent(send, [
    ["GET /events?type=nope", undefined, "422 validation_failed type"],
    ["GET /events?organizationId=external:no", undefined, "404 not_found"],
  ]);
});

testApp("a rare type and a distant time are found without reading other events", async (test) => {
  const { database } = test.opened;
  const { organizationId } = await test.signUp();
  await database.write([sql`
  WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)
  INSERT INTO events (id, type, organization, at, facts)
  SELECT 'evt_' || n, 'api_key.created', o.number, ${test.now()} + n, '{}' FROM n, organizations o`]);
  const query = { types, from: 0, before: newest, limit: 3, organizationId };
  for (const organization of [organizationId, null]) {
    const explained = await planOf(test, { ...query, organizationId: organization });
    assert.doesNotMatch(explained, /SCAN e\b/, explained);
    assert.match(explained, organization === null ? /events_type/ : /events_organization/);
  }
  const rare = await findEvents(database, { ...query, types: ["organization.created"] });
  assert.equal(rare.length, 1);
  assert.equal((await findEvents(database, { ...query, before: { at: test.now() + 2, seq: 0 } })).length, 2);
});

async function planOf(test: TestApp, query: Parameters<typeof findEvents>[1]): Promise<string> {
  let text = "";
  const { database } = test.opened;
  await findEvents({
    ...database,
    async read(statement) {
      const rows = await database.read<{ detail: string }>({
        ...statement,
        sql: `EXPLAIN QUERY PLAN ${statement.sql}`,
      });
      text = rows.map(({ detail }) => detail).join("\n");
      return [];
    },
  }, query);
  return text;
}
