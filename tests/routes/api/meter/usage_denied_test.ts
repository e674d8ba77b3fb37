// Keys that may not record: without the permission, or of a suspended organization.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { assertError, createTestKey, type TestApp } from "../../../support/app/app.ts";
import { onEveryDatabase, readSums } from "../../../support/meter/usage.ts";

/** An organization with a key that has recorded, so that the next requests join a commit without a lookup. */
async function recording(test: TestApp) {
  const person = await test.signUp();
  const { id, fullKey: apiKey } = await createTestKey(test, person);
  assert.equal((await record(test, apiKey, "first")).status, 201);
  const write = (...values: Parameters<typeof sql>) => test.opened.database.write([sql(...values)]);
  return {
    apiKey,
    setPermissions: (permissions: readonly string[]) =>
      write`UPDATE api_keys SET permissions = ${JSON.stringify(permissions)} WHERE id = ${id}`,
    suspend: () => write`UPDATE organizations SET suspended_at = 1 WHERE id = ${person.organizationId}`,
    resume: () => write`UPDATE organizations SET suspended_at = NULL WHERE id = ${person.organizationId}`,
    series: async () =>
      (await test.opened.database.read(sql`
        SELECT DISTINCT s.metric FROM usage_series s JOIN organizations o ON o.number = s.organization
        WHERE o.id = ${person.organizationId}`)).length,
  };
}

function record(test: TestApp, apiKey: string, idempotencyKey: string, metric = "requests") {
  return test.send("/api/v1/usage", {
    apiKey,
    json: { productSlug: "tiles", metric, quantity: 1, idempotencyKey },
  });
}

onEveryDatabase("rejects a key without usage:write on the next request", async (test) => {
  const { apiKey, setPermissions, series } = await recording(test);
  await setPermissions(["usage:read", "x:usage:write"]);
  const { error } = await assertError(await record(test, apiKey, "second"), 403, "permission_missing");
  assert.match(error.message, /usage:write/);
  await assertError(await record(test, apiKey, "first"), 403, "permission_missing");
  await assertError(await record(test, apiKey, "third", "new"), 403, "permission_missing");
  const json = { records: [{ productSlug: "tiles", metric: "new", quantity: 1 }] };
  await assertError(
    await test.send("/api/v1/usage/batch", { apiKey, json }),
    403,
    "permission_missing",
  );
  assert.equal(await series(), 1);
  await setPermissions(["usage:read", "usage:write"]);
  // The rejected requests have not used up their idempotency keys.
  assert.equal((await record(test, apiKey, "second")).status, 201);
  assert.equal((await readSums(test, apiKey, "?window=month"))[0]?.count, 2);
});

onEveryDatabase("rejects the keys of a suspended organization on the next request", async (test) => {
  const { apiKey, suspend, resume } = await recording(test);
  await suspend();
  await assertError(await record(test, apiKey, "second"), 403, "organization_suspended");
  await assertError(await record(test, apiKey, "first"), 403, "organization_suspended");
  await resume();
  assert.equal((await record(test, apiKey, "second")).status, 201);
  assert.equal((await readSums(test, apiKey, "?window=month"))[0]?.count, 2);
});

onEveryDatabase("records the other requests of a commit with denied ones", async (test) => {
  const [good, reading, suspended] = [await recording(test), await recording(test), await recording(test)];
  await reading.setPermissions(["usage:read"]);
  await suspended.suspend();
  const { commitRecords } = test.services.recorder.metrics;
  const commits = commitRecords.cumulativeCounts().at(-1) ?? 0;
  const statuses = await Promise.all(
    ["a", "b", "c"].flatMap((idempotencyKey) =>
      [good, reading, suspended].map(async ({ apiKey }) => {
        const { status } = await record(test, apiKey, idempotencyKey, idempotencyKey);
        return status;
      })
    ),
  );
  assert.deepEqual(statuses, [201, 403, 403, 201, 403, 403, 201, 403, 403]);
  assert.equal(commitRecords.cumulativeCounts().at(-1), commits + 1);
  assert.deepEqual(await Promise.all([good, reading, suspended].map(({ series }) => series())), [4, 1, 1]);
  const data = await readSums(test, good.apiKey, "?window=month");
  assert.deepEqual(data.map(({ count }) => count), [1, 1, 1, 1]);
});
