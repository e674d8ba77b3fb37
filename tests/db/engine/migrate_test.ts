// Migrations: applied once and atomically, never changed, never reverted.
import assert from "node:assert/strict";
import { type Database, sql } from "../../../db/engine/database.ts";
import { migrate, MigrationError, migrations } from "../../../db/engine/migrate.ts";
import { bothDatabases, onDatabases } from "../../support/database/database.ts";

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

Deno.test("the schema has no deferred constraints: they would fail the commit of all batches together", () => {
  for (const { name, text } of migrations) assert.doesNotMatch(text, /\bDEFER|defer_foreign_keys/i, name);
});
