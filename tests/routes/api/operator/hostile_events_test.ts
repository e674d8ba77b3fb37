// Hostile and flooding collectors: clear errors, bounded tables and commits, and neighbors who record meanwhile.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { openWatched } from "../../../support/app/meanwhile.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { operatorOf } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";

const eventOf = (id: string, subject: string, data: object = { n: 1 }) => ({
  specversion: "1.0",
  type: "call",
  source: "gateway",
  id,
  subject,
  data,
});

async function flood(test: TestApp) {
  const person = await test.signUp();
  const operator = await operatorOf(test);
  const { fullToken: apiKey } = await newOperatorToken(test, ["usage:collect"]);
  const { status } = await operator("POST /event-mappings", {
    name: "Calls",
    type: "call",
    metrics: [{ productSlug: "models", metric: "calls", path: "n" }],
    properties: { model: "model" },
  });
  assert.equal(status, 201);
  const sendText = async (body: string, path = "/api/v1/events") => {
    const response = await test.send(path, {
      apiKey,
      method: "POST",
      body,
      headers: { "content-type": "application/json" },
    });
    const text = await response.text();
    return { status: response.status, ...(text === "" ? {} : JSON.parse(text)) };
  };
  const send = (events: unknown) => sendText(JSON.stringify(events));
  const count = async (table: string) => {
    const row = await test.opened.database.readFirst<{ count: number }>({
      sql: `SELECT count(*) AS count FROM ${table}`,
      args: [],
    });
    return row?.count;
  };
  return { person, operator, send, sendText, count, organizationId: person.organizationId };
}

testApp("hostile events get a clear error, and record nothing", async (test) => {
  const { send, sendText, count, organizationId: id } = await flood(test);
  const faults: readonly (readonly [data: unknown, message: RegExp])[] = [
    [{ n: "1e400" }, /at most/],
    [{ n: "9".repeat(65) }, /must be a number/],
    [{ n: "0x10" }, /must be a number/],
    [{ n: " 1" }, /must be a number/],
    [{ n: "١" }, /must be a number/],
    [{ n: true }, /must be a number/],
    [{ n: [1] }, /must be a number/],
    [{ n: -1e-9 }, /must not be negative/],
    [{ n: Number.MAX_VALUE }, /at most/],
    [{ N: 1 }, /is required/],
  ];
  for (const [data, message] of faults) {
    const { status, error } = await send(eventOf("1", id, data as object));
    assert.deepEqual([status, error.details[0].path], [422, "data.n"], JSON.stringify(data));
    assert.match(error.message, message);
  }
  const huge = await sendText(JSON.stringify(eventOf("1", id)).replace('"n":1', '"n":1e400'));
  assert.deepEqual([huge.status, huge.error.details[0].path], [422, "data.n"]);
  // Beyond any event that is read, the whole body is rejected.
  const nested = (levels: number) => `"n":1,"deep":${"[".repeat(levels)}${"]".repeat(levels)}`;
  const deepest = await sendText(JSON.stringify(eventOf("1", id)).replace('"n":1', nested(5_000)));
  assert.equal(deepest.status, 400);
  const reserved = await sendText(JSON.stringify(eventOf("1", id)).replace('"n":1', '"__proto__":{"n":1}'));
  assert.equal(reserved.status, 422);
  const long = "x".repeat(256);
  for (
    const more of [{ subject: long }, { type: long }, { source: "x".repeat(1_025) }, { id: "" }, { data: 5 }]
  ) {
    const { status, error } = await send({ ...eventOf("1", id), ...more });
    assert.deepEqual([status, error.details[0].path], [422, Object.keys(more)[0]]);
  }
  assert.equal((await send(Array.from({ length: 1_001 }, (_, at) => eventOf(`${at}`, id)))).status, 422);
  assert.equal(await count("usage_records"), 0);
  // A label is less than usage.
  assert.equal((await send(eventOf("1", id, { n: 1, model: long }))).status, 204);
  assert.equal(await count("usage_records"), 1);
});

testApp(
  "a large event of an unknown subject is lost, counted and noted, and one that fits is kept",
  async (test) => {
    const { send, operator, count } = await flood(test);
    const large = (id: string, subject: string, characters: number) => {
      const event = { id, source: "gateway", type: "call", subject, time: null, data: { n: 1, text: "" } };
      return eventOf(id, subject, { n: 1, text: "x".repeat(characters - JSON.stringify(event).length) });
    };
    const reasons = async (...events: object[]) => {
      const { status, error } = await send(events);
      assert.deepEqual([status, error.code], [422, "subject_unknown"]);
      return error.details.map(({ message }: { message: string }) =>
        /The event (.*?)[,:]/.exec(message)?.[1]
      );
    };
    assert.deepEqual(
      await reasons(large("1", "u1", 65_536), large("2", "u1", 65_537), large("3", "u2", 65_537)),
      [
        "is kept until it is assigned",
        "is lost",
        "is lost",
      ],
    );
    const { body: { subjects } } = await operator("GET /subjects");
    assert.deepEqual(
      subjects.map(({ subject, kept, lost }: Record<string, unknown>) => [subject, kept, lost]),
      [["u1", 1, 1]],
    );
    assert.deepEqual([await count("kept_events"), await count("kept_event_count WHERE lost = 1")], [1, 1]);
    // Without a row of its own, the subject is named by the rejected event.
    assert.equal(
      await count("event_faults WHERE subject = 'u2' AND message LIKE '%too large to be kept%'"),
      1,
    );
    const full = "UPDATE event_subjects SET kept = 10000";
    await test.opened.database.write([{ sql: full, args: [] }]);
    assert.deepEqual(await reasons(eventOf("4", "u1"), large("1", "u1", 65_536), eventOf("5", "u3")), [
      "is lost",
      "is kept until it is assigned",
      "is kept until it is assigned",
    ]);
    assert.equal(await count("event_subjects WHERE lost = 2"), 1);
  },
);

testApp("an event that is too deep or has too many names stops no other, and is noted", async (test) => {
  const { sendText, count, organizationId: id } = await flood(test);
  const names = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`name${at}`, at]));
  const deep = JSON.parse(`${"[".repeat(20)}${"]".repeat(20)}`);
  const { status, error } = await sendText(JSON.stringify([
    eventOf("1", id),
    eventOf("2", id, { n: 1, deep }),
    eventOf("3", id, { n: 1, names }),
    eventOf("4", id),
  ]));
  assert.deepEqual([status, error.details.map(({ path }: { path: string }) => path)], [422, [
    "[1].data",
    "[2].data.names",
  ]]);
  assert.deepEqual([await count("usage_records"), await count("event_faults")], [2, 2]);
});

testApp("an event with invalid texts or names stops no other, and their names are noted", async (test) => {
  const { sendText, count, organizationId: id, operator: _ } = await flood(test);
  const batch = JSON.stringify([
    eventOf("1", id),
    eventOf("2\u0000", id),
    eventOf("3", id, { n: 1, text: "\u0007" }),
    eventOf("4", id, { n: 1, ["x\ud800".padEnd(400, "y")]: "\ud83d" }),
    eventOf("5", `${"a".repeat(254)}\u{1f600}`),
    eventOf("6", id, { n: 1, text: "two\nlines" }),
    eventOf("7", id),
  ]).replace('"id":"7","subject"', '"id":"7","__proto__":{"n":2},"subject"');
  const { status, error } = await sendText(batch);
  const paths = error.details.map(({ path }: { path: string }) => path.split(/[.["](?!\d)/)[0]);
  assert.deepEqual([status, ...new Set(paths)], [422, "[1]", "[2]", "[3]", "[4]", "[6]"]);
  assert.equal(await count("usage_records"), 2);
  const faults = await test.opened.database.read<{ event_id: string; path: string }>({
    sql: "SELECT event_id, path FROM event_faults",
    args: [],
  });
  assert.ok(faults.some(({ event_id }) => event_id === "2\ufffd"));
  assert.ok(faults.every(({ path }) => path.isWellFormed() && path.length <= 255));
});

testApp("a subject from the data has a bound, and a mapping names each entry once", async (test) => {
  const { send, operator, count } = await flood(test);
  const { body: { mappings: [{ id }] } } = await operator("GET /event-mappings");
  const change = (json: object) => operator(`PATCH /event-mappings/${id}`, json);
  assert.equal((await change({ subject: "user" })).status, 200);
  const { error } = await send(eventOf("1", "a", { n: 1, user: "x".repeat(256) }));
  assert.equal(error.details[0].path, "data.user");
  assert.equal(await count("event_subjects"), 0);
  const metric = { productSlug: "models", metric: "calls", path: "n", properties: { type: "a" } };
  const twice = await change({ metrics: [metric, { ...metric, path: "m" }] });
  assert.deepEqual([twice.status, twice.body.error.details[0].path], [422, "metrics[1]"]);
  const many = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`p${at}`, "n"]));
  assert.equal((await change({ metrics: [metric], properties: many })).status, 422);
  assert.equal((await change({ properties: many })).status, 200);
});

testApp("events with one source and id in a batch are one, or contradict each other", async (test) => {
  const { send, count, organizationId: id } = await flood(test);
  const same = Array.from({ length: 500 }, () => eventOf("1", id));
  assert.equal((await send(same)).status, 204);
  assert.equal(await count("usage_records"), 1);
  const { status, error } = await send([eventOf("2", id), eventOf("2", id, { n: 2 }), eventOf("3", id)]);
  assert.deepEqual([status, error.details.map(({ path }: { path: string }) => path)], [422, ["[1].id"]]);
  assert.equal(await count("usage_records"), 3);
});

testApp("an id of an organization that is gone can be assigned", async (test) => {
  const { send, operator, count, organizationId } = await flood(test);
  const gone = "org_00000000000070008000000000000000";
  assert.equal((await send(eventOf("1", gone))).error.code, "subject_unknown");
  assert.equal((await operator("POST /subjects/assign", { subject: gone, organizationId })).status, 200);
  assert.equal((await send(eventOf("2", gone))).status, 204);
  assert.equal(await count("usage_records"), 1);
});

Deno.test("a flood has commits and tables of bounded size, and a neighbor records between its commits", async () => {
  let records = 0;
  let commits = 0;
  let neighbor: (() => Promise<void>) | null = null;
  let isBusy = false;
  const open = () =>
    openWatched(async (batch) => {
      if (neighbor === null || isBusy || batch.some(({ args }) => args.includes("access.denied"))) return;
      isBusy = true;
      await neighbor();
      isBusy = false;
      commits++;
    });
  const test = await startTestApp({ API_KEY_REQUESTS_PER_SECOND: "0" }, { open });
  try {
    const { send, count, operator, organizationId } = await flood(test);
    const other = await test.signUp("Grace");
    const { fullKey } = await createTestKey(test, other);
    neighbor = async () => {
      const json = { productSlug: "tiles", metric: "requests", quantity: 1 };
      const response = await test.send("/api/v1/usage", { apiKey: fullKey, json });
      assert.equal(response.status, 201);
      records++;
    };
    const batch = (name: string, subject: (at: number) => string, data?: object) =>
      send(Array.from({ length: 1_000 }, (_, at) => eventOf(`${name}${at}`, subject(at), data)));
    assert.equal((await batch("a", (at) => `unknown-${at}`)).status, 422);
    assert.equal((await batch("b", () => organizationId, { n: "x" })).status, 422);
    assert.equal((await batch("c", () => organizationId, { n: "x" })).status, 422);
    assert.equal((await batch("d", () => organizationId)).status, 204);
    // The same again, with another content: all contradict what is recorded, in one commit.
    const before = commits;
    assert.equal((await batch("d", () => organizationId, { n: 2 })).status, 422);
    assert.ok(commits - before <= 4, `${commits - before} commits`);
    assert.equal(await count("event_faults"), 1_000);
    assert.equal(await count("kept_events"), 1_000);
    assert.ok(records > 0 && records === commits, `${records} records in ${commits} commits`);
    // One request of a subject's 10,000 more than fit.
    neighbor = null;
    await operator("GET /subjects");
    await test.opened.database.write([{
      sql: "UPDATE event_subjects SET kept = 10000 WHERE subject = 'unknown-1'",
      args: [],
    }]);
    assert.equal((await send(eventOf("z", "unknown-1"))).error.code, "subject_unknown");
    assert.equal(await count("kept_events"), 1_000);
    assert.equal(await count("event_subjects WHERE lost = 1"), 1);
    await test.opened.database.write([{ sql: "UPDATE kept_event_count SET kept = 100000", args: [] }]);
    assert.equal((await send(eventOf("y", "unknown-new"))).error.code, "subject_unknown");
    assert.equal(await count("kept_event_count WHERE lost = 1"), 1);
    assert.equal(await count("event_subjects"), 1_000);
  } finally {
    await test.dispose();
  }
});

Deno.test("however many batches collectors send at a time, a neighbor waits for one commit of them", async () => {
  let [running, most, commits] = [0, 0, 0];
  const open = async () => {
    const opened = await openWatched(() => Promise.resolve());
    const { database } = opened;
    const write: typeof database.write = async (batch, options) => {
      const isLarge = batch.some(({ args }) =>
        args.some((one) => typeof one === "string" && one.length > 50_000)
      );
      if (isLarge) commits++;
      if (isLarge) most = Math.max(most, ++running);
      try {
        return await database.write(batch, options);
      } finally {
        if (isLarge) running--;
      }
    };
    return { ...opened, database: { ...database, write } };
  };
  const test = await startTestApp({}, { open });
  try {
    const { send, organizationId } = await flood(test);
    const batch = (name: string, subject: (at: number) => string) =>
      send(Array.from({ length: 1_000 }, (_, at) => eventOf(`${name}${at}`, subject(at))));
    const batches = ["a", "b", "c"].flatMap((name) => [
      batch(`known ${name}`, () => organizationId),
      batch(`unknown ${name}`, (at) => `unknown ${name} ${at}`),
    ]);
    assert.deepEqual((await Promise.all(batches)).map(({ status }) => status), [
      204,
      422,
      204,
      422,
      204,
      422,
    ]);
    assert.deepEqual([commits, most], [6, 1]);
  } finally {
    await test.dispose();
  }
});

testApp(
  "ending an assignment keeps what is not recorded yet, and deleting an unknown subject discards it",
  async (test) => {
    const { send, operator, count, organizationId } = await flood(test);
    const subject = async () => (await operator("GET /subjects")).body.subjects[0];
    const remove = async () => (await operator(`DELETE /subjects/${(await subject()).id}`)).status;
    assert.equal((await send([eventOf("1", "u1"), eventOf("2", "u1"), eventOf("1", "u1")])).status, 422);
    assert.equal((await operator("POST /subjects/assign", { subject: "u1", organizationId })).body.kept, 2);
    assert.equal(await remove(), 204);
    assert.deepEqual([(await subject()).organizationId, (await subject()).kept], [null, 2]);
    assert.equal(await remove(), 204);
    assert.deepEqual([await subject(), await count("kept_events")], [undefined, 0]);
    assert.equal(
      (await test.opened.database.readFirst({
        sql: "SELECT kept FROM kept_event_count",
        args: [],
      }))?.["kept"],
      0,
    );
    assert.equal(await count("audit_events WHERE action LIKE 'subject.%'"), 3);
  },
);

testApp(
  "a deleted organization is unknown, and so are the subjects that were assigned to it",
  async (test) => {
    const { send, operator, count, organizationId } = await flood(test);
    assert.equal((await operator("POST /subjects/assign", { subject: "u1", organizationId })).status, 200);
    assert.equal((await send(eventOf("1", "u1"))).status, 204);
    assert.equal((await operator(`DELETE /organizations/${organizationId}`)).status, 204);
    for (const subject of ["u1", organizationId]) {
      assert.equal((await send(eventOf(`2 ${subject}`, subject))).error.code, "subject_unknown");
    }
    assert.equal(await count("kept_events"), 2);
  },
);
