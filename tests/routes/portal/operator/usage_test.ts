// The console's usage page.
import assert from "node:assert/strict";
import { testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { newOrganization } from "../../../support/people/scene.ts";

const path = "/operator/usage";
const textOf = (html: string) =>
  html.replaceAll(/<[^>]*>/g, " ").replaceAll("\u2060", "").replaceAll(/\s+/g, " ");

testApp("the usage page sums all organizations, and names the busiest and the products", async (test) => {
  const mara = await newOperator(test);
  const { fullToken } = await newOperatorToken(test);
  const [maps, rides] = [
    await newOrganization(test, "Northwind Maps"),
    await newOrganization(test, "Cobalt Rides"),
  ];
  const record = (organizationId: string, productSlug: string, metric: string, quantity: number) => ({
    organizationId,
    productSlug,
    metric,
    quantity,
  });
  const response = await test.send("/api/operator/usage", {
    apiKey: fullToken,
    json: {
      records: [
        record(maps, "tiles", "requests", 30),
        record(maps, "search", "requests", 10),
        record(rides, "tiles", "requests", 10),
        record(rides, "tiles", "bytes", 5000),
      ],
    },
  });
  assert.equal(response.status, 201, await response.text());
  const page = async (query = "") => {
    const { status, html } = await openPage(test, `${path}${query}`, { person: mara });
    assert.equal(status, 200);
    return { html, text: textOf(html) };
  };
  // Requests have the most records.
  const { html, text } = await page();
  assert.match(text, /Bytes 5,000 New Requests 50 New Requests per day/);
  assert.match(
    text,
    /Organization Total Share Change Northwind Maps 40 80\.0% New Cobalt Rides 10 20\.0% New/,
  );
  assert.match(text, /Product Total Share Change tiles 40 80\.0% New search 10 20\.0% New/);
  assert.match(html, new RegExp(`href="/operator/organizations/${maps}"`));
  assert.match(
    html,
    /href="\/api\/operator\/usage\.csv\?from=[^"]*groupBy=organization%2CproductSlug%2Cmetric"/,
  );

  assert.match((await page("?metric=bytes")).text, /Bytes per day/);
  assert.match((await page("?productSlug=search")).text, /Requests 10 New Requests per day/);
  assert.match((await page("?metric=nope")).text, /No data for “nope”\./);
  assert.match((await page("?range=90d&window=hour")).text, /Too many hours for one page\. Showing days\./);
  assert.match((await page("?from=nonsense&to=2026-11-01")).text, /Choose another range\./);
  assert.match((await page("?from=2020-01-01&to=2020-01-31")).text, /No usage in this range/);
});
