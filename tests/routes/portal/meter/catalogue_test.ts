// The operator's catalogue gives the usage page its names and units, and each product a color that stays the same.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { recordOne } from "../../../support/meter/usage.ts";
import { openPage } from "../../../support/portal/pages.ts";

const record = (test: TestApp, apiKey: string, more: Parameters<typeof recordOne>[2]) =>
  recordOne(test, apiKey, { metric: "bytes", ...more });

/** @returns The lines of the table of products, with their colors. */
async function colorsOf(test: TestApp, person: TestPerson, query = ""): Promise<Record<string, string>> {
  const { html } = await openPage(test, `/portal/usage?metric=bytes${query}`, { person });
  const [table = ""] = /<table class="breakdown".*?<\/table>/s.exec(html) ?? [];
  const items = table.matchAll(/class="swatch series-(\w+)".*?<bdi>(.*?)<\/bdi>/gs);
  return Object.fromEntries([...items].map(([, color = "", name = ""]) => [name, color]));
}

testApp("products have the color of their place in the catalogue, however much is used", async (test) => {
  const mara = await newOperator(test);
  for (const slug of ["tiles", "search"]) {
    await openPage(test, "/operator/products/new", { person: mara, form: { slug, name: `The ${slug}` } });
    test.advance(1_000);
  }
  const ada = await test.signUp();
  const { fullKey } = await createTestKey(test, ada);
  await record(test, fullKey, { productSlug: "zoo", quantity: 500 });
  await record(test, fullKey, { productSlug: "search", quantity: 10 });
  assert.deepEqual(await colorsOf(test, ada), { "The search": "2", "zoo": "3" });
  await record(test, fullKey, { productSlug: "another", quantity: 9_000 });
  await record(test, fullKey, { productSlug: "tiles", quantity: 1 });
  const all = { "The tiles": "1", "The search": "2", "zoo": "3", "another": "4" };
  assert.deepEqual(await colorsOf(test, ada), all);
  assert.deepEqual(await colorsOf(test, ada, "&range=7d"), all);
});

testApp("products without a color of their own share one", async (test) => {
  const ada = await test.signUp();
  const { fullKey } = await createTestKey(test, ada);
  for (const [index, productSlug] of ["e", "d", "c", "b", "a", "y", "x"].entries()) {
    await record(test, fullKey, { productSlug, quantity: 1 + index });
    test.advance(1_000);
  }
  const own = { e: "1", d: "2", c: "3", b: "4", a: "5" };
  assert.deepEqual(await colorsOf(test, ada), { x: "other", y: "other", ...own });
  const { html } = await openPage(test, "/portal/usage?metric=bytes", { person: ada });
  assert.match(html, /<dt class="series-other">2 others<\/dt><dd>13</);
});

testApp("quantities have the unit of the catalogue", async (test) => {
  const mara = await newOperator(test);
  const metric = { slug: "bytes", name: "Data transfer", unit: "bytes" };
  for (
    const [page, form] of [["new", { slug: "tiles", name: "Tiles" }], ["tiles/metrics/new", metric]] as const
  ) {
    await openPage(test, `/operator/products/${page}`, { person: mara, form });
  }
  const ada = await test.signUp();
  const { fullKey } = await createTestKey(test, ada);
  await record(test, fullKey, { productSlug: "tiles", quantity: 2_410_233_112_900 });
  const { html } = await openPage(test, "/portal/usage?metric=bytes", { person: ada });
  assert.match(html, /<h2>Data transfer per day<\/h2>/);
  assert.match(html, /aria-label="Sat, Nov 21: 2\.41 TB so far"/);
  assert.match(html, /<span class="quantity" title="2,410,233,112,900 bytes">2\.41<small> TB<\/small>/);
  const { html: records } = await openPage(test, "/portal/usage/records", { person: ada });
  const [href = ""] = /\/portal\/usage\/records\/use_\w+/.exec(records) ?? [];
  const { html: page } = await openPage(test, href, { person: ada });
  assert.match(page, /<h1>2,410,233,112,900 <bdi>bytes of data transfer<\/bdi><\/h1>/);
  assert.match(page, /productSlug=tiles"><bdi>Tiles<\/bdi>/);
});

testApp("examples record what the catalogue has, because other products may be rejected", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp();
  const recordedBy = async (path: string, form?: Record<string, string>) => {
    const { html } = await openPage(test, path, { person: ada, ...(form && { form }) });
    const text = html.replaceAll(/<[^>]*>/g, "").replaceAll("&quot;", '"');
    const [json = "null"] = /\{"productSlug".*?\}/.exec(text) ?? [];
    return JSON.parse(json);
  };
  const key = { name: "Production", expires: "never" };
  const madeUp = { productSlug: "my-product", metric: "requests", quantity: 1 };
  assert.deepEqual(await recordedBy("/portal/api-keys/new", key), madeUp);
  const metric = { slug: "loads", name: "Map loads" };
  for (const slug of ["tiles", "search"]) {
    await openPage(test, "/operator/products/new", { person: mara, form: { slug, name: slug } });
    await openPage(test, `/operator/products/${slug}/metrics/new`, { person: mara, form: metric });
    test.advance(1_000);
  }
  const usage = { productSlug: "tiles", metric: "loads", quantity: 1 };
  for (const path of ["/portal", "/portal/usage"]) assert.deepEqual(await recordedBy(path), usage, path);
  assert.deepEqual(await recordedBy("/portal/api-keys/new", key), usage);
});
