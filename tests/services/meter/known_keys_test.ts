// The API keys that a thread knows.
import assert from "node:assert/strict";
import { parseConfig } from "../../../config.ts";
import { type Database, sql } from "../../../db/engine/database.ts";
import { rememberedApiKeysMax } from "../../../domain/limits.ts";
import { KnownKeys } from "../../../services/meter/known_keys.ts";
import { embeddedTestDatabase } from "../../support/database/database.ts";

const terms = (requestsPerSecond: number) => ({
  requestsPerSecond,
  ownRequestsPerSecond: null,
  addresses: null,
});
const hashOf = (n: number) => String(n).padStart(64, "0");

/** One organization with numbered keys, and a count of lookups. */
async function organizationWithKeys(count: number) {
  const { database, dispose } = await embeddedTestDatabase();
  await database.write([
    sql`INSERT INTO organizations (id, name, created_at) VALUES ('org_test', 'Test', 0)`,
    sql`WITH RECURSIVE c (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < ${count} - 1)
       INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_at)
       SELECT 'key_' || n, 'org_test', format('%064d', n), 'service_live_', 'Test', 0 FROM c`,
  ]);
  let lookups = 0;
  const counted: Database = {
    ...database,
    readFirst(statement) {
      lookups++;
      return database.readFirst(statement);
    },
  };
  const result = parseConfig({}, { isTerminal: false });
  assert("config" in result);
  const keys = new KnownKeys({ config: result.config, database: counted, clock: () => 1 });
  return { keys, lookups: () => lookups, dispose };
}

Deno.test("KnownKeys looks a key up once for simultaneous requests, and caches it", async () => {
  const { keys, lookups, dispose } = await organizationWithKeys(1);
  assert.equal(keys.known(hashOf(0)), undefined);
  const found = await Promise.all(Array.from({ length: 5 }, () => keys.find(hashOf(0))));
  assert.deepEqual(found.map((key) => key?.organizationId), Array(5).fill("org_test"));
  assert.equal(lookups(), 1);
  assert.equal(keys.known(hashOf(0))?.organizationId, "org_test");
  await dispose();
});

Deno.test("KnownKeys takes over rates of known keys", async () => {
  const { keys, dispose } = await organizationWithKeys(1);
  const keyHash = hashOf(0);
  keys.noteTerms(keyHash, terms(5));
  assert.equal(keys.known(keyHash), undefined, "an unknown key takes no place");
  assert.equal((await keys.find(keyHash))?.requestsPerSecond, null);
  keys.noteTerms(keyHash, terms(5));
  assert.deepEqual(keys.known(keyHash), { organizationId: "org_test", ...terms(5) });
  await dispose();
});

Deno.test("KnownKeys does not cache invalid keys", async () => {
  const { keys, lookups, dispose } = await organizationWithKeys(1);
  for (let n = 1; n <= 3; n++) {
    assert.equal(await keys.find(hashOf(9)), undefined);
    assert.equal(keys.known(hashOf(9)), undefined);
    assert.equal(lookups(), n);
  }
  await dispose();
});

Deno.test("KnownKeys caches a limited number of keys and evicts the oldest first", async () => {
  const { keys, dispose } = await organizationWithKeys(rememberedApiKeysMax + 1);
  for (let n = 0; n <= rememberedApiKeysMax; n++) await keys.find(hashOf(n));
  assert.equal(keys.known(hashOf(0)), undefined);
  for (const n of [1, rememberedApiKeysMax]) assert.equal(keys.known(hashOf(n))?.organizationId, "org_test");
  await dispose();
});
