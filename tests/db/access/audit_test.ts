// The audit log's table: an entry is written only if the statement before it changed something, and every query uses an
// index.
import assert from "node:assert/strict";
import {
  type AuditQuery,
  deleteAuditEventsBefore,
  findAuditActors,
  findAuditEvents,
  findOldestAuditEventAt,
  insertAuditEvent,
} from "../../../db/access/audit.ts";
import { type Database, sql, type Statement } from "../../../db/engine/database.ts";
import type { AuditAction } from "../../../domain/access/audit.ts";
import { bothDatabases, databaseKinds, onDatabases } from "../../support/database/database.ts";
import { plansOf } from "../../support/database/query_plans.ts";

const organizationId = "org_test";
const client = { address: "203.0.113.7", userAgent: "test", requestId: "req_1" };
const newest = { at: Number.MAX_SAFE_INTEGER, id: "" };
const query: AuditQuery = { organizationId, from: 0, before: newest, limit: 100 };

/** An entry by a user. */
function entry(
  more: { action?: AuditAction; user?: string; now?: number; organizationId?: string; always?: boolean } = {},
): Statement {
  const { action = "session.created", user = "ada", now = 1_000, always } = more;
  return insertAuditEvent(
    { type: "session", user: { id: `usr_${user}`, name: user }, organization: { organizationId }, client },
    { action, organizationId: more.organizationId ?? organizationId },
    { now, ...(always === undefined ? {} : { always }) },
  ).statement;
}

const on = (promise: string, run: (database: Database) => Promise<void>, kinds = databaseKinds) =>
  onDatabases(promise, async ({ database }) => {
    await database.write([
      sql`CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT`,
      sql`INSERT INTO notes (text) VALUES ('a'), ('b')`,
    ]);
    await run(database);
  }, kinds);

const update = (to: string, from: string) => sql`UPDATE notes SET text = ${to} WHERE text = ${from}`;
/** Statements before an entry, and whether the last one changes something. */
const before: readonly [name: string, isWritten: boolean, ...batch: Statement[]][] = [
  ["an UPDATE of a row", true, update("A", "a")],
  ["an UPDATE of no row", false, update("A", "nobody")],
  ["an UPDATE of no row after one of a row", false, update("B", "b"), update("A", "x")],
  ["an UPDATE of a row after one of no row", true, update("A", "x"), update("b", "B")],
  ["an INSERT", true, sql`INSERT INTO notes (text) VALUES ('c')`],
  [
    "an INSERT that returns rows",
    true,
    sql`INSERT INTO notes (text) VALUES ('d'), ('e'), ('f') RETURNING id, text`,
  ],
  [
    "an INSERT that returns no rows",
    false,
    sql`INSERT INTO notes (text) SELECT 'g' WHERE 1 = 2 RETURNING id`,
  ],
  ["an INSERT with a conflict", false, sql`INSERT INTO notes (text) VALUES ('c') ON CONFLICT DO NOTHING`],
  [
    "an INSERT that becomes an UPDATE",
    true,
    sql`INSERT INTO notes (text) VALUES ('c') ON CONFLICT (text) DO UPDATE SET text = 'h' RETURNING id`,
  ],
  ["a DELETE of a row", true, sql`DELETE FROM notes WHERE text = 'd' RETURNING id`],
  ["a DELETE of no row", false, sql`DELETE FROM notes WHERE text = 'd'`],
  ["an entry that was written", true, update("e2", "e"), entry()],
  ["an entry that was not written", false, update("i", "i"), entry()],
];

on("writes an entry only if the statement directly before it changed something", async (database) => {
  for (const [name, isWritten, ...batch] of before) {
    const results = await database.write([...batch, entry()]);
    assert.equal(results.at(-1)?.rows.length, isWritten ? 1 : 0, `after ${name}`);
  }
  // Changes by the previous batch don't count.
  await database.write([update("j", "f")]);
  const [, none] = await database.write([update("x", "x"), entry()]);
  assert.equal(none?.rows.length, 0);
  const [always] = await database.write([entry({ always: true })]);
  assert.equal(always?.rows.length, 1);
}, bothDatabases);

on("lists one organization's entries newest first, with every combination of filters", async (database) => {
  const [a, b, c] = ["session.created", "api_key.created", "member.joined"] as const;
  // Several share a time. Ids are in the order of writing.
  const all = [
    { action: a, user: "ada", now: 1_000 },
    { action: b, user: "ada", now: 2_000 },
    { action: b, user: "eve", now: 2_000 },
    { action: c, user: "eve", now: 2_000 },
    { action: a, user: "eve", now: 3_000 },
    { action: c, user: "ada", now: 4_000 },
  ] as const;
  for (const one of all) {
    await database.write([entry({ ...one, always: true })]);
    await database.write([entry({ ...one, organizationId: "org_other", always: true })]);
  }
  const list = async (more: Partial<AuditQuery>) =>
    (await findAuditEvents(database, { ...query, ...more })).map(({ action, actorId, at }) =>
      `${action} ${actorId} ${at}`
    );
  const expected = (fits: (one: typeof all[number]) => boolean) =>
    all.filter(fits).map(({ action, user, now }) => `${action} usr_${user} ${now}`).reverse();
  assert.deepEqual(await list({}), expected(() => true));
  for (const actions of [undefined, [a], [b, c], [a, b, c], ["account.deleted"]] as const) {
    for (const actorId of [undefined, "usr_ada", "usr_eve", "usr_nobody"]) {
      for (const [from, to] of [[0, 9_000], [2_000, 4_000], [2_001, 3_000]] as const) {
        const fits = (one: typeof all[number]) =>
          (actions === undefined || (actions as readonly string[]).includes(one.action)) &&
          (actorId === undefined || actorId === `usr_${one.user}`) && one.now >= from && one.now < to;
        const more = { actions, actorId, from, before: { at: to, id: "" } };
        assert.deepEqual(await list(more), expected(fits), JSON.stringify(more));
        assert.deepEqual(
          await list({ ...more, limit: 2 }),
          expected(fits).slice(0, 2),
          JSON.stringify(more),
        );
      }
    }
  }
  const byKey = { type: "apiKey", id: "key_1", client } as const;
  const limited = { action: "api_key.limited", organizationId } as const;
  await database.write([insertAuditEvent(byKey, limited, { now: 5_000, always: true }).statement]);
  const people = await findAuditActors(database, { organizationId, limit: 10 });
  assert.deepEqual(people.map((one) => ({ ...one })), [
    { id: "usr_ada", name: "ada", email: null },
    { id: "usr_eve", name: "eve", email: null },
  ]);
  assert.equal((await findAuditActors(database, { organizationId, limit: 1 })).length, 1);
  assert.deepEqual(await findAuditActors(database, { organizationId: "org_none", limit: 10 }), []);
});

on("deletes old entries, oldest first, up to a limit", async (database) => {
  assert.equal(await findOldestAuditEventAt(database), undefined);
  for (const now of [1_000, 2_000, 3_000, 4_000]) await database.write([entry({ now, always: true })]);
  const [first] = await database.write([deleteAuditEventsBefore(4_000, { limit: 2 })]);
  assert.equal(first?.changes, 2);
  assert.equal(await findOldestAuditEventAt(database), 3_000);
  const [second] = await database.write([deleteAuditEventsBefore(4_000, { limit: 2 })]);
  assert.equal(second?.changes, 1);
  assert.deepEqual((await findAuditEvents(database, query)).map(({ at }) => at), [4_000]);
});

Deno.test("embedded database: every query uses an index in the order of the list", async () => {
  const plans = await plansOf(async (database) => {
    await findAuditEvents(database, query);
    await findAuditEvents(database, { ...query, actions: ["api_key.created", "api_key.revoked"] });
    await findAuditEvents(database, { ...query, actions: ["api_key.created"], actorId: "usr_ada" });
    await findAuditEvents(database, { ...query, actorId: "usr_ada" });
    await findAuditActors(database, { organizationId, limit: 10 });
    const own = { ...query, organizationId: null, isForOperators: true };
    await findAuditEvents(database, own);
    await findAuditEvents(database, { ...own, actions: ["account.disabled"] });
    await findAuditEvents(database, { ...own, actorId: "usr_ada" });
  });
  const range = "(organization_id=? AND at>? AND (at,id)<(?,?))";
  const expected = [
    [`audit_events_organization ${range}`],
    [`audit_events_action ${range.replace(" AND", " AND action=? AND")}`],
    [`audit_events_actor ${range.replace(" AND", " AND actor_id=? AND action=? AND")}`],
    [`audit_events_actor ${range.replace(" AND", " AND actor_id=? AND action=? AND")}`],
    Array(2).fill("audit_events_actor (organization_id=? AND actor_id>?)"),
    "audit_events_operator (at>? AND (at,id)<(?,?))",
    "audit_events_operator_action (action=? AND at>? AND (at,id)<(?,?))",
    "audit_events_operator_actor (actor_id=? AND action=? AND at>? AND (at,id)<(?,?))",
  ].flat();
  const used: string[] = [];
  for (const { text, steps } of plans) {
    for (const step of steps) {
      assert.doesNotMatch(step, /SCAN (n|e|audit_events)\b/, text);
      used.push(...(/ INDEX (audit_events_\w+ \(.*\))$/.exec(step)?.slice(1) ?? []));
    }
  }
  assert.deepEqual(
    used.filter((one) => one !== "audit_events_actor (organization_id=? AND actor_id=?)"),
    expected,
  );
});
