// Previews of months while they are closed or an organization goes away: one month's lines in one order, or an error.
import assert from "node:assert/strict";
import { statementTotalsReadMax } from "../../../../domain/limits.ts";
import { getStatement } from "../../../../services/billing/statements.ts";
import type { OpenMonth } from "../../../../services/billing/jobs/statement_charges.ts";
import { statementCsv } from "../../../../services/billing/jobs/statement_lines.ts";
import { StatementTotals } from "../../../../services/billing/jobs/statement_summary.ts";
import { deleteSomeOfDeletedOrganizations } from "../../../../services/people/organization_deletion.ts";
import { testApp } from "../../../support/app/app.ts";
import { asBilling, customer } from "../../../support/meter/statements.ts";
import { onEveryDatabase, voidOne } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const day = 24 * 3_600_000;

onEveryDatabase(
  "a preview has adjustments of several months, also of deleted organizations",
  async (test) => {
    const { send, close } = await asBilling(test);
    const csv = async (id: string) => (await send(`GET /statements/${id}.csv`)).body.split("\r\n").sort();
    const ada = await customer(test, "Ada");
    const bob = await customer(test, "Bob");
    const mistake = await ada.record("2026-10-19T12:00:00.000Z", { quantity: 3 });
    await bob.record("2026-10-20T12:00:00.000Z", { quantity: 4 });
    await close("2026-10");
    await bob.record("2026-11-02T12:00:00.000Z", { metric: "bytes", quantity: 5 });
    test.advance(11 * day);
    await close("2026-11");
    await voidOne(test, { apiKey: ada.apiKey, id: mistake.id });
    await bob.record("2026-11-03T12:00:00.000Z", { metric: "bytes", quantity: 0.5 });
    await bob.record("2026-10-30T12:00:00.000Z", { quantity: 1 });
    await ada.record("2026-12-01T00:00:00.000Z", { quantity: 2 });
    await run(test, "UPDATE organizations SET deleted_at = ? WHERE id = ?", test.now(), bob.organizationId);
    while (await deleteSomeOfDeletedOrganizations(test.services));
    test.advance(31 * day);
    const preview = await csv("open");
    assert.equal(preview.length, 6);
    await close("2026-12");
    assert.deepEqual(await csv("2026-12"), preview);
  },
);

testApp("a cursor works only for the month and state that it comes from", async (test) => {
  const { send, close } = await asBilling(test);
  for (const name of ["Ada", "Bob", "Cleo"]) {
    const { record } = await customer(test, name);
    await record("2026-10-20T12:00:00.000Z");
    await record("2026-11-03T12:00:00.000Z");
  }
  const next = async (path: string, cursor = "") => {
    const { status, body } = await send(`GET /statements/${path}?limit=1${cursor && `&cursor=${cursor}`}`);
    return status === 200 ? body.nextCursor : status;
  };
  for (const rest of ["", "/organizations"]) {
    assert.equal(typeof await next(`2026-10${rest}`, await next(`open${rest}`)), "string");
    assert.equal(await next(`2026-11${rest}`, await next(`open${rest}`)), 422);
  }
  const [line, organization] = [await next("open"), await next("open/organizations")];
  const { id } = await close("2026-10");
  for (const month of ["open", "2026-10", id]) assert.equal(await next(month, line), 422, month);
  assert.equal(await next("open/organizations", organization), 422);
  assert.equal(await next("open", await next(id)), 422);
  assert.equal(typeof await next("2026-10", await next(id)), "string");
  const open = await next("open");
  const ofUnknown = open.replace(/org_[0-9a-f]+/, `org_${"0".repeat(32)}`);
  assert.equal(await next("open", ofUnknown), 422);
});

testApp("a preview ends with an error when the month begins to be closed", async (test) => {
  const { lines } = await asBilling(test);
  const { record } = await customer(test, "Ada");
  await record("2026-10-20T12:00:00.000Z");
  const statement = await getStatement(test.services, "open");
  const month: OpenMonth = {
    ...statement,
    status: "open",
    createdAt: null,
    closedAt: null,
    start: Date.parse(statement.start),
    end: Date.parse(statement.end),
    number: 1,
    isNext: true,
  };
  let pauses = 0;
  const begin = () =>
    run(
      test,
      `INSERT INTO statements (number, id, period, timezone, start_at, end_at, status, progress, created_at)
        VALUES (1, 'stm_1', '2026-10', 'UTC', ?, ?, 'closing', 0, 0)`,
      month.start,
      month.end,
    );
  const context = {
    database: test.opened.database,
    pause: async () => {
      if (pauses++ === 0) await begin();
    },
    send: () => Promise.resolve(),
  };
  await assert.rejects(statementCsv(context, { month, now: test.now() }), { code: "statement_not_closed" });
  assert.deepEqual(await lines({ id: "open" }), []);
});

Deno.test("totals include the catalogue's metrics and the sum of all amounts, however many others there are", () => {
  const totals = new StatementTotals();
  const row = {
    organizationId: "org_1",
    organizationName: "Ada",
    externalId: null,
    monthsBack: 0,
    period: "2026-10",
    productSlug: "tiles",
    productName: null,
    metricName: null,
    unit: null,
    unitPrice: null,
    priceList: null,
    valueAmount: null,
    shareable: [],
    aggregation: "sum" as const,
    count: 1,
    high: "0",
    low: "2",
    micro: "0",
  };
  for (let n = 0; n < statementTotalsReadMax; n++) totals.add({ ...row, metric: `m${n}` });
  for (let n = 0; n < 3; n++) {
    totals.add({ ...row, metric: "other" });
    totals.add({ ...row, metric: "m0", unitPrice: "2" });
    totals.add({ ...row, metric: "requests", metricName: "Requests", unitPrice: "0.5" });
  }
  const metrics = [{
    slug: "requests",
    name: "Requests",
    unit: null,
    unitPrice: null,
    dimensions: [],
    shareable: [],
    aggregation: "sum" as const,
    uniqueProperty: null,
  }];
  const listed = totals.list([{ slug: "tiles", metrics }]);
  assert.deepEqual(listed.totals.slice(0, 2).map(({ metric, lines, amount }) => [metric, lines, amount]), [
    ["requests", 3, "3"],
    ["m0", 4, "12"],
  ]);
  assert.ok(listed.totals.every(({ metric }) => metric !== "other"));
  assert.equal(listed.amount, "15");
});
