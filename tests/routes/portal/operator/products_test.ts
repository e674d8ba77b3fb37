// The console's pages of the catalogue of products, which has one form for each metric.
import assert from "node:assert/strict";
import { productMetricsMax, recentAuthenticationMs } from "../../../../domain/limits.ts";
import { type TestApp, testApp, testPassword, type TestPerson } from "../../../support/app/app.ts";
import { assertRows, fetchJson } from "../../../support/app/rows.ts";
import { asBilling, customer } from "../../../support/meter/statements.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { textOf } from "../../../support/portal/markup.ts";
import { openPage } from "../../../support/portal/pages.ts";

const path = "/operator/products";
const metrics = `${path}/tiles/metrics`;
const tiles = { slug: "tiles", name: "Map tiles" };
const transfer = { slug: "bytes", name: "Data transfer", unit: "bytes", price: " €0.09", per: "GB" };
const requests = { slug: "requests", name: "Requests", price: "0.40", per: "1,000 requests" };

async function products(test: TestApp, by: TestPerson) {
  const { products } = await fetchJson(test, by, "GET /api/operator/products");
  return products.map(({ createdAt: _, ...product }: { createdAt: string }) => product);
}

const metric = (more: { slug: string; name: string; unit?: string; unitPrice?: string }) => ({
  ...{ unit: null, unitPrice: null, dimensions: [], shareable: [], aggregation: "sum", uniqueProperty: null },
  ...more,
});
const slugsIn = async (test: TestApp, by: TestPerson) =>
  (await products(test, by)).map(({ metrics }: { metrics: { slug: string }[] }) =>
    metrics.map(({ slug }) => slug)
  ).flat();

/** Returns the text of the row of a metric. */
async function rowOf(test: TestApp, person: TestPerson, name: string): Promise<string> {
  const { html } = await openPage(test, metrics, { person });
  const rows = [...html.matchAll(/<tr role="row".*?<\/tr>/gs)].map(([row]) => textOf(`<main>${row}`));
  return rows.find((row) => row.includes(name)) ?? "";
}

/** Returns the value of a field of a page, also of a select. */
function valueOf(html: string, name: string): string | undefined {
  const [select] = RegExp(`<select[^>]* name="${name}".*?</select>`, "s").exec(html) ?? [];
  return select === undefined
    ? RegExp(`<input[^>]* name="${name}"[^>]* value="([^"]*)"`).exec(html)?.[1]
    : /<option value="([^"]*)" selected/.exec(select)?.[1];
}

testApp("operators add a product and then its metrics, and edit and delete them", async (test) => {
  const mara = await newOperator(test);
  await assertRows(test, mara, [
    [`GET ${path}`, null, 200, { shows: ["No products yet"] }],
    [`POST ${path}/new`, tiles, `303 ${metrics}?done=added`],
    [`GET ${metrics}?done=added`, null, 200, { shows: ["Product added.", "No metrics yet"] }],
    [`POST ${metrics}/new`, transfer, `303 ${metrics}?done=saved`],
    [`POST ${metrics}/new`, { slug: "requests", name: "Requests" }, 303],
    [`GET ${path}`, null, 200, { shows: ["Data transfer", "Requests", `href="${metrics}"`] }],
  ]);
  const saved = [
    metric({ slug: "bytes", name: "Data transfer", unit: "bytes", unitPrice: "0.00000000009" }),
    metric({ slug: "requests", name: "Requests" }),
  ];
  assert.deepEqual(await products(test, mara), [{ ...tiles, metrics: saved }]);

  await assertRows(test, mara, [
    [`GET ${path}/tiles/edit`, null, 200, { shows: ['value="Map tiles"'] }],
    [`POST ${path}/tiles/edit`, { name: "Tiles" }, `303 ${metrics}?done=saved`],
    // The slug and the place stay what they are, and the quantity may have the former name.
    [`POST ${metrics}/bytes/edit`, { ...transfer, slug: "other" }, 303],
    [`POST ${metrics}/requests/edit`, requests, 303],
    [`POST ${metrics}/requests/edit`, { ...requests, name: "Calls" }, 303],
    [`POST ${metrics}/requests/edit`, { ...requests, name: "Seats" }, 422, { shows: ['id="per-error"'] }],
    [`GET /api/operator/products/tiles`, null, 200, { shows: [/"bytes".*"requests"/s] }],
    [`GET ${metrics}/bytes/delete`, null, 200, { shows: ["Remove “<bdi>Data transfer</bdi>”?"] }],
    [`POST ${metrics}/bytes/delete`, {}, `303 ${metrics}?done=removed`],
    [`GET ${metrics}/bytes/edit`, null, 404],
  ]);
  const left = [metric({ slug: "requests", name: "Calls", unitPrice: "0.0004" })];
  assert.deepEqual(await products(test, mara), [{ slug: "tiles", name: "Tiles", metrics: left }]);

  await assertRows(test, mara, [
    [`GET ${path}/tiles/delete`, null, 200, { shows: ["Delete “<bdi>Tiles</bdi>”?"] }],
    [`POST ${path}/tiles/delete`, {}, `303 ${path}?done=deleted`],
    [`GET ${metrics}`, null, 404],
  ]);
  assert.deepEqual(await products(test, mara), []);
}, { CURRENCY: "EUR" });

testApp("prices are typed and shown for a quantity that people use", async (test) => {
  const mara = await newOperator(test);
  await assertRows(test, mara, [
    [`POST ${path}/new`, tiles, 303],
    [`POST ${metrics}/new`, transfer, 303],
    [`POST ${metrics}/new`, requests, 303],
    [`POST ${metrics}/new`, { slug: "seconds", name: "Compute", unit: "s", price: "3.6", per: "h" }, 303],
    [`POST ${metrics}/new`, { slug: "seats", name: "Seats", price: "1,250" }, 303],
  ]);
  assert.match(await rowOf(test, mara, "Data transfer"), /bytes.* bytes Sum of quantities €0\.09 per GB –/);
  assert.match(await rowOf(test, mara, "Requests"), /€0\.40 per 1,000 requests/);
  assert.match(await rowOf(test, mara, "Compute"), /€0\.06 per min/);
  assert.match(await rowOf(test, mara, "Seats"), /€1,250\.00 per seat/);
  const [{ metrics: saved }] = await products(test, mara);
  assert.deepEqual(saved.map(({ unitPrice }: { unitPrice: string }) => unitPrice), [
    ...["0.00000000009", "0.0004", "0.001", "1250"],
  ]);
  // What the forms show can be saved as it is.
  for (const { slug } of saved) {
    const { html } = await openPage(test, `${metrics}/${slug}/edit`, { person: mara });
    const names = ["name", "unit", "price", "per", "dimensions", "shareable", "aggregation", "after"];
    const form = Object.fromEntries(names.map((name) => [name, valueOf(html, name) ?? "missing"]));
    await assertRows(test, mara, [[`POST ${metrics}/${slug}/edit`, form, 303]]);
  }
  assert.deepEqual((await products(test, mara))[0].metrics, saved);
}, { CURRENCY: "EUR" });

testApp("a price that can't be stored exactly is rejected with the nearest ones that can", async (test) => {
  const mara = await newOperator(test);
  const compute = { slug: "seconds", name: "Compute", unit: "s", per: "h" };
  const shows = (id: string, ...texts: string[]) => ({ shows: [`id="${id}-error"`, ...texts] });
  await assertRows(test, mara, [
    [`POST ${path}/new`, tiles, 303],
    [`POST ${metrics}/new`, { ...compute, price: "0.015" }, 422, {
      shows: [
        'id="price-error"',
        "The nearest to 0.015 are 0.0149999976 and 0.0150000012.",
        'value="0.015"',
        'value="h"',
      ],
    }],
    [`POST ${metrics}/new`, { ...compute, price: "cheap", name: "" }, 422, shows("price", 'id="name-error"')],
    [`POST ${metrics}/new`, { ...compute, price: "1", per: "GB" }, 422, shows("per", "45 min or 2 h")],
    [`POST ${metrics}/new`, { ...compute, price: "1", per: "0" }, 422, shows("per")],
    [`POST ${metrics}/new`, { ...compute, price: "$1" }, 422, shows("price")],
    [`POST ${metrics}/new`, { ...compute, price: "0.0149999976" }, 303],
  ]);
  assert.match(await rowOf(test, mara, "Compute"), /€0\.0149999976 per h/);
}, { CURRENCY: "EUR" });

testApp("metrics are shown where operators put them", async (test) => {
  const mara = await newOperator(test);
  await assertRows(test, mara, [
    [`POST ${path}/new`, tiles, 303],
    ...["a", "b", "c"].map((slug) => [`POST ${metrics}/new`, { slug, name: slug }, 303] as const),
  ]);
  assert.deepEqual(await slugsIn(test, mara), ["a", "b", "c"]);
  const { html } = await openPage(test, `${metrics}/b/edit`, { person: mara });
  assert.equal(valueOf(html, "after"), "a");
  await assertRows(test, mara, [
    [`POST ${metrics}/c/edit`, { name: "c", after: "" }, 303],
    [`POST ${metrics}/new`, { slug: "d", name: "d", after: "a" }, 303],
  ]);
  assert.deepEqual(await slugsIn(test, mara), ["c", "a", "d", "b"]);
});

testApp("operators who change metrics of a product at the same time keep each other's", async (test) => {
  const mara = await newOperator(test);
  await assertRows(test, mara, [[`POST ${path}/new`, tiles, 303]]);
  const slugs = ["a", "b", "c", "d"];
  const sent = await Promise.all(
    slugs.map((slug) =>
      openPage(test, `${metrics}/new`, { person: mara, form: { slug, name: slug.toUpperCase() } })
    ),
  );
  assert.deepEqual(sent.map(({ status }) => status), [303, 303, 303, 303]);
  assert.deepEqual((await slugsIn(test, mara)).toSorted(), slugs);
});

testApp("the form of a metric has the properties whose values events may name", async (test) => {
  const mara = await newOperator(test);
  const shared = (shareable: string) => ({ ...requests, shareable });
  await assertRows(test, mara, [
    [`POST ${path}/new`, tiles, 303],
    [`POST ${metrics}/new`, shared("user, a b"), 422, {
      shows: ['id="shareable-error"', 'value="user, a b"', "must be 1 to 64 letters"],
    }],
    [`POST ${metrics}/new`, shared(" user,team "), 303],
    [`GET ${metrics}/requests/edit`, null, 200, { shows: ['value="user, team"'] }],
  ]);
  const [{ metrics: [saved] }] = await products(test, mara);
  assert.deepEqual(saved.shareable, ["user", "team"]);
});

testApp("dimensions and distinct values are typed as words, and shown as tags", async (test) => {
  const mara = await newOperator(test);
  const seats = { slug: "seats", name: "Seats", aggregation: "unique", dimensions: "user, region + zone" };
  await assertRows(test, mara, [
    [`POST ${path}/new`, tiles, 303],
    [`POST ${metrics}/new`, { ...seats, uniqueProperty: "team" }, 422, {
      shows: ['id="uniqueProperty-error"'],
    }],
    [`POST ${metrics}/new`, { ...seats, uniqueProperty: "user" }, 303],
    // Another aggregation needs no property.
    [
      `POST ${metrics}/new`,
      { ...seats, slug: "n", name: "N", aggregation: "count", uniqueProperty: "x" },
      303,
    ],
  ]);
  const [{ metrics: [saved, counted] }] = await products(test, mara);
  assert.deepEqual([saved.uniqueProperty, counted.uniqueProperty], ["user", null]);
  assert.deepEqual(saved.dimensions, [["user"], ["region", "zone"]]);
  assert.match(await rowOf(test, mara, "Seats"), /Distinct values of user – user region \+ zone/);
});

testApp("a rejected product or metric is shown again with what is wrong", async (test) => {
  const mara = await newOperator(test);
  const many = Array.from({ length: productMetricsMax - 1 }, (_, n) => ({ slug: `m${n}`, name: "M" }));
  await assertRows(test, mara, [
    [`POST ${path}/new`, tiles, 303],
    [`POST ${path}/new`, tiles, 409, { shows: ["A product with this slug already exists."] }],
    [`POST ${path}/new`, { slug: "a b", name: "" }, 422, {
      shows: ['id="name-error"', 'id="slug-error"', "a b"],
    }],
    [`POST ${metrics}/new`, requests, 303],
    [`POST ${metrics}/new`, requests, 422, { shows: ['id="slug-error"', "is already in the list"] }],
    [`POST ${metrics}/new`, { ...requests, slug: "a b", name: "" }, 422, {
      shows: ['id="name-error"', 'id="slug-error"', 'value="a b"', 'value="0.40"'],
    }],
    ["PATCH /api/operator/products/tiles", { metrics: [{ slug: "requests", name: "R" }, ...many] }, 200],
    [`POST ${metrics}/new`, { slug: "more", name: "More" }, 422, {
      shows: [`at most ${productMetricsMax} metrics`],
    }],
  ]);
});

testApp("what can't be changed any more stands beside its field with the reason", async (test) => {
  const mara = await newOperator(test);
  await (await customer(test, "Ada")).record("2026-10-20T12:00:00.000Z", { properties: { region: "eu" } });
  const { close } = await asBilling(test);
  const edit = `${metrics}/requests/edit`;
  const named = { name: "Requests", aggregation: "sum", dimensions: "region" };
  await assertRows(test, mara, [
    [`POST ${path}/new`, tiles, 303],
    [`POST ${metrics}/new`, { ...named, slug: "requests" }, 303],
    [`GET ${edit}`, null, 200, {
      shows: ["<select", 'name="aggregation"', "Values of region can&#39;t have prices before"],
      hides: ["A month with usage of it is closed"],
    }],
    [`POST ${edit}`, { ...named, price: "1", priceLines: "region=eu 2" }, 409, {
      shows: ['id="priceLines-error"', "lacks usage of a month"],
    }],
  ]);
  await close("2026-10");
  const { html } = await openPage(test, edit, { person: mara });
  assert.doesNotMatch(html, /name="aggregation"/);
  assert.match(html, /<input[^>]* name="counting" value="Sum of quantities"[^>]* readonly/);
  assert.match(html, /id="counting-hint">A month with usage of it is closed/);
  assert.match(html, /<input[^>]* name="slug" value="requests"[^>]* readonly/);
  // The form has no field for it, and keeps it.
  await assertRows(test, mara, [[`POST ${edit}`, { name: "Calls", dimensions: "region" }, 303]]);
  const [{ metrics: [saved] }] = await products(test, mara);
  assert.deepEqual([saved.name, saved.aggregation], ["Calls", "sum"]);
});

testApp("changes ask for a recent authentication before the form, and lead back to it", async (test) => {
  const mara = await newOperator(test);
  test.advance(recentAuthenticationMs);
  const proof = { password: testPassword, return_to: `${path}/new` };
  await assertRows(test, mara, [
    [`GET ${path}/new`, null, "303 /portal/confirm-password?return_to=%2Foperator%2Fproducts%2Fnew"],
    ["POST /portal/confirm-password", proof, `303 ${path}/new`],
    [`GET ${path}/new`, null, 200],
  ]);
});
