// What metrics count for, one record after the other, and random histories of records to compare it with.
import type { Aggregation } from "../../../domain/meter/aggregation.ts";
import fc from "../runner/fast_check.ts";

export const hourMs = 3_600_000;
export const counted: Record<string, Aggregation> = {
  plain: "sum",
  calls: "count",
  peak: "max",
  level: "last",
  seats: "unique",
};
export const metrics = Object.keys(counted);
/** Metrics whose statements are also by user. */
export const split = ["plain", "calls"];
const timezones = ["UTC", "Asia/Kathmandu", "Pacific/Chatham", "America/New_York"];

export const users = ["ada", "bob", "1", "", "(none)"];
const aRecord = fc.record({
  kind: fc.constant("record" as const),
  key: fc.nat(3),
  metric: fc.constantFrom(...metrics, "level", "seats", "peak"),
  quantity: fc.constantFrom(0, 0.25, 3, 7, 2 ** 53 - 1),
  user: fc.option(fc.constantFrom(...users), { freq: 5 }),
  // Often in the same quarter of an hour, or the same moment.
  minutesBack: fc.oneof(fc.constantFrom(0, 0, 1, 14, 15), fc.nat(3 * 24 * 60), fc.nat(34 * 24 * 60)),
  // Minutes after a month starts in UTC, where months of other zones start or have started, if that is in the last 34 days.
  monthStart: fc.option(fc.constantFrom(-826, -825, -346, -345, -1, 0, 239, 240, 299, 300), { freq: 2 }),
});
const anAct = fc.oneof(
  { weight: 9, arbitrary: aRecord },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("void" as const), which: fc.nat(1000) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("rotate" as const), key: fc.nat(3) }) },
  // Often into the next month, while records of the last one are still accepted.
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      hours: fc.constantFrom(1, 30, 240, 240, 1000),
    }),
  },
  { weight: 3, arbitrary: fc.constant({ kind: "close" as const }) },
  fc.constant({ kind: "retain" as const }),
  fc.record({ kind: fc.constant("redeclare" as const), steps: fc.nat(3) }),
);
export const aHistory = fc.record({
  isDeclaredLater: fc.boolean(),
  acts: fc.array(anAct, { minLength: 20, maxLength: 60, size: "max" }),
  timezone: fc.constantFrom(...timezones),
});
type ValueOf<A> = A extends fc.Arbitrary<infer T> ? T : never;
export type Act = ValueOf<typeof anAct>;

const seat = (user: string, monthStart: number | null = null) =>
  ({ kind: "record", key: 0, metric: "seats", quantity: 3, user, minutesBack: 0, monthStart }) as Act;
/** Distinct values at the edges of two months: some on both sides of where a month starts in UTC, some only on one. */
const atMonthStarts = [
  seat("ada", -1),
  seat("ada", 0),
  seat("bob", 239),
  seat("1", -346),
  seat("", -1),
  seat("(none)", 300),
];
const level = (quantity: 0.25 | 3 | 7, minutesBack: number) =>
  ({ ...seat("ada"), metric: "level", quantity, minutesBack }) as Act;
const voids = (...positions: number[]) => positions.map((which): Act => ({ kind: "void", which }));
/** The first of two records is voided before it is counted. */
const voidedUncounted: Act[] = [seat("ada"), { kind: "redeclare", steps: 0 }, seat("ada"), ...voids(0)];
/** Voided: a record that isn't the latest of its quarter, the latest of three at the same moment, and the only one of a value. */
const voidedLatest = [
  ...[level(3, 1), level(0.25, 1), level(7, 1), level(7, 3), level(7, 2), ...voids(5, 3)],
  ...[seat("1"), ...voids(4)],
];
export const examples = ["America/New_York", "Asia/Kathmandu"].map((timezone) => ({
  isDeclaredLater: false,
  timezone,
  acts: [
    ...voidedUncounted,
    ...voidedLatest,
    ...atMonthStarts,
    { kind: "wait" as const, hours: 240 as const },
    ...atMonthStarts,
  ],
}));

export interface Known {
  readonly id: string;
  readonly order: number;
  readonly organization: number;
  readonly isTest: boolean;
  readonly lineage: number;
  readonly apiKeyId: string;
  readonly metric: string;
  readonly micros: bigint;
  readonly user: string | null;
  readonly time: number;
  readonly recordedAt: number;
}

export interface Key {
  readonly organization: number;
  readonly isTest: boolean;
  id: string;
  fullKey: string;
}

export const product = (isDeclared: boolean) => ({
  metrics: metrics.map((slug) => {
    const aggregation = isDeclared || slug === "plain" ? counted[slug] : "sum";
    const uniqueProperty = aggregation === "unique" ? "user" : null;
    const dimensions = split.includes(slug) || slug === "seats" ? [["user"]] : [];
    return { slug, name: slug, unit: null, unitPrice: "0.5", dimensions, aggregation, uniqueProperty };
  }),
});

/** Returns the time of a record that is sent now. */
export function timeOf(
  { minutesBack, monthStart }: Pick<Act & { kind: "record" }, "minutesBack" | "monthStart">,
  now: number,
) {
  const date = new Date(now);
  const atMonthStart = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1, 0, monthStart ?? 0);
  const isAccepted = atMonthStart <= now && atMonthStart > now - 34 * 24 * hourMs;
  return monthStart !== null && isAccepted ? atMonthStart : now - minutesBack * 60_000;
}

/** Counts some records of one organization, environment and metric, in millionths. */
export function valueOf(records: readonly Known[], { isByKey = false } = {}): bigint {
  const aggregation = counted[records[0]?.metric ?? ""] ?? "sum";
  if (aggregation === "sum") return records.reduce((sum, { micros }) => sum + micros, 0n);
  if (aggregation === "count") return BigInt(records.length) * 1_000_000n;
  if (aggregation === "unique") {
    const users = new Set(records.flatMap(({ user }) => user === null ? [] : [user]));
    return BigInt(users.size) * 1_000_000n;
  }
  const lineages = Map.groupBy(records, ({ lineage, apiKeyId }) => isByKey ? apiKeyId : lineage);
  return [...lineages.values()].reduce((sum, ofKey) => {
    const best = ofKey.reduce((a, b) => {
      if (aggregation === "max") return b.micros > a.micros ? b : a;
      return b.time > a.time || (b.time === a.time && b.order > a.order) ? b : a;
    });
    return sum + best.micros;
  }, 0n);
}
