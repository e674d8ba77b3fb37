// The numbers of pages, the API and downloads against records that are added up one by one: random records, rotated keys, voids,
// filters, ranges and time zones.
import assert from "node:assert/strict";
import { microsToDecimal } from "../../../domain/meter/quantity.ts";
import { parsePeriodQuery, type PeriodQuery } from "../../../domain/meter/usage_period.ts";
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import { createTestKey, rotateTestKey, type TestApp, type TestPerson } from "../../support/app/app.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";
import {
  listAll,
  type ListedRecord,
  millionths,
  onEveryDatabase,
  recordAll,
  voidOne,
} from "../../support/meter/usage.ts";
import { hrefOf, usagePage } from "../../support/portal/usage_page.ts";
import { testReader } from "../../support/app/reports.ts";

const pastMs = 34 * 86_400_000;
const products = ["tiles", "routes", "search", "places", "matrix", "static", "traffic", "weather"];
const metrics = ["requests", "bytes", "seconds"];
const timezones = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/Santiago", "Pacific/Chatham"];
const queries: PeriodQuery[] = [
  { range: "today" },
  { range: "24h" },
  { range: "month", window: "hour" },
  { range: "7d" },
  { range: "month" },
  { range: "last-month" },
  { range: "30d" },
  { range: "90d" },
  { from: "2026-10-20", to: "2026-11-25" },
  { from: "2026-10-25", to: "2026-10-25" },
];

const recordArbitrary = fc.record({
  productSlug: fc.constantFrom(...products),
  metric: fc.constantFrom("requests", "requests", ...metrics),
  micros: fc.oneof(fc.integer({ min: 0, max: 5_000_000 }), fc.integer({ min: 0, max: 2 ** 46 })),
  // Half of them in the last two days.
  ago: fc.oneof(fc.integer({ min: 0, max: 2 * 86_400_000 }), fc.integer({ min: 0, max: pastMs })),
});
const generationsArbitrary = fc.array(
  fc.array(fc.array(recordArbitrary, { maxLength: 14 }), {
    minLength: 1,
    maxLength: 3,
  }),
  { minLength: 7, maxLength: 9 },
);
const viewArbitrary = fc.record({
  query: fc.constantFrom(...queries),
  timezone: fc.constantFrom(...timezones),
  productSlug: fc.option(fc.constantFrom(...products), { freq: 4 }),
  lineage: fc.option(fc.nat({ max: 6 }), { freq: 4 }),
  metric: fc.option(fc.constantFrom(...metrics)),
  stack: fc.constantFrom("productSlug" as const, "apiKey" as const),
});

type Value<A> = A extends { generate(...args: never[]): { value_: infer T } } ? T : never;
/** By lineage and generation. */
type Generations = Value<typeof generationsArbitrary>;
type View = Value<typeof viewArbitrary>;

interface Added {
  readonly productSlug: string;
  readonly metric: string;
  /** The first key of the lineage. */
  readonly lineage: number;
  readonly micros: bigint;
  readonly time: number;
}

/** Returns the records that are not voided, and the ids of the current keys by lineage. */
async function fill(test: TestApp, person: TestPerson, lineages: Generations) {
  const added: Added[] = [];
  const current: string[] = [];
  let last = "";
  for (const [lineage, generations] of lineages.entries()) {
    let key = await createTestKey(test, person, { name: `Key ${lineage}` });
    for (const [generation, records] of generations.entries()) {
      if (generation > 0) key = await rotateTestKey(test, person, key);
      const sent = records.map(({ micros, ago, productSlug, metric }) => ({
        productSlug,
        metric,
        quantity: Number(microsToDecimal(BigInt(micros))),
        timestamp: new Date(test.now() - ago).toISOString(),
      }));
      await recordAll(test, { apiKey: key.fullKey, records: sent });
      const isOwn = ({ apiKeyId }: ListedRecord) => apiKeyId === key.id;
      const listed = (await listAll(test, key.fullKey)).filter(isOwn);
      assert.equal(listed.length, sent.length);
      for (const [index, { id, quantity, timestamp, ...names }] of listed.entries()) {
        if (index % 5 === 4) await voidOne(test, { apiKey: key.fullKey, id });
        else added.push({ ...names, lineage, micros: millionths(quantity), time: Date.parse(timestamp) });
      }
    }
    current.push(key.id);
    last = key.fullKey;
  }
  return { added, current, fullKey: last };
}

const sumOf = (records: readonly Added[]) => records.reduce((sum, { micros }) => sum + micros, 0n);
const within = ({ start, end }: UsageWindow) => ({ time }: Added) => time >= start && time < end;

function linesOf(records: readonly Added[], nameOf: (record: Added) => string) {
  const names = new Set(records.map(nameOf));
  return new Map([...names].map((name) => {
    const ofName = records.filter((record) => nameOf(record) === name);
    return [name, `${microsToDecimal(sumOf(ofName))} in ${ofName.length}`];
  }));
}

async function checkView(
  test: TestApp,
  person: TestPerson,
  { added, current, fullKey, view }: Awaited<ReturnType<typeof fill>> & {
    view: View;
  },
): Promise<void> {
  const { timezone, productSlug, stack } = view;
  const now = test.now();
  const { period, unit } = parsePeriodQuery({ ...view.query, timezone }, now);
  assert(period !== null);
  const apiKey = view.lineage === null ? null : current[view.lineage] ?? null;
  const { metric, metrics: totals, report } = await test.services.reports.read("readUsagePage", {
    organizationId: person.organizationId,
    now,
    period,
    unit,
    timezone,
    filters: { productSlug, metric: view.metric, apiKey },
    usualMetric: null,
    stack,
    groups: ["productSlug", "apiKey"],
    page: 1,
  }, { reader: testReader });
  const wanted = added.filter((one) =>
    (productSlug === null || one.productSlug === productSlug) &&
    (apiKey === null || current[one.lineage] === apiKey)
  );
  const [during, before] = [wanted.filter(within(period)), wanted.filter(within(period.compared))];
  const used = new Set([...during, ...before].map((one) => one.metric));
  assert.deepEqual(new Set(totals.map((total) => total.metric)), used);
  for (const total of totals) {
    const isOf = (one: Added) => one.metric === total.metric;
    assert.deepEqual([total.micros, total.before, total.records], [
      sumOf(during.filter(isOf)),
      sumOf(before.filter(isOf)),
      during.filter(isOf).length,
    ]);
  }
  if (report === null || metric === null) return assert.equal(wanted.length, 0);
  const shown = during.filter((one) => one.metric === metric);
  const total = sumOf(shown);
  assert.equal(report.total.micros, total);
  const tables = [
    ["productSlug", (one: Added) => one.productSlug],
    ["apiKey", ({ lineage }: Added) => current[lineage] ?? ""],
  ] as const;
  const ofUsage = report.tables.filter(({ group }) => group !== "outcome");
  assert.deepEqual(ofUsage.map(({ group }) => group), tables.map(([group]) => group));
  for (const [index, table] of ofUsage.entries()) {
    const [, nameOf] = tables[index] ?? assert.fail("an unknown table");
    assert.deepEqual([table.lines.length, table.pages], [table.all, 1]);
    const used = table.lines.filter(({ records }) => records > 0);
    assert.deepEqual(
      new Map(used.map(({ id, sum, records }) => [id, `${sum} in ${records}`])),
      linesOf(shown, nameOf),
    );
  }
  const partOf = tables[stack === "productSlug" ? 0 : 1][1];
  const { series, others, windows } = report.stack;
  assert.equal(windows.length, report.windows.length);
  for (const [position, window] of report.windows.entries()) {
    const inWindow = shown.filter(within(window));
    const sums = [
      ...series.map((part) => sumOf(inWindow.filter((one) => partOf(one) === part))),
      ...(others === 0 ? [] : [sumOf(inWindow.filter((one) => !series.includes(partOf(one))))]),
    ];
    assert.deepEqual(windows[position]?.sums, sums.map(microsToDecimal));
    assert.equal(windows[position]?.total, microsToDecimal(sumOf(inWindow)));
  }
  const earlier = wanted.filter(within(period.before)).filter((one) => one.metric === metric);
  assert.deepEqual(
    report.before?.sums,
    report.before?.windows.map((window) => microsToDecimal(sumOf(earlier.filter(within(window))))),
  );
  assert.ok((report.before?.windows.length ?? 0) > 0);
  const address = { ...view.query, timezone, metric, ...(stack === "apiKey" && { stack: "key" }) };
  const { html } = await usagePage(test, person, {
    ...address as Record<string, string>,
    ...(productSlug !== null && { productSlug }),
    ...(apiKey !== null && { apiKey }),
  });
  const csv = await test.send(hrefOf(html, "Download CSV"), { cookie: person.cookie });
  const [head = "", ...rows] = (await csv.text()).trim().split(/\r?\n/);
  const [sumColumn, metricColumn] = ["sum", "metric"].map((name) => head.split(",").indexOf(name));
  const ofMetric = rows.map((row) => row.split(",")).filter((row) => row[metricColumn ?? -1] === metric);
  const csvTotal = ofMetric.reduce((sum, row) => sum + millionths(row[sumColumn ?? -1] as never), 0n);
  assert.equal(csvTotal, total, `${head}\n${rows.join("\n")}`);
  const asked = new URLSearchParams({
    window: "total",
    groupBy: "metric",
    metric,
    timezone,
    from: new Date(period.start).toISOString(),
    to: new Date(period.end).toISOString(),
    ...(productSlug !== null && { productSlug }),
    ...(apiKey !== null && { apiKey, mergeRotations: "true" }),
  });
  const api = await test.send(`/api/v1/usage?${asked}`, { apiKey: fullKey });
  assert.equal(api.status, 200, await api.clone().text());
  const { data: [sum] } = await api.json();
  assert.deepEqual([sum?.sum ?? 0, sum?.count ?? 0], [Number(microsToDecimal(total)), shown.length]);
}

onEveryDatabase("strip, chart, tables, CSV and API have the same totals as the records", async (test) => {
  const person = await test.signUp();
  test.advance(1);
  const [lineages] = fc.sample(generationsArbitrary, { numRuns: 1, seed: 15 });
  const filled = await fill(test, person, lineages ?? []);
  assert(filled.added.length > 50);
  await fc.assert(
    fc.asyncProperty(viewArbitrary, (view) => checkView(test, person, { ...filled, view })),
    { numRuns: repeats({ quick: 15, full: 40 }), seed: 15 },
  );
});
