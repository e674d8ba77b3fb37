// Prices of a metric by the values of a dimension: in the catalogue, and in open and closed months, on both kinds of database.
import assert from "node:assert/strict";
import { dimensionValuesMax } from "../../../../domain/meter/dimension.ts";
import type { StatementLine } from "../../../../domain/billing/statement.ts";
import type { TestApp } from "../../../support/app/app.ts";
import { asBilling, customer, type ReadLine } from "../../../support/meter/statements.ts";
import { onEveryDatabase, recordAll, voidOne } from "../../../support/meter/usage.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { signInAgain } from "../../../support/people/people.ts";
import { run } from "../../../support/people/scene.ts";

const settings = { CURRENCY: "EUR" };
const day = 24 * 3_600_000;
const large = { properties: { model: "large", type: "output" }, unitPrice: "0.000012" };
const none = { properties: { model: "(none)", type: "(none)" }, unitPrice: "5" };
const others = { unitPrice: "0.000001" };
const tokens = {
  ...{ slug: "tokens", name: "Tokens", dimensions: [["model", "type"], ["region"]] },
  unitPrice: [large, none, others],
};

type Billing = Awaited<ReturnType<typeof asBilling>>;

const save = ({ send }: Billing, method: "POST" | "PATCH", ...metrics: object[]) =>
  method === "POST"
    ? send("POST /products", { slug: "tiles", name: "Tiles", metrics })
    : send("PATCH /products/tiles", { metrics });

async function saved(billing: Billing, ...metrics: object[]) {
  const { status, body } = await save(billing, "PATCH", ...metrics);
  assert.equal(status, 200, JSON.stringify(body));
}

type Sent = [timestamp: string, quantity: number, properties?: Record<string, string>, metric?: string];

async function send(test: TestApp, apiKey: string, ...records: Sent[]) {
  await recordAll(test, {
    apiKey,
    records: records.map(([timestamp, quantity, properties, metric = "tokens"]) => ({
      ...{ productSlug: "tiles", metric, timestamp, quantity },
      ...properties && { properties },
    })),
  });
}

/** @returns Each line in short: its quantity and amount, and the amounts of its values. */
function inShort(lines: readonly ReadLine[]) {
  return lines.map((line) => {
    const { metric, quantity, unitPrice, amount, adjustmentOf, dimensions } = line as StatementLine;
    const parts = dimensions.filter(({ properties }) => properties.length === 2).flatMap((
      { values, others },
    ) => [
      ...values.map(({ properties, quantity, unitPrice, amount }) =>
        `${Object.values(properties).join("+")} ${quantity} × ${unitPrice} = ${amount}`
      ),
      ...others === null ? [] : [`${others.values} more ${others.quantity} = ${others.amount}`],
    ]);
    const name = [metric, adjustmentOf, `${quantity} × ${unitPrice} = ${amount}`];
    return [name.filter((part) => part !== null).join(" "), ...parts];
  });
}

const output = { model: "large", type: "output", region: "eu" };

onEveryDatabase("a price can be a list by the values of one dimension", async (test) => {
  const billing = await asBilling(test);
  assert.equal((await save(billing, "POST", { ...tokens, unitPrice: null })).status, 201);
  const fails = async (metric: object, path: string, message: RegExp) => {
    const { status, body } = await save(billing, "PATCH", { ...tokens, ...metric });
    assert.equal(status, 422, JSON.stringify(body));
    assert.equal(body.error.details[0].path, path);
    assert.match(body.error.details[0].message, message);
  };
  const at = "metrics[0].unitPrice";
  await fails({ unitPrice: [others, large] }, `${at}[0]`, /only the last price is for all others/);
  await fails({ unitPrice: [large] }, `${at}[0]`, /must not name values/);
  await fails({ unitPrice: [] }, at, /must have a price for values/);
  await fails({ unitPrice: [others] }, at, /must have a price for values/);
  await fails({ unitPrice: [large, large, others] }, `${at}[1].properties`, /already in the list/);
  const shorter = { properties: { model: "small" }, unitPrice: "1" };
  await fails({ unitPrice: [large, shorter, others] }, `${at}[1].properties`, /same properties/);
  await fails({ unitPrice: [shorter, others] }, at, /one of the metric's dimensions/);
  const negative = { ...large, unitPrice: "-1" };
  await fails({ unitPrice: [negative, others] }, `${at}[0].unitPrice`, /must be a decimal/);
  const other = { properties: { region: "(other)" }, unitPrice: "1" };
  await fails({ unitPrice: [other, others] }, `${at}[0].properties`, /must not be \(other\)/);
  await fails({ aggregation: "max" }, at, /only if the aggregation is sum or count/);
  await fails({ unitPrice: 5 }, at, /must be a string or an array/);
  const many = (length: number) =>
    Array.from({ length }, (_, n) => ({ properties: { region: `r${n}` }, unitPrice: "1" }));
  await fails({ unitPrice: [...many(200), others] }, at, /at most 200 prices/);
  await saved(billing, { ...tokens, unitPrice: [...many(199), others] });
  await saved(billing, { ...tokens, unitPrice: [{ ...large, unitPrice: "00.000012000" }, none, others] });
  const { body } = await billing.send("GET /products/tiles");
  assert.deepEqual(body.product.metrics[0].unitPrice, tokens.unitPrice);
  const refused = async (metric: object) => {
    const { status, body } = await save(billing, "PATCH", { ...tokens, ...metric });
    return [status, body.error.code];
  };
  assert.deepEqual(await refused({ dimensions: [["region"]] }), [409, "dimension_priced"]);
  assert.deepEqual(await refused({ aggregation: "count" }), [409, "dimension_priced"]);
  await saved(billing, { ...tokens, dimensions: [["model", "type"]] });
  // The metric has usage, which a new dimension lacks until it is added.
  const ada = await customer(test, "Ada");
  await send(test, ada.apiKey, ["2026-11-01T10:00:00.000Z", 1]);
  const byRegion = { unitPrice: [{ properties: { region: "eu" }, unitPrice: "1" }, others] };
  assert.deepEqual(await refused(byRegion), [409, "dimension_incomplete"]);
  await saved(billing, { ...tokens, dimensions: [], unitPrice: "0.5" });
}, settings);

onEveryDatabase("a line has the amounts of its values, and keeps its prices in adjustments", async (test) => {
  const billing = await asBilling(test);
  const { close, lines } = billing;
  assert.equal((await save(billing, "POST", tokens)).status, 201);
  const ada = await customer(test, "Ada");
  const mistake = await ada.record("2026-10-20T12:00:00.000Z", {
    ...{ metric: "tokens", quantity: 1000, properties: output },
  });
  await send(
    test,
    ada.apiKey,
    ["2026-10-20T12:00:00.000Z", 500.5, { model: "small", type: "input" }],
    ["2026-10-20T12:00:00.000Z", 2],
    ["2026-11-02T12:00:00.000Z", 7, output],
  );
  const october = [[
    "tokens 1502.5 × null = 10.0125005",
    "large+output 1000 × 0.000012 = 0.012",
    "small+input 500.5 × 0.000001 = 0.0005005",
    "(none)+(none) 2 × 5 = 10",
  ]];
  assert.deepEqual(inShort(await lines({ id: "2026-10" })), october);
  await close("2026-10");
  // The value that the closed month lacks has the price of then, and the open month that of now.
  const small = { properties: { model: "small", type: "output" }, unitPrice: "9" };
  await saved(billing, { ...tokens, unitPrice: [small, { unitPrice: "2" }] });
  assert.deepEqual(inShort(await lines({ id: "2026-10" })), october);
  await voidOne(test, { apiKey: ada.apiKey, id: mistake.id });
  await send(
    test,
    ada.apiKey,
    ["2026-10-27T10:00:00.000Z", 1000, { model: "small", type: "output" }],
  );
  // The sum and the number of records are what they were.
  const november = [
    ["tokens 7 × null = 14", "large+output 7 × 2 = 14"],
    [
      "tokens 2026-10 0 × null = -0.011",
      "large+output -1000 × 0.000012 = -0.012",
      "small+output 1000 × 0.000001 = 0.001",
    ],
  ];
  assert.deepEqual(inShort(await lines({ id: "open" })), november);
  // Without the product, prices and dimensions of the open month are gone, those of the closed one aren't.
  assert.equal((await billing.send("DELETE /products/tiles")).status, 204);
  await send(test, ada.apiKey, ["2026-10-27T10:00:00.000Z", 0.5, output]);
  november[1] = [
    "tokens 2026-10 0.5 × null = -0.010994",
    "small+output 1000 × 0.000001 = 0.001",
    "large+output -999.5 × 0.000012 = -0.011994",
  ];
  november[0]?.splice(0, 2, "tokens 7 × null = null");
  assert.deepEqual(inShort(await lines({ id: "open" })), november);
  test.advance(31 * day);
  const { id } = await close("2026-11");
  assert.deepEqual(inShort(await lines({ id })), november);
  const sums = (await billing.send(`GET /statements/${id}`)).body;
  assert.deepEqual([sums.amount, sums.totals[0].amount], ["-0.010994", "-0.010994"]);
  const { body } = await billing.send(`GET /statements/${id}/organizations`);
  assert.deepEqual([body.organizations[0].amount, body.organizations[0].previousAmount], [
    "-0.010994",
    "10.0125005",
  ]);
  const cookie = await signInAgain(test, ada.email);
  const own = await (await test.send("/api/portal/statements", { cookie })).json();
  assert.deepEqual(own.statements.map(({ amount }: { amount: string }) => amount), [
    "-0.010994",
    "10.0125005",
  ]);
  const csv = async (name: string) =>
    (await billing.send(`GET /statements/${name}.csv`)).body.split("\r\n").slice(0, -1).map((row: string) =>
      row.split(",").slice(8).join(",")
    );
  assert.deepEqual((await csv("2026-10"))[1], ",1502.5,3,,,10.0125005,EUR,sum");
  assert.deepEqual((await csv("2026-10-values")).slice(0, 3), [
    "unit,properties,quantity,records,adjustmentOf,aggregation,unitPrice,amount,currency",
    ',"{""model"":""large"",""type"":""output""}",1000,1,,sum,0.000012,0.012,EUR',
    ',"{""model"":""small"",""type"":""input""}",500.5,1,,sum,0.000001,0.0005005,EUR',
  ]);
  await assert.rejects(run(test, "UPDATE value_prices SET prices = '[]'"), /never changes/);
  await assert.rejects(run(test, "DELETE FROM value_prices"), /never deleted/);
}, settings);

onEveryDatabase("values with a price have it, however many others come first", async (test) => {
  const billing = await asBilling(test);
  const { lines, close } = billing;
  const count = { ...tokens, slug: "calls", name: "Calls", aggregation: "count" };
  assert.equal((await save(billing, "POST", tokens, count)).status, 201);
  const ada = await customer(test, "Ada");
  const flood = async (metric: string, timestamp = "2026-11-02T12:00:00.000Z") => {
    for (const half of [0, 1]) {
      const invented = Array.from({ length: 600 }, (_, n) => `${half} ${n}`);
      await send(
        test,
        ada.apiKey,
        ...invented.map((model): Sent => [timestamp, 1, { model, type: "output" }, metric]),
      );
    }
  };
  await flood("tokens");
  await flood("calls");
  await send(
    test,
    ada.apiKey,
    ["2026-11-02T12:00:00.000Z", 1e6, output],
    ["2026-11-02T12:00:00.000Z", 2e6],
    ["2026-11-02T12:00:00.000Z", 2e6, output, "calls"],
  );
  const [calls, line] = (await lines({ id: "open" })) as StatementLine[];
  assert.deepEqual([line?.amount, calls?.amount], ["10000012.0012", "0.001212"]);
  // The last price is that of the values beyond the maximum, too.
  const [values] = line?.dimensions ?? [];
  assert.deepEqual(
    values?.values.slice(0, 3).map(({ properties, amount }) => [properties["model"], amount]),
    [
      ["(none)", "10000000"],
      ["large", "12"],
      ["(other)", "0.0002"],
    ],
  );
  assert.equal(values?.others?.values, dimensionValuesMax - 17);
  // A value that counts as one of the others has its price from the next month on.
  const late = { properties: { model: "late", type: "output" }, unitPrice: "3" };
  await send(test, ada.apiKey, ["2026-11-03T12:00:00.000Z", 1, late.properties]);
  await saved(billing, { ...tokens, unitPrice: [large, late, others] }, count);
  const dear: Sent = ["2026-11-04T12:00:00.000Z", 10, late.properties];
  await send(test, ada.apiKey, dear);
  const amount = async (id: string) => ((await lines({ id })) as StatementLine[])[1]?.amount;
  assert.equal(await amount("2026-11"), "14.001211");
  test.advance(31 * day);
  await close("2026-10");
  await flood("tokens", "2026-12-02T12:00:00.000Z");
  await send(test, ada.apiKey, ["2026-12-04T12:00:00.000Z", 10, late.properties]);
  assert.equal(((await lines({ id: "2026-12" })) as StatementLine[])[0]?.amount, "30.0012");
}, settings);

onEveryDatabase("queries have amounts at the prices of now", async (test) => {
  const billing = await asBilling(test);
  const count = { slug: "calls", name: "Calls", aggregation: "count", dimensions: [["model"], ["region"]] };
  const byModel = [{ properties: { model: "large" }, unitPrice: "7" }, { unitPrice: "1" }];
  const metrics = [
    { ...tokens, dimensions: [...tokens.dimensions, ["model"]] },
    { ...count, unitPrice: byModel },
    { slug: "peak", name: "Peak", aggregation: "max", unitPrice: "2" },
    { slug: "free", name: "Free" },
  ];
  assert.equal((await save(billing, "POST", ...metrics)).status, 201);
  const [ada, bob] = [await customer(test, "Ada"), await customer(test, "Bob")];
  const at = "2026-11-02T12:00:00.000Z";
  await send(
    test,
    ada.apiKey,
    [at, 1000, output],
    [at, 10, { model: "large", type: "input" }],
    [at, 2],
    [at, 5, { model: "large", region: "eu" }, "calls"],
    [at, 5, { model: "small" }, "calls"],
    [at, 5, {}, "peak"],
    [at, 3, {}, "peak"],
    [at, 1, {}, "free"],
    ["2026-11-03T12:00:00.000Z", 1, output],
  );
  await send(test, bob.apiKey, [at, 3]);
  const sums = async (query: string, expected = 200) => {
    const response = await test.send(`/api/v1/usage?include=amount&${query}`, { apiKey: ada.apiKey });
    assert.equal(response.status, expected, await response.clone().text());
    return await response.json();
  };
  const amounts = async (query: string) => {
    const { data, currency } = await sums(query);
    assert.equal(currency, "EUR");
    return data.map(({ metric, properties, amount }: ReadAmount) =>
      [metric ?? "", ...Object.values(properties ?? {}), amount].join(" ")
    );
  };
  const total = "window=total";
  assert.deepEqual(await amounts(total), ["calls 8", "free ", "peak 10", "tokens 10.012022"]);
  assert.deepEqual(await amounts("metric=tokens&groupBy=productSlug,apiKey"), [" 10.01201", " 0.000012"]);
  assert.deepEqual(await amounts(`${total}&groupBy=properties.model,properties.type`), [
    "tokens (none) (none) 10",
    "tokens large input 0.00001",
    "tokens large output 0.012012",
  ]);
  assert.deepEqual(await amounts(`${total}&groupBy=properties.model`), [
    "calls large 7",
    "calls small 1",
    "tokens (none) 10",
    "tokens large 0.012022",
  ]);
  assert.deepEqual(await amounts(`${total}&metric=tokens&properties.type=output`), [" 0.012012"]);
  const { error } = await sums(`${total}&groupBy=properties.region`, 422);
  assert.equal(error.code, "amount_unknown");
  await sums(`${total}&include=cost`, 422);
  const csv = await test.send(`/api/v1/usage.csv?${total}&include=amount&metric=tokens`, {
    apiKey: ada.apiKey,
  });
  assert.deepEqual(
    (await csv.text()).split("\r\n").slice(0, 2).map((row) => row.split(",").slice(2).join()),
    [
      "sum,count,min,max,amount,currency",
      "1013,4,1,1000,10.012022,EUR",
    ],
  );
  const { fullToken: apiKey } = await newOperatorToken(test, ["usage:read"]);
  const all = await test.send(`/api/operator/usage?${total}&include=amount&metric=tokens`, { apiKey });
  const ofAll = await all.json();
  assert.deepEqual([ofAll.currency, ofAll.data[0].amount], ["EUR", "25.012022"]);
  const each = await test.send(
    `/api/operator/usage?${total}&include=amount&metric=tokens&groupBy=organization,properties.model`,
    { apiKey },
  );
  assert.deepEqual((await each.json()).data.map(({ amount }: ReadAmount) => amount), [
    "10",
    "0.012022",
    "15",
  ]);
}, settings);

interface ReadAmount {
  readonly metric?: string;
  readonly properties?: Record<string, string>;
  readonly amount: string | null;
}
