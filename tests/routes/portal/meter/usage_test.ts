// The usage page over HTTP: its address determines what it shows, links and the form keep the address, and no address causes
// an error.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { usageWords } from "../../../support/portal/words/usage.ts";
import { recordOne, voidOne } from "../../../support/meter/usage.ts";
import { hrefOf, usagePage } from "../../../support/portal/usage_page.ts";

testApp("windows and dates are in the chosen time zone", async (test) => {
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  // In Berlin the first is still in October, and the second is in the repeated hour of the day with 25 hours.
  await recordOne(test, fullKey, { quantity: 5, timestamp: "2026-10-31T22:30:00Z" });
  await recordOne(test, fullKey, { quantity: 7, timestamp: "2026-10-25T01:30:00Z" });
  const utc = await usagePage(test, person, { range: "custom", from: "2026-10-31", to: "2026-11-01" });
  assert.deepEqual(utc.numbers.find(([, sum]) => sum !== "0"), ["Oct 31, 22:00", "5"]);
  const zone = { timezone: "Europe/Berlin" };
  const month = await usagePage(test, person, { range: "last-month", ...zone });
  assert.match(month.label, /^October 2026, in Europe\/Berlin\./);
  assert.equal(month.sum, "12");
  assert.deepEqual(month.numbers.filter(([, sum]) => sum !== "0"), [["Sun, Oct 25", "7"], [
    "Sat, Oct 31",
    "5",
  ]]);
  assert.equal(month.numbers.length, 31);
  const day = await usagePage(test, person, { from: "2026-10-25", to: "2026-10-25", ...zone });
  assert.equal(day.numbers.length, 25);
  assert.deepEqual(day.numbers.slice(2, 4), [["Oct 25, 02:00 (UTC+02:00)", "0"], [
    "Oct 25, 02:00 (UTC+01:00)",
    "7",
  ]]);
  assert.equal((await usagePage(test, person, { from: "2026-11-01", to: "2026-11-21", ...zone })).sum, "0");
});

testApp("a product without the chosen metric shows its own, with an error below the field", async (test) => {
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  for (const quantity of [1, 2]) await recordOne(test, fullKey, { quantity });
  await recordOne(test, fullKey, { productSlug: "search", metric: "bytes", quantity: 70 });
  const first = await usagePage(test, person);
  assert.deepEqual([first.metric, first.sum], ["Requests", "3"]);
  assert.deepEqual(first.strip, [["Bytes", "70"], ["Requests", "3"]]);
  const search = await usagePage(test, person, { productSlug: "search", metric: "requests" });
  assert.deepEqual([search.strip, search.sum], [[["Bytes", "70"]], "70"]);
  assert.deepEqual(search.faults, [`metric: ${usageWords.noData("requests")}`]);
  const unknown = await usagePage(test, person, { productSlug: "nothing", metric: "requests" });
  assert.deepEqual([unknown.sum, unknown.faults], ["0", []]);
  assert.equal((await usagePage(test, person, hrefOf(unknown.html, "Clear filters"))).sum, "3");
});

testApp("the CSV link has the range, windows and filters of the page", async (test) => {
  const person = await test.signUp();
  const { id, fullKey } = await createTestKey(test, person);
  await recordOne(test, fullKey, { quantity: 2.5 });
  const query = {
    range: "7d",
    window: "hour",
    productSlug: "tiles",
    apiKey: id,
    timezone: "America/New_York",
  };
  const { html, numbers } = await usagePage(test, person, { ...query, numbers: "1" });
  const csv = new URL(hrefOf(html, "Download CSV"), test.config.baseUrl);
  assert.equal(csv.pathname, "/api/portal/usage.csv");
  assert.deepEqual(Object.fromEntries(csv.searchParams), {
    from: "2026-11-15T05:00:00.000Z",
    to: "2026-11-22T05:00:00.000Z",
    window: "hour",
    productSlug: "tiles",
    metric: "requests",
    apiKey: id,
    groupBy: "productSlug,metric",
    mergeRotations: "true",
    timezone: "America/New_York",
  });
  const file = await test.send(csv.pathname + csv.search, { cookie: person.cookie });
  // The link has no attribute “download”, which would save an error as a file.
  assert.match(file.headers.get("content-disposition") ?? "", /^attachment/);
  const [, ...lines] = (await file.text()).trim().split("\r\n");
  assert.deepEqual(lines, [
    "2026-11-21T09:00:00.000-05:00,2026-11-21T10:00:00.000-05:00,tiles,requests,2.5,1,2.5,2.5",
  ]);
  assert.deepEqual(numbers.filter(([, sum]) => sum !== "0"), [["Nov 21, 09:00, so far", "2.5"]]);
});

testApp("single records of what is shown are a click away", async (test) => {
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  const other = await createTestKey(test, person, { name: "Import" });
  const { id } = await recordOne(test, fullKey, { quantity: 1234 });
  await recordOne(test, fullKey, { quantity: 2 });
  await recordOne(test, fullKey, { metric: "bytes", quantity: 777 });
  await recordOne(test, other.fullKey, { quantity: 5 });
  await voidOne(test, { apiKey: fullKey, id, reason: "Sent twice." });
  const opened = async (query: Record<string, string>) => {
    const { html, sum } = await usagePage(test, person, query);
    const records = await openPage(test, hrefOf(html, "Open records"), { person });
    return [sum, ...["1,234", "2", "777", "5"].filter((one) => records.html.includes(`>${one}<`))];
  };
  assert.deepEqual(await opened({ metric: "requests" }), ["7", "1,234", "2", "5"]);
  assert.deepEqual(await opened({ apiKey: other.id }), ["5", "5"]);
  assert.deepEqual(await opened({ metric: "bytes" }), ["777", "777"]);
});

testApp("links and the form keep all filters", async (test) => {
  const person = await test.signUp();
  const { id, fullKey } = await createTestKey(test, person);
  await recordOne(test, fullKey);
  const query = {
    range: "custom",
    from: "2026-11-02",
    to: "2026-11-21",
    window: "week",
    productSlug: "tiles",
    metric: "requests",
    apiKey: id,
    timezone: "Europe/Berlin",
    compare: "last-year",
  };
  const { html, chosen, sum } = await usagePage(test, person, query);
  assert.equal(sum, "1");
  const { range, from, to, metric, compare, ...selects } = query;
  assert.deepEqual(chosen, selects);
  for (const [name, value] of Object.entries({ range, from, to })) {
    assert.match(html, new RegExp(`name="${name}" value="${value}"`));
  }
  const { window: _window, ...others } = { metric, compare, ...selects };
  const seven = new URL(hrefOf(html, "7 days"), test.config.baseUrl);
  assert.deepEqual(Object.fromEntries(seven.searchParams), { range: "7d", ...others });
  const live = /<div id="live"[^>]* hx-get="([^"]+)"/.exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
  assert.deepEqual(Object.fromEntries(new URL(live, test.config.baseUrl).searchParams), query);
});

testApp("invalid days cause errors below their fields, which keep the input", async (test) => {
  const person = await test.signUp();
  await recordOne(test, (await createTestKey(test, person)).fullKey);
  const reversed = await usagePage(test, person, { range: "custom", from: "2026-11-21", to: "2026-11-01" });
  assert.deepEqual(reversed.faults, [`to: ${usageWords.endBeforeStart}`]);
  assert.ok(reversed.html.includes("Nothing to show"));
  assert.match(reversed.html, /name="from" value="2026-11-21"/);
  assert.doesNotMatch(reversed.html, /usage\.csv|class="chart"/);
  const evil = `"><script>alert(1)</script>`;
  const { html, faults } = await usagePage(test, person, {
    from: evil,
    to: evil,
    timezone: evil,
    apiKey: evil,
  });
  assert.equal(faults.length, 4);
  assert.doesNotMatch(html, /<script>alert/);
});

testApp("no address causes an error page", async (test) => {
  const person = await test.signUp();
  await recordOne(test, (await createTestKey(test, person)).fullKey);
  const values = [
    "",
    "x",
    "\0",
    "%",
    "’; DROP TABLE",
    "-1",
    "2026-13-45",
    "9".repeat(300),
    "../..",
    "\u202e🗝",
  ];
  const fields = ["range", "from", "to", "window", "productSlug", "metric", "apiKey", "timezone"];
  for (const value of values) {
    for (const field of fields) await usagePage(test, person, { [field]: value });
    await usagePage(test, person, Object.fromEntries(fields.map((field) => [field, value])));
  }
  // An invalid product is ignored.
  const { chosen, sum } = await usagePage(test, person, { productSlug: "\u202e🗝" });
  assert.deepEqual([chosen["productSlug"], sum], ["", "1"]);
  for (const query of ["range=%ED%A0%80&metric=%ff&from=%", "range=7d&range=24h&from=&from=", "=&&=&range"]) {
    await usagePage(test, person, `/portal/usage?${query}`);
  }
});

testApp("a key of another organization is ignored and its name is not shown", async (test) => {
  const person = await test.signUp();
  await recordOne(test, (await createTestKey(test, person)).fullKey, { quantity: 3 });
  const stranger = await test.signUp();
  const theirs = await createTestKey(test, stranger, { name: "Secret project" });
  await recordOne(test, theirs.fullKey, { quantity: 50 });
  const { html, sum, faults } = await usagePage(test, person, { apiKey: theirs.id });
  assert.equal(sum, "3");
  assert.deepEqual(faults, [`apiKey: ${usageWords.keyNotFound}`]);
  assert.doesNotMatch(html, /Secret project/);
});

testApp("the page has the list of time zones once, and its updates don't have it", async (test) => {
  const person = await test.signUp();
  await recordOne(test, (await createTestKey(test, person)).fullKey, { quantity: 3 });
  const zones = async (headers: Record<string, string>) => {
    const html = await (await test.send("/portal/usage", { cookie: person.cookie, headers })).text();
    assert.match(html, /<div id="live"/);
    return html.split('<option value="Europe/Berlin"').length - 1;
  };
  assert.equal(await zones({}), 1);
  assert.equal(await zones({ "HX-Request": "true", "HX-Boosted": "true" }), 1);
  assert.equal(await zones({ "HX-Request": "true" }), 0);
});

testApp("operators see a customer's usage page, and choose nothing for its members", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada");
  const base = `/operator/organizations/${ada.organizationId}`;
  const open = async (query = "") =>
    (await openPage(test, `${base}/usage${query}`, {
      person: mara,
      headers: { "Sec-Fetch-Site": "same-origin" },
    }))
      .html;
  assert.doesNotMatch(await open(), /curl|"\/portal\/api-keys\/new/);
  const { fullKey, id } = await createTestKey(test, ada);
  await recordOne(test, fullKey, { metric: "requests", quantity: 4711 });
  await recordOne(test, fullKey, { metric: "routes", quantity: 17 });
  await recordOne(test, fullKey, { metric: "routes", quantity: 4 });
  const html = await open("?timezone=Europe/Berlin&metric=requests");
  assert.match(html, /Ada’s organization[^]*4,711/);
  assert.ok(html.includes(`href="${base}/usage/records?`));
  assert.ok((await open(`?apiKey=${id}`)).includes(`href="${base}/api-keys/${id}"`));
  assert.doesNotMatch(html, /"\/(api\/)?portal\/usage/);
  const [csv = ""] = /\/api\/operator\/usage\.csv[^"]*/.exec(html) ?? [];
  const lines = await (await test.send(csv.replaceAll("&amp;", "&"), { cookie: mara.cookie })).text();
  assert.match(lines, /requests,4711,1/);
  const chosen = await test.opened.database.readFirst<{ count: number }>(sql`SELECT
    (SELECT count(*) FROM users WHERE usage_timezone IS NOT NULL) +
    (SELECT count(*) FROM memberships WHERE usage_metric IS NOT NULL) AS count`);
  assert.equal(chosen?.count, 0);
});
