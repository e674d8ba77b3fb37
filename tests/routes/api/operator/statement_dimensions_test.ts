// Lines of statements by the values of dimensions, over the APIs of operators and members, on both kinds of database.
import assert from "node:assert/strict";
import { lineValuesShownMax } from "../../../../domain/meter/dimension.ts";
import type { LineDimension, StatementLine } from "../../../../domain/billing/statement.ts";
import { fillDimensions } from "../../../../services/meter/dimensions.ts";
import { closeDueStatement } from "../../../../services/billing/statement_closing.ts";
import type { TestApp } from "../../../support/app/app.ts";
import { asBilling, customer, microsOf, type ReadLine } from "../../../support/meter/statements.ts";
import { onEveryDatabase, recordAll, voidOne } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const vienna = { BILLING_TIMEZONE: "Europe/Vienna" };

type Billing = Awaited<ReturnType<typeof asBilling>>;

const metrics = {
  requests: { dimensions: [["region"], ["model", "type"]] },
  calls: { dimensions: [["region"]], aggregation: "count" },
  peak: { dimensions: [["region"]], aggregation: "max" },
};

function save({ send }: Billing, method: "POST" | "PATCH", list: Readonly<Record<string, object>> = metrics) {
  const body = {
    ...method === "POST" && { slug: "tiles" },
    name: "Map tiles",
    metrics: Object.entries(list).map(([slug, more]) => ({ slug, name: slug, ...more })),
  };
  return send(method === "POST" ? "POST /products" : "PATCH /products/tiles", body);
}

/** @returns Each line in short, after checking that each of its dimensions adds up to it. */
function inShort(lines: readonly ReadLine[]) {
  return lines.map((line) => {
    const { productSlug, metric, quantity, records, adjustmentOf, dimensions } = line as StatementLine;
    for (const { values, others } of dimensions) {
      const parts = [...values, ...others === null ? [] : [others]];
      assert.equal(parts.reduce((sum, part) => sum + microsOf(part.quantity), 0n), microsOf(quantity));
      assert.equal(parts.reduce((sum, part) => sum + part.records, 0), records);
    }
    const name = [productSlug, metric, adjustmentOf, quantity].filter((part) => part !== null).join(" ");
    return [name, ...dimensions.map(dimensionInShort)];
  });
}

function dimensionInShort({ properties, values, others }: LineDimension): string {
  const parts = values.map((value) =>
    `${properties.map((name) => value.properties[name]).join("+")} ${value.quantity}`
  );
  return `${properties.join("+")}: ${[...parts, ...others ? [`${others.values} more`] : []].join(", ")}`;
}

async function send(test: TestApp, apiKey: string, records: [string, string, number, object?][]) {
  await recordAll(test, {
    apiKey,
    records: records.map(([timestamp, metric, quantity, properties]) => ({
      ...{ productSlug: "tiles", timestamp, metric, quantity },
      ...properties && { properties: properties as Record<string, string> },
    })),
  });
}

/** Checks the CSV files and the pages of a closed month. */
async function showsFiles(
  test: TestApp,
  { cookie, billing, organizationId }: { cookie: string; billing: Billing; organizationId: string },
) {
  const { body } = await billing.send(`GET /statements/2026-10-values.csv?organizationId=${organizationId}`);
  const own = await (await test.send("/api/portal/statements/2026-10-values.csv", { cookie })).text();
  assert.equal(own, body);
  const rows = body.split("\r\n").slice(0, -1).map((row: string) => row.split(",").slice(8).join(","));
  assert.deepEqual(rows, [
    "unit,properties,quantity,records,adjustmentOf,aggregation",
    ',"{""region"":""eu""}",2,2,,count',
    ',"{""model"":""m"",""type"":""in""}",6,2,,sum',
    ',"{""model"":""(none)"",""type"":""(none)""}",1.75,2,,sum',
    ',"{""region"":""us""}",4,1,,sum',
    ',"{""region"":""eu""}",3.5,2,,sum',
    ',"{""region"":""(none)""}",0.25,1,,sum',
  ]);
  const all = (await billing.send("GET /statements/2026-10-values.csv")).body.split("\r\n");
  assert.equal(all.length, 1 + rows.length + 1 + lineValuesShownMax + 2);
  const page = await (await test.send("/portal/billing/2026-10", { cookie })).text();
  const text = page.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
  assert.ok(text.includes("By region us 4 eu 3.5 (none) 0.25"), text);
  assert.ok(text.includes("By model + type m · in 6 (none) · (none) 1.75"), text);
}

onEveryDatabase("lines have usage by dimension that never changes, and corrections do too", async (test) => {
  const billing = await asBilling(test);
  const { close, lines } = billing;
  assert.equal((await save(billing, "POST")).status, 201);
  const [ada, bob] = [await customer(test, "Ada"), await customer(test, "Bob")];
  const mistake = await ada.record("2026-10-20T12:00:00.000Z", {
    ...{ quantity: 4, properties: { region: "us", model: "m", type: "in" } },
  });
  await send(test, ada.apiKey, [
    // In Vienna, October ends on 31 October at 23:00 in UTC.
    ["2026-10-31T20:15:00.000Z", "requests", 1.5, { region: "eu" }],
    ["2026-10-31T22:59:59.999Z", "requests", 2, { region: "eu", model: "m", type: "in" }],
    ["2026-10-31T23:00:00.000Z", "requests", 2000, { region: "eu" }],
    ["2026-10-21T10:00:00.000Z", "requests", 0.25],
    ["2026-10-21T10:00:00.000Z", "calls", 7, { region: "eu" }],
    ["2026-10-21T10:00:00.000Z", "calls", 8, { region: "eu" }],
    ["2026-10-21T10:00:00.000Z", "peak", 8, { region: "eu" }],
    ["2026-10-21T10:00:00.000Z", "bytes", 1, { region: "eu" }],
  ]);
  const regions = Array.from({ length: lineValuesShownMax + 2 }, (_, n) => `r${String(n).padStart(2, "0")}`);
  await send(
    test,
    bob.apiKey,
    regions.map((region) => ["2026-10-21T10:00:00.000Z", "requests", 1, { region }]),
  );
  const october = [
    [
      "tiles requests 7.75",
      "model+type: m+in 6, (none)+(none) 1.75",
      "region: us 4, eu 3.5, (none) 0.25",
    ],
    ["tiles calls 2", "region: eu 2"],
    ["tiles peak 8"],
    ["tiles bytes 1"],
  ];
  const [shown, hidden] = [regions.slice(0, lineValuesShownMax), regions.slice(lineValuesShownMax)];
  const ofBob = [[
    `tiles requests ${regions.length}`,
    `model+type: (none)+(none) ${regions.length}`,
    `region: ${shown.map((region) => `${region} 1`).join(", ")}, ${hidden.length} more`,
  ]];
  const of = async (id: string, organizationId: string) =>
    inShort((await lines({ id })).filter((line) => line.organizationId === organizationId));
  const own = async (id: string) => {
    const { body } = await billing.send(`GET /statements/${id}?organizationId=${ada.organizationId}`);
    return inShort(body.lines);
  };
  const ofMember = async (id: string) => {
    const response = await test.send(`/api/portal/statements/${id}`, { cookie: ada.cookie });
    return inShort((await response.json()).lines);
  };
  assert.deepEqual(await own("open"), october);
  assert.deepEqual(await of("open", bob.organizationId), ofBob);
  await close("2026-10");
  assert.deepEqual(await own("2026-10"), october);
  assert.deepEqual(await ofMember("2026-10"), october);
  assert.deepEqual(await of("2026-10", bob.organizationId), ofBob);

  await showsFiles(test, { cookie: ada.cookie, billing, organizationId: ada.organizationId });

  await voidOne(test, { apiKey: ada.apiKey, id: mistake.id });
  await send(test, ada.apiKey, [["2026-10-27T10:00:00.000Z", "requests", 4, { region: "asia" }]]);
  await send(test, bob.apiKey, [["2026-10-27T10:00:00.000Z", "requests", 3, { region: "r00" }]]);
  assert.deepEqual(await own("2026-10"), october);
  const november = [
    ["tiles requests 2000", "model+type: (none)+(none) 2000", "region: eu 2000"],
  ];
  assert.deepEqual(await own("open"), november);
  // October's sum is what it was, so there is nothing to correct until it changes.
  await send(test, ada.apiKey, [["2026-10-28T10:00:00.000Z", "requests", 0.5, { region: "eu" }]]);
  const corrected = [...november, [
    "tiles requests 2026-10 0.5",
    "model+type: (none)+(none) 4.5, m+in -4",
    "region: asia 4, us -4, eu 0.5",
  ]];
  assert.deepEqual(await own("open"), corrected);
  test.advance(31 * 24 * 3_600_000);
  await close("2026-11");
  assert.deepEqual(await own("2026-11"), corrected);
  assert.deepEqual((await of("2026-11", bob.organizationId)).at(-1), [
    "tiles requests 2026-10 3",
    "model+type: (none)+(none) 3",
    "region: r00 3",
  ]);
  await assert.rejects(run(test, "UPDATE statement_line_values SET parts = '[]'"), /a line never changes/);
  await assert.rejects(run(test, "DELETE FROM statement_line_values"), /a line is never deleted/);
}, vienna);

onEveryDatabase("dimensions that lack usage of a line are neither shown nor stored with it", async (test) => {
  const billing = await asBilling(test);
  const { close, lines } = billing;
  assert.equal((await save(billing, "POST", { requests: {} })).status, 201);
  const ada = await customer(test, "Ada");
  await send(test, ada.apiKey, [["2026-10-20T12:00:00.000Z", "requests", 4, { region: "eu" }]]);
  await close("2026-10");
  const changed = { requests: { dimensions: [["region"]] } };
  assert.equal((await save(billing, "PATCH", changed)).status, 200);
  await send(test, ada.apiKey, [["2026-11-01T12:00:00.000Z", "requests", 1, { region: "eu" }]]);
  while (await fillDimensions(test.services, { restMs: 0 }));
  await send(test, ada.apiKey, [["2026-10-20T12:00:00.000Z", "requests", 2, { region: "eu" }]]);
  const november = [["tiles requests 1", "region: eu 1"], ["tiles requests 2026-10 2"]];
  assert.deepEqual(inShort(await lines({ id: "open" })), november);
  test.advance(31 * 24 * 3_600_000);
  await run(
    test,
    `INSERT INTO statements (number, id, period, timezone, start_at, end_at, status, progress, created_at)
      SELECT 2, 'stm_0', '2026-11', 'UTC', end_at, ?, 'closing', 0, 0 FROM statements`,
    Date.UTC(2026, 11),
  );
  // Another server wrote a line before a record came, and stopped.
  await run(
    test,
    `INSERT INTO statement_lines (statement, organization_id, months_back, product_slug, metric, count, sum_high, sum_low,
      sum_micro, organization_name) VALUES (2, ?, 0, 'tiles', 'requests', 2, 0, 1, 0, 'Ada')`,
    ada.organizationId,
  );
  assert.equal((await closeDueStatement(test.services))?.status, "closed");
  assert.deepEqual(inShort(await lines({ id: "2026-11" })), [["tiles requests 1"], november[1]]);
});
