// Usage across organizations: sums that equal those of each organization, by token.
import assert from "node:assert/strict";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { onEveryDatabase, type ReadSum, readSums, recordAll } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

/** Two organizations, the second with an external id, and their keys. */
async function customers(test: TestApp) {
  const made = [];
  for (const [n, name] of ["Ada", "Bob"].entries()) {
    const person = await test.signUp(name);
    const key = await createTestKey(test, person);
    const records = Array.from({ length: 60 }, (_, m) => ({
      productSlug: `p${m % 2}`,
      metric: `m${m % 3}`,
      quantity: (n + 1) * m + 0.25,
      timestamp: new Date(test.now() - m * 13 * 3_600_000).toISOString(),
    }));
    await recordAll(test, { apiKey: key.fullKey, records });
    made.push({ id: person.organizationId, apiKey: key.fullKey, keyId: key.id, person });
  }
  const [ada, bob] = made;
  assert.ok(ada && bob);
  await run(test, "UPDATE organizations SET external_id = 'bob-1' WHERE id = ?", bob.id);
  const { fullToken } = await newOperatorToken(test, ["usage:read"]);
  return { ada, bob, get: asOperator(test, fullToken) };
}

onEveryDatabase("sums any organizations like each of them does itself", async (test) => {
  const { ada, bob, get } = await customers(test);
  for (
    const range of ["from=2026-10-01&to=2026-12-01&window=month", "from=2026-11-02&to=2026-11-20&window=day"]
  ) {
    for (const timezone of ["UTC", "Asia/Kathmandu"]) {
      const query = `${range}&timezone=${timezone}`;
      for (const groups of ["metric", "productSlug,metric", "apiKey,metric"]) {
        const own = [];
        for (const { id, apiKey } of [ada, bob]) {
          for (const sum of await readSums(test, apiKey, `?${query}&groupBy=${groups}`)) {
            own.push({ ...sum, organizationId: id });
          }
        }
        const { status, body } = await get(`GET /usage?${query}&groupBy=organization,${groups}`);
        assert.equal(status, 200, JSON.stringify(body));
        const found = body.data.map((
          { organizationName: _n, externalId: _e, ...sum }: ReadSum & Record<string, string>,
        ) => sum);
        const order = (sums: { start: string }[]) =>
          sums.toSorted((a, b) => a.start < b.start ? -1 : a.start > b.start ? 1 : 0);
        assert.deepEqual(order(found), order(own));
        assert.deepEqual(found, order(found), "sorted by window first");
        // Without the organization, both together.
        for (const filter of ["", `&organizationId=${ada.id},external:bob-1`]) {
          const { body: { data } } = await get(`GET /usage?${query}&groupBy=${groups}${filter}`);
          const total = (sums: { sum: number; count: number }[]) =>
            sums.map(({ sum, count }) => [sum * 4, count])
              .reduce(([a = 0, b = 0], [c = 0, d = 0]) => [a + c, b + d], [0, 0]);
          assert.deepEqual(total(data), total(own));
        }
      }
    }
  }
});

onEveryDatabase("names organizations, filters them, and leaves deleted ones out", async (test) => {
  const { ada, bob, get } = await customers(test);
  const month = "from=2026-10-01&to=2026-12-01&window=total";
  const byOrganization = async (more = "") => {
    const { status, body } = await get(`GET /usage?${month}&groupBy=organization&metric=m1${more}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.data.map(({ organizationId, externalId }: { organizationId: string; externalId: string }) => [
      organizationId,
      externalId,
    ]);
  };
  assert.deepEqual(await byOrganization(), [[ada.id, null], [bob.id, "bob-1"]]);
  assert.deepEqual(await byOrganization("&organizationId=external:bob-1"), [[bob.id, "bob-1"]]);
  assert.deepEqual(await byOrganization(`&apiKey=${ada.keyId}`), [[ada.id, null]]);
  assert.equal((await get(`GET /usage?${month}&organizationId=external:nobody`)).status, 404);
  assert.equal((await get(`GET /usage?${month}&groupBy=nothing`)).status, 422);
  const csv = await get(`GET /usage.csv?${month}&groupBy=organization,productSlug&metric=m1`);
  const [head, first] = csv.body.split("\r\n");
  assert.equal(head, "start,end,organizationId,organizationName,externalId,productSlug,sum,count,min,max");
  assert.match(first, new RegExp(`^2026-10-01T00:00:00.000Z,2026-12-01T00:00:00.000Z,${ada.id},`));
  const before = (await get(`GET /usage?${month}`)).body.data;
  await run(test, "UPDATE organizations SET deleted_at = ? WHERE id = ?", test.now(), ada.id);
  assert.deepEqual(await byOrganization(), [[bob.id, "bob-1"]]);
  assert.equal((await get(`GET /usage?${month}&organizationId=${ada.id}`)).status, 404);
  assert.deepEqual((await get(`GET /usage?${month}`)).body.data, before, "totals keep what was used");
});
