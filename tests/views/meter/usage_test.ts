// The usage page: links and the form keep all filters, and the table has the same numbers as the chart.
import assert from "node:assert/strict";
import { usagePage, type UsagePageProps } from "../../../views/meter/usage.tsx";
import { type UsageAddress, usageHref } from "../../../views/meter/usage_filters.tsx";
import { usageProps } from "../sample.ts";

const address: UsageAddress = {
  path: "/portal/usage",
  range: "month",
  days: { from: "2026-11-01", to: "2026-11-30" },
  window: "week",
  timezone: "Europe/Berlin",
  filters: { productSlug: "a b", metric: "requests", apiKey: null },
  stack: null,
  pages: { products: null, keys: null },
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
    usageHref({ ...address, range: "custom", window: null, timezone: null, filters: plain }),
    "/portal/usage?range=custom&from=2026-11-01&to=2026-11-30",
  );
});

Deno.test("usagePage() keeps filters and the time zone in links to other ranges, but not the windows", async () => {
  const html = await htmlOf(props);
  const kept = "timezone=Europe%2FBerlin&amp;productSlug=a+b&amp;metric=requests";
  assert.ok(html.includes(`<a href="/portal/usage?range=7d&amp;${kept}">7 days</a>`));
  assert.ok(html.includes(`<a href="/portal/usage?range=month&amp;${kept}" aria-current="true">Month</a>`));
  assert.ok(html.includes(`<a class="menu-item" href="/portal/usage?range=30d&amp;${kept}">`));
});

Deno.test("usagePage() has a form for days, which keeps the filters and makes it a custom range", async () => {
  const html = await htmlOf(props);
  const [form = ""] = /<form (?:(?!<\/form>).)*type="date".*?<\/form>/s.exec(html) ?? [];
  const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]);
  assert.deepEqual(Object.fromEntries(fields), {
    range: "custom",
    timezone: "Europe/Berlin",
    productSlug: "a b",
    metric: "requests",
    from: "2026-11-01",
    to: "2026-11-30",
  });
});

Deno.test("usagePage() has a form with every filter for phones", async () => {
  const html = await htmlOf(props);
  const [folded = ""] = /<details +class="menu[^"]* folded.*$/s.exec(html) ?? [];
  for (const chosen of ["a b", "week", "Europe/Berlin"]) {
    assert.ok(folded.includes(`<option value="${chosen}" selected`), chosen);
  }
});

Deno.test("usagePage() lists time zones by continent, UTC first", async () => {
  const html = await htmlOf(props);
  const [select = ""] = /<select [^>]*name="timezone".*?<\/select>/s.exec(html) ?? [];
  assert.match(select, /^<select[^>]*><option value="UTC"[^>]*>UTC<\/option><optgroup label="Europe">/);
  assert.match(
    select,
    /<optgroup label="America"><option value="America\/Argentina\/Buenos_Aires">Argentina\/Buenos Aires</,
  );
});

for (const field of ["from", "to", "window", "metric", "apiKey", "timezone"] as const) {
  Deno.test(`usagePage() says what is wrong with ${field} once, and marks its fields`, async () => {
    const html = await htmlOf({ ...props, faults: { [field]: "Invalid value." } });
    const [input = ""] = new RegExp(`<(?:input|select)[^>]* name="?${field}"[^>]*aria[^>]*>`).exec(html) ??
      [];
    assert.match(input, /aria-invalid="true"/);
    assert.match(input, new RegExp(`aria-describedby="${field}-error"`));
    assert.equal(html.match(/Invalid value\./g)?.length, 1);
  });
}

Deno.test("usagePage() shows the exact numbers of the chart in a table", async () => {
  const html = await htmlOf(props);
  const [table = ""] = /<details class="numbers">.*?<\/details>/s.exec(html) ?? [];
  const cells = [...table.matchAll(/<td class="num">(.*?)<\/td>/g)].map((
    [, text],
  ) => text);
  assert.deepEqual(cells, ["0", "300.5", "300.5", "1,000", "200", "1,200"]);
  assert.match(html, /<svg role="img" aria-label="[^"]*The table below has the same numbers\.">/);
});

Deno.test("usagePage() links to the chart's numbers as CSV, without htmx", async () => {
  const html = await htmlOf(props);
  assert.match(html, /<a class="button plain" href="\/api\/portal\/usage\.csv\?metric=x" hx-boost="false">/);
  assert.doesNotMatch(await htmlOf({ ...props, report: null, csvHref: null }), /usage\.csv/);
});

Deno.test("usagePage() lists what each product and key used, with links and further pages", async () => {
  const html = await htmlOf(props);
  const tableOf = (label: string) =>
    new RegExp(`<table class="breakdown"[^>]*aria-label="${label}">.*?</table>`, "s").exec(html)?.[0] ?? "";
  const products = tableOf("Products");
  assert.match(
    products,
    /<span class="swatch series-1"[^>]*><\/span><a class="name" href="[^"]*productSlug=x">/,
  );
  assert.match(products, /<rect class="share-part" width="66.7%"/);
  assert.match(textOf(products), /x1,50066\.7%12\.4%/);
  const keys = tableOf("API keys");
  assert.match(keys, /<a class="name" href="\/portal\/api-keys\/key_1">/);
  assert.match(keys, /<svg class="spark"/);
  assert.match(textOf(keys), /x1,50066\.7%New$/);
  assert.match(textOf(html), /60 in all/);
});

Deno.test("usagePage() shows the strip, and lets products or keys be stacked", async () => {
  const html = await htmlOf(props);
  assert.match(html, /<nav [^>]*aria-label="Metric">/);
  assert.match(
    html,
    /aria-label="Stack by"><a href="[^"]*" aria-current="true">By product<\/a><a href="[^"]*stack=key">/,
  );
});

Deno.test("usagePage() shows when, by whom and why a record was voided, and its exact quantity", async () => {
  const html = await htmlOf(props);
  assert.match(html, /<s class="muted">9,007/);
  assert.match(html, /9,007,199,254,740,991/);
  assert.match(html, /title="Voided on Nov 21, 2026, 15:04:00 Europe\/Berlin"/);
  assert.match(textOf(html), /Voidedby x: x/);
});

Deno.test("usagePage() shows records by the operator, and that the operator voided one", async () => {
  const [record] = props.records;
  assert.ok(record);
  const records = [{ ...record, apiKeyId: null, apiKeyName: null, voidedByName: null }];
  const html = await htmlOf({ ...props, records });
  assert.match(html, /<span class="muted">Recorded by the operator<\/span>/);
  assert.match(textOf(html), /Voidedby the operator: x/);
});

Deno.test("usagePage() shows times in the time zone", async () => {
  const html = await htmlOf(props);
  assert.ok(html.includes("Time, Europe/Berlin"));
  assert.match(
    html,
    /<time datetime="2026-11-21T14:03:11.000Z" title="Nov 21, 2026, 15:03:11 Europe\/Berlin">Nov 21, 15:03:11</,
  );
});

Deno.test("usagePage() shows only how to send the first record if there is none", async () => {
  const html = await htmlOf({ ...props, empty: { curl: "curl https://auth.example.com" } });
  assert.match(html, /id="first-record">.*<pre>curl https:\/\/auth\.example\.com<\/pre>/);
  assert.ok(
    !html.includes(`aria-label="Metric"`) && !html.includes("<select") && !html.includes("usage.csv"),
  );
});

Deno.test("usagePage() refreshes itself, less often with many bars", async () => {
  const html = await htmlOf(props);
  const href = usageHref(address).replaceAll("&", "&amp;");
  assert.ok(html.includes(`class="live" hx-get="${href}"`));
  assert.match(html, /hx-trigger="every 10s"/);
  const [window] = sample.report.chart.windows;
  const windows = Array.from({ length: 1000 }, () => window ?? assert.fail("the sample has no windows"));
  const many = { ...sample.report, chart: { ...sample.report.chart, windows } };
  assert.match(await htmlOf({ ...props, report: many }), /hx-trigger="every 60s"/);
});
