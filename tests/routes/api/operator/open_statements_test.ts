// Months before they are closed, prices, and the organizations of statements, over the operators' API.
import assert from "node:assert/strict";
import { statementSummaryOrganizationsMax } from "../../../../domain/limits.ts";
import { type TestApp, testApp } from "../../../support/app/app.ts";
import { asBilling, customer, type ReadLine, short } from "../../../support/meter/statements.ts";
import { onEveryDatabase, recordAll, voidOne } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const day = 24 * 3_600_000;
type Billing = Awaited<ReturnType<typeof asBilling>>;

async function csvLines({ send }: Billing, id: string): Promise<string[]> {
  const { status, body } = await send(`GET /statements/${id}.csv`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.split("\r\n").slice(1, -1);
}

const priced = (line: ReadLine) => [short(line), line.unitPrice, line.amount];

function addProduct({ send }: Billing, metrics: Readonly<Record<string, string | null>>) {
  const list = Object.entries(metrics).map(([slug, unitPrice]) => ({ slug, name: slug, unitPrice }));
  return send("POST /products", { slug: "tiles", name: "Map tiles", metrics: list });
}

onEveryDatabase("an open month has the lines that closing it writes, and writes nothing", async (test) => {
  const billing = await asBilling(test);
  const { send, close, lines } = billing;
  const ada = await customer(test, "Ada");
  const bob = await customer(test, "Bob");
  const mistake = await ada.record("2026-10-20T12:00:00.000Z", { quantity: 5 });
  await ada.record("2026-10-20T12:00:00.000Z", { quantity: 0.1 });
  await ada.record("2026-11-03T12:00:00.000Z", { metric: "b", quantity: 2 });
  await ada.record("2026-11-03T12:00:00.000Z", { metric: "a", quantity: 1 });
  await bob.record("2026-10-20T12:00:00.000Z", { quantity: 3 });
  // October has ended, and is closed next. November is not over.
  assert.deepEqual((await lines({ id: "open" }, 1)).map(short), [
    "tiles/requests 5.1 2",
    "tiles/requests 3 1",
  ]);
  assert.deepEqual(await lines({ id: "2026-10" }), await lines({ id: "open" }));
  assert.deepEqual((await lines({ id: "2026-11" }, 1)).map(short), ["tiles/a 1 1", "tiles/b 2 1"]);
  const preview = await csvLines(billing, "open");
  const rows = await test.opened.database.read({ sql: "SELECT 1 FROM statement_lines", args: [] });
  assert.deepEqual(rows, []);
  const { id } = await close("2026-10");
  assert.deepEqual((await csvLines(billing, id)).sort(), preview.sort());

  await voidOne(test, { apiKey: ada.apiKey, id: mistake.id });
  await bob.record("2026-10-30T00:00:00.000Z", { quantity: 1, metric: "late" });
  assert.deepEqual((await lines({ id: "open" }, 1)).map(short), [
    "tiles/a 1 1",
    "tiles/b 2 1",
    "tiles/requests 2026-10 -5 -1",
    "tiles/late 2026-10 1 1",
  ]);
  // Adjustments are part of the next month to close only.
  test.advance(31 * day);
  assert.deepEqual(await lines({ id: "2026-12" }), []);
  const bobs = (await send(`GET /statements/open?organizationId=${bob.organizationId}`)).body;
  assert.deepEqual([bobs.statement.period, bobs.lines.map(short)], ["2026-11", ["tiles/late 2026-10 1 1"]]);
  // While November is being closed, its adjustments are none of December's.
  await run(
    test,
    `INSERT INTO statements (number, id, period, timezone, start_at, end_at, status, progress, created_at)
    SELECT 2, 'stm_2', '2026-11', 'UTC', end_at, end_at + 30 * 86400000, 'closing', 0, 0 FROM statements`,
  );
  assert.deepEqual(await lines({ id: "open" }), []);
  for (const id of ["2026-09", "2027-01", "opened"]) {
    assert.equal((await send(`GET /statements/${id}`)).body.error.code, "not_found", id);
  }
  assert.equal((await send("GET /statements/2026-11.csv")).body.error.code, "statement_not_closed");
});

testApp("amounts are exact, and closed statements keep their prices and currency", async (test) => {
  const billing = await asBilling(test);
  const { send, close, lines } = billing;
  const ada = await customer(test, "Ada");
  const bob = await customer(test, "Bob");
  await addProduct(billing, { requests: "0.1", bytes: null });
  const at = "2026-10-20T12:00:00.000Z";
  const mistake = await ada.record(at, { quantity: 0.3 });
  await ada.record(at, { metric: "bytes", quantity: 7 });
  await bob.record(at, { quantity: 0.000001 });
  const { id } = await close("2026-10");
  const october = await lines({ id });
  assert.deepEqual(october.map(priced).sort(), [
    ["tiles/bytes 7 1", null, null],
    ["tiles/requests 0.000001 1", "0.1", "0.0000001"],
    ["tiles/requests 0.3 1", "0.1", "0.03"],
  ]);
  const { statement, totals, amount } = (await send(`GET /statements/${id}`)).body;
  assert.deepEqual([statement.currency, amount], ["EUR", "0.0300001"]);
  assert.deepEqual(totals.map(({ metric, amount }: ReadLine) => [metric, amount]), [
    ["requests", "0.0300001"],
    ["bytes", null],
  ]);

  await send("PATCH /products/tiles", {
    metrics: [
      { slug: "bytes", name: "Bytes", unitPrice: "2" },
      { slug: "requests", name: "Requests", unitPrice: "0.2" },
    ],
  });
  assert.deepEqual(await lines({ id }), october);
  await ada.record("2026-11-03T12:00:00.000Z", { quantity: 1 });
  await voidOne(test, { apiKey: ada.apiKey, id: mistake.id });
  await ada.record(at, { metric: "bytes", quantity: 1 });
  await bob.record(at, { metric: "bytes", quantity: 1 });
  const { body } = await send(`GET /statements/open?organizationId=${ada.organizationId}`);
  // An adjustment has the price at which its month was charged, if it was.
  assert.deepEqual(body.lines.map(priced), [
    ["tiles/requests 1 1", "0.2", "0.2"],
    ["tiles/bytes 2026-10 1 1", null, null],
    ["tiles/requests 2026-10 -0.3 -1", "0.1", "-0.03"],
  ]);
  assert.deepEqual(body.totals.map(({ metric, amount }: ReadLine) => [metric, amount]), [
    ["bytes", null],
    ["requests", "0.17"],
  ]);
  assert.equal(body.amount, "0.17");
  const csv = (await csvLines(billing, "open")).map((line) => line.split(",").slice(-5, -1)).sort();
  assert.deepEqual(csv, [
    ["", "0.2", "0.2", "EUR"],
    ["2026-10", "", "", ""],
    ["2026-10", "0.1", "-0.03", "EUR"],
    ["2026-10", "2", "2", "EUR"],
  ]);
}, { CURRENCY: "EUR" });

testApp("lists the organizations of open and closed months, compared with the month before", async (test) => {
  const billing = await asBilling(test);
  const { send, close } = billing;
  await addProduct(billing, { requests: "0.5" });
  const people = [];
  for (const [index, name] of ["bob", "Ada", "Cleo"].entries()) {
    const person = await customer(test, name);
    const sql = "UPDATE organizations SET name = ?, external_id = ? WHERE id = ?";
    await run(test, sql, name, `crm-${index}`, person.organizationId);
    await person.record("2026-10-20T12:00:00.000Z", { quantity: index + 1 });
    if (index < 2) await person.record("2026-11-03T12:00:00.000Z", { quantity: 10 - index });
    people.push(person);
  }
  const list = async (id: string, query = "") => {
    const { status, body } = await send(`GET /statements/${id}/organizations?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  const names = ({ organizations }: { organizations: { name: string }[] }) =>
    organizations.map(({ name }) => name);
  const first = await list("open");
  assert.deepEqual([names(first), first.previous, first.metric], [["Ada", "bob", "Cleo"], null, "requests"]);
  assert.equal(first.organizations[0].previousQuantity, null);
  assert.deepEqual([first.counts, first.amount, first.totals[0].lines], [{ all: 3, adjusted: 0 }, "3", 3]);
  await close("2026-10");
  await people[2]?.record("2026-10-20T12:00:00.000Z", { quantity: 0.5 });

  for (const id of ["open", "2026-11"]) {
    const page = await list(id, "limit=2&sort=amount");
    assert.deepEqual([names(page), page.counts], [["bob", "Ada"], { all: 3, adjusted: 1 }]);
    const { id: organizationId, ...bob } = page.organizations[0];
    assert.equal(organizationId, people[0]?.organizationId);
    assert.deepEqual(bob, {
      name: "bob",
      externalId: "crm-0",
      lines: 1,
      adjustments: 0,
      amount: "5",
      quantity: "10",
      previousAmount: "0.5",
      previousQuantity: "1",
    });
    assert.equal(page.previous.period, "2026-10");
    assert.deepEqual(names(await list(id, `limit=2&sort=amount&cursor=${page.nextCursor}`)), ["Cleo"]);
    const adjusted = await list(id, "hasAdjustments=true");
    assert.deepEqual([names(adjusted), adjusted.organizations[0].adjustments], [["Cleo"], 1]);
    for (const search of ["ADA", "M-1", people[1]?.organizationId]) {
      const found = await list(id, `search=${search}`);
      assert.deepEqual([names(found), found.counts.all, found.amount], [["Ada"], 1, "9.75"], String(search));
    }
    for (const search of ["%25", "_"]) {
      assert.deepEqual(names(await list(id, `search=${search}`)), [], search);
    }
    assert.equal((await list(id, "metric=other&sort=quantity")).organizations[0].quantity, "0");
    if (id === "open") {
      test.advance(31 * day);
      await close("2026-11");
    }
  }
  for (const query of ["sort=size", "metric=%20", "limit=0", "cursor=x", "hasAdjustments=yes", "page=2"]) {
    const { status, body } = await send(`GET /statements/open/organizations?${query}`);
    assert.deepEqual([status, body.error?.code], [422, "validation_failed"], query);
  }
});

testApp("adds up an open month of many organizations at most every 30 seconds", async (test) => {
  const { send } = await asBilling(test);
  const amount = async () => (await send("GET /statements/2026-11")).body.totals[0].quantity;
  const ada = await customer(test, "Ada");
  await recordAll(test, {
    apiKey: ada.apiKey,
    records: [{
      productSlug: "tiles",
      metric: "requests",
      quantity: 1,
      timestamp: "2026-11-03T00:00:00.000Z",
    }],
  });
  await addOrganizations(test, statementSummaryOrganizationsMax);
  const before = await amount();
  await ada.record("2026-11-03T12:00:00.000Z");
  assert.equal(await amount(), before);
  test.advance(30_000);
  assert.equal(await amount(), String(Number(before) + 1));
});

/** Adds organizations with the usage of the newest. */
async function addOrganizations(test: TestApp, count: number): Promise<void> {
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
  const usage = "FROM n JOIN usage_series s ON s.organization > 0 AND s.organization < 1000";
  await run(
    test,
    `${numbers} INSERT INTO organizations (number, id, name, created_at, series)
      SELECT 1000 + i, printf('org_%032x', i), 'N' || i, 0, 1 FROM n`,
  );
  await run(
    test,
    `${numbers} INSERT INTO usage_series (id, organization, api_key, product_slug, metric)
      SELECT 1000 + i, 1000 + i, s.api_key, s.product_slug, s.metric ${usage}`,
  );
  await run(
    test,
    `${numbers} INSERT INTO usage_rollups_monthly SELECT r.month, 1000 + i, 1000 + i, r.count, r.sum_high, r.sum_low,
      r.sum_micro, r.smallest, r.largest, r.first_quarter, r.last_quarter ${usage}
      JOIN usage_rollups_monthly r ON r.series = s.id`,
  );
}
