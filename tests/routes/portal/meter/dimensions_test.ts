// Usage by properties on the usage pages of the portal and the console, and the form that declares dimensions.
import assert from "node:assert/strict";
import { fillDimensions } from "../../../../services/meter/dimensions.ts";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { recordAll } from "../../../support/meter/usage.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { usagePage } from "../../../support/portal/usage_page.ts";

const linesOf = (html: string, label: string) => {
  const [table = ""] = new RegExp(`<table[^>]*aria-label="${label}">.*?</table>`, "s").exec(html) ?? [];
  return [...table.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].slice(1).map(([, row = ""]) =>
    row.replaceAll(/<[^>]*>/g, " ").replaceAll("\u2060", "").replaceAll(/\s+/g, " ").trim()
  );
};

testApp("shows usage by each property, filters by a value, and stacks the chart by them", async (test) => {
  const { fullToken } = await newOperatorToken(test, ["statements:read", "statements:write"]);
  const send = asOperator(test, fullToken);
  const metrics = [{ slug: "requests", name: "Requests", dimensions: [["region"], ["model", "type"]] }];
  await send("POST /products", { slug: "tiles", name: "Map tiles", metrics });
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const sent = (quantity: number, properties: Record<string, string>) => ({
    ...{ productSlug: "tiles", metric: "requests", quantity, properties },
  });
  await recordAll(test, {
    apiKey,
    records: [sent(6, { region: "eu", model: "<m>" }), sent(2, { region: "us" }), sent(1, { region: "eu" })],
  });
  const stacked = (await usagePage(test, person, { stack: "properties.region" })).html;
  assert.match(linesOf(stacked, "Region").join("\n"), /^eu 7 .*\nus 2 /);
  const { html } = await usagePage(test, person, { stack: "properties.model" });
  // Even where most usage has none, that is last.
  assert.match(linesOf(html, "Model").join("\n"), /^&lt;m&gt; 6 .*\nNot set 3 /);
  const { html: filtered, tabs } = await usagePage(test, person, { "properties.region": "eu" });
  // No dimension has the region and the model.
  assert.deepEqual(tabs, ["Product 1", "API key 1", "Region 1"]);
  assert.match(linesOf(filtered, "Product").join(), /Map tiles 7 /);
  assert.match(filtered, /usage\.csv\?[^"]*properties\.region=eu/);
  assert.match(filtered, /usage\/records\?metric=requests&amp;property=region%3Deu"/);
  const records = async (property: string) =>
    (await openPage(test, `/portal/usage/records?property=${encodeURIComponent(property)}`, { person })).html;
  const quantities = async (property: string) =>
    linesOf(await records(property), "Records").map((line) => / (\d) /.exec(line)?.[1]).sort();
  assert.deepEqual(await quantities("region=eu"), ["1", "6"]);
  assert.deepEqual(await quantities("model=(none)"), ["1", "2"]);
  assert.match(await records("eu"), /Enter a name and a value, such as region=eu\./);
  assert.match(stacked, /usage\.csv\?[^"]*groupBy=properties\.region%2Cmetric/);
  assert.match(stacked, /href="[^"]*properties\.region=us/);
  const { faults } = await usagePage(test, person, { "properties.city": "x" });
  assert.deepEqual(faults, ["properties.city: Usage isn&#39;t summed by city. Showing all values."]);
  assert.doesNotMatch((await usagePage(test, person, { stack: "properties.city" })).html, />City /);

  const mara = await newOperator(test);
  const inConsole = await openPage(
    test,
    `/operator/usage?organizationId=${person.organizationId}&stack=properties.region`,
    {
      person: mara,
    },
  );
  assert.match(linesOf(inConsole.html, "Region").join("\n"), /^eu 7 /);
  const edit = "/operator/products/tiles/metrics/requests/edit";
  assert.match((await openPage(test, edit, { person: mara })).html, /value="region, model \+ type"/);
  const form = (dimensions: string) => ({ name: "Requests", dimensions });
  const rejected = await openPage(test, edit, { person: mara, form: form("region, a b + c") });
  assert.match(rejected.html, /id="dimensions-error".*must be 1 to 64 letters/s);
  await openPage(test, edit, { person: mara, form: form(" type+model , region,") });
  const { body } = await send("GET /products/tiles");
  assert.deepEqual(body.product.metrics[0].dimensions, [["region"], ["model", "type"]]);
});

testApp("metrics without parts have no tables by property, and pages say what isn't known", async (test) => {
  const { fullToken } = await newOperatorToken(test, ["statements:read", "statements:write"]);
  const send = asOperator(test, fullToken);
  const metric = (slug: string, more: object) => ({ slug, name: slug, dimensions: [["user"]], ...more });
  const seats = metric("seats", { aggregation: "unique", uniqueProperty: "user" });
  const plain = { slug: "plain", name: "plain" };
  await send("POST /products", {
    slug: "tiles",
    name: "Map tiles",
    metrics: [seats, metric("level", {}), plain],
  });
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const records = ["seats", "level", "plain"].map((metric) => ({
    ...{ productSlug: "tiles", metric, quantity: 5, properties: { user: "ada" } },
  }));
  await recordAll(test, { apiKey, records });
  const page = async (query: Record<string, string>) => (await usagePage(test, person, query)).html;
  const stack = "properties.user";
  assert.match(linesOf(await page({ metric: "level", stack }), "User").join(), /^ada 5 /);
  const ofSeats = await page({ metric: "seats", stack });
  assert.deepEqual(linesOf(ofSeats, "User"), []);
  assert.match(ofSeats, />Distinct values of a property</);
  const unfilterable = await page({ metric: "seats", "properties.user": "ada" });
  assert.match(unfilterable, /This metric can&#39;t be filtered by properties/);
  assert.match(unfilterable, /href="\/portal\/usage\?range=month&amp;metric=seats"[^>]*>Clear filters/);
  assert.match(
    await page({ metric: "plain", "properties.user": "ada" }),
    /This metric can&#39;t be filtered by properties/,
  );
  const unused = await page({ metric: "level", "properties.user": "nobody" });
  assert.match(unused, /href="\/portal\/usage\?range=month"[^>]*>Clear filters/);

  const mara = await newOperator(test);
  const saved = await openPage(test, "/operator/products/tiles/metrics/level/edit", {
    person: mara,
    form: { name: "level", dimensions: "user", aggregation: "last" },
  });
  assert.equal(saved.location, "/operator/products/tiles/metrics?done=recounted");
  // Earlier usage isn't counted yet.
  assert.match(await page({ metric: "level" }), /Not all of it is known/);
  while (await fillDimensions(test.services, { restMs: 0 }));
  assert.doesNotMatch(await page({ metric: "level" }), /Not all of it is known/);
});
