// Deleting an organization: its keys fail immediately, then its data is deleted from every table, while others keep recording.
import assert from "node:assert/strict";
import { type Database, sql } from "../../../../db/engine/database.ts";
import type { SessionActor } from "../../../../domain/access/actor.ts";
import { AppError } from "../../../../domain/errors.ts";
import {
  deletedUsageKeptMs,
  organizationEndRecordsMax,
  organizationEndRollupsMax,
} from "../../../../domain/limits.ts";
import { activeAccess } from "../../../../services/access/access.ts";
import { createApiKey } from "../../../../services/keys/new_api_keys.ts";
import { deleteSomeOfDeletedOrganizations } from "../../../../services/people/organization_deletion.ts";
import { createTestKey, type TestApp, type TestPerson } from "../../../support/app/app.ts";
import { assertOutcome, assertRows } from "../../../support/app/rows.ts";
import { flakyDatabase } from "../../../support/database/flaky.ts";
import { checkOwnSums } from "../../../support/meter/own_sums.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import {
  listPage,
  onBothDatabases,
  onEveryDatabase,
  readSums,
  recordAll,
  recordOne,
  recordWith,
  voidOne,
} from "../../../support/meter/usage.ts";
import { me } from "../../../support/people/people.ts";
import { cleanUpSignIns } from "../../../../services/people/sign_in.ts";

const range = "?from=2026-10-20&to=2026-12-01&groupBy=metric";
/** The tables with usage data, and the condition for an organization's rows by its number. */
const usageTables = {
  usage_records: "organization = ?",
  usage_voids: "seq IN (SELECT seq FROM usage_records WHERE organization = ?)",
  usage_keys_recent: "seq IN (SELECT seq FROM usage_records WHERE organization = ?)",
  usage_keys_middle: "seq IN (SELECT seq FROM usage_records WHERE organization = ?)",
  usage_keys_settled: "seq IN (SELECT seq FROM usage_records WHERE organization = ?)",
  usage_rollups: "series IN (SELECT id FROM usage_series WHERE organization = ?)",
  usage_rollups_hourly: "series IN (SELECT id FROM usage_series WHERE organization = ?)",
  usage_rollups_monthly: "organization = ?",
  usage_series: "organization = ?",
  usage_limits: `coalesce(organization, alert_of, (SELECT o.number FROM api_keys k
    JOIN organizations o ON o.id = k.organization_id WHERE k.number = usage_limits.lineage)) = ?`,
  usage_limit_counters: "organization = ?",
  limit_notices: "organization = ?",
  usage_grants: "organization = ?",
  usage_refills: "organization = ?",
  usage_grant_accounts: "organization = ?",
  api_key_outcomes: "organization = ?",
  api_key_rejections: "organization = ?",
} as const;

/** An organization with records of every kind. */
interface Recorded {
  readonly person: TestPerson;
  readonly apiKey: string;
  readonly keyId: string;
  readonly number: number;
}

async function person(test: TestApp, name: string): Promise<Recorded> {
  const person = await test.signUp(name);
  const { fullKey, id } = await createTestKey(test, person);
  const query = sql`SELECT number FROM organizations WHERE id = ${person.organizationId}`;
  const row = await test.opened.database.readFirst<{ number: number }>(query);
  return { person, apiKey: fullKey, keyId: id, number: row?.number ?? -1 };
}

/** Records each metric in many quarters of a few hours, partly with idempotency keys, and voids one record. */
async function record(test: TestApp, { apiKey, number }: Recorded, count: number): Promise<void> {
  const records = Array.from({ length: count }, (_, n) => ({
    productSlug: "tiles",
    metric: `m${n % 7}`,
    quantity: n % 11 + 0.5,
    timestamp: new Date(test.now() - n % 97 * 30 * 60_000).toISOString(),
    ...(n % 3 === 0 ? {} : { idempotencyKey: `key ${n}` }),
  }));
  assert.equal(await recordAll(test, { apiKey, records }), count);
  assert.equal((await recordWith(test, apiKey, { quantity: -1 })).status, 422);
  await test.services.requestOutcomes.flush();
  await test.opened.database.write([
    sql`INSERT INTO api_key_outcomes (hour, organization, api_key, outcome, count)
      SELECT hour - 5, organization, api_key, outcome, count FROM api_key_outcomes WHERE organization = ${number}`,
  ]);
  const { usageRecords: [newest] } = await listPage(test, apiKey, "limit=1");
  assert.ok(newest);
  await voidOne(test, { apiKey, id: newest.id });
}

/** Adds a limit, a budget and an alert, each with a counter and a notice, and a grant. */
async function addLimits(
  test: TestApp,
  { person: { organizationId }, keyId, number }: Recorded,
): Promise<void> {
  for (const owner of [{ organizationId }, { apiKeyId: keyId }, { alertOf: organizationId }]) {
    const limit = await addLimit(test, owner, { per: "month", metric: "unused" });
    await test.opened.database.write([
      sql`INSERT INTO usage_limit_counters (usage_limit, organization, window_number, sum_high, sum_low, sum_micro, is_known, opened_seq)
        VALUES (${limit.number}, ${number}, 682, 0, 0, 0, 1, 0)`,
      sql`INSERT INTO limit_notices (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at)
        VALUES (${limit.number}, ${number}, 682, 80, 0, '[0,0,0]', ${test.now()}, ${test.now()})`,
      sql`INSERT INTO usage_grants (id, organization, limit_id, product_slug, metric, quantity_micros, created_at, ends_at, reason,
        idempotency_key) VALUES ('gra_' || ${limit.number}, ${number}, ${limit.id}, '', 'unused', 1, 0, 1, '', ${limit.number})`,
      sql`INSERT INTO usage_refills (id, organization, limit_id, product_slug, metric, quantity_micros, every, rollover, ends_at,
        created_at, reason, write_at) VALUES ('rfl_' || ${limit.number}, ${number}, ${limit.id}, '', 'unused', 1, 'day', 0, 1, 0, '', 1)`,
    ]);
  }
}

/** Moves idempotency keys on, as many further keys would. */
async function moveKeys(test: TestApp): Promise<void> {
  await test.opened.database.write([
    sql`INSERT INTO usage_keys_settled SELECT hash, seq FROM usage_keys_recent WHERE seq % 3 = 0`,
    sql`INSERT INTO usage_keys_middle SELECT hash, seq FROM usage_keys_recent WHERE seq % 3 = 1`,
    sql`DELETE FROM usage_keys_recent WHERE seq % 3 < 2`,
  ]);
}

/** Ada's organization, to be deleted, and Bob's, with records between hers. Hers has the highest number. */
async function both(test: TestApp): Promise<{ ada: Recorded; bob: Recorded }> {
  const bob = await person(test, "Bob");
  const ada = await person(test, "Ada");
  await record(test, bob, 90);
  await record(test, ada, 3 * organizationEndRecordsMax + 51);
  await moveKeys(test);
  await addLimits(test, bob);
  await addLimits(test, ada);
  await recordOne(test, bob.apiKey, { idempotencyKey: "last" });
  await recordOne(test, ada.apiKey, { idempotencyKey: "last" });
  for (const table of Object.keys(usageTables)) {
    assert.notDeepEqual(await rowsOf(test, ada.number, table as keyof typeof usageTables), [], table);
  }
  return { ada, bob };
}

function rowsOf(test: TestApp, number: number, table: keyof typeof usageTables): Promise<unknown[]> {
  const text = `SELECT * FROM ${table} WHERE ${usageTables[table]} ORDER BY 1, 2`;
  return test.opened.database.read({ sql: text, args: [number] });
}

async function allRowsOf(test: TestApp, number: number): Promise<Record<string, unknown[]>> {
  await test.services.requestOutcomes.flush();
  const rows: Record<string, unknown[]> = {};
  for (const table of Object.keys(usageTables)) {
    rows[table] = await rowsOf(test, number, table as keyof typeof usageTables);
  }
  return rows;
}

async function deleteOrganization(test: TestApp, { person }: Recorded): Promise<void> {
  const name = (await me(test, person.cookie)).memberships[0]?.name;
  await assertRows(test, person, [
    [`DELETE /api/portal/organizations/${person.organizationId}`, { name }, 204],
  ]);
  // As the worker does within a second.
  await test.opened.database.write([
    sql`UPDATE event_cursor SET delivered_seq = (SELECT max(seq) FROM events)`,
  ]);
}

/** Does one step at a time at which sums are no longer kept for statements. */
function deleteSome(test: TestApp, database: Database = test.opened.database): Promise<boolean> {
  return deleteSomeOfDeletedOrganizations({ database, clock: () => test.now() + deletedUsageKeptMs });
}

/** Asserts that no series and no budget is of a key that is gone, because its number can be reused. */
async function assertNoOrphans(test: TestApp): Promise<void> {
  const orphans = sql`SELECT s.id FROM usage_series s
    WHERE s.api_key <> 0 AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.number = s.api_key)
    UNION ALL SELECT l.number FROM usage_limits l
    WHERE l.lineage IS NOT NULL AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.number = l.lineage)`;
  assert.deepEqual(await test.opened.database.read(orphans), []);
}

/** Deletes all data. @returns The number of steps. */
async function finish(test: TestApp): Promise<number> {
  let steps = 0;
  while (await deleteSome(test)) {
    await checkOwnSums(test.opened.database);
    assert.ok(++steps < 200, "it does not end");
    await assertNoOrphans(test);
  }
  return steps;
}

/** Asserts that only the audit log has anything of Ada's organization, and that Bob's is complete. */
async function assertGone(
  test: TestApp,
  { ada, bobsRows }: { ada: Recorded; bobsRows: Record<string, unknown[]> },
): Promise<void> {
  const { database } = test.opened;
  const tables = await database.read<{ name: string }>(
    sql`SELECT name FROM sqlite_master
        WHERE type = 'table' AND name NOT GLOB 'sqlite*' AND name NOT GLOB '[_]*'`,
  );
  assert.ok(tables.length > 20, "the list of tables is not what it was");
  const totals = await allRowsOf(test, 0);
  for (const { name } of tables) {
    // Operators still see that it was deleted.
    const others = name === "events"
      ? "WHERE organization IS NOT NULL OR type <> 'organization.deleted'"
      : "";
    const rows = await database.read({ sql: `SELECT * FROM ${name} ${others}`, args: [] });
    const expected = bobsRows[name];
    if (expected !== undefined) {
      const others = totals[name]?.length ?? 0;
      assert.equal(rows.length, expected.length + others, `${name} has what is not Bob's`);
    } else if (name !== "audit_events") {
      const text = JSON.stringify(rows);
      assert.ok(!text.includes(ada.person.organizationId), `${name} names the organization`);
      assert.ok(!text.includes(ada.keyId), `${name} has its key`);
    }
  }
}

onBothDatabases("keys fail immediately, and every table is cleared, even if steps fail", async (test) => {
  const { ada, bob } = await both(test);
  const bobsRows = await allRowsOf(test, bob.number);
  const bobsSums = await readSums(test, bob.apiKey, range);
  const totals = await allRowsOf(test, 0);
  const { database } = test.opened;
  // More than a step deletes, so that the organization's row stays until the last step.
  await database.write([sql`
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
    INSERT INTO events (id, type, organization, at, facts)
    SELECT 'evt_' || n, 'webhook.test', ${ada.number}, n, ${ada.person.organizationId} FROM n`]);
  await deleteOrganization(test, ada);
  await assertOutcome(recordWith(test, ada.apiKey), "401 invalid_api_key");
  await assertRows(test, ada, [["GET /api/v1/usage", null, "401 invalid_api_key"]]);
  let writes = 0;
  const flaky = flakyDatabase(database, (write) => {
    writes = write;
    return (["before", "after", null] as const)[(write - 1) % 3] ?? null;
  });
  for (let isMore = true, n = 0; isMore; n++) {
    assert.ok(n < 100);
    const done = await Promise.allSettled([deleteSome(test, flaky), deleteSome(test)]);
    isMore = done.some((one) => one.status === "rejected" || one.value);
    await assertNoOrphans(test);
    // Bob reads all of his usage between the steps.
    if (n % 2 === 0) assert.deepEqual(await readSums(test, bob.apiKey, range), bobsSums);
  }
  assert.ok(writes > 2);
  const { api_key_outcomes: _before, ...kept } = bobsRows;
  const rows = await allRowsOf(test, bob.number);
  await assertGone(test, { ada, bobsRows: rows });
  // Bob's requests since then are counted, too.
  const { api_key_outcomes: _now, ...rest } = rows;
  assert.deepEqual(rest, kept);
  assert.deepEqual(await allRowsOf(test, 0), totals, "totals keep what a deleted organization used");
  // Bob's idempotency keys still work.
  await assertOutcome(recordWith(test, bob.apiKey, { idempotencyKey: "last" }), 200);
  assert.equal((await me(test, ada.person.cookie)).organizationId, null);
});

onEveryDatabase("a late step does not touch an organization that reuses the number", async (test) => {
  const ada = await person(test, "Ada");
  await record(test, ada, 90);
  await deleteOrganization(test, ada);
  const { database } = test.opened;
  let carol: Recorded | undefined;
  const slow: Database = {
    ...flakyDatabase(database, () => null),
    async readFirst<T>(statement: Parameters<Database["readFirst"]>[0]) {
      const found = await database.readFirst<T>(statement);
      // Another server deletes everything first, and someone signs up.
      await finish(test);
      carol = await person(test, "Carol");
      await record(test, carol, 40);
      return found;
    },
  };
  await deleteSome(test, slow);
  assert.ok(carol);
  assert.equal(carol.number, ada.number, "the number is reused");
  const sums = await readSums(test, carol.apiKey, range);
  assert.equal(sums.reduce((count, sum) => count + sum.count, 0), 39);
  assert.equal((await rowsOf(test, carol.number, "usage_records")).length, 40);
  assert.equal((await rowsOf(test, carol.number, "usage_keys_recent")).length, 26);
});

onEveryDatabase("records that come during the deletion are stored before it or rejected", async (test) => {
  const { ada, bob } = await both(test);
  const send = (apiKey: string, n: number) =>
    test.send("/api/v1/usage", {
      apiKey,
      json: { productSlug: "late", metric: `m${n % 5}`, quantity: 1, idempotencyKey: `late ${n}` },
    });
  const adas: Promise<Response>[] = [];
  const bobs: Promise<Response>[] = [];
  for (let n = 0; n < 60; n++) {
    adas.push(send(ada.apiKey, n));
    bobs.push(send(bob.apiKey, n));
    if (n === 20) adas.push(deleteOrganization(test, ada).then(() => new Response(null, { status: 204 })));
    if (n % 10 === 9) await bobs.at(-1);
  }
  const finished = finish(test);
  const responses = await Promise.all(adas);
  for (const { status } of responses) assert.ok([201, 401, 204].includes(status), String(status));
  assert.equal(responses.at(-1)?.status, 401);
  for (const response of [...responses, ...await Promise.all(bobs)]) await response.body?.cancel();
  const steps = await finished;
  assert.ok(steps >= 4, `${steps} steps are too few for so many records`);
  await finish(test);
  await assertGone(test, { ada, bobsRows: await allRowsOf(test, bob.number) });
  const late = await readSums(test, bob.apiKey, "?from=2026-11-01&to=2026-12-01&productSlug=late");
  assert.equal(late.reduce((count, sum) => count + sum.count, 0), 60);
});

onEveryDatabase("changes the sessions of a deleted organization a step at a time", async (test) => {
  const ada = await person(test, "Ada");
  const { organizationId, userId } = ada.person;
  await test.opened.database.write([sql`
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1200)
    INSERT INTO sessions (token_hash, id, user_id, organization_id, created_at, last_seen_at, address, user_agent)
    SELECT 'hash ' || n, 'ses_' || n, ${userId}, ${organizationId}, 1, 1, '', '' FROM n`]);
  const inIt = sql`SELECT count(*) AS sessions FROM sessions WHERE organization_id = ${organizationId}`;
  const count = async () => Number((await test.opened.database.readFirst(inIt))?.["sessions"]);
  const counts = [await count()];
  await deleteOrganization(test, ada);
  counts.push(await count());
  while (await deleteSome(test)) counts.push(await count());
  assert.equal(counts.at(-1), 0);
  const steps = counts.slice(1).map((left, at) => Number(counts[at]) - left);
  assert.ok(steps.every((changed) => changed <= organizationEndRollupsMax), `${steps}`);
  assert.equal((await me(test, ada.person.cookie)).organizationId, null);
});

onEveryDatabase("creates no key in an organization that is being deleted", async (test) => {
  const ada = await person(test, "Ada");
  const token = ada.person.cookie.split("=")[1] ?? "";
  const { session } = await test.services.sessionSearch.find([token]);
  assert.ok(session);
  const client = { address: "127.0.0.1", userAgent: "test", requestId: null };
  const actor: SessionActor = { ...session, type: "session", client };
  await deleteOrganization(test, ada);
  const late = () => createApiKey(test.services, activeAccess(actor), { name: "Late", expiresAt: null });
  await assert.rejects(late, (error) => error instanceof AppError && error.code === "forbidden");
  await finish(test);
  await assert.rejects(late, (error) => error instanceof AppError && error.code === "forbidden");
});

onEveryDatabase("deletes unfinished sign-ins when they expire, and not before", async (test) => {
  const { userId } = await test.signUp();
  const { database } = test.opened;
  const insert = (n: number, expiresAt: number) => [
    sql`INSERT INTO pending_sign_ins (token_hash, user_id, expires_at, attempts) VALUES (${`pending ${n}`}, ${userId}, ${expiresAt}, 0)`,
    sql`INSERT INTO passkey_challenges VALUES (${`challenge ${n}`}, 'sign_in', NULL, ${expiresAt})`,
  ];
  await database.write(Array.from({ length: 600 }, (_, n) => insert(n, test.now())).flat());
  await database.write(insert(1000, test.now() + 1));
  const steps: boolean[] = [];
  for (let n = 0; n < 3; n++) steps.push(await cleanUpSignIns(test.services));
  assert.deepEqual(steps, [true, false, false]);
  assert.deepEqual(
    await database.read(
      sql`SELECT token_hash AS name FROM pending_sign_ins UNION ALL SELECT challenge FROM passkey_challenges`,
    ),
    [{ name: "pending 1000" }, { name: "challenge 1000" }],
  );
});
