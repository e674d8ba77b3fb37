// The page of usage: links that keep the filters, the same numbers in the drawing and the table, first steps.
import assert from "node:assert/strict";
import { usagePage } from "../../views/usage.tsx";
import { usageProps } from "./sample.ts";

const props = { ...usageProps("x"), filters: { productSlug: "a b", metric: "requests", apiKey: null } };

Deno.test("usagePage() keeps the filters in the links to other ranges, and the range in the form", async () => {
  const html = String(await usagePage(props));
  assert.ok(html.includes(`href="/portal/usage?range=7d&amp;productSlug=a+b&amp;metric=requests"`));
  assert.match(html, /metric=requests" aria-current="true">This month<\/a>/);
  assert.match(html, /<input type="hidden" name="range" value="month"\/?>/);
  assert.match(html, /<option value="a b" selected[^>]*>a b<\/option>/);
});

Deno.test("usagePage() has the numbers of the drawing in a table", async () => {
  const html = String(await usagePage(props));
  const [table = ""] = /<details class="numbers">.*?<\/details>/s.exec(html) ?? [];
  const cells = [...table.matchAll(/<td class="num">(.*?)<\/td>/g)].map(([, text]) => text);
  assert.deepEqual(cells, ["1,000", "200", "1,200", "0", "300", "300"]);
  assert.match(html, /<svg class="chart" role="img" aria-labelledby="chart-title chart-description">/);
});

Deno.test("usagePage() shows a voided record as voided, its quantity exact", async () => {
  const html = String(await usagePage(props));
  assert.match(html, /<tr role="row" class="over">/);
  assert.match(html, /9,007,199,254,740,991\.000001/);
  assert.match(html, /<span class="badge off">Voided<\/span>/);
});

Deno.test("usagePage() shows how to send the first record, and nothing else, when there never was one", async () => {
  const html = String(await usagePage({ ...props, example: { curl: "curl https://auth.example.com" } }));
  assert.match(html, /<pre id="first-record">curl https:\/\/auth\.example\.com<\/pre>/);
  assert.ok(!html.includes(`class="chart"`) && !html.includes("<select"));
});

for (
  const [percent, words] of [
    [12.4, "12.4 % more than in October"],
    [-3, "3 % less than in October"],
    [0, "As much as in October"],
    [null, "Nothing in October"],
  ] as const
) {
  Deno.test(`usagePage() says "${words}" of a change of ${percent}`, async () => {
    const figures = { ...props.figures, change: { percent, than: "October" } };
    const html = String(await usagePage({ ...props, figures }));
    assert.ok(html.replaceAll(/<[^>]*>/g, "").includes(words));
  });
}
