// The SQL of the portal's first page.
import assert from "node:assert/strict";
import { type Database, sql, type Statement } from "../../db/engine/database.ts";
import { findFirstSteps } from "../../db/overview.ts";
import { databaseKinds } from "../support/database/database.ts";

Deno.test("embedded database: a member's first steps are found without reading the keys of others", async () => {
  const kind = databaseKinds.find(({ name }) => name === "embedded");
  assert.ok(kind);
  const { database, dispose } = await kind.open();
  try {
    const asked: Statement[] = [];
    const spy: Database = {
      ...database,
      readFirst: (statement) => (asked.push(statement), Promise.resolve(undefined)),
    };
    await findFirstSteps(spy, { organizationId: "org_1", createdBy: "usr_1" });
    const [statement] = asked;
    assert.ok(statement);
    const plan = await database.read<{ detail: string }>(sql`EXPLAIN QUERY PLAN ${statement}`);
    const ofKeys = plan.map(({ detail }) => detail).filter((detail) => detail.includes("api_keys"));
    assert.deepEqual(ofKeys, ["SEARCH api_keys USING INDEX api_keys_created_by (created_by=?)"]);
  } finally {
    await dispose();
  }
});
