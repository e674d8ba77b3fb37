// Migrations: applied once and atomically, never changed, never reverted.
import assert from "node:assert/strict";
import { type Database, sql } from "../../../db/engine/database.ts";
import {
  checkSchema,
  migrate,
  type Migration,
  MigrationError,
  migrations,
} from "../../../db/engine/migrate.ts";
import { findUnusedKeysCursor } from "../../../db/keys/unused_keys.ts";
import { findUnmailedEvents } from "../../../db/outbox/events.ts";
import { bothDatabases, embeddedTestDatabase, onDatabases } from "../../support/database/database.ts";
import { upgrades } from "../../support/database/upgrades.ts";

const dayMs = 86_400_000;
const more = {
  number: (migrations.at(-1)?.number ?? 0) + 1,
  name: "more",
  text: "CREATE TABLE more (a TEXT);\n\nCREATE TABLE most (a TEXT);\n",
};

const on = (promise: string, run: (database: Database) => Promise<void>) =>
  onDatabases(promise, ({ database }) => run(database), bothDatabases);

on(
  "migrate() applies missing migrations once, even when two programs start at the same time",
  async (database) => {
    assert.deepEqual(await migrate(database, { now: 1 }), []);
    const list = [...migrations, more];
    const applied = await Promise.all([
      migrate(database, { now: 1, list }),
      migrate(database, { now: 1, list }),
    ]);
    assert.deepEqual(applied.flat(), [more.number]);
    assert.equal((await database.read(sql`SELECT * FROM most`)).length, 0);
  },
);

on("migrate() rolls back a failed migration", async (database) => {
  const broken = { ...more, text: "CREATE TABLE half (a TEXT);\nINSERT INTO nowhere VALUES (1);\n" };
  await assert.rejects(migrate(database, { now: 1, list: [...migrations, broken] }));
  await assert.rejects(database.read(sql`SELECT * FROM half`));
  assert.deepEqual(await migrate(database, { now: 1, list: [...migrations, more] }), [more.number]);
});

on("migrate() rejects a newer database and a changed migration", async (database) => {
  await migrate(database, { now: 1, list: [...migrations, more] });
  await assert.rejects(
    migrate(database, { now: 1 }),
    (error) => error instanceof MigrationError && /newer/.test(error.message),
  );
  const changed = { ...more, text: `${more.text}\n-- a word` };
  await assert.rejects(
    migrate(database, { now: 1, list: [...migrations, changed] }),
    (error) => error instanceof MigrationError && /changed/.test(error.message),
  );
});

on("migrate() ignores CR LF line ends in a migration", async (database) => {
  await migrate(database, { now: 1, list: [...migrations, more] });
  const windows = { ...more, text: more.text.replaceAll("\n", "\r\n") };
  assert.deepEqual(await migrate(database, { now: 1, list: [...migrations, windows] }), []);
});

/** All of a new database: objects in their order, columns, and rows without what is random. */
async function contentOf(list: readonly Migration[]): Promise<string[]> {
  const { database, dispose } = await embeddedTestDatabase({ list });
  const objects = await database.read<{ name: string; type: string; sql: string }>(sql`
    SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY tbl_name, type, rowid`);
  const lines = objects.map((one) => `${one.name} ${normal(one.sql)}`);
  const random = (key: string, value: unknown) =>
    ["id", "key", "created_at", "applied_at"].includes(key) ? typeof value : value;
  for (const { name } of objects.filter(({ type, sql }) => type === "table" && !/VIRTUAL/.test(sql))) {
    for (const text of [`pragma_table_xinfo('${name}')`, `"${name}"`]) {
      const rows = await database.read({ sql: `SELECT * FROM ${text}`, args: [] });
      lines.push(`${name} ${JSON.stringify(rows, random)}`);
    }
  }
  await dispose();
  return lines;
}

/** Removes differences of layout, and the quotes of renamed tables. */
function normal(text: string): string {
  return text.replaceAll(/^ *--.*$/gm, "").replaceAll('"', "").replaceAll(/\s*([(),])\s*/g, "$1").replaceAll(
    /\s+/g,
    " ",
  );
}

Deno.test("a new database has what all migrations make one after the other", async () => {
  const [whole, steps] = [await contentOf(migrations), await contentOf(upgrades)];
  assert.ok(whole.length > 300);
  assert.deepEqual(whole, steps);
});

/** Makes the rows of the former migrations up to a number. */
function setFormer(database: Database, number: number) {
  const checksum = "475f2c3b4131865bf9f5d2d122b558189cba549bd70a40c641693eca5907a407";
  return database.write([
    sql`DELETE FROM schema_migrations`,
    sql`WITH RECURSIVE n (v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < ${number})
      INSERT INTO schema_migrations SELECT v, 'former', iif(v = 30, ${checksum}, 'x'), 1 FROM n`,
  ]);
}

on("a database with the 30 former migrations goes on with the next one", async (database) => {
  const list = [...migrations.slice(0, 1), more];
  await setFormer(database, 30);
  await assert.rejects(checkSchema(database, { list }), /lacks migration .* \(more\)/);
  assert.deepEqual(await migrate(database, { now: 1, list }), [more.number]);
  assert.deepEqual(await migrate(database, { now: 1, list }), []);
  assert.equal(await checkSchema(database, { list }), true);
});

on("a database with only 29 of them is left unchanged, with advice", async (database) => {
  await setFormer(database, 29);
  const isTooOld = (error: unknown) =>
    error instanceof MigrationError && !error.isOlder &&
    /schema 29 .* start a build of commit \w+ once/.test(error.message);
  await assert.rejects(checkSchema(database), isTooOld);
  await assert.rejects(migrate(database, { now: 1 }), isTooOld);
  assert.equal((await database.read(sql`SELECT 1 FROM schema_migrations`)).length, 29);
});

Deno.test("the schema has no deferred constraints: they would fail the commit of all batches together", () => {
  for (const { name, text } of upgrades) assert.doesNotMatch(text, /\bDEFER|defer_foreign_keys/i, name);
});

Deno.test("emails that were waiting before the outbox read events are written after the update", async () => {
  const { database, dispose } = await embeddedTestDatabase({
    list: upgrades.filter(({ number }) => number <= 30),
  });
  const insert = (text: string) => ({ sql: text, args: [] });
  await database.write([
    insert(
      "INSERT INTO organizations (number, id, name, created_at) VALUES (1, 'org_1', 'A', 0), (2, 'org_2', 'B', 0)",
    ),
    insert(
      `INSERT INTO usage_limits (id, organization, product_slug, metric, per, mode, created_seq, created_at)
      VALUES ('lim_1', 1, '', '', 'day', 'soft', 0, 0)`,
    ),
    ...[[80, 5], [100, null]].map(([percent, mailedAt]) =>
      insert(
        `INSERT INTO limit_notices (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at, mailed_at)
        SELECT number, 1, 1, ${percent}, 0, '[0,0,0]', ${percent}, ${percent}, ${mailedAt} FROM usage_limits`,
      )
    ),
    insert("INSERT INTO unused_key_reminders VALUES (2, 1, '[]')"),
    insert("UPDATE event_cursor SET week_expires_at = 100, day_expires_at = 50"),
    ...[200, 80, 40].map((expiresAt) =>
      insert(
        `INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, permissions, created_at, expires_at)
        VALUES (${expiresAt}, 'org_1', ${expiresAt}, '', '', '[]', 0, ${expiresAt})`,
      )
    ),
  ]);
  assert.deepEqual(
    await migrate(database, { now: 1 }),
    migrations.map(({ number }) => number).filter((n) => n > 30),
  );
  const events = await findUnmailedEvents(database, 10);
  assert.deepEqual(events.map(({ facts }) => JSON.parse(facts).percent), [100]);
  assert.deepEqual((await findUnusedKeysCursor(database)).organization, 1);
  const keys = await database.read(sql`SELECT remind_at FROM api_keys ORDER BY expires_at DESC`);
  assert.deepEqual(keys.map((key) => key["remind_at"]), [200 - 7 * dayMs, 80 - dayMs, null]);
  await dispose();
});

/** The texts of a table and all that belongs to it, by name. */
async function schemaOf(database: Database, table: string): Promise<Map<unknown, unknown>> {
  const rows = await database.read(
    sql`SELECT name, sql FROM sqlite_schema WHERE tbl_name = ${table} AND sql IS NOT NULL ORDER BY name`,
  );
  return new Map(rows.map((row) => [row["name"], row["sql"]]));
}

Deno.test("limits keep their numbers, indexes and triggers when their table is made again", async () => {
  const until = (last: number) => upgrades.filter(({ number }) => number <= last);
  const { database, dispose } = await embeddedTestDatabase({ list: until(35) });
  const insert = (id: string, quantity: number | null) =>
    sql`INSERT INTO usage_limits (id, organization, product_slug, metric, per, quantity_whole, quantity_micro, mode, notify_at, created_seq,
      created_at) VALUES (${id}, 1, ${id}, '', 'day', ${quantity}, ${quantity}, 'hard', '[50]', 3, 4)`;
  await database.write([
    insert("lim_1", 5),
    insert("lim_2", null),
    insert("lim_3", 7),
    insert("lim_4", 8),
    sql`DELETE FROM usage_limits WHERE id IN ('lim_1', 'lim_4')`,
    sql`DELETE FROM usage_limits_removed`,
  ]);
  const before = await database.read(sql`SELECT * FROM usage_limits ORDER BY number`);
  const schema = JSON.stringify([...await schemaOf(database, "usage_limits")]);
  assert.deepEqual(await migrate(database, { now: 1, list: until(36) }), [36]);
  assert.deepEqual(await database.read(sql`SELECT * FROM usage_limits ORDER BY number`), before);
  const migrated = await schemaOf(database, "usage_limits");
  assert.equal(migrated.size, 6);
  assert.equal(JSON.stringify([...migrated]).replace("'hard', 'soft', 'cutoff'", "'hard', 'soft'"), schema);
  await database.write([insert("lim_5", 9), sql`DELETE FROM usage_limits WHERE id = 'lim_3'`]);
  const [last] = await database.read(sql`SELECT max(number) AS number FROM usage_limits`);
  assert.equal(last?.["number"], 5);
  const removed = await database.read(sql`SELECT number, facts ->> 'id' AS id FROM usage_limits_removed`);
  assert.deepEqual(removed.map((row) => ({ ...row })), [{ number: 3, id: "lim_3" }]);
  await dispose();
});

Deno.test("notices are kept when their table is made again", async () => {
  const { database, dispose } = await embeddedTestDatabase({
    list: upgrades.filter(({ number }) => number < 42),
  });
  await database.write(
    [...[80, 100]].map((percent) =>
      sql`INSERT INTO limit_notices VALUES (7, 1, 0, ${percent}, 1, '[0,5,0]', 2, 3, NULL, 5, 6)`
    ),
  );
  const before = await database.read(sql`SELECT * FROM limit_notices`);
  await database.write([
    sql`INSERT INTO products (slug, name, created_at) VALUES ('a', 'A', 0)`,
    sql`INSERT INTO product_metrics (product, slug, name, position) VALUES ('a', 'b', 'B', 0)`,
  ]);
  assert.deepEqual(
    await migrate(database, { now: 1 }),
    migrations.map(({ number }) => number).filter((n) => n >= 42),
  );
  const after = before.map((row) => ({ ...row, value: "", is_quiet: 0 }));
  assert.equal(after.length, 2);
  assert.deepEqual(await database.read(sql`SELECT x.* FROM limit_notices x`), after);
  assert.deepEqual(await database.read(sql`SELECT shareable FROM product_metrics`), [{ shareable: "[]" }]);
  await dispose();
});

Deno.test("grants that were given before grants of windows keep their account", async () => {
  const { database, dispose } = await embeddedTestDatabase({
    list: upgrades.filter(({ number }) => number < 40),
  });
  const grant = (id: string) => ({
    sql:
      `INSERT INTO usage_grants (id, organization, limit_id, product_slug, metric, quantity_micros, created_at, ends_at, reason,
        idempotency_key) VALUES (?, 1, 'lim_1', 'tiles', '', 9000000, 1, 2, 'Paid.', ?)`,
    args: [id, id],
  });
  const use = sql`UPDATE usage_grants SET used_micros = 2500000 WHERE id = 'gra_1'`;
  await database.write([
    grant("gra_1"),
    use,
    sql`UPDATE usage_grant_accounts SET mark_whole = 7, turn_at = 9`,
  ]);
  await migrate(database, { now: 1 });
  await database.write([
    grant("gra_2"),
    sql`UPDATE usage_grants SET used_micros = 1500000 WHERE id = 'gra_2'`,
  ]);
  assert.deepEqual(
    await database.read(
      sql`SELECT per, taken_whole, taken_micro, mark_whole, turn_at FROM usage_grant_accounts`,
    ),
    [{ per: "total", taken_whole: 3, taken_micro: 1_000_000, mark_whole: 7, turn_at: 9 }],
  );
  assert.deepEqual(await database.read(sql`SELECT DISTINCT per FROM usage_grants`), [{ per: "total" }]);
  await dispose();
});
