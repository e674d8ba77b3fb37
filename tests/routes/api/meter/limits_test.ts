// The standings of limits, over the API.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { restartLimits, timezoneRows } from "../../../../db/meter/usage_limits.ts";
import { assertError, createTestKey, type TestApp, type TestPerson } from "../../../support/app/app.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { run } from "../../../support/people/scene.ts";
import { listPage, onEveryDatabase, recordAll, recordOne, voidOne } from "../../../support/meter/usage.ts";

async function limitsOf(test: TestApp, credentials: { apiKey: string } | { cookie: string }) {
  const path = "apiKey" in credentials ? "/api/v1/limits" : "/api/portal/limits";
  const response = await test.send(path, credentials);
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).limits;
}

async function personWithKey(
  test: TestApp,
  name: string,
): Promise<TestPerson & { id: string; apiKey: string }> {
  const person = await test.signUp(name);
  const { id, fullKey } = await createTestKey(test, person);
  return { ...person, id, apiKey: fullKey };
}

const tiles = { productSlug: "tiles", metric: "requests" };
const all = { productSlug: null, metric: null };

onEveryDatabase(
  "shows each limit with what the window of now has, also from before the limit",
  async (test) => {
    const ada = await personWithKey(test, "Ada");
    const bob = await personWithKey(test, "Bob");
    const at = (ms: number) => new Date(test.now() - ms).toISOString();
    const records = [
      { ...tiles, quantity: 1.5, timestamp: at(0) },
      { ...tiles, quantity: 2, timestamp: at(2 * 3_600_000) },
      { ...tiles, quantity: 4, timestamp: at(3 * 24 * 3_600_000) },
      { ...tiles, quantity: 8, timestamp: at(34 * 24 * 3_600_000) },
      { productSlug: "maps", metric: "loads", quantity: 16, timestamp: at(0) },
    ];
    await recordAll(test, { apiKey: ada.apiKey, records });
    await recordAll(test, { apiKey: bob.apiKey, records: [{ ...tiles, quantity: 100 }] });

    const minute = await addLimit(test, {}, { per: "minute", quantity: 50, mode: "hard" });
    const day = await addLimit(test, {}, { ...tiles, per: "day", quantity: 3 });
    const month = await addLimit(test, {}, { ...tiles, per: "month", quantity: 10 });
    const total = await addLimit(test, {}, { ...tiles, per: "total", quantity: 20 });
    const budget = await addLimit(test, { apiKeyId: ada.id }, { per: "month", quantity: 30 });
    const standing = (
      { id: limitId, per }: { id: string; per: string },
      [mode, quantity, used, remaining, resetsAt]: readonly [string, number, number, number, string | null],
      scope = tiles as object,
    ) => ({ limitId, ...scope, per, mode, quantity, used, held: 0, remaining, resetsAt });
    const expected = [
      standing(minute, ["hard", 50, 17.5, 32.5, "2026-11-21T14:04:00.000Z"], all),
      standing(day, ["soft", 3, 3.5, 0, "2026-11-22T00:00:00.000Z"]),
      standing(month, ["soft", 10, 7.5, 2.5, "2026-12-01T00:00:00.000Z"]),
      standing(total, ["soft", 20, 15.5, 4.5, null]),
    ];
    const ofKey = standing(budget, ["soft", 30, 23.5, 6.5, "2026-12-01T00:00:00.000Z"], all);
    assert.deepEqual(await limitsOf(test, { apiKey: ada.apiKey }), [...expected, ofKey]);
    assert.deepEqual(await limitsOf(test, { cookie: ada.cookie }), expected);
    const plan = await test.send("/api/portal/plan", { cookie: ada.cookie });
    assert.deepEqual(await plan.json(), {
      plan: { name: "Default", features: [], featureNames: {} },
      limits: expected,
      timezone: "UTC",
    });
    const { fullToken } = await newOperatorToken(test, ["organizations:read"]);
    const operator = asOperator(test, fullToken);
    assert.deepEqual((await operator(`GET /organizations/${ada.organizationId}/limits`)).body, {
      limits: expected,
      features: [],
    });
    assert.equal((await operator("GET /organizations/org_x/limits")).status, 404);

    // The windows end; what is voided no longer counts.
    const { usageRecords } = await listPage(test, ada.apiKey, "limit=100");
    const voided = usageRecords.find(({ quantity }) => quantity === 4);
    await voidOne(test, { apiKey: ada.apiKey, id: voided?.id ?? "" });
    test.advance(24 * 3_600_000);
    const used = (await limitsOf(test, { apiKey: ada.apiKey })).map((limit: { used: number }) => limit.used);
    assert.deepEqual(used, [0, 0, 3.5, 11.5, 19.5]);
    await run(test, `UPDATE api_keys SET permissions = '["usage:write"]'`);
    await assertError(await test.send("/api/v1/limits", { apiKey: ada.apiKey }), 403, "permission_missing");
  },
);

onEveryDatabase(
  "an organization's limit replaces or lifts its plan's, in its own time zone",
  async (test) => {
    const ada = await personWithKey(test, "Ada");
    const bob = await personWithKey(test, "Bob");
    const lifted = await addLimit(test, {}, { per: "day", quantity: 5 });
    const replaced = await addLimit(test, {}, { ...tiles, per: "day", quantity: 5 });
    await addLimit(test, { organizationId: ada.organizationId }, { per: "day", quantity: null });
    const own = await addLimit(test, { organizationId: ada.organizationId }, {
      ...tiles,
      per: "day",
      quantity: 9,
    });
    await test.opened.database.write([
      ...timezoneRows("Pacific/Auckland", test.now()),
      sql`UPDATE organizations SET timezone = 'Pacific/Auckland', ${restartLimits(test.now())}
      WHERE id = ${ada.organizationId}`,
    ]);
    // Still the 21st in UTC, but the day before in Auckland.
    const early = { ...tiles, quantity: 2, timestamp: "2026-11-21T10:59:59.999Z" };
    const late = { ...tiles, quantity: 3, timestamp: "2026-11-21T11:00:00.000Z" };
    for (const { apiKey } of [ada, bob]) await recordAll(test, { apiKey, records: [early, late] });
    const brief = ({ limitId, used, resetsAt }: Record<string, unknown>) => ({ limitId, used, resetsAt });
    assert.deepEqual((await limitsOf(test, ada)).map(brief), [
      { limitId: own.id, used: 3, resetsAt: "2026-11-22T11:00:00.000Z" },
    ]);
    assert.deepEqual((await limitsOf(test, bob)).map(brief), [
      { limitId: lifted.id, used: 5, resetsAt: "2026-11-22T00:00:00.000Z" },
      { limitId: replaced.id, used: 5, resetsAt: "2026-11-22T00:00:00.000Z" },
    ]);
    assert.deepEqual(
      await limitsOf(test, { apiKey: ada.apiKey }),
      await limitsOf(test, { cookie: ada.cookie }),
    );
  },
);

onEveryDatabase(
  "records of other organizations don't wait for those of very many old windows",
  async (test) => {
    const [ada, bob] = [await personWithKey(test, "Ada"), await personWithKey(test, "Bob")];
    // What was used before has to be summed up first.
    test.advance(3_600_000);
    for (const per of ["minute", "hour"] as const) {
      await addLimit(test, {}, {
        per,
        quantity: 10,
        mode: "hard",
      });
    }
    const hoursAgo = (hours: number) => new Date(test.now() - hours * 3_600_000).toISOString();
    await recordOne(test, bob.apiKey, { quantity: 1, timestamp: hoursAgo(1) });
    const records = Array.from(
      { length: 1_000 },
      (_, n) => ({ ...tiles, quantity: 1, timestamp: hoursAgo(n / 3) }),
    );
    let isWaiting = true;
    const all = recordAll(test, { apiKey: ada.apiKey, records }).finally(() => isWaiting = false);
    for (let hours = 2; hours < 4; hours++) {
      await recordOne(test, bob.apiKey, { quantity: 1, timestamp: hoursAgo(hours) });
    }
    assert.equal(isWaiting, true);
    assert.equal(await all, 1_000);
  },
);
