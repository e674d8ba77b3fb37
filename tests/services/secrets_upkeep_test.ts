// Rewriting stored secrets under the newest key, and what `gatehouse check` says about them.
import assert from "node:assert/strict";
import { secretsResults } from "../../commands/check/secrets.ts";
import { type Database, sql } from "../../db/engine/database.ts";
import { countStoredSecrets } from "../../db/stored_secrets.ts";
import { Secrets } from "../../services/secrets.ts";
import { createResealing } from "../../services/secrets_upkeep.ts";
import { embeddedTestDatabase } from "../support/database/database.ts";

const now = 1_000_000;
const keyOf = (byte: number) => new Uint8Array(32).fill(byte);
const [none, lost, old, current] = [
  new Secrets([]),
  new Secrets([keyOf(9)]),
  new Secrets([keyOf(1)]),
  new Secrets([keyOf(2), keyOf(1)]),
];
const insert = (id: string, secret: string, oldSecret: string | null = null, until = now + 1) =>
  sql`INSERT INTO webhooks (id, organization, url, events, description, secret, old_secret, old_secret_until, since_seq, created_at)
    VALUES (${id}, 1, 'https://a.example', '["*"]', '', ${secret}, ${oldSecret}, ${until}, 0, 0)`;

async function withDatabase(test: (database: Database) => Promise<void>): Promise<void> {
  const { database, dispose } = await embeddedTestDatabase();
  try {
    await test(database);
  } finally {
    await dispose();
  }
}

const rowsOf = (database: Database) =>
  database.read<{ id: string; secret: string; old: string | null }>(
    sql`SELECT id, secret, old_secret AS old FROM webhooks ORDER BY number`,
  );

/** @returns The verdicts and sentences of `gatehouse check`. */
async function found(database: Database, keys: readonly number[]): Promise<string[]> {
  const counts = await countStoredSecrets(database, now);
  return secretsResults(keys.map(keyOf), counts).map(({ verdict, saw }) => `${verdict}: ${saw}`);
}

Deno.test("each stored secret is encrypted with the newest key once, unless it can't be read", () =>
  withDatabase(async (database) => {
    assert.deepEqual(await found(database, [2]), ["ok: Set, and there are no stored secrets."]);
    assert.deepEqual(await found(database, []), ["ok: Not set, and there are no stored secrets."]);
    const ids = Array.from({ length: 203 }, (_, n) => `whk_${n}`);
    await database.write(ids.map((id, n) => {
      const seal = [none, old, current][n % 3]!;
      return insert(id, seal.seal(id, `whsec_${n}`), n % 2 === 0 ? null : old.seal(id, `whsec_old_${n}`));
    }));
    await database.write([
      insert("lost", lost.seal("lost", "whsec_lost"), none.seal("lost", "whsec_readable")),
      // Of another row, and expired.
      insert("moved", old.seal("whk_1", "whsec_x"), lost.seal("moved", "whsec_x"), now),
    ]);
    const before = await rowsOf(database);
    const missing = "stored secret can't be read: encrypted with a key that isn't set.";
    assert.deepEqual(await found(database, [2, 1]), [
      `wrong: 1 ${missing}`,
      "warning: 239 stored secrets not encrypted with the newest key.",
    ]);
    assert.deepEqual(await found(database, []), [
      "wrong: 238 stored secrets can't be read: encrypted with a key that isn't set.",
      "warning: Not set: 69 secrets stored unencrypted.",
    ]);

    const reseal = createResealing();
    const more: boolean[] = [];
    let reads = 0;
    const counted: Database = {
      ...database,
      read: (statement) => (reads++, database.read(statement)),
      write: (batch) => database.write(batch),
    };
    for (let n = 0; n < 5; n++) more.push(await reseal({ database: counted, secrets: current }));
    // The last read is of identity providers.
    assert.deepEqual([more, reads], [[true, true, true, true, false], 5]);
    const after = await rowsOf(database);
    for (const [n, { id, secret, old: oldSecret }] of after.slice(0, ids.length).entries()) {
      assert.equal(current.open(id, secret), `whsec_${n}`);
      assert.equal(oldSecret && current.open(id, oldSecret), n % 2 === 0 ? null : `whsec_old_${n}`);
      // What was current stays as it is.
      assert.equal(secret === before[n]?.secret, n % 3 === 2);
    }
    const [lostAfter, movedAfter] = after.slice(ids.length);
    assert.equal(lostAfter?.secret, before[ids.length]?.secret);
    assert.equal(current.open("lost", lostAfter?.old ?? ""), "whsec_readable");
    assert.deepEqual(movedAfter, before[ids.length + 1]);
    assert.deepEqual(await found(database, [2]), [`wrong: 2 stored secrets${missing.slice(13)}`]);
    await database.write([sql`UPDATE webhooks SET deleted_at = 1 WHERE id IN ('lost', 'moved')`]);
    assert.deepEqual(await found(database, [2]), ["ok: 304 stored secrets encrypted with the newest key."]);
  }));

Deno.test("a provider's current and pending secrets are encrypted with the newest key", () =>
  withDatabase(async (database) => {
    await database.write([
      sql`INSERT INTO identity_providers (id, slug, kind, name, issuer, client_id, client_secret, pending_secret, position,
        created_at, updated_at)
      VALUES ('idp', 'a', 'oidc', 'A', 'https://a.example', 'a', ${none.seal("idp", "one")}, ${
        none.seal("idp", "two")
      }, 0, 0, 0)`,
    ]);
    assert.deepEqual(await found(database, [1, 2]), [
      "warning: 2 stored secrets not encrypted with the newest key.",
    ]);
    const reseal = createResealing();
    while (await reseal({ database, secrets: current }));
    const row = await database.readFirst<{ one: string; two: string }>(
      sql`SELECT client_secret AS one, pending_secret AS two FROM identity_providers`,
    );
    assert.deepEqual([row?.one, row?.two].map((stored) => current.open("idp", stored ?? "")), ["one", "two"]);
  }));

Deno.test("a secret that is rotated meanwhile is not overwritten, and a failed write is repeated", () =>
  withDatabase(async (database) => {
    await database.write(["a", "b", "c"].map((id) => insert(id, none.seal(id, `whsec_${id}`))));
    const rotated = current.seal("a", "whsec_rotated");
    const reseal = createResealing();
    let writes = 0;
    const racing: Database = {
      ...database,
      read: (statement) => database.read(statement),
      async write(batch) {
        if (writes++ === 0) throw new Error("the disk is full");
        await database.write([
          sql`UPDATE webhooks SET secret = ${rotated}, old_secret = iif(id = 'a', secret, NULL) WHERE id <> 'c'`,
        ]);
        return await database.write(batch);
      },
    };
    await assert.rejects(reseal({ database: racing, secrets: current }), /the disk is full/);
    assert.equal(await reseal({ database: racing, secrets: current }), true);
    const [a, b, c] = await rowsOf(database);
    assert.deepEqual([a?.secret, b?.secret], [rotated, rotated]);
    assert.equal(a?.old, none.seal("a", "whsec_a"));
    assert.ok(current.isCurrent(c?.secret ?? ""));
  }));

Deno.test("secrets of identity providers are counted and encrypted with the newest key", () =>
  withDatabase(async (database) => {
    const insertProvider = (id: string, secret: string) =>
      sql`INSERT INTO identity_providers
        (id, slug, kind, name, issuer, client_id, client_secret, position, created_at, updated_at)
        VALUES (${id}, ${id}, 'oidc', 'A', 'https://a.example', 'a', ${secret}, 1, 0, 0)`;
    const secretOf = async (id: string) =>
      (await database.readFirst<{ secret: string }>(
        sql`SELECT client_secret AS secret FROM identity_providers WHERE id = ${id}`,
      ))?.secret ?? "";
    await database.write([
      insertProvider("idp_1", none.seal("idp_1", "first")),
      insertProvider("idp_2", old.seal("idp_2", "second")),
      insertProvider("idp_3", lost.seal("idp_3", "third")),
    ]);
    assert.deepEqual(await found(database, [2, 1]), [
      "wrong: 1 stored secret can't be read: encrypted with a key that isn't set.",
      "warning: 2 stored secrets not encrypted with the newest key.",
    ]);
    const before = await secretOf("idp_3");
    const reseal = createResealing();
    const steps = [];
    for (let n = 0; n < 3; n++) steps.push(await reseal({ database, secrets: current }));
    assert.deepEqual(steps, [true, true, false]);
    for (const [id, secret] of [["idp_1", "first"], ["idp_2", "second"]] as const) {
      const stored = await secretOf(id);
      assert.ok(current.isCurrent(stored));
      assert.equal(current.open(id, stored), secret);
    }
    assert.equal(await secretOf("idp_3"), before);
  }));
