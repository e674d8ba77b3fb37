// The usage page: links and the form keep all filters, and the table has the same numbers as the chart.
import assert from "node:assert/strict";
import { usagePage, type UsagePageProps } from "../../../views/meter/usage.tsx";
import { type UsageAddress, usageHref } from "../../../views/meter/usage_filters.tsx";
import { usageProps } from "../sample.ts";
import { usageWords } from "../../support/words/usage.ts";

const address: UsageAddress = {
  path: "/portal/usage",
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

Deno.test("usageHref() includes every filter and omits defaults", () => {
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

Deno.test("usagePage() keeps filters and the time zone in links to other ranges, but not the windows", async () => {
  const html = await htmlOf(props);
  const kept = "timezone=Europe%2FBerlin&amp;productSlug=a+b&amp;metric=requests";
  assert.ok(html.includes(`<a href="/portal/usage?range=7d&amp;${kept}">7 days</a>`));
  assert.ok(
    html.includes(`<a href="/portal/usage?range=month&amp;${kept}" aria-current="true">This month</a>`),
  );
  const days = "range=custom&amp;from=2026-11-01&amp;to=2026-11-30&amp;window=week";
  assert.ok(html.includes(`<a href="/portal/usage?${days}&amp;${kept}">${usageWords.customRange}</a>`));
});

Deno.test("usagePage() fills in its form, with days only for custom ranges", async () => {
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

Deno.test("usagePage() lists time zones by continent, UTC first", async () => {
  const html = await htmlOf(props);
  const [select = ""] = /<select id="timezone".*?<\/select>/s.exec(html) ?? [];
  assert.match(select, /^<select[^>]*><option value="UTC"[^>]*>UTC<\/option><optgroup label="Europe">/);
  assert.match(
    select,
    /<optgroup label="America"><option value="America\/Argentina\/Buenos_Aires">Argentina\/Buenos Aires</,
  );
});

for (const field of ["from", "to", "window", "metric", "apiKey", "timezone"] as const) {
  Deno.test(`usagePage() shows an error below ${field}`, async () => {
    const html = await htmlOf({
      ...props,
      address: { ...address, range: "custom" },
      faults: { [field]: "Invalid value." },
    });
    const [input = ""] = new RegExp(`<(?:input|select)[^>]* id="?${field}"[^>]*>`).exec(html) ?? [];
    assert.match(input, /aria-invalid="true"/);
    assert.match(input, new RegExp(`aria-describedby="${field}-error"`));
    assert.equal(html.match(/Invalid value\./g)?.length, 1);
  });
}

Deno.test("usagePage() shows the exact numbers of the chart in a table", async () => {
  const html = await htmlOf(props);
  const [table = ""] = /<details class="numbers">.*?<\/details>/s.exec(html) ?? [];
  const cells = [...table.matchAll(/<td class="num">(.*?)<\/td>/g)].map(([, text]) => text);
  assert.deepEqual(cells, ["1,000", "200", "1,200", "0", "300.5", "300.5"]);
  assert.match(html, /<svg class="chart" role="img" aria-labelledby="chart-title chart-description">/);
});

Deno.test("usagePage() links to the chart's numbers as CSV, without htmx", async () => {
  const html = await htmlOf(props);
  assert.match(html, /<a class="button plain" href="\/api\/portal\/usage\.csv\?metric=x" hx-boost="false">/);
  assert.doesNotMatch(await htmlOf({ ...props, report: null }), /usage\.csv/);
});

Deno.test("usagePage() links to the most active keys and counts the others", async () => {
  const html = await htmlOf(props);
  const [table = ""] = /<table[^>]*aria-label="Most active keys">.*?<\/table>/s.exec(html) ?? [];
  assert.match(table, /<a class="name" href="\/portal\/usage\?apiKey=x"><bdi>x<\/bdi><\/a>/);
  assert.match(table, /<rect class="share-part" width="66.7%"/);
  assert.match(textOf(table), /66\.7%1,5004/);
  assert.match(textOf(table), /12 other keys/);
  assert.ok(!html.includes(usageWords.showAllKeys));
  const one = { ...props, address: { ...address, filters: { ...address.filters, apiKey: "key_1" } } };
  assert.ok((await htmlOf(one)).includes(`metric=requests">${usageWords.showAllKeys}</a>`));
});

Deno.test("usagePage() shows when, by whom and why a record was voided, and its exact quantity", async () => {
  const html = await htmlOf(props);
  assert.match(html, /<tr role="row" class="over">/);
  assert.match(html, /9,007,199,254,740,991\.000001/);
  assert.match(html, /title="Voided on Nov 21, 2026, 15:04:00 Europe\/Berlin"/);
  assert.match(textOf(html), /Voidedby x: x/);
});

Deno.test("usagePage() shows records by the operator, and that the operator voided one", async () => {
  const [record] = props.records;
  assert.ok(record);
  const records = [{ ...record, apiKeyName: null, voidedByName: null }];
  const [key] = sample.report.keys.keys;
  assert.ok(key);
  const keys = { ...sample.report.keys, keys: [{ ...key, name: "Recorded by the operator", href: null }] };
  const html = await htmlOf({ ...props, records, report: { ...sample.report, keys } });
  assert.match(html, /<span class="name">Recorded by the operator<\/span>/);
  assert.match(html, /<span class="muted">Recorded by the operator<\/span>/);
  assert.match(textOf(html), /Voidedby the operator: x/);
});

Deno.test("usagePage() shows times in the time zone", async () => {
  const html = await htmlOf(props);
  assert.ok(html.includes("(Europe/Berlin)"));
  assert.match(
    html,
    /<time datetime="2026-11-21T14:03:11.000Z" title="Nov 21, 2026, 15:03:11 Europe\/Berlin">Nov 21, 15:03:11</,
  );
});

Deno.test("usagePage() shows only how to send the first record if there is none", async () => {
  const html = await htmlOf({ ...props, example: { curl: "curl https://auth.example.com" } });
  assert.match(html, /<pre id="first-record">curl https:\/\/auth\.example\.com<\/pre>/);
  assert.ok(!html.includes(`class="chart"`) && !html.includes("<select") && !html.includes("usage.csv"));
});

Deno.test("usagePage() refreshes itself, less often with many bars", async () => {
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
  const [percent, words] of [
    [12.4, usageWords.more("12.4%", "October 1–31")],
    [-3, usageWords.less("3%", "October 1–31")],
    [0, usageWords.same("October 1–31")],
    [null, usageWords.none("October 1–31")],
  ] as const
) {
  Deno.test(`usagePage() describes a change of ${percent} as "${words}"`, async () => {
    const change = { percent, period: "October 1–31" };
    const figures = { ...sample.report.figures, change };
    const html = await htmlOf({ ...props, report: { ...sample.report, figures } });
    assert.ok(textOf(html).includes(words));
  });
}
