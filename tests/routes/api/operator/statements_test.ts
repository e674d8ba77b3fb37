// Statements over the operators' API, on both kinds of database.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { statementStepLinesMax, statementTotalsMax } from "../../../../domain/limits.ts";
import { testApp } from "../../../support/app/app.ts";
import { assertSent } from "../../../support/operators/operator_api.ts";
import { asBilling, customer, short } from "../../../support/meter/statements.ts";
import { onBothDatabases, onEveryDatabase, recordAll, voidOne } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const day = 24 * 3_600_000;
const openMonth = (period: string, { id, start, end }: { id: string; start: string; end: string }) => ({
  id,
  period,
  start: `${start}T00:00:00.000Z`,
  end: `${end}T00:00:00.000Z`,
  timezone: "UTC",
  status: "open",
  currency: null,
  createdAt: null,
  closedAt: null,
});

onBothDatabases("closes months in order, whose lines never change, and adjusts them later", async (test) => {
  const { send, close, lines } = await asBilling(test);
  const ada = await customer(test, "Ada");
  const bob = await customer(test, "Bob");
  await run(
    test,
    "UPDATE organizations SET external_id = 'crm-1', name = 'Ada Maps' WHERE id = ?",
    ada.organizationId,
  );
  await run(test, "INSERT INTO products (slug, name, created_at) VALUES ('tiles', 'Map tiles', 0)");
  await run(
    test,
    "INSERT INTO product_metrics (product, slug, name, unit, position) VALUES ('tiles', 'requests', 'Requests', 'k', 0)",
  );
  await ada.record("2026-10-20T12:00:00.000Z", { quantity: 0.1 });
  await ada.record("2026-10-31T23:59:59.999Z", { quantity: 0.2 });
  const mistake = await ada.record("2026-10-21T00:00:00.000Z", { quantity: 5, metric: "errors" });
  await ada.record("2026-11-01T00:00:00.000Z", { quantity: 7 });
  await bob.record("2026-10-25T00:00:00.000Z", { quantity: 9_007_199_254_740_991 });

  assert.deepEqual((await send("GET /statements")).body, {
    statements: [],
    next: {
      period: "2026-10",
      start: "2026-10-01T00:00:00.000Z",
      end: "2026-11-01T00:00:00.000Z",
      isEnded: true,
    },
    open: [
      openMonth("2026-11", { id: "2026-11", start: "2026-11-01", end: "2026-12-01" }),
      openMonth("2026-10", { id: "open", start: "2026-10-01", end: "2026-11-01" }),
    ],
    nextCursor: null,
  });
  const october = await close("2026-10");
  const again = await send("POST /statements", { period: "2026-10" });
  assert.deepEqual([again.status, again.body.statement], [200, october]);
  const first = await lines(october, 1);
  assert.deepEqual(first.map((line) => [line.organizationId, short(line)]), [
    [ada.organizationId, "tiles/errors 5 1"],
    [ada.organizationId, "tiles/requests 0.3 2"],
    [bob.organizationId, "tiles/requests 9007199254740991 1"],
  ]);
  const { organizationName, externalId, productName, metricName, unit } = first[1] ?? {};
  assert.deepEqual([organizationName, externalId, productName, metricName, unit], [
    "Ada Maps",
    "crm-1",
    "Map tiles",
    "Requests",
    "k",
  ]);

  await voidOne(test, { apiKey: ada.apiKey, id: mistake.id });
  await ada.record("2026-10-30T00:00:00.000Z", { quantity: 2 });
  await bob.record("2026-10-30T00:00:00.000Z", { quantity: 1, metric: "late" });
  await run(test, "UPDATE organizations SET name = 'Ada Atlas' WHERE id = ?", ada.organizationId);
  assert.deepEqual(await lines(october), first);
  assert.equal((await send("POST /statements", { period: "2026-11" })).body.error.code, "month_not_ended");
  test.advance(31 * day);
  for (const period of ["2026-09", "2026-08"]) {
    const { status, body } = await send("POST /statements", { period });
    assert.deepEqual([status, body.error.code], [409, "statement_out_of_order"]);
    assert.match(body.error.message, /2026-11/);
  }
  const november = await close("2026-11");
  const corrected = await lines(november, 2);
  const ids = [...first, ...corrected].map(({ id }) => id);
  assert.deepEqual([new Set(ids).size, ids.filter((id) => /^stl_[0-9a-f]{32}$/.test(id)).length], [7, 7]);
  assert.deepEqual(corrected.map((line) => [line.organizationId, short(line)]), [
    [ada.organizationId, "tiles/requests 7 1"],
    [ada.organizationId, "tiles/errors 2026-10 -5 -1"],
    [ada.organizationId, "tiles/requests 2026-10 2 1"],
    [bob.organizationId, "tiles/late 2026-10 1 1"],
  ]);
  const list = (await send("GET /statements?limit=1")).body;
  assert.deepEqual([
    list.statements.map(({ period }: { period: string }) => period),
    list.next.period,
    list.next.isEnded,
    list.open.map(({ period }: { period: string }) => period),
  ], [
    ["2026-11"],
    "2026-12",
    false,
    ["2026-12"],
  ]);
  const older = (await send(`GET /statements?cursor=${list.nextCursor}`)).body;
  assert.deepEqual([older.statements, older.nextCursor], [[october], null]);
  // What was adjusted is not adjusted again.
  test.advance(31 * day);
  assert.deepEqual(await lines(await close("2026-12")), []);
  const entries = await test.opened.database.read(
    sql`SELECT actor_type AS actor, target_name AS period FROM audit_events WHERE action = 'statement.closed' ORDER BY id`,
  );
  assert.deepEqual(
    entries,
    ["2026-10", "2026-11", "2026-12"].map((period) => ({ actor: "operator", period })),
  );
  // The database refuses to change a closed statement.
  const copy =
    "'org_x', 0, 'p', 'm', 1, 0, 1, 0, 'X', NULL, NULL, NULL, NULL, NULL, 'sum', NULL, NULL FROM statement_lines";
  for (
    const statement of [
      "UPDATE statements SET period = '2026-09'",
      "DELETE FROM statements",
      "UPDATE statement_lines SET count = 0",
      "DELETE FROM statement_lines",
      `INSERT INTO statement_lines SELECT statement, ${copy}`,
    ]
  ) await assert.rejects(run(test, statement), /never (changes|deleted)|is never/, statement);
});

onEveryDatabase("writes the CSV that an invoice needs", async (test) => {
  const { send, close } = await asBilling(test);
  const ada = await customer(test, "Ada");
  const bob = await customer(test, "Bob");
  await run(test, "UPDATE organizations SET name = '=Ada, Inc.' WHERE id = ?", ada.organizationId);
  await ada.record("2026-10-25T00:00:00.000Z", { quantity: 1.5 });
  const other = await bob.record("2026-10-25T00:00:00.000Z", { quantity: 3 });
  const { id: october } = await close("2026-10");
  await voidOne(test, { apiKey: bob.apiKey, id: other.id });
  test.advance(31 * day);
  const { id } = await close("2026-11");
  const header =
    "period,organizationId,externalId,organization,productSlug,productName,metric,metricName,unit," +
    "quantity,records,adjustmentOf,unitPrice,amount,currency,aggregation";
  const { status, body } = await send(`GET /statements/${id}.csv`);
  assert.equal(status, 200);
  const line = `2026-11,${bob.organizationId},,Bob’s organization,tiles,,requests,,,-3,-1,2026-10,,,,sum`;
  assert.deepEqual(body.split("\r\n"), [header, line, ""]);
  const only = (await send(`GET /statements/${october}.csv?organizationId=${ada.organizationId}`)).body;
  const ofAda = `2026-10,${ada.organizationId},,"'=Ada, Inc.",tiles,,requests,,,1.5,1,,,,,sum`;
  assert.deepEqual(only.split("\r\n").slice(1), [ofAda, ""]);
  await assertSent(send, [
    [`GET /statements/${id}.csv?limit=3`, undefined, "422 validation_failed limit"],
    [`GET /statements/${id}?limit=0`, undefined, "422 validation_failed limit"],
    [`GET /statements/${id}?cursor=x`, undefined, "422 validation_failed cursor"],
    [`GET /statements/${id}?cursor=org_1~0~a~b`, undefined, "422 validation_failed cursor"],
    ...["stm_0.csv", `${ada.organizationId}.csv`, ada.organizationId].map((unknown) =>
      [`GET /statements/${unknown}`, undefined, "404 not_found"] as const
    ),
    ...["2026-13", "2026-1", "1999-12", "", "2026-10-01"].map((period) =>
      ["POST /statements", { period }, "422 validation_failed period"] as const
    ),
  ]);
});

testApp("totals of a statement of more lines than are read together", async (test) => {
  const { send, close } = await asBilling(test);
  const metrics = Array.from({ length: statementStepLinesMax }, (_, n) => `m${n}`);
  const line = { productSlug: "p", timestamp: "2026-10-25T00:00:00.000Z" };
  for (const [name, quantity] of [["Ada", 1], ["Bob", 2], ["Cleo", 4]] as const) {
    const { apiKey } = await customer(test, name);
    await recordAll(test, { apiKey, records: metrics.map((metric) => ({ ...line, metric, quantity })) });
  }
  const { totals } = (await send(`GET /statements/${(await close("2026-10")).id}?limit=1`)).body;
  assert.equal(totals.length, statementTotalsMax);
  for (const total of totals) assert.deepEqual([total.quantity, total.records, total.lines], ["7", 3, 3]);
});

testApp("totals of a statement and pages of one organization", async (test) => {
  const { send, close } = await asBilling(test);
  const ada = await customer(test, "Ada");
  const bob = await customer(test, "Bob");
  const line = { productSlug: "tiles", timestamp: "2026-10-25T00:00:00.000Z" };
  const at = (metric: string, quantity: number) => ({ ...line, metric, quantity });
  await recordAll(test, { apiKey: ada.apiKey, records: [at("a", 1), at("b", 0.5), at("b", 1)] });
  await recordAll(test, { apiKey: bob.apiKey, records: [at("b", 9_007_199_254_740_991)] });
  const { id } = await close("2026-10");
  const first = (await send(`GET /statements/${id}?limit=2`)).body;
  const unnamed = { productSlug: "tiles", productName: null, metricName: null, unit: null };
  const total = { ...unnamed, aggregation: "sum", amount: null };
  assert.deepEqual(first.totals, [
    { ...total, metric: "a", quantity: "1", records: 1, lines: 1 },
    { ...total, metric: "b", quantity: "9007199254740992.5", records: 3, lines: 2 },
  ]);
  const second = (await send(`GET /statements/${id}?limit=2&cursor=${first.nextCursor}`)).body;
  assert.deepEqual([second.totals, second.lines.length, second.nextCursor], [null, 1, null]);
  const bobs = (await send(`GET /statements/${id}?organizationId=${bob.organizationId}`)).body;
  assert.deepEqual([bobs.totals.length, bobs.lines.map(short)], [1, ["tiles/b 9007199254740991 1"]]);
});
