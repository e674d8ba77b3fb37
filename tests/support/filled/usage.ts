// Two months of usage of a company with maps, as its programs would have recorded it hour by hour.
import type { SentRecord } from "../meter/usage.ts";
import type { Random } from "../runner/random.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** What a key records. */
export interface Traffic {
  /** Requests on an ordinary working day, and how their number changes in 30 days. */
  readonly perDay: number;
  readonly growth?: number;
  /** How many of these requests each product gets. */
  readonly products: Readonly<Record<string, number>>;
  /** How likely it is to record one product in one hour. */
  readonly chance: number;
  /** Hours of the day with traffic, if it isn't spread over the whole day. */
  readonly hours?: readonly [from: number, to: number];
  /** Whether it also records map loads, data transfer and compute time, and all of it twice in an hour. */
  readonly hasMore?: boolean;
  /** Whether records have idempotency keys. */
  readonly isKeyed?: boolean;
}

/** The products of the catalogue, with their metrics. */
export const catalogue = [
  {
    slug: "tiles",
    name: "Map tiles",
    metrics: ["requests", "map_loads", "data_transfer", "storage", "editors"],
  },
  { slug: "search", name: "Place search", metrics: ["requests", "compute_time"] },
  { slug: "geocoding", name: "Geocoding", metrics: ["requests"] },
  { slug: "routing", name: "Routing", metrics: ["requests", "compute_time"] },
  { slug: "elevation", name: "Elevation", metrics: ["requests", "data_transfer"] },
];

/** The metrics of the catalogue. */
export const metrics: Readonly<
  Record<string, { slug: string; name: string; unit: string } & Record<string, unknown>>
> = {
  requests: {
    slug: "requests",
    name: "Requests",
    unit: "requests",
    dimensions: [["region"], ["format", "region"]],
  },
  map_loads: { slug: "map_loads", name: "Map loads", unit: "loads" },
  data_transfer: { slug: "data_transfer", name: "Data transfer", unit: "bytes" },
  compute_time: { slug: "compute_time", name: "Compute time", unit: "seconds" },
  storage: { slug: "storage", name: "Storage", unit: "bytes", aggregation: "last" },
  editors: {
    slug: "editors",
    name: "Editors",
    unit: "people",
    dimensions: [["user"]],
    aggregation: "unique",
    uniqueProperty: "user",
  },
};

const regions = ["eu-central", "eu-central", "eu-central", "us-east", "us-east", "ap-south", "sa-east"];
const all = { tiles: 0.57, search: 0.17, geocoding: 0.13, routing: 0.09, elevation: 0.04 };
const apps = { tiles: 0.68, search: 0.2, routing: 0.12 };

/** What each key of the company records, by its name. */
export const traffic: Readonly<Record<string, Traffic>> = {
  "Production EU": { perDay: 195_000, growth: 0.3, products: all, chance: 0.85, hasMore: true },
  "Production US": { perDay: 92_000, growth: 0.13, products: all, chance: 0.85, hasMore: true },
  "Mobile app – iOS": { perDay: 87_000, growth: 0.03, products: apps, chance: 0.8, hasMore: true },
  "Mobile app – Android": { perDay: 66_000, growth: 0.04, products: apps, chance: 0.8, hasMore: true },
  "Import job (nightly)": {
    perDay: 47_000,
    growth: -0.05,
    products: { geocoding: 0.6, routing: 0.1, elevation: 0.3 },
    chance: 1,
    hours: [1, 4],
    isKeyed: true,
  },
  "Production APAC": { perDay: 45_000, growth: 0.3, products: all, chance: 0.75, hasMore: true },
  "Partner: Kartverket": { perDay: 13_500, products: all, chance: 0.5, isKeyed: true },
  "Data warehouse export": { perDay: 5_200, products: { search: 0.7, geocoding: 0.3 }, chance: 0.5 },
  "Staging (EU)": { perDay: 2_200, products: all, chance: 0.25, hours: [7, 19], isKeyed: true },
  "CI pipeline": { perDay: 830, products: { tiles: 0.6, routing: 0.4 }, chance: 0.3, hours: [6, 20] },
  "Old website": { perDay: 4_000, growth: -0.5, products: apps, chance: 0.3 },
  "Legacy import 2025": { perDay: 3_000, products: { geocoding: 1 }, chance: 0.5, hours: [2, 5] },
  "Jonas: local tests": { perDay: 40, products: { search: 1 }, chance: 0.3, hours: [8, 17] },
};

/**
 * What one key records in one hour.
 *
 * @param options `start`: the beginning of the hour, and `end` its end or now, in milliseconds since 1970. `epoch`: the time at which
 *   the traffic is as given.
 */
export function recordsOfHour(
  { perDay, growth = 0.1, products, chance, hours, hasMore = false, isKeyed = false }: Traffic,
  { start, end, epoch, random }: { start: number; end: number; epoch: number; random: Random },
): SentRecord[] {
  const hour = Math.floor(start / hourMs) % 24;
  if (hours !== undefined && (hour < hours[0] || hour >= hours[1])) return [];
  const share = hours === undefined ? dayCurve(hour) / curveSum : 1 / (hours[1] - hours[0]);
  const base = perDay * share * (1 + growth) ** ((start - epoch) / (30 * dayMs)) * factorOf(start) *
    (end - start) / hourMs;
  const records: SentRecord[] = [];
  const add = (
    productSlug: string,
    metric: string,
    quantity: number,
    { likely, properties }: { likely: number; properties?: Record<string, string> },
  ) => {
    if (quantity <= 0 || !random.chance(likely)) return;
    const timestamp = start + random.between(0, Math.max(0, end - start - 1));
    const noise = random.between(88, 112) / 100;
    const isWhole = metric !== "compute_time";
    const exact = quantity * noise / likely;
    records.push({
      productSlug,
      metric,
      quantity: isWhole ? Math.max(1, Math.round(exact)) : Math.round(exact * 100) / 100,
      timestamp: new Date(timestamp).toISOString(),
      ...(isKeyed ? { idempotencyKey: crypto.randomUUID() } : {}),
      ...(properties && { properties }),
    });
  };
  const addProducts = (requests: number) => {
    for (const [slug, part] of Object.entries(products)) {
      const region = random.pick(regions);
      const properties = {
        ...(random.chance(0.95) && { region }),
        ...(slug === "tiles" && { format: random.pick(["vector", "webp", "png"]) }),
      };
      add(slug, "requests", requests * part, { likely: chance, properties });
    }
  };
  if (!hasMore) {
    addProducts(base);
    return records;
  }
  for (const half of [base / 2, base / 2]) {
    addProducts(half);
    const of = (product: string) => half * (products[product] ?? 0);
    add("tiles", "map_loads", of("tiles") * 0.27, { likely: chance });
    add("tiles", "data_transfer", of("tiles") * 460_000, { likely: chance });
    add("elevation", "data_transfer", of("elevation") * 90_000, { likely: chance / 2 });
    add("routing", "compute_time", of("routing") * 1.1, { likely: chance });
    add("search", "compute_time", of("search") * 0.15, { likely: chance / 2 });
    if (hour % 6 === 0) {
      add("tiles", "storage", perDay * 1_900_000 * (1 + growth) ** ((start - epoch) / (30 * dayMs)), {
        likely: 1,
      });
    }
    if (random.chance(0.2)) {
      add("tiles", "editors", 1, { likely: 1, properties: { user: `u-${random.between(1, 84)}` } });
    }
  }
  return records;
}

/** Most traffic at 14:00 UTC, least at 02:00. */
const dayCurve = (hour: number) => 1.15 + Math.cos((hour - 14) / 24 * 2 * Math.PI);
const curveSum = Array.from({ length: 24 }, (_, hour) => dayCurve(hour)).reduce((sum, part) => sum + part, 0);

/** Weekends are quieter, and a release on November 6 was not. */
function factorOf(at: number): number {
  const date = new Date(at);
  const day = date.getUTCDay();
  if (day === 0 || day === 6) return 0.63;
  return date.toISOString().startsWith("2026-11-06") ? 1.4 : 1;
}
