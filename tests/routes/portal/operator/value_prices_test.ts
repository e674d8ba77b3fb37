// Prices by value on pages: the form of a product, and the lines of customers and operators.
import assert from "node:assert/strict";
import { testApp } from "../../../support/app/app.ts";
import { assertRows, fetchJson } from "../../../support/app/rows.ts";
import { asBilling, customer } from "../../../support/meter/statements.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { textOf } from "../../../support/portal/markup.ts";
import { openPage } from "../../../support/portal/pages.ts";

const path = "/operator/products";
const metric = { name: "Tokens", dimensions: "model + type", price: "1", per: "1M tokens" };
const lines = (...prices: string[]) => ({ priceLines: prices.join("\r\n") });

testApp("operators enter prices by value for the same quantity, one on each line", async (test) => {
  const mara = await newOperator(test);
  const odd = String.raw`model="a, \"b\" = c\u2028", type="" 7,000,000.00`;
  const metrics = `${path}/chat/metrics`;
  await assertRows(test, mara, [
    [`POST ${path}/new`, { slug: "chat", name: "Chat" }, 303],
    [
      `POST ${metrics}/new`,
      { ...metric, slug: "tokens", ...lines("model=large, type=output 12", "", odd) },
      303,
    ],
  ]);
  const prices = async () =>
    (await fetchJson(test, mara, `GET /api${path}/chat`)).product.metrics[0].unitPrice;
  const saved = [
    { properties: { model: "large", type: "output" }, unitPrice: "0.000012" },
    { properties: { model: 'a, "b" = c\u2028', type: "" }, unitPrice: "7" },
    { unitPrice: "0.000001" },
  ];
  assert.deepEqual(await prices(), saved);
  // What the form shows can be saved as it is.
  const edit = `${metrics}/tokens/edit`;
  const { html } = await openPage(test, edit, { person: mara });
  const shown = /<textarea[^>]*name="priceLines"[^>]*>\n?([^<]*)</.exec(html)?.[1] ?? "";
  const text = shown.replaceAll("&quot;", '"').replaceAll("&amp;", "&");
  const [, per = ""] = / name="per" value="([^"]*)"/.exec(html) ?? [];
  const [, price = ""] = / name="price" value="([^"]*)"/.exec(html) ?? [];
  assert.match(text, /^model=large, type=output [\d.,]+\nmodel="a, /);
  const form = { ...metric, price, per };
  const fault = (field: string, shows: string) => ({ shows: [`id="${field}-error"`, shows] });
  await assertRows(test, mara, [
    [`POST ${edit}`, { ...form, ...lines(text.replaceAll("\n", "\r\n")) }, 303],
    [
      `POST ${edit}`,
      { ...metric, ...lines("large 3") },
      422,
      fault("priceLines", "must have lines such as"),
    ],
    [
      `POST ${edit}`,
      { ...metric, ...lines("model=large, type=x cheap") },
      422,
      fault("priceLines", "must be an amount"),
    ],
    [
      `POST ${edit}`,
      { ...metric, ...lines("model=large, type=x 0.0000001") },
      422,
      fault("priceLines", "The nearest to 0.0000001 are 0 and 0.000001."),
    ],
    [
      `POST ${edit}`,
      { ...metric, ...lines("model=large 3") },
      422,
      fault("priceLines", "one of the metric&#39;s dimensions"),
    ],
    [
      `POST ${edit}`,
      { ...metric, ...lines("model=large, type=x 3"), price: "" },
      422,
      fault("price", "is required: it is the price of all other values."),
    ],
    [
      `POST ${edit}`,
      { ...metric, ...lines("model=large, type=x 3"), dimensions: "" },
      409,
      fault("dimensions", "has prices by value"),
    ],
    [`GET ${edit}`, null, 200, { shows: ["To remove model + type, remove its prices by value first."] }],
  ]);
  assert.deepEqual(await prices(), saved);
  const { events } = await fetchJson(test, mara, "GET /api/operator/audit?action=product.changed");
  assert.match(
    events.map(({ details }: { details: { prices?: string } }) => details.prices).join(),
    /tokens \(large, output\): none → 0\.000012/,
  );
  await assertRows(test, mara, [[`POST ${edit}`, { ...metric, ...lines("model=large, type=x 3") }, 303]]);
  const page = await openPage(test, metrics, { person: mara });
  assert.match(textOf(page.html), /€1\.00–€3\.00 per 1M tokens by model \+ type/);
}, { CURRENCY: "EUR" });

testApp("lines show the amount of each value to customers and operators", async (test) => {
  const { send } = await asBilling(test);
  const unitPrice = [
    { properties: { model: "large", type: "output" }, unitPrice: "0.000012" },
    { unitPrice: "0.000001" },
  ];
  const metrics = [{
    slug: "tokens",
    name: "Tokens",
    dimensions: [["model", "type"], ["region"]],
    unitPrice,
  }];
  await send("POST /products", { slug: "tiles", name: "Chat", metrics });
  const [ada, mara] = [await customer(test, "Ada"), await newOperator(test)];
  const record = (quantity: number, properties: Record<string, string>) =>
    ada.record("2026-11-02T12:00:00.000Z", { metric: "tokens", quantity, properties });
  await record(1e6, { model: "large", type: "output", region: "eu" });
  await record(5e6, { model: "small", type: "input", region: "eu" });
  for (
    const [person, at] of [
      [ada, "/portal/billing"],
      [ada, "/portal/billing/2026-11"],
      [mara, `/operator/statements/open?organizationId=${ada.organizationId}`],
    ] as const
  ) {
    const { html } = await openPage(test, at, { person });
    const text = textOf(html);
    assert.match(
      text,
      /By model \+ type large · output 1,000,000 × €0\.000012 per token €12\.00 small · input 5,000,000 × €0\.000001 per token €5\.00/,
      at,
    );
    assert.match(
      text,
      /By region eu 6,000,000 (?!€|0)/,
      "the values of another dimension have no amounts",
    );
    assert.match(text, /By model \+ type €17\.00/, at);
    // Open without a script, unlike those of other dimensions.
    assert.equal(html.match(/<details class="numbers line-values" open/g)?.length, 1);
  }
}, { CURRENCY: "EUR" });
