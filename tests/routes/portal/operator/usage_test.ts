// The console's usage page.
import assert from "node:assert/strict";
import { testApp } from "../../../support/app.ts";
import { newOperator } from "../../../support/console.ts";
import { newOperatorToken } from "../../../support/operators.ts";
import { openPage } from "../../../support/pages.ts";
import { newOrganization } from "../../../support/world.ts";

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
  assert.match(text, /requests 50 No usage during October 1–21 Records 3 .*Active organizations 2/);
  assert.match(
    text,
    /Organization Share requests Records Northwind Maps 80\.0% 40 2 Cobalt Rides 20\.0% 10 1/,
  );
  assert.match(text, /Product Share requests Records tiles 80\.0% 40 2 search 20\.0% 10 1/);
  assert.match(html, new RegExp(`href="/operator/organizations/${maps}"`));
  assert.match(
    html,
    /href="\/api\/operator\/usage\.csv\?from=[^"]*groupBy=organization%2CproductSlug%2Cmetric"/,
  );

  assert.match((await page("?metric=bytes")).text, /bytes 5,000 /);
  assert.match((await page("?productSlug=search")).text, /requests 10 .*Active organizations 1/);
  assert.match((await page("?metric=nope")).text, /No data for “nope”\./);
  assert.match((await page("?range=90d&window=hour")).text, /Too many hours for one page\. Showing days\./);
  assert.match((await page("?from=nonsense&to=2026-11-01")).text, /Fix the fields marked above\./);
  assert.match((await page("?from=2020-01-01&to=2020-01-31")).text, /No usage in this range/);
});
