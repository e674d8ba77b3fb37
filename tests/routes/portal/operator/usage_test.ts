// The console's usage page.
import assert from "node:assert/strict";
import { newId } from "../../../../domain/id.ts";
import { type TestApp, testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { hrefOf, usagePage } from "../../../support/portal/usage_page.ts";
import { newKeys, newOrganization, run } from "../../../support/people/scene.ts";

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
  assert.match(
    (await page("?stack=product")).text,
    /Product Total Share Change tiles 40 80\.0% New search 10 20\.0% New/,
  );
  assert.match(html, new RegExp(`href="/operator/usage\\?range=month&amp;organizationId=${maps}"`));
  assert.match(
    html,
    /href="\/api\/operator\/usage\.csv\?from=[^"]*groupBy=organization%2CproductSlug%2Cmetric"/,
  );

  assert.match((await page("?metric=bytes")).text, /Bytes per day/);
  assert.match((await page("?productSlug=search")).text, /Requests 10 New Requests per day/);
  assert.match((await page("?metric=nope")).text, /No data for “nope”\./);
  assert.match((await page("?range=90d&window=hour")).text, /Requests per day/);
  assert.match((await page("?from=nonsense&to=2026-11-01")).text, /Choose another range\./);
  assert.match((await page("?from=2020-01-01&to=2020-01-31")).text, /No usage in this range/);
});

/** Millionths of a decimal text as pages show it. */
function micros(text = ""): bigint {
  const [whole = "", fraction = ""] = text.split(" ", 1).join("").replaceAll(",", "").split(".");
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
}

/** Those of a sum of the API. */
const microsOf = (sum: number) => micros(sum.toFixed(6));

const sumOf = (values: readonly bigint[]) => values.reduce((sum, value) => sum + value, 0n);

/** Records usage of seven organizations in October and November, the first two on a plan, and deletes the last. */
async function sevenOrganizations(test: TestApp) {
  const mara = await newOperator(test);
  const { fullToken: apiKey } = await newOperatorToken(test);
  const send = async (path: string, json?: unknown) => {
    const response = await test.send(path, { apiKey, ...(json === undefined ? {} : { json }) });
    const body = await response.json();
    assert.ok(response.ok, JSON.stringify(body));
    return body;
  };
  const { plan } = await send("/api/operator/plans", { name: "Scale", limits: [] });
  const ids: string[] = [];
  for (const [index, name] of ["Ada", "Bly", "Cid", "Dot", "Eve", "Ada", "Gus"].entries()) {
    const { organization: { id } } = await send("/api/operator/organizations", {
      name: `${name} Maps`,
      externalId: `cus_${index}`,
      ...(index < 2 ? { planId: plan.id } : {}),
    });
    ids.push(id);
    const [key] = await newKeys(test, id, 1);
    const record = (month: number, day: number, quantity: number, productSlug = "tiles") => ({
      apiKeyId: key?.id,
      productSlug,
      metric: "requests",
      quantity,
      timestamp: `2026-${month}-0${day}T10:00:00Z`,
    });
    const large = 1_000 / (index + 1);
    const quantity = Math.round(large * 1e6) / 1e6;
    await send("/api/operator/usage", {
      records: [
        record(11, 1, quantity),
        record(11, 1 + index, 0.000001, "search"),
        record(10, 2, 100 * index),
      ],
    });
  }
  const [, , , , , , last = ""] = ids;
  await run(test, "UPDATE organizations SET deleted_at = ? WHERE id = ?", test.now(), last);
  const page = (query = "") => usagePage(test, mara, `${path}${query}`);
  return { ids, plan, send, page };
}

testApp(
  "a chart stacked by organization adds up exactly, also with a plan and deleted organizations",
  async (test) => {
    const { plan, send, page } = await sevenOrganizations(test);
    const sums = async (query: string) => {
      const { data } = await send(
        `/api/operator/usage?from=2026-11-01&to=2026-12-01&metric=requests&${query}`,
      );
      return data as { start: string; sum: number }[];
    };
    for (
      const { scope, series } of [
        { scope: "", series: ["Ada Maps (cus_0)", "Bly Maps", "Cid Maps", "Dot Maps", "Eve Maps"] },
        { scope: `planId=${plan.id}`, series: ["Ada Maps", "Bly Maps"] },
      ]
    ) {
      const { html, numbers, organizations, sum } = await page(`?${scope}`);
      for (const row of numbers) {
        const [total = "", ...parts] = row.slice(1).toReversed();
        assert.equal(sumOf(parts.map(micros)), micros(total), row.join(" "));
      }
      assert.deepEqual(
        [...html.matchAll(/<th scope="col" class="num"><bdi>(.*?)<\/bdi>/g)].map(([, name]) => name),
        scope === "" ? [...series, "2 others"] : series,
      );
      const ofTotals = numbers.map((row) => micros(row.at(-1)));
      assert.equal(sumOf(ofTotals), micros(sum));
      const days = new Map(
        (await sums(`window=day&${scope}`)).map(({ start, sum }) => [start.slice(0, 10), sum]),
      );
      assert.deepEqual(
        ofTotals,
        numbers.map((_, index) => microsOf(days.get(`2026-11-${String(index + 1).padStart(2, "0")}`) ?? 0)),
      );
      assert.equal(sumOf(organizations.map(([, total]) => micros(total))), micros(sum));
      const byProduct = await page(`?stack=product&${scope}`);
      assert.deepEqual(byProduct.numbers.map((row) => row.at(-1)), numbers.map((row) => row.at(-1)));
      const csv = await test.send(hrefOf(html, "Download CSV"), {
        apiKey: (await newOperatorToken(test)).fullToken,
      });
      assert.equal(
        new Set((await csv.text()).trim().split("\n").slice(1).map((row) => row.split(",")[2])).size,
        scope === "" ? 6 : 2,
      );
    }
  },
);

testApp("one organization's usage is that of its keys, and unknown filters are notices", async (test) => {
  const { ids: [ada = ""], plan, page } = await sevenOrganizations(test);
  const one = await page(`?organizationId=${ada}`);
  assert.match(one.label, /^Ada Maps\. November 2026 so far, in UTC\.$/);
  assert.deepEqual([one.sum, one.keys.length, one.organizations.length], ["1,000.000001", 0, 0]);
  assert.deepEqual(one.tabs, ["Product 2", "API key 1"]);
  assert.match(one.html, new RegExp(`href="/operator/organizations/${ada}"[^>]*>View organization<`));
  assert.deepEqual(
    new Set(
      [...one.html.matchAll(/<form method="get".*?<button [^>]*>(.*?)<\/button>/gs)].map(([, words]) =>
        words
      ),
    ),
    new Set(["Apply"]),
  );
  const byKey = await page(`?organizationId=${ada}&stack=key`);
  const filtered = new URL(hrefOf(byKey.html, "Key"), test.config.baseUrl).searchParams;
  assert.equal((await page(`?apiKey=${filtered.get("apiKey")}`)).label, one.label);
  for (const search of ["cus_0", ada, "external:cus_0"]) {
    assert.equal((await page(`?organization=${search}`)).label, one.label, search);
  }
  assert.match((await page("?organization=Bly%20M")).label, /^Bly Maps\. /);
  const found = await page(`?organization=maps&planId=${plan.id}&stack=product`);
  assert.match(found.html, /aria-label="Organizations that match “maps”"/);
  const link =
    new URL(hrefOf(found.html, "<bdi[^>]*>Bly Maps \\(cus_1\\)"), test.config.baseUrl).searchParams;
  assert.deepEqual([link.get("stack"), link.get("planId")], ["product", plan.id]);
  assert.doesNotMatch(found.html, /Cid Maps/);
  const faults = await page(
    "?organizationId=org_1&planId=plan_1&productSlug=%2A&apiKey=key_1&metric=%2A&stack=x&range=x&window=x&compare=x",
  );
  assert.deepEqual(faults.faults.toSorted(), [
    "apiKey: Key not found. Showing all keys.",
    "compare: Unknown comparison. Comparing with the previous period.",
    "metric: No data for “*”.",
    "organizationId: Organization not found. Showing all organizations.",
    "planId: Plan not found. Showing all plans.",
    "productSlug: No data for “*”. Showing all products.",
    "range: Unknown range. Showing the default range.",
    "stack: Unknown chart. Showing the default chart.",
    "window: Unknown interval. Showing the default interval.",
  ]);
  assert.deepEqual((await page("?organization=nobody")).faults, [
    "organization: No organization matches “nobody”. Showing all organizations.",
  ]);
});

testApp("usage of an invalid or unknown plan is an error of the API", async (test) => {
  const { fullToken: apiKey } = await newOperatorToken(test);
  const get = (planId: string) => test.send(`/api/operator/usage?planId=${planId}`, { apiKey });
  const invalid = await get("scale");
  assert.equal(invalid.status, 422);
  assert.match(await invalid.text(), /"planId","message":"must be the id of a plan\."/);
  assert.equal((await get(newId("plan"))).status, 404);
});

testApp("the chart's strip and tables compare with the chosen days", async (test) => {
  const { page } = await sevenOrganizations(test);
  const custom = await page("?compare=custom&compareFrom=2026-10-02&compareTo=2026-10-02");
  assert.match(custom.html, /vs Oct 2</);
  const bly = custom.organizations.find(([name]) => name === "Bly Maps");
  assert.deepEqual([bly?.[1], bly?.[3]], ["500.000001", "400% more"]);
  const year = await page("?compare=last-year");
  assert.match(year.html, /vs Nov 1–21, 2025</);
  assert.equal(year.change, "New");
});
