// Events of keys that expire soon, once for each key and number of days; and the deletion of old events.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { eventKeptMs, expiringKeysOfStepMax } from "../../../domain/outbox/webhook_limits.ts";
import { deleteOldEvents } from "../../../services/outbox/upkeep.ts";
import { noteExpiringKeys } from "../../../services/keys/expiring_keys.ts";
import { createTestKey, type TestApp } from "../../support/app/app.ts";
import { flakyDatabase } from "../../support/database/flaky.ts";
import { onBothDatabases, onEveryDatabase } from "../../support/meter/usage.ts";
import { newKeys, run } from "../../support/people/scene.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Two servers write what is due, at the same time. */
async function note({ services }: TestApp): Promise<void> {
  const one = async () => {
    while (await noteExpiringKeys(services));
  };
  await Promise.all([one(), one()]);
}

/** @returns The events in their order, as `name days`. */
async function noted(test: TestApp): Promise<string[]> {
  const rows = await test.opened.database.read<{ name: string; days: number }>(sql`
    SELECT facts ->> '$.target.name' AS name, facts ->> '$.days' AS days FROM events
    WHERE type = 'api_key.expiring' ORDER BY seq`);
  return rows.map(({ name, days }) => `${name} ${days}`);
}

onEveryDatabase(
  "a key has an event 7 days and 1 day before it expires, unless it ended or was replaced",
  async (test) => {
    const ada = await test.signUp();
    const { cookie } = ada;
    const at = (ms: number) => new Date(test.now() + ms).toISOString();
    await note(test);
    const key = async (name: string, ms: number) =>
      (await createTestKey(test, ada, { name, expiresAt: at(ms) })).id;
    await key("soon", 3 * dayMs);
    await key("week", 8 * dayMs);
    await key("same", 8 * dayMs);
    await key("late", 30 * dayMs);
    const revoked = await key("revoked", 8 * dayMs);
    const extended = await key("extended", 8 * dayMs);
    const rotated = await key("rotated", 30 * dayMs);
    await note(test);
    assert.deepEqual(await noted(test), []);
    test.advance(dayMs + 1000);
    const path = `/api/portal/api-keys`;
    await test.send(`${path}/${revoked}`, { method: "DELETE", cookie });
    await test.send(`${path}/${extended}`, { method: "PATCH", cookie, json: { expiresAt: at(40 * dayMs) } });
    // It ends in a day, which its own event has told.
    assert.equal((await test.send(`${path}/${rotated}/rotate`, { cookie, json: {} })).status, 201);
    await note(test);
    assert.deepEqual(await noted(test), ["week 7", "same 7"]);
    test.advance(dayMs - 500);
    await note(test);
    assert.deepEqual(await noted(test), ["week 7", "same 7", "soon 1"]);
    // While no server ran, one key expired, and another comes late.
    test.advance(5 * dayMs);
    await note(test);
    test.advance(20 * dayMs);
    await note(test);
    assert.deepEqual((await noted(test)).slice(3), ["week 1", "same 1", "late 7", "rotated 7"]);
  },
);

onBothDatabases("many keys have events in bounded steps, once, also if steps fail", async (test) => {
  await note(test);
  const { organizationId } = await test.signUp();
  const count = 2 * expiringKeysOfStepMax + 10;
  await newKeys(test, organizationId, count);
  const expiresAt = "expires_at = ?1 + number % 3";
  await run(
    test,
    `UPDATE api_keys SET ${expiresAt}, remind_at = ?1 + number % 3 - ?2`,
    test.now() + 8 * dayMs,
    7 * dayMs,
  );
  test.advance(dayMs + 5);
  const { database } = test.opened;
  let writes = 0;
  const flaky = flakyDatabase(database, (write) => {
    writes = write;
    return write % 4 === 1 ? "before" : write % 4 === 3 ? "after" : null;
  });
  const failing = { clock: test.now, mail: test.services.mail, database: flaky };
  for (let isMore = true; isMore;) isMore = await noteExpiringKeys(failing).catch(() => true);
  assert.ok(writes >= 4, String(writes));
  const rows = await database.read<{ id: string }>(sql`
    SELECT facts ->> '$.target.id' AS id FROM events WHERE type = 'api_key.expiring'`);
  assert.deepEqual([rows.length, new Set(rows.map(({ id }) => id)).size], [count, count]);
});

onEveryDatabase("events are deleted after 30 days", async (test) => {
  await test.signUp();
  test.advance(eventKeptMs / 2);
  await test.signUp();
  test.advance(eventKeptMs / 2);
  const left = async () => (await test.opened.database.read(sql`SELECT 1 FROM events`)).length;
  assert.equal(await deleteOldEvents(test.services), false);
  assert.equal(await left(), 2);
  test.advance(1);
  assert.equal(await deleteOldEvents(test.services), false);
  assert.equal(await left(), 1);
});
