// Each bar has a box with the numbers of its window, and the table has the same.
import assert from "node:assert/strict";
import { Chart } from "../../../views/components/chart.tsx";
import { MetricStrip } from "../../../views/components/metric_strip.tsx";
import { chartOf } from "../../../views/components/chart_props.ts";
import { reportStack } from "../../../domain/meter/usage_report.ts";
import type { UsageWindow, WindowUnit } from "../../../domain/meter/usage_window.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const now = Date.parse("2026-11-20T15:12:00Z");
const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ").trim();

/** Requests of two products in each window: as many as its position plus 10, and 1. */
function chart(
  count: number,
  { by = "day", start = "2026-11-01" }: { by?: WindowUnit; start?: string } = {},
) {
  const stepMs = by === "hour" ? hourMs : dayMs;
  const windows = Array.from({ length: count }, (_, index) => {
    const from = Date.parse(start) + index * stepMs;
    return { start: from, end: from + stepMs };
  });
  const sums = windows.filter(({ start }) => start <= now).flatMap((_, position) => [
    { position, part: "tiles", micros: BigInt(position + 10) * 1_000_000n },
    { position, part: "search", micros: 1_000_000n },
  ]);
  const props = chartOf(reportStack(sums, { windows: count, named: ["tiles", "search"] }), {
    measure: { name: "Requests", unit: null },
    by,
    period: "November 2026",
    windows,
    timezone: "UTC",
    now,
    series: (name) => ({ name }),
    hrefOf: ({ start }: UsageWindow) => `/hours?from=${start}`,
  });
  const html = String(Chart(props));
  return { html, hits: html.split(/<a class="hit(?: left)?"/).slice(1) };
}

Deno.test("Chart() has a link and a box for each bar, with the highest part first", () => {
  const { html, hits } = chart(30);
  assert.equal(hits.length, 20);
  assert.match(
    hits[12] ?? "",
    new RegExp(`^ href="/hours\\?from=${Date.parse("2026-11-13")}" aria-label="Fri, Nov 13: 23 requests">`),
  );
  assert.equal(
    textOf(`<a ${hits[12]}`),
    "Fri, Nov 13 requests search 1 tiles 22 Total 23 43.8% more than Fri, Nov 6",
  );
  // The first days have nothing to be compared with.
  assert.match(textOf(`<a ${hits[0]}`), /Total 11$/);
  // Boxes open toward the middle.
  assert.equal(html.match(/<a class="hit left"/g)?.length, 5);
});

Deno.test("Chart() says what isn't complete, and keeps the place of days to come", () => {
  const { html, hits } = chart(30);
  assert.match(hits[19] ?? "", /aria-label="Fri, Nov 20: 30 requests so far"/);
  assert.match(
    hits[19] ?? "",
    /<dd class="all">30<.*15 h 12 min so far<\/p><\/div><\/a>(<span><\/span>){10}<\/div>/,
  );
  assert.match(html, /<text class="far"[^>]*>so far<\/text>/);
  assert.equal(html.match(/fill="url\(#so-far-[12]\)"/g)?.length, 2);
  const rows = [...html.matchAll(/<th scope="row">(.*?)<\/th>/g)].map(([, name]) => name);
  assert.deepEqual([rows.length, rows[0], rows.at(-1)], [20, "Fri, Nov 20, so far", "Sun, Nov 1"]);
});

Deno.test("Chart() names a last bar that isn't complete on the axis", () => {
  assert.match(chart(20).html, /<text class="now"[^>]*>Today<\/text>/);
  assert.match(chart(16, { by: "hour", start: "2026-11-20" }).html, /<text class="now"[^>]*>Now<\/text>/);
  assert.doesNotMatch(chart(19).html, /class="(now|far)"/);
});

Deno.test("Chart() stays small with very many bars", () => {
  const { html, hits } = chart(200, { by: "hour", start: "2026-10-01" });
  assert.match(
    hits[199] ?? "",
    /<span class="tip"[^>]*>Oct 9, 07:00\nsearch: 1\ntiles: 209\nTotal: 210<\/span>/,
  );
  assert.ok(html.length < 90_000, `${html.length} characters`);
});

Deno.test("MetricStrip() marks the chosen metric, and folds further ones", () => {
  const metrics = Array.from({ length: 12 }, (_, index) => ({
    metric: { slug: `m${index}`, name: `Metric ${index}`, unit: null },
    total: "1200",
    change: index === 0 ? null : index === 1 ? 122_351_250 : 12.5,
    href: `?metric=m${index}`,
    isChosen: index === 10,
  }));
  const [shown = "", folded = ""] = String(MetricStrip({ metrics, period: "Oct 1–20" })).split("<details");
  assert.deepEqual([shown, folded].map((html) => html.match(/<a class="figure"/g)?.length), [9, 3]);
  assert.match(
    shown,
    /<a class="figure" href="\?metric=m10" aria-current="true" data-announce="Metric 10: 1,200">/,
  );
  assert.match(textOf(folded), /3 more metrics Metric 8 1,200 12\.5% more vs Oct 1\u2060–\u206020/);
  assert.match(textOf(shown), /^Metric 0 1,200 New Metric 1 1,200 1,223,513× more /);
});
