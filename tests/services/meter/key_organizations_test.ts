// The cache of which organization a key belongs to.
import assert from "node:assert/strict";
import { parseConfig } from "../../../config.ts";
import { type Database, sql } from "../../../db/engine/database.ts";
import { rememberedApiKeysMax } from "../../../domain/limits.ts";
import { KeyOrganizations } from "../../../services/meter/key_organizations.ts";
import { embeddedTestDatabase } from "../../support/database.ts";

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
  const organizations = new KeyOrganizations({ config: result.config, database: counted, clock: () => 1 });
  return { organizations, lookups: () => lookups, dispose };
}

Deno.test("KeyOrganizations looks a key up once for simultaneous requests, and caches it", async () => {
  const { organizations, lookups, dispose } = await organizationWithKeys(1);
  assert.equal(organizations.known(hashOf(0)), undefined);
  const found = await Promise.all(Array.from({ length: 5 }, () => organizations.find(hashOf(0))));
  assert.deepEqual(found, Array(5).fill("org_test"));
  assert.equal(lookups(), 1);
  assert.equal(organizations.known(hashOf(0)), "org_test");
  await dispose();
});

Deno.test("KeyOrganizations does not cache invalid keys", async () => {
  const { organizations, lookups, dispose } = await organizationWithKeys(1);
  for (let n = 1; n <= 3; n++) {
    assert.equal(await organizations.find(hashOf(9)), undefined);
    assert.equal(organizations.known(hashOf(9)), undefined);
    assert.equal(lookups(), n);
  }
  await dispose();
});

Deno.test("KeyOrganizations caches a limited number of keys and evicts the oldest first", async () => {
  const { organizations, dispose } = await organizationWithKeys(rememberedApiKeysMax + 1);
  for (let n = 0; n <= rememberedApiKeysMax; n++) await organizations.find(hashOf(n));
  assert.equal(organizations.known(hashOf(0)), undefined);
  for (const n of [1, rememberedApiKeysMax]) assert.equal(organizations.known(hashOf(n)), "org_test");
  await dispose();
});
