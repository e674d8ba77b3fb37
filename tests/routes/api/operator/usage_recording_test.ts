// Recording by operators on behalf of organizations: exact, once, and all or nothing, also while keys record.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { usageSeriesMax } from "../../../../domain/limits.ts";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import fc from "../../../support/runner/fast_check.ts";
import { operatorOf } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { checkRollups, rowsOf } from "../../../support/meter/rollups.ts";
import {
  listAll,
  onBothDatabases,
  onEveryDatabase,
  readSums,
  recordOne,
} from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const day = 24 * 3_600_000;

/** An organization with a key, and a function that records as an operator. */
async function stage(test: TestApp) {
  const send = await operatorOf(test, ["usage:write"]);
  const person = await test.signUp();
  const { id: apiKeyId, fullKey: apiKey } = await createTestKey(test, person);
  return {
    ...person,
    apiKeyId,
    apiKey,
    record: (...records: readonly Record<string, unknown>[]) => send("POST /usage", { records }),
  };
}

onEveryDatabase(
  "records for an organization by its ids and by a key of it, also while suspended or revoked",
  async (test) => {
    const { organizationId, apiKeyId, apiKey, record } = await stage(test);
    await run(test, "UPDATE organizations SET external_id = 'c 1' WHERE id = ?", organizationId);
    const timestamp = new Date(test.now() - 400 * day).toISOString();
    const { status, body } = await record(
      { ...usage, organizationId, quantity: 0.1, idempotencyKey: "a", properties: { b: "2", a: "1" } },
      { ...usage, externalId: "c 1", quantity: 0.2 },
      { ...usage, apiKeyId, quantity: 4 },
      { ...usage, organizationId, metric: "bytes", timestamp },
    );
    assert.deepEqual([status, body], [201, { accepted: 4, duplicates: 0 }]);
    const records = await listAll(test, apiKey);
    const summary = records.map(({ metric, quantity, apiKeyId }) => [metric, quantity, apiKeyId]);
    assert.deepEqual(summary.toSorted(), [
      ["bytes", 1, null],
      ["requests", 0.1, null],
      ["requests", 0.2, null],
      ["requests", 4, apiKeyId],
    ]);
    assert.equal(records.at(-1)?.timestamp, timestamp);
    const groups = await readSums(test, apiKey, "?window=month&groupBy=apiKey&metric=requests");
    assert.deepEqual(groups.map(({ apiKey, sum, count }) => [apiKey, sum, count]), [[null, 0.3, 2], [
      apiKeyId,
      4,
      1,
    ]]);
    const csv = await test.send("/api/v1/usage.csv?window=month&groupBy=apiKey&metric=requests", { apiKey });
    assert.match(await csv.text(), /Z,,,0\.3,2,0\.1,0\.2\r?\n.*,key_\w+,Production,4,1,4,4/);
    await run(test, "UPDATE organizations SET suspended_at = 1 WHERE id = ?", organizationId);
    await run(test, "UPDATE api_keys SET revoked_at = 1 WHERE id = ?", apiKeyId);
    assert.equal((await record({ ...usage, organizationId }, { ...usage, apiKeyId })).status, 201);
    await checkRollups(rowsOf(test.opened.database));
  },
);

onEveryDatabase("records too old for a key are in the organization's audit log, once", async (test) => {
  const { cookie, organizationId, record } = await stage(test);
  const { organizationId: other } = await test.signUp();
  const daysBack = (days: number) => new Date(test.now() - days * day).toISOString();
  const old = { ...usage, organizationId, timestamp: daysBack(100), idempotencyKey: "old" };
  const request = [
    old,
    { ...usage, organizationId, timestamp: daysBack(36) },
    { ...usage, organizationId, timestamp: daysBack(34) },
    { ...usage, organizationId: other },
  ];
  assert.equal((await record(...request)).status, 201);
  // Neither a repeat nor a conflict records anything old.
  assert.equal((await record(old, { ...usage, organizationId })).status, 201);
  assert.equal((await record({ ...old, quantity: 2 }, request[1] ?? {})).status, 409);
  const rows = await test.opened.database.read(sql`
    SELECT organization_id, details FROM audit_events WHERE action = 'usage.backdated'`);
  const range = { from: daysBack(100).slice(0, 10), to: daysBack(36).slice(0, 10) };
  assert.deepEqual(
    rows.map(({ organization_id, details }) => [organization_id, JSON.parse(String(details))]),
    [[organizationId, { records: "2", ...range }]],
  );
  const page = await test.send("/portal/audit", { cookie });
  assert.match(await page.text(), /Recorded .*2.* old records/);
});

onBothDatabases("a repeat changes nothing, and a conflict records nothing", async (test) => {
  const { organizationId, apiKeyId, apiKey, record } = await stage(test);
  const other = await test.signUp();
  await recordOne(test, apiKey, { idempotencyKey: "by key" });
  const batch = [
    { ...usage, organizationId, idempotencyKey: "a" },
    // The same organization by another name.
    { ...usage, apiKeyId, idempotencyKey: "a" },
    { ...usage, organizationId, idempotencyKey: "by key" },
    { ...usage, organizationId: other.organizationId, idempotencyKey: "a", quantity: 7 },
  ];
  assert.deepEqual((await record(...batch)).body, { accepted: 2, duplicates: 2 });
  assert.deepEqual((await record(...batch)).body, { accepted: 0, duplicates: 4 });
  // A key repeats what the operator recorded.
  const json = { ...usage, idempotencyKey: "a" };
  const repeat = await test.send("/api/v1/usage", { apiKey, json });
  assert.deepEqual([repeat.status, (await repeat.json()).usageRecord.apiKeyId], [200, null]);

  const { status, body } = await record(
    { ...usage, organizationId },
    { ...usage, organizationId, idempotencyKey: "by key", quantity: 2 },
  );
  assert.deepEqual([status, body.error.code], [409, "idempotency_conflict"]);
  assert.deepEqual(body.error.details.map(({ path }: { path: string }) => path), [
    "records[1].idempotencyKey",
  ]);
  const within = await record(
    { ...usage, organizationId, idempotencyKey: "b" },
    { ...usage, apiKeyId, idempotencyKey: "b", quantity: 2 },
  );
  assert.equal(within.body.error.details[0].path, "records[1].idempotencyKey");
  assert.equal((await listAll(test, apiKey)).length, 2);
});

onEveryDatabase("names every unknown organization and key, and records nothing", async (test) => {
  const { organizationId, apiKey, record } = await stage(test);
  const deleted = await stage(test);
  const remove = "UPDATE organizations SET deleted_at = 1, external_id = 'gone' WHERE id = ?";
  await run(test, remove, deleted.organizationId);
  const timeMessage = "must be at most 400 days in the past and 5 minutes in the future.";
  const faults: readonly (readonly [target: object, path: string, message: string])[] = [
    [{ organizationId: "org_unknown" }, "organizationId", "must be the id of an organization."],
    [{ organizationId: deleted.organizationId }, "organizationId", "must be the id of an organization."],
    [{ externalId: "gone" }, "externalId", "must be the external id of an organization."],
    [{ externalId: organizationId }, "externalId", "must be the external id of an organization."],
    [{ apiKeyId: organizationId }, "apiKeyId", "must be the id of an API key."],
    [{ apiKeyId: deleted.apiKeyId }, "apiKeyId", "must be the id of an API key."],
    ...[test.now() - 400 * day - 1, test.now() + 6 * 60_000].map((time) =>
      [{ organizationId, timestamp: new Date(time).toISOString() }, "timestamp", timeMessage] as const
    ),
  ];
  const all = [{ organizationId }, ...faults.map(([target]) => target)].map((more) => ({
    ...usage,
    ...more,
  }));
  const { status, body } = await record(...all);
  assert.deepEqual([status, body.error.code], [422, "validation_failed"]);
  const details = faults.map(([_, path, message], n) => ({ path: `records[${n + 1}].${path}`, message }));
  assert.deepEqual(body.error.details, details);
  for (const target of [{}, { organizationId, externalId: "x" }]) {
    const { status, body } = await record({ ...usage, ...target });
    const message = "must have exactly one of organizationId, externalId and apiKeyId.";
    assert.deepEqual([status, body.error.details], [422, [{ path: "records[0]", message }]]);
  }
  assert.deepEqual(await listAll(test, apiKey), []);
});

onEveryDatabase("the limit of series holds for each organization of a batch", async (test) => {
  const { organizationId, apiKey, record } = await stage(test);
  const other = await stage(test);
  await recordOne(test, apiKey);
  await run(test, "UPDATE organizations SET series = ? WHERE id = ?", usageSeriesMax - 1, organizationId);
  const { status, body } = await record(
    { ...usage, organizationId: other.organizationId },
    { ...usage, organizationId, metric: "a" },
    { ...usage, organizationId, metric: "b" },
  );
  assert.deepEqual([status, body.error.code], [422, "series_limit_reached"]);
  assert.deepEqual(await listAll(test, other.apiKey), []);
  assert.equal((await record({ ...usage, organizationId, metric: "a" })).status, 201);
});

/** One of a few idempotency keys of two organizations, with one of two contents. */
const aRecord = fc.record({
  organization: fc.nat(1),
  idempotencyKey: fc.constantFrom("a", "b", "c", "d"),
  quantity: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.constant(2) }),
});
/** `by`: an operator, or the key of the first record's organization, which records only its own. */
const aRequest = fc.record({
  by: fc.constantFrom("operator", "key"),
  records: fc.array(aRecord, { minLength: 1, maxLength: 5 }),
  sent: fc.integer({ min: 1, max: 2 }),
});

onEveryDatabase("records each idempotency key once while keys and operators race and retry", async (test) => {
  const token = await newOperatorToken(test, ["usage:write"]);
  await fc.assert(
    fc.asyncProperty(fc.array(aRequest, { minLength: 2, maxLength: 12 }), async (requests) => {
      const organizations = await Promise.all([0, 1].map(() => stage(test)));
      const all = await Promise.all(requests.flatMap(({ by, records, sent }, n) => {
        const own = records[0]?.organization ?? 0;
        // Each request has a record of its own, which shows whether it was recorded.
        const mine = by === "operator" ? records : records.filter(({ organization }) => organization === own);
        const whole = [...mine, { organization: own, idempotencyKey: `own ${n}`, quantity: 1 }];
        const json = {
          records: whole.map(({ organization, ...rest }) => ({
            ...usage,
            ...rest,
            ...(by === "operator" ? { organizationId: organizations[organization]?.organizationId } : {}),
          })),
        };
        const [path, apiKey] = by === "operator"
          ? ["/api/operator/usage", token.fullToken]
          : ["/api/v1/usage/batch", organizations[own]?.apiKey ?? ""];
        return Array.from({ length: sent }, async () => {
          const response = await test.send(path, { apiKey, json });
          return { whole, status: response.status, body: await response.json() };
        });
      }));
      const stored = new Map<string, number>();
      for (const [organization, { apiKey }] of organizations.entries()) {
        for (const { idempotencyKey, quantity } of await listAll(test, apiKey)) {
          assert.ok(!stored.has(`${organization} ${idempotencyKey}`), "recorded twice");
          stored.set(`${organization} ${idempotencyKey}`, quantity);
        }
      }
      let accepted = 0;
      for (const { whole, status, body } of all) {
        assert.ok(status === 201 || status === 409, JSON.stringify(body));
        const found = whole.map(({ organization, idempotencyKey }) =>
          stored.get(`${organization} ${idempotencyKey}`)
        );
        if (status === 201) {
          accepted += body.accepted;
          assert.equal(body.accepted + body.duplicates, whole.length);
          assert.deepEqual(found, whole.map(({ quantity }) => quantity));
        } else {
          assert.equal(found.at(-1), undefined, "a rejected batch left a record");
        }
      }
      assert.equal(accepted, stored.size);
    }),
    { numRuns: 25 },
  );
  await checkRollups(rowsOf(test.opened.database));
  const [row] = await test.opened.database.read(sql`SELECT count(*) AS added FROM usage_added`);
  assert.deepEqual(row, { added: 0 });
});
