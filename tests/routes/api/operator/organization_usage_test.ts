// The usage of listed organizations, their order by it, and the CSV of the list, on both kinds of database.
import assert from "node:assert/strict";
import { type TestApp, testApp } from "../../../support/app/app.ts";
import { operatorOf } from "../../../support/operators/operator_api.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { newOrganization, run } from "../../../support/people/scene.ts";
import fc from "../../../support/runner/fast_check.ts";

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly usage: { readonly metric: string; readonly sum: string; readonly previousSum: string } | null;
}

async function listing(test: TestApp) {
  const send = await operatorOf(test);
  return {
    send,
    /** Lists organizations, two at a time. */
    async list(query: string): Promise<Listed[]> {
      const found: Listed[] = [];
      let cursor = "";
      do {
        const { status, body } = await send(`GET /organizations?limit=2&${query}${cursor}`);
        assert.equal(status, 200, JSON.stringify(body));
        found.push(...body.organizations);
        assert.ok(found.length <= 50, "the list repeats itself");
        cursor = body.nextCursor === null ? "" : `&cursor=${encodeURIComponent(body.nextCursor)}`;
      } while (cursor !== "");
      return found;
    },
    async record(organizationId: string, quantity: number, more: object = {}) {
      const record = { organizationId, productSlug: "tiles", metric: "requests", quantity, ...more };
      const response = await send("POST /usage", { records: [record] });
      assert.equal(response.status, 201, JSON.stringify(response.body));
    },
  };
}

const dayMs = 86_400_000;
const iso = (time: number) => new Date(time).toISOString();

onEveryDatabase("sums of the list equal those of the usage API", async (test) => {
  const { send, list } = await listing(test);
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) ids.push(await newOrganization(test, `Customer ${n}`));
  const month = Date.UTC(2026, 10, 1);
  const before = Date.UTC(2026, 9, 1);
  const quarter = 900_000;
  const beforeEnd = before + (Math.floor((test.now() - month) / quarter) + 1) * quarter;
  const record = fc.record({
    organizationId: fc.constantFrom(...ids.slice(1)),
    productSlug: fc.constantFrom("tiles", "search"),
    metric: fc.constantFrom("requests", "bytes"),
    quantity: fc.integer({ min: 0, max: 4_000_000 }).map((n) => n / 4),
    // Also at the ends of the compared parts.
    timestamp: fc.oneof(
      fc.integer({ min: before - 2 * dayMs, max: test.now() }),
      fc.constantFrom(before - 1, before, beforeEnd - 1, beforeEnd, month - 1, month),
    ).map(iso),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 40 }), async (records) => {
      assert.equal((await send("POST /usage", { records })).status, 201);
      for (const metric of ["requests", "bytes"]) {
        const sumsIn = async (from: number, to: number) => {
          const range = `from=${iso(from)}&to=${iso(to)}&window=total&metric=${metric}&groupBy=organization`;
          const { body } = await send(`GET /usage?${range}`);
          return new Map<string, number>(
            body.data.map((one: { organizationId: string; sum: number }) => [one.organizationId, one.sum]),
          );
        };
        if ((await send(`GET /organizations?metric=${metric}`)).status === 422) continue;
        const [now, then] = [await sumsIn(month, test.now() + dayMs), await sumsIn(before, beforeEnd)];
        const growth = (id: string) => {
          const [sum, previous] = [now.get(id) ?? 0, then.get(id) ?? 0];
          return previous > 0 ? sum / previous : sum > 0 ? Infinity : -1;
        };
        const byGrowth = await list(`metric=${metric}&sort=growth`);
        for (const { id, usage } of byGrowth) {
          assert.deepEqual(usage, {
            metric,
            sum: String(now.get(id) ?? 0),
            previousSum: String(then.get(id) ?? 0),
          });
        }
        const byUsage = (await list(`metric=${metric}&sort=usage`)).map(({ id }) => now.get(id) ?? 0);
        assert.deepEqual(byUsage, byUsage.toSorted((a, b) => b - a));
        const growths = byGrowth.map(({ id }) => growth(id));
        assert.deepEqual(growths, growths.toSorted((a, b) => a === b ? 0 : b < a ? -1 : 1));
        assert.equal(byGrowth.length, ids.length);
      }
    }),
    { numRuns: 4 },
  );
});

onEveryDatabase("pages by usage and growth have each organization once, even if sums tie", async (test) => {
  const { list, record } = await listing(test);
  const ids: string[] = [];
  for (let n = 0; n < 9; n++) ids.push(await newOrganization(test, `Customer ${n}`));
  assert.deepEqual((await list("sort=usage")).map(({ id }) => id), ids.toReversed());
  const before = iso(test.now() - 32 * dayMs);
  for (const [n, id] of ids.slice(0, 6).entries()) {
    await record(id, n < 4 ? 10 : 20);
    if (n % 2 === 0) await record(id, 5, { timestamp: before });
  }
  await record(ids[6] ?? "", 5, { timestamp: before });
  const order = async (query: string) =>
    (await list(query)).map(({ name }) => name.replace("Customer ", "")).join("");
  assert.equal(await order("sort=usage"), "543210876");
  // First those that are new, then by the factor; 6 lost its usage, 7 and 8 never had any.
  assert.equal(await order("sort=growth"), "531420687");
  assert.equal(await order("sort=growth&search=customer"), "531420687");
  await run(test, "UPDATE organizations SET suspended_at = 1 WHERE id IN (?, ?)", ids[4] ?? "", ids[8] ?? "");
  assert.equal(await order("sort=usage&status=suspended"), "48");
  assert.equal(await order("sort=growth&status=active"), "5312067");
});

onEveryDatabase("finds organizations over and near a limit in its current window", async (test) => {
  const { send, list, record } = await listing(test);
  const limit = (per: string, mode: string) => ({
    productSlug: null,
    metric: "requests",
    per,
    quantity: 10,
    mode,
  });
  const create = async (name: string, ...limits: object[]) => {
    const { organization } = (await send("POST /organizations", { name, timezone: "Asia/Tokyo" })).body;
    await send(`PATCH /organizations/${organization.id}`, { overrides: { limits } });
    return organization.id as string;
  };
  const over = await create("Over", limit("month", "hard"), limit("total", "soft"));
  const near = await create("Near", limit("month", "soft"));
  const daily = await create("Daily", limit("day", "soft"));
  const minute = await create("Minute", limit("minute", "hard"));
  const below = await create("Below", limit("month", "soft"));
  for (
    const [id, quantity] of [[over, 10], [near, 9.5], [daily, 12], [minute, 8], [below, 7.999999]] as const
  ) {
    await record(id, quantity);
  }
  const namesOf = async (query: string) => (await list(query)).map(({ name }) => name);
  assert.deepEqual(await namesOf("limits=over"), ["Daily", "Over"]);
  assert.deepEqual(await namesOf("limits=rejected"), ["Over"]);
  assert.deepEqual(await namesOf("limits=above"), ["Daily"]);
  assert.deepEqual(await namesOf("limits=near&sort=name"), ["Minute", "Near"]);
  assert.deepEqual(await namesOf("limits=over&sort=usage"), ["Daily", "Over"]);
  assert.deepEqual(await namesOf("limits=near&sort=growth&search=near"), ["Near"]);
  // The standings on the page of an organization say the same.
  const { limits } = (await send(`GET /organizations/${over}/limits`)).body;
  assert.deepEqual(limits.map(({ remaining }: { remaining: number }) => remaining), [0, 0]);

  test.advance(dayMs);
  assert.deepEqual(await namesOf("limits=over"), ["Over"]);
  assert.deepEqual(await namesOf("limits=near"), ["Near"]);
  await send(`PATCH /organizations/${over}`, { overrides: { limits: [] } });
  assert.deepEqual(await namesOf("limits=over"), []);
});

testApp("the order of over 2,000 organizations can be 30 seconds old, but not their sums", async (test) => {
  const { send, record } = await listing(test);
  await run(
    test,
    `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2001)
   INSERT INTO organizations (id, name, created_at) SELECT format('org_%032d', n), format('Customer %d', n), 0 FROM n`,
  );
  const [first, second] = ["1".padStart(32, "0"), "2".padStart(32, "0")].map((id) => `org_${id}`) as [
    string,
    string,
  ];
  await record(first, 5);
  const before = iso(test.now() - 32 * dayMs);
  await record(first, 1, { timestamp: before });
  const top = async (sort: string) =>
    (await send(`GET /organizations?limit=2&sort=${sort}`)).body.organizations
      .map(({ id, usage }: Listed) => `${Number(id.slice(4))}: ${usage?.sum}`);
  assert.deepEqual(await top("usage"), ["1: 5", "2001: 0"]);
  assert.deepEqual(await top("growth"), ["1: 5", "2001: 0"]);
  await record(second, 6);
  await record(first, 0.5);
  assert.deepEqual(await top("usage"), ["1: 5.5", "2001: 0"]);
  test.advance(30_000);
  assert.deepEqual(await top("usage"), ["2: 6", "1: 5.5"]);
  assert.deepEqual(await top("growth"), ["2: 6", "1: 5.5"]);
  await record(second, 6, { timestamp: before });
  test.advance(900_000);
  assert.deepEqual(await top("growth"), ["1: 5.5", "2: 6"]);
});

onEveryDatabase("the CSV has every organization that matches, and no formulas", async (test) => {
  const { send, record } = await listing(test);
  const names = ["=HYPERLINK(1)", 'Quote " and; comma,', "@sum", "Été\u202e", "plain"];
  const ids = [];
  for (const name of names) {
    const { organization } =
      (await send("POST /organizations", { name, externalId: `-${name.length}` })).body;
    ids.push(organization?.id ?? await newOrganization(test, name));
    test.advance(1);
  }
  await record(ids[2] ?? "", 0.1);
  const csv = async (query: string) => {
    const { status, body } = await send(`GET /organizations.csv${query}`);
    assert.equal(status, 200);
    return (body as string).split("\r\n");
  };
  const [head = "", ...lines] = await csv("?sort=usage");
  assert.equal(
    head,
    "organizationId,externalId,name,planId,status,limits,members,activeApiKeys,metric,sum,previousSum,createdAt,lastUsedAt",
  );
  assert.equal(lines.length, names.length + 1);
  const line = (id = "") => lines.find((one) => one.startsWith(id)) ?? "";
  assert.match(lines[0] ?? "", new RegExp(`^${ids[2]},-4,'@sum,plan_\\w+,active,,0,0,requests,0\\.1,0,`));
  assert.match(line(ids[0]), /,'=HYPERLINK\(1\),/);
  assert.match(line(ids[1]), /,"Quote "" and; comma,",/);
  assert.equal((await csv("?search=plain")).length, 3);
  assert.equal((await csv("?limits=over")).length, 2);
});
