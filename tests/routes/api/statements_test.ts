// Statements as members of an organization read them.
import assert from "node:assert/strict";
import { type TestApp, testApp } from "../../support/app/app.ts";
import { assertRows, fetchJson, type Row, type Sender, sendRow } from "../../support/app/rows.ts";
import { asBilling, customer, type ReadLine, short } from "../../support/meter/statements.ts";
import { voidOne } from "../../support/meter/usage.ts";
import { joinedPerson, signInAgain } from "../../support/people/people.ts";

const day = 24 * 3_600_000;
const path = "/api/portal/statements";

const read = (test: TestApp, by: Sender, rest = "") => fetchJson(test, by, `GET ${path}${rest}`);

testApp("members of every role read the lines, adjustments and voids of their organization", async (test) => {
  const { send, close, lines } = await asBilling(test);
  const ada = await customer(test, "Ada");
  const bob = await customer(test, "Bob");
  const metrics = [
    { slug: "requests", name: "Requests", unitPrice: "0.5" },
    { slug: "errors", name: "Errors", unit: "k" },
  ];
  await send("POST /products", { slug: "tiles", name: "Map tiles", metrics });
  const at = "2026-10-20T12:00:00.000Z";
  const mistake = await ada.record(at, { quantity: 5 });
  await voidOne(test, { apiKey: ada.apiKey, id: mistake.id });
  await ada.record(at, { quantity: 3 });
  const late = await ada.record(at, { quantity: 0.25, metric: "errors" });
  await bob.record(at, { quantity: 100 });
  const { id } = await close("2026-10");
  await voidOne(test, { apiKey: ada.apiKey, id: late.id });
  await ada.record("2026-11-02T00:00:00.000Z", { quantity: 1 });

  const member = await joinedPerson(test, ada, "MEMBER");
  for (const by of [ada, member]) {
    const { statements, open, nextCursor } = await read(test, by);
    const { lines: count, adjustments, amount, ...statement } = statements[0];
    assert.deepEqual([statements.length, count, adjustments, amount, nextCursor], [1, 2, 0, "1.5", null]);
    assert.deepEqual([statement.id, statement.period, statement.status], [id, "2026-10", "closed"]);
    assert.deepEqual(open.map((month: { id: string }) => month.id), ["open"]);
    const october = await read(test, by, "/2026-10");
    assert.deepEqual(october.statement, statement);
    assert.deepEqual(october.lines.map(short), ["tiles/requests 3 1", "tiles/errors 0.25 1"]);
    const shown = (
      { metricName, unit, quantity, records }: ReadLine,
    ) => [metricName, unit, quantity, records];
    assert.deepEqual(october.voided.map(shown), [["Requests", null, "5", 1], ["Errors", "k", "0.25", 1]]);
    const november = await read(test, by, "/open");
    assert.deepEqual(november.lines.map(short), ["tiles/requests 1 1", "tiles/errors 2026-10 -0.25 -1"]);
    assert.deepEqual([november.statement.status, november.amount, november.voided], ["open", "0.5", []]);
    // Operators read the same.
    const { body } = await send(`GET /statements/open?organizationId=${ada.organizationId}`);
    assert.deepEqual(body, november);
    const first = await read(test, by, "/2026-10?limit=1");
    const second = await read(test, by, `/2026-10?limit=1&cursor=${first.nextCursor}`);
    assert.deepEqual([...first.lines, ...second.lines], october.lines);
    assert.equal(second.nextCursor, null);
    const { answer, html } = await sendRow(test, by, `GET ${path}/open.csv`);
    assert.match(answer.headers.get("content-disposition") ?? "", /statement-2026-11-so-far\.csv/);
    const rows = html.split("\r\n").slice(1, -1);
    assert.equal(rows.length, 2);
    assert.ok(rows.every((row) => row.includes(ada.organizationId)));
  }
  assert.equal((await lines({ id: "2026-10" })).length, 3);
});

testApp("a customer's statements begin with its first month, and are no one else's", async (test) => {
  const { close } = await asBilling(test);
  const bob = await customer(test, "Bob");
  await bob.record("2026-10-20T12:00:00.000Z", { quantity: 7 });
  await close("2026-10");
  test.advance(11 * day);
  const cleo = await test.signUp("Cleo");
  await close("2026-11");
  const periods = async (cookie: string) =>
    (await read(test, { cookie })).statements.map(({ period }: { period: string }) => period);
  assert.deepEqual(await periods(cleo.cookie), []);
  assert.deepEqual(await periods(await signInAgain(test, bob.email)), ["2026-11", "2026-10"]);
  // Without lines of its own, an earlier month is empty.
  for (const period of ["2026-10", "open"]) {
    const { lines, totals, voided } = await read(test, cleo, `/${period}`);
    assert.deepEqual([lines, totals, voided], [[], [], []]);
  }
  const line = `${bob.organizationId}~0~tiles~requests`;
  assert.deepEqual((await read(test, cleo, `/2026-10?cursor=${line}`)).lines, []);
  await assertRows(test, cleo, [
    [`GET ${path}/2026-10?organizationId=x`, null, "422 validation_failed organizationId"],
    [`GET ${path}?cursor=x`, null, "422 validation_failed cursor"],
    [`GET ${path}/open?limit=101`, null, "422 validation_failed limit"],
    [`GET ${path}/open?cursor=x`, null, "422 validation_failed cursor"],
    [`GET ${path}/open.csv?limit=1`, null, "422 validation_failed limit"],
    ...["2026-09", "2027-01", "2026-13", "bob"].flatMap((period): Row[] => [
      [`GET ${path}/${period}`, null, "404 not_found"],
      [`GET ${path}/${period}.csv`, null, "404 not_found"],
    ]),
  ]);
});
