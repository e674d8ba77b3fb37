// Sums by calendar windows match sums computed from the list of records, in all kinds of time zones.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, testStart } from "../../../support/app/app.ts";
import { repeats } from "../../../support/runner/extent.ts";
import fc from "../../../support/runner/fast_check.ts";
import {
  addUpNaively,
  listAll,
  type ListedRecord,
  type ReadSum,
  readSums,
  recordAll,
  recordOne,
  type SentRecord,
  unlimited,
  voidOne,
} from "../../../support/meter/usage.ts";

const seed = 20261121;
const quarterMs = 15 * 60_000;
const dayMs = 24 * 3_600_000;

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Asia/Kathmandu", // +5:45
  "Australia/Lord_Howe", // clocks move by half an hour
  "Pacific/Chatham", // +12:45, and +13:45 in summer
  "Africa/Casablanca", // clocks move for Ramadan
] as const;
const units = ["hour", "day", "week", "month"] as const;

/** Times of recording, and where and when clocks changed in the 35 days before. */
const visits: readonly { now: number; changes: readonly { at: number; zone: (typeof zones)[number] }[] }[] = [
  {
    now: testStart,
    changes: [
      { at: Date.UTC(2026, 9, 25, 1), zone: "Europe/Berlin" },
      { at: Date.UTC(2026, 10, 1, 6), zone: "America/New_York" },
    ],
  },
  {
    now: Date.UTC(2027, 2, 15, 1),
    changes: [
      { at: Date.UTC(2027, 2, 14, 2), zone: "Africa/Casablanca" },
      { at: Date.UTC(2027, 2, 14, 7), zone: "America/New_York" },
    ],
  },
  {
    now: Date.UTC(2027, 3, 20, 1),
    changes: [
      { at: Date.UTC(2027, 2, 28, 1), zone: "Europe/Berlin" },
      { at: Date.UTC(2027, 3, 3, 14), zone: "Pacific/Chatham" },
      { at: Date.UTC(2027, 3, 3, 15), zone: "Australia/Lord_Howe" },
    ],
  },
  {
    now: Date.UTC(2027, 9, 30, 9),
    changes: [
      { at: Date.UTC(2027, 8, 25, 14), zone: "Pacific/Chatham" },
      { at: Date.UTC(2027, 9, 2, 15, 30), zone: "Australia/Lord_Howe" },
    ],
  },
];
const changes = visits.flatMap((visit) => visit.changes);

const quantity = fc.oneof(
  fc.integer({ min: 0, max: 9 }),
  fc.integer({ min: 1, max: 99 }).map((tenths) => tenths / 10),
  fc.integer({ min: 1, max: 2_000_000 }).map((micros) => micros / 1_000_000),
  fc.integer({ min: 0, max: 3 }).map((less) => Number.MAX_SAFE_INTEGER - less),
  // Near the largest quantity whose millionths fit in one integer.
  fc.integer({ min: -2, max: 2 }).map((more) => 9_000_000_000_000 + more),
  fc.integer({ min: 0, max: 2 ** 53 - 1 }),
);

/** Records of the 35 days before, many of them around clock changes and window boundaries. */
function records({ now, changes }: (typeof visits)[number]): fc.Arbitrary<SentRecord> {
  const pastMax = 35 * dayMs;
  const anywhere = fc.integer({ min: 0, max: pastMax }).map((ms) => now - ms);
  const aroundAChange = fc.tuple(fc.constantFrom(...changes), fc.integer({ min: -8, max: 24 }))
    .map(([{ at }, quarters]) => at + quarters * quarterMs);
  const timestamp = fc.tuple(
    fc.oneof(anywhere, aroundAChange, anywhere.map((ms) => ms - ms % quarterMs)),
    fc.constantFrom(-1, 0, 0, 1),
  ).map(([ms, more]) => Math.min(now, Math.max(now - pastMax, ms + more)));
  return fc.record({
    productSlug: fc.constantFrom("tiles", "search", "Search"),
    metric: fc.constantFrom("requests", "bytes", "a.b"),
    quantity,
    timestamp: timestamp.map((ms) => new Date(ms).toISOString()),
  });
}

/** The local time in a zone, at each quarter of an hour of a range. */
const calendars = new Map(zones.map((zone) => [zone as string, {
  format: new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    timeZoneName: "longOffset",
  }),
  said: new Map<number, Record<(typeof units)[number], string>>(),
}]));

/** Returns the name of the window of a moment. Moments of one window have the same name. */
function windowName(ms: number, { unit, zone }: { unit: (typeof units)[number]; zone: string }): string {
  const calendar = calendars.get(zone);
  assert.ok(calendar);
  let said = calendar.said.get(ms);
  if (said === undefined) {
    const text = calendar.format.format(ms);
    const [, month, day, year] = /^(\d\d)\/(\d\d)\/(\d{4}), /.exec(text) ?? [];
    const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day));
    const monday = midnight - (new Date(midnight).getUTCDay() + 6) % 7 * dayMs;
    // A repeated hour has another offset the second time, which is part of the name.
    said = { hour: text, day: `${midnight}`, week: `${monday}`, month: `${year}-${month}` };
    calendar.said.set(ms, said);
  }
  return said[unit];
}

interface Query {
  readonly from: number;
  readonly to: number;
  readonly unit: (typeof units)[number] | "total";
  readonly zone: string;
  readonly groupBy: readonly ("productSlug" | "metric" | "apiKey")[];
  readonly productSlug: readonly string[] | undefined;
  readonly metric: readonly string[] | undefined;
  readonly apiKey: readonly string[] | undefined;
}

/** Repeats several values or separates them with commas. */
function queryText(query: Query): string {
  const { groupBy, productSlug, metric, apiKey } = query;
  const all = {
    from: new Date(query.from).toISOString(),
    to: new Date(query.to).toISOString(),
    window: query.unit,
    timezone: query.zone,
    groupBy: groupBy.length === 0 ? [] : groupBy.join(","),
    productSlug: productSlug ?? [],
    metric: metric?.join(",") ?? [],
    apiKey: apiKey === undefined ? [] : [apiKey.slice(0, 2).join(", "), ...apiKey.slice(2)],
  };
  const pairs = Object.entries(all).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, value])
  );
  return `?${new URLSearchParams(pairs as string[][])}`;
}

/** Returns the expected response, computed from each quarter of an hour of the range. */
function obviousSums(all: readonly ListedRecord[], query: Query): ReadSum[] {
  const from = query.from - query.from % quarterMs;
  const to = Math.ceil(query.to / quarterMs) * quarterMs;
  const { unit } = query;
  const starts = new Map<number, number>();
  const ends = new Map<number, number>();
  let start = from;
  for (let ms = from; ms < to; ms += quarterMs) {
    const isNew = ms > from && unit !== "total" &&
      windowName(ms, { ...query, unit }) !== windowName(ms - quarterMs, { ...query, unit });
    if (isNew) start = ms;
    starts.set(ms, start);
    ends.set(start, ms + quarterMs);
  }
  const startOf = (record: ListedRecord) => {
    const ms = Date.parse(record.timestamp);
    return String(starts.get(ms - ms % quarterMs)).padStart(15, "0");
  };
  const isOneOf = (values: readonly string[] | undefined, value: string) => values?.includes(value) ?? true;
  const fits = all.filter((record) =>
    record.voidedAt === null && Date.parse(record.timestamp) >= from && Date.parse(record.timestamp) < to &&
    isOneOf(query.productSlug, record.productSlug) && isOneOf(query.metric, record.metric) &&
    isOneOf(query.apiKey, record.apiKeyId)
  );
  const groupOf = (record: ListedRecord, group: string) =>
    group === "apiKey" ? record.apiKeyId : group === "metric" ? record.metric : record.productSlug;
  const isOneMetric = query.groupBy.includes("metric") || query.metric?.length === 1;
  const groups = isOneMetric ? query.groupBy : [...query.groupBy, "metric" as const];
  return addUpNaively(fits, (record) => [
    startOf(record),
    ...groups.map((group) => groupOf(record, group)),
  ]).map(({ names: [first = "", ...names], ...sums }) => ({
    start: zonedText(Number(first), query.zone),
    end: zonedText(ends.get(Number(first)) ?? NaN, query.zone),
    ...Object.fromEntries(groups.map((group, n) => [group, names[n] ?? ""])),
    ...sums,
  }));
}

/** A local time, computed with Intl: `2026-10-01T00:00:00.000+02:00`. */
function zonedText(ms: number, zone: string): string {
  if (zone === "UTC") return new Date(ms).toISOString();
  const text = calendars.get(zone)?.format.format(ms) ?? "";
  const [, sign = "+", hours = "00", minutes = "00"] = /GMT([+-])(\d\d):(\d\d)$/.exec(text) ?? [];
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === "-" ? -1 : 1);
  return new Date(ms + offset).toISOString().replace("Z", `${sign}${hours}:${minutes}`);
}

testApp("sums match the records for any range, window, zone, group and filter", async (test) => {
  const person = await test.signUp();
  const keys = [await createTestKey(test, person), await createTestKey(test, person)];
  const stranger = await createTestKey(test, await test.signUp());
  for (const [round, visit] of visits.entries()) {
    test.advance(visit.now - test.now());
    const sent = fc.sample(records(visit), { seed: seed + round, numRuns: 300 });
    for (const [n, { fullKey: apiKey }] of [...keys, stranger].entries()) {
      // Some with an idempotency key, and some of these repeated.
      const own = sent.filter((_record, index) => index % 3 === n).map((record, index) =>
        index % 2 === 0 ? record : { ...record, idempotencyKey: `${round} ${n} ${index}` }
      );
      assert.equal(await recordAll(test, { apiKey, records: own }), own.length);
      assert.equal(await recordAll(test, { apiKey, records: own.slice(0, 2) }), 1);
    }
  }
  const [apiKey = ""] = keys.map(({ fullKey }) => fullKey);
  const ids = fc.sample(fc.constantFrom(...(await listAll(test, apiKey)).map(({ id }) => id)), {
    seed,
    numRuns: 80,
  });
  for (const id of ids) await voidOne(test, { apiKey, id });
  const all = await listAll(test, apiKey);
  assert.equal(all.length, visits.length * (200 + 2));
  assert.equal(all.filter(({ voidedAt }) => voidedAt !== null).length, new Set(ids).size);

  const span = {
    hour: 30 * dayMs,
    day: 60 * dayMs,
    week: 150 * dayMs,
    month: 400 * dayMs,
    total: 400 * dayMs,
  };
  const absent = { nil: undefined, freq: 2 };
  const query = fc.record({
    visit: fc.constantFrom(...visits),
    unit: fc.constantFrom(...units, "total" as const),
    zone: fc.constantFrom(...zones),
    // The end and the length of the range, in thousandths.
    end: fc.noBias(fc.integer({ min: 200, max: 1050 })),
    length: fc.noBias(fc.integer({ min: 0, max: 1000 })),
    groupBy: fc.shuffledSubarray(["productSlug", "metric", "apiKey"] as const),
    productSlug: fc.option(fc.subarray(["tiles", "search", "nothing"], { minLength: 1 }), absent),
    metric: fc.option(fc.subarray(["requests", "a.b"], { minLength: 1 }), absent),
    apiKey: fc.option(fc.subarray([...keys.map(({ id }) => id), stranger.id], { minLength: 1 }), absent),
    // Distance of the ends from a quarter of an hour, in milliseconds.
    beside: fc.tuple(fc.integer({ min: 0, max: quarterMs - 1 }), fc.constantFrom(0, 0, 1, quarterMs - 1)),
  }).map(({ visit, end, length, beside: [late, early], ...rest }): Query => {
    const to = Math.ceil((visit.now - (1 - end / 1000) * 35 * dayMs) / quarterMs) * quarterMs;
    const from = to - Math.max(1, Math.floor(length / 1000 * span[rest.unit] / quarterMs)) * quarterMs;
    return { from: from + early, to: to - (from + early < to - late ? late : 0), ...rest };
  });
  // Every other around a clock change, in its zone.
  const aroundAChange = fc.tuple(
    query,
    fc.constantFrom(...changes),
    fc.integer({ min: 1, max: 120 }),
    fc.integer({ min: 1, max: 120 }),
  ).map(([rest, { at, zone }, before, after]): Query => ({
    ...rest,
    zone,
    from: at - before * quarterMs,
    to: at + after * quarterMs,
  }));
  const numRuns = repeats({ quick: 50, full: 200 });
  let notEmpty = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(query, aroundAChange), async (given) => {
      const wanted = obviousSums(all, given);
      if (wanted.length > 0) notEmpty++;
      assert.deepEqual(await readSums(test, apiKey, queryText(given)), wanted, queryText(given));
    }),
    { seed, numRuns },
  );
  assert.ok(notEmpty > 0.6 * numRuns, `only ${notEmpty} queries had records`);
}, unlimited);

/** Enough series that a month takes many steps to sum. */
const manySeries = 1_200;

async function recordManySeries(test: TestApp): Promise<{ apiKey: string; all: ListedRecord[] }> {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const sent = fc.sample(
    fc.record({ quantity, ago: fc.integer({ min: 0, max: 35 * dayMs }) }),
    { seed, numRuns: 2 * manySeries },
  ).map(({ quantity, ago }, n) => ({
    productSlug: `p${n % 5}`,
    metric: `m${n % manySeries}`,
    quantity,
    timestamp: new Date(test.now() - ago).toISOString(),
  }));
  await recordAll(test, { apiKey, records: sent });
  // Alphabetical order of names differs from their order in time, within the same windows.
  for (const [productSlug, hour] of [["z", 3], ["a", 20]] as const) {
    const timestamp = new Date(Date.UTC(2026, 10, 20, hour)).toISOString();
    await recordOne(test, apiKey, { productSlug, timestamp });
  }
  return { apiKey, all: await listAll(test, apiKey) };
}

testApp("windows of many series, summed in steps, count every record once and in order", async (test) => {
  const { apiKey, all } = await recordManySeries(test);
  const range = { from: Date.UTC(2026, 9, 1), to: Date.UTC(2026, 11, 1), zone: "UTC" };
  const none = { productSlug: undefined, metric: undefined, apiKey: undefined };
  for (const unit of ["day", "week", "month", "total"] as const) {
    for (const groupBy of [[], ["productSlug"], ["metric", "productSlug"]] as const) {
      const query = { ...range, ...none, unit, groupBy };
      assert.deepEqual(
        await readSums(test, apiKey, queryText(query)),
        obviousSums(all, query),
        queryText(query),
      );
    }
  }
});
