// Subjects of events: whose usage they are, and the events of those that are unknown.
import assert from "node:assert/strict";
import { createTestKey } from "../../../support/app/app.ts";
import { doWork } from "../../../support/meter/background_work.ts";
import { collectorScene, litellmEvent } from "../../../support/meter/collector_scene.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";

onEveryDatabase("a subject is an id, an assigned one or an external id", async (test) => {
  const { send, records, organizationId, operator, key, person } = await collectorScene(test);
  const testKey = await createTestKey(test, person, { environment: "test" });
  await operator(`PATCH /organizations/${organizationId}`, { externalId: "cus_1" });
  assert.equal(await send(litellmEvent("1", key.id)), "204");
  assert.equal(await send(litellmEvent("2", "cus_1")), "204");
  assert.equal(await send(litellmEvent("3", testKey.id)), "204");
  assert.equal((await records()).length, 4);
  assert.equal((await records(testKey.fullKey)).length, 2);
  const other = await test.signUp("Grace");
  const otherKey = await createTestKey(test, other);
  await operator("POST /subjects/assign", { subject: "cus_1", organizationId: other.organizationId });
  assert.equal(await send(litellmEvent("4", "cus_1")), "204");
  assert.deepEqual([(await records()).length, (await records(otherKey.fullKey)).length], [4, 2]);
  // Suspended organizations and revoked keys are recorded.
  await test.send(`/api/portal/api-keys/${key.id}`, { cookie: person.cookie, method: "DELETE" });
  await operator(`PATCH /organizations/${organizationId}`, { suspended: true });
  assert.equal(await send(litellmEvent("5", key.id)), "204");
  assert.equal(await send(litellmEvent("6", organizationId)), "204");
});

onEveryDatabase("events of an unknown subject are recorded once when it is assigned", async (test) => {
  const { send, records, operator, organizationId } = await collectorScene(test);
  const { time: _, ...timeless } = litellmEvent("2", "u1", { prompt_tokens: 20 });
  const old = { ...litellmEvent("1", "u1"), time: "2026-10-18T00:00:00Z" };
  assert.equal(await send(old), "422 subject_unknown subject");
  assert.equal(await send([old, timeless]), "422 subject_unknown [0].subject [1].subject");
  test.advance(29 * 86_400_000);
  const { status, body } = await operator("POST /subjects/assign", { subject: "u1", organizationId });
  assert.deepEqual([status, body.kept, body.organizationId], [200, 2, organizationId]);
  const sentAgain = { ...timeless };
  assert.equal(await send(sentAgain), "204");
  await doWork(test, "kept events of assigned subjects");
  assert.equal(await send(sentAgain), "204");
  assert.equal(await send({ ...old, id: "3" }), "422 validation_failed time");
  assert.deepEqual((await records()).map(([quantity]) => quantity), [20, 10, 5, 5]);
  const { body: { subjects } } = await operator("GET /subjects");
  assert.deepEqual(subjects.map(({ kept }: { kept: number }) => kept), [0]);
  const { id } = subjects[0];
  assert.equal((await operator(`DELETE /subjects/${id}`)).status, 204);
  assert.match(await send({ ...timeless, id: "9" }), /subject_unknown/);
});

onEveryDatabase("a kept event that the sender repeats after the assignment counts once", async (test) => {
  const { send, records, operator, organizationId } = await collectorScene(test);
  const { time: _, ...timeless } = litellmEvent("1", "u1");
  assert.match(await send(timeless), /subject_unknown/);
  test.advance(1_000);
  await operator("POST /subjects/assign", { subject: "u1", organizationId });
  await doWork(test, "kept events of assigned subjects");
  test.advance(1_000);
  assert.equal(await send(timeless), "204");
  assert.equal((await records()).length, 2);
  assert.equal(
    await send({ ...timeless, data: { prompt_tokens: 1, completion_tokens: 1 } }),
    [
      "409 idempotency_conflict",
      "id",
    ].join(" "),
  );
});

onEveryDatabase(
  "events of unknown subjects are kept for 30 days, and those of assigned ones until they are recorded",
  async (test) => {
    const { send, records, operator, organizationId } = await collectorScene(test);
    const { time: _, ...timeless } = litellmEvent("1", "u1");
    assert.match(await send([timeless, { ...timeless, subject: "u2", id: "2" }]), /subject_unknown/);
    await operator("POST /subjects/assign", { subject: "u1", organizationId });
    test.advance(31 * 86_400_000);
    await doWork(test, "old kept events");
    const { body: { subjects } } = await operator("GET /subjects");
    assert.deepEqual(subjects.map(({ subject, kept }: Record<string, unknown>) => [subject, kept]), [[
      "u1",
      1,
    ]]);
    await doWork(test, "kept events of assigned subjects");
    assert.equal((await records()).length, 2);
  },
);

onEveryDatabase("a repeat that is recorded before the kept event is no fault", async (test) => {
  const { send, records, operator, organizationId } = await collectorScene(test);
  const { time: _, ...timeless } = litellmEvent("1", "u1");
  assert.match(await send(timeless), /subject_unknown/);
  await operator("POST /subjects/assign", { subject: "u1", organizationId });
  test.advance(1_000);
  assert.equal(await send(timeless), "204");
  await doWork(test, "kept events of assigned subjects");
  assert.equal((await records()).length, 2);
  assert.deepEqual(await test.opened.database.read({ sql: "SELECT * FROM event_faults", args: [] }), []);
});

onEveryDatabase("repeats without a time are compared with their records by one statement", async (test) => {
  const { send, records, operator, organizationId } = await collectorScene(test);
  const { time: _, ...timeless } = litellmEvent("", "u1");
  const { organizationId: other } = await test.signUp("Grace");
  const events = Array.from({ length: 20 }, (_, at) => ({ ...timeless, id: `${at}`, subject: `u${at % 2}` }));
  assert.match(await send(events), /subject_unknown/);
  await operator("POST /subjects/assign", { subject: "u0", organizationId });
  await operator("POST /subjects/assign", { subject: "u1", organizationId: other });
  test.advance(1_000);
  await doWork(test, "kept events of assigned subjects");
  const { database } = test.opened;
  const read = database.read.bind(database);
  let lookups = 0;
  database.read = (statement) => {
    if (/usage_records r ON r\.seq = q\.seq/.test(statement.sql)) lookups++;
    return read(statement);
  };
  assert.equal(await send(events), "204");
  assert.equal(lookups, 1);
  // Each is another one's with the same source and id, and so are their idempotency keys.
  assert.equal(await send(events.map((event, at) => ({ ...event, subject: `u${(at + 1) % 2}` }))), "204");
  const changed = { ...timeless, id: "0", subject: "u0", data: { prompt_tokens: 1, completion_tokens: 1 } };
  assert.equal(await send([...events.slice(1), changed]), "422 validation_failed [19].id");
  assert.equal((await records()).length, 40);
});

onEveryDatabase("kept events are recorded for the subject that the mapping of now takes", async (test) => {
  const { send, records, operator, organizationId, mappingId } = await collectorScene(test);
  const other = await test.signUp("Grace");
  const otherKey = await createTestKey(test, other);
  const events = ["1", "2"].map((id) =>
    litellmEvent(id, "proxy", { user: id === "1" ? organizationId : "nobody" })
  );
  assert.match(await send(events), /subject_unknown/);
  await operator(`PATCH /event-mappings/${mappingId}`, { subject: "user" });
  await operator("POST /subjects/assign", { subject: "proxy", organizationId: other.organizationId });
  await doWork(test, "kept events of assigned subjects");
  assert.deepEqual([(await records()).length, (await records(otherKey.fullKey)).length], [2, 0]);
  const faults = await test.opened.database.read({
    sql: "SELECT event_id, code FROM event_faults",
    args: [],
  });
  assert.deepEqual(faults.map((row) => ({ ...row })), [{ event_id: "2", code: "subject_unknown" }]);
});

onEveryDatabase("a full subject takes no room from another one", async (test) => {
  const { send, operator } = await collectorScene(test);
  assert.match(await send(litellmEvent("0", "full")), /subject_unknown/);
  const { database } = test.opened;
  const full = "UPDATE event_subjects SET kept = 10000 WHERE subject = 'full'";
  await database.write([
    { sql: full, args: [] },
    { sql: "UPDATE kept_event_count SET kept = 99999", args: [] },
  ]);
  const events = [litellmEvent("1", "full"), litellmEvent("2", "a"), litellmEvent("3", "b")];
  assert.match(await send(events), /^422 subject_unknown/);
  const { body: { subjects } } = await operator("GET /subjects");
  assert.deepEqual(
    subjects.map(({ subject, kept, lost }: Record<string, unknown>) => [subject, kept, lost]),
    [["a", 1, 0], ["full", 10_000, 1]],
  );
});
