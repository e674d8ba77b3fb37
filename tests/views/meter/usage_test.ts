// The page of usage: links and a form that keep what was chosen, the same numbers in the drawing and the table.
import assert from "node:assert/strict";
import { type UsageAddress, usageHref, usagePage, type UsagePageProps } from "../../../views/meter/usage.tsx";
import { usageProps } from "../sample.ts";

const address: UsageAddress = {
  range: "month",
  days: { from: "2026-11-01", to: "2026-11-30" },
  window: "week",
  timezone: "Europe/Berlin",
  filters: { productSlug: "a b", metric: "requests", apiKey: null },
};
const sample = usageProps("x");
const props = { ...sample, address, unit: "week", faults: {} } as const;
const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, "").replaceAll("\u2060", "");

async function htmlOf(page: UsagePageProps): Promise<string> {
  return String(await usagePage(page)).replaceAll(/ +>/g, ">");
}

Deno.test("usageHref() has everything that was chosen in the address, and no defaults", () => {
  assert.equal(
    usageHref(address),
    "/portal/usage?range=month&window=week&timezone=Europe%2FBerlin&productSlug=a+b&metric=requests",
  );
  const plain = { productSlug: null, metric: null, apiKey: null };
  assert.equal(
    usageHref({ ...address, range: "custom", window: null, timezone: "UTC", filters: plain }),
    "/portal/usage?range=custom&from=2026-11-01&to=2026-11-30",
  );
});

Deno.test("usagePage() keeps filters and zone in the links to other ranges; each has its usual windows", async () => {
  const html = await htmlOf(props);
  const kept = "timezone=Europe%2FBerlin&amp;productSlug=a+b&amp;metric=requests";
  assert.ok(html.includes(`<a href="/portal/usage?range=7d&amp;${kept}">7 days</a>`));
  assert.ok(
    html.includes(`<a href="/portal/usage?range=month&amp;${kept}" aria-current="true">This month</a>`),
  );
  const days = "range=custom&amp;from=2026-11-01&amp;to=2026-11-30&amp;window=week";
  assert.ok(html.includes(`<a href="/portal/usage?${days}&amp;${kept}">Other days</a>`));
});

Deno.test("usagePage() has all that was chosen in its form, and days only for other days", async () => {
  const html = await htmlOf(props);
  assert.match(html, /<input type="hidden" name="range" value="month"\/?>/);
  for (const chosen of ["a b", "requests", "week", "Europe/Berlin"]) {
    assert.ok(html.includes(`<option value="${chosen}" selected`), chosen);
  }
  assert.doesNotMatch(html, /type="date"/);
  const custom = await htmlOf({ ...props, address: { ...address, range: "custom" } });
  assert.match(custom, /<input type="date" id="from" name="from" value="2026-11-01"/);
  assert.match(custom, /<input type="date" id="to" name="to" value="2026-11-30"/);
  assert.match(custom, /<div class="show"><button type="submit"/);
});

Deno.test("usagePage() offers time zones by continent, UTC first", async () => {
  const html = await htmlOf(props);
  const [select = ""] = /<select id="timezone".*?<\/select>/s.exec(html) ?? [];
  assert.match(select, /^<select[^>]*><option value="UTC"[^>]*>UTC<\/option><optgroup label="Europe">/);
  assert.match(
    select,
    /<optgroup label="America"><option value="America\/Argentina\/Buenos_Aires">Argentina\/Buenos Aires</,
  );
});

for (const field of ["from", "to", "window", "metric", "apiKey", "timezone"] as const) {
  Deno.test(`usagePage() says what is wrong with ${field} beside it`, async () => {
    const html = await htmlOf({
      ...props,
      address: { ...address, range: "custom" },
      faults: { [field]: "That was not taken." },
    });
    const [input = ""] = new RegExp(`<(?:input|select)[^>]* id="?${field}"[^>]*>`).exec(html) ?? [];
    assert.match(input, /aria-invalid="true"/);
    assert.match(input, new RegExp(`aria-describedby="${field}-error"`));
    assert.equal(html.match(/That was not taken\./g)?.length, 1);
  });
}

Deno.test("usagePage() has the numbers of the drawing in a table, exact", async () => {
  const html = await htmlOf(props);
  const [table = ""] = /<details class="numbers">.*?<\/details>/s.exec(html) ?? [];
  const cells = [...table.matchAll(/<td class="num">(.*?)<\/td>/g)].map(([, text]) => text);
  assert.deepEqual(cells, ["1,000", "200", "1,200", "0", "300.5", "300.5"]);
  assert.match(html, /<svg class="chart" role="img" aria-labelledby="chart-title chart-description">/);
});

Deno.test("usagePage() leads to the file with the chart's numbers, past htmx", async () => {
  const html = await htmlOf(props);
  assert.match(html, /<a class="button plain" href="\/api\/portal\/usage\.csv\?metric=x" hx-boost="false">/);
  assert.doesNotMatch(await htmlOf({ ...props, report: null }), /usage\.csv/);
});

Deno.test("usagePage() names the most active keys with links that choose them, and counts the others", async () => {
  const html = await htmlOf(props);
  const [table = ""] = /<table[^>]*aria-label="Most active keys">.*?<\/table>/s.exec(html) ?? [];
  assert.match(table, /<a class="name" href="\/portal\/usage\?apiKey=x"><bdi>x<\/bdi><\/a>/);
  assert.match(table, /<rect class="share-part" width="66.7%"/);
  assert.match(textOf(table), /66\.7 %1,5004/);
  assert.match(textOf(table), /12 other keys/);
  assert.doesNotMatch(html, /Show all keys/);
  const one = { ...props, address: { ...address, filters: { ...address.filters, apiKey: "key_1" } } };
  assert.match(await htmlOf(one), /metric=requests">Show all keys<\/a>/);
});

Deno.test("usagePage() shows a voided record as voided, when and why, its quantity exact", async () => {
  const html = await htmlOf(props);
  assert.match(html, /<tr role="row" class="over">/);
  assert.match(html, /9,007,199,254,740,991\.000001/);
  assert.match(html, /title="Voided on 21 Nov 2026, 15:04:00 Europe\/Berlin"/);
  assert.match(html, /<span class="badge off">Voided<\/span><span class="tiny">x<\/span>/);
});

Deno.test("usagePage() reads times from the clock of the zone", async () => {
  const html = await htmlOf(props);
  assert.ok(html.includes("When, Europe/Berlin"));
  assert.match(
    html,
    /<time datetime="2026-11-21T14:03:11.000Z" title="21 Nov 2026, 15:03:11 Europe\/Berlin">21 Nov, 15:03:11</,
  );
});

Deno.test("usagePage() shows how to send the first record, and nothing else, when there never was one", async () => {
  const html = await htmlOf({ ...props, example: { curl: "curl https://auth.example.com" } });
  assert.match(html, /<pre id="first-record">curl https:\/\/auth\.example\.com<\/pre>/);
  assert.ok(!html.includes(`class="chart"`) && !html.includes("<select") && !html.includes("usage.csv"));
});

Deno.test("usagePage() refreshes itself by its own address; a page of many bars seldom", async () => {
  const html = await htmlOf(props);
  const href = usageHref(address).replaceAll("&", "&amp;");
  assert.ok(html.includes(`<div id="live" class="live" hx-get="${href}"`));
  assert.match(html, /hx-trigger="every 10s"/);
  const [window] = sample.report.chart.windows;
  const windows = Array.from({ length: 1000 }, () => window ?? assert.fail("the sample has no windows"));
  const many = { ...sample.report, chart: { ...sample.report.chart, windows } };
  assert.match(await htmlOf({ ...props, report: many }), /hx-trigger="every 60s"/);
});

for (
  const [percent, isRunning, words] of [
    [12.4, false, "12.4 % more than in 1–31 October"],
    [-3, true, "3 % less than at this point of 1–31 October"],
    [0, false, "As much as in 1–31 October"],
    [null, true, "Nothing at this point of 1–31 October"],
  ] as const
) {
  Deno.test(`usagePage() says "${words}" of a change of ${percent}`, async () => {
    const change = { percent, than: "1–31 October", isRunning };
    const figures = { ...sample.report.figures, change };
    const html = await htmlOf({ ...props, report: { ...sample.report, figures } });
    assert.ok(textOf(html).includes(words));
  });
}
