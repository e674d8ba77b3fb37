// Prices by value on pages: the form of a product, and the lines of customers and operators.
import assert from "node:assert/strict";
import { testApp } from "../../../support/app/app.ts";
import { assertRows, fetchJson } from "../../../support/app/rows.ts";
import { asBilling, customer } from "../../../support/meter/statements.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { textOf } from "../../../support/portal/markup.ts";
import { openPage } from "../../../support/portal/pages.ts";

const path = "/operator/products";
const metric = {
  "metrics[0].slug": "tokens",
  "metrics[0].name": "Tokens",
  "metrics[0].dimensions": "model + type",
  "metrics[0].unitPrice": "0.000001",
};
const product = { slug: "chat", name: "Chat", ...metric };
const lines = (...prices: string[]) => ({ "metrics[0].valuePrices": prices.join("\r\n") });

testApp("operators enter prices by value, one on each line", async (test) => {
  const mara = await newOperator(test);
  const odd = String.raw`model="a, \"b\" = c\u2028", type="" 7`;
  await assertRows(test, mara, [
    [`POST ${path}/new`, { ...product, ...lines("model=large, type=output 0.000012", "", odd) }, 303],
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
  const { html } = await openPage(test, `${path}/chat/edit`, { person: mara });
  const shown = /<textarea[^>]*name="metrics\[0\]\.valuePrices"[^>]*>\n?([^<]*)</.exec(html)?.[1] ?? "";
  const text = shown.replaceAll("&quot;", '"').replaceAll("&amp;", "&");
  assert.equal(text, `model=large, type=output 0.000012\n${odd}`);
  const form = { name: "Chat", ...metric };
  const fault = (shows: string) => ({ shows: [shows] });
  await assertRows(test, mara, [
    [`POST ${path}/chat/edit`, { ...form, ...lines(text.replaceAll("\n", "\r\n")) }, 303],
    [`POST ${path}/chat/edit`, { ...form, ...lines("large 3") }, 422, fault("must have lines such as")],
    [
      `POST ${path}/chat/edit`,
      { ...form, ...lines("model=large, type=x cheap") },
      422,
      fault("must be a decimal"),
    ],
    [
      `POST ${path}/chat/edit`,
      { ...form, ...lines("model=large 3") },
      422,
      fault("one of the metric&#39;s dimensions"),
    ],
    [
      `POST ${path}/chat/edit`,
      { ...form, ...lines("model=large, type=x 3"), "metrics[0].unitPrice": "" },
      422,
      fault("is required: it is the price of all other values."),
    ],
  ]);
  assert.deepEqual(await prices(), saved);
  const { events } = await fetchJson(test, mara, "GET /api/operator/audit?action=product.created");
  assert.match(
    events.map(({ details }: { details: { prices?: string } }) => details.prices).join(),
    /tokens \(large, output\): none → 0\.000012/,
  );
});

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
      /By model \+ type large · output 1,000,000 €0\.000012 per token €12\.00 small · input 5,000,000 €0\.000001 per token €5\.00/,
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
