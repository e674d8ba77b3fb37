// Usage of a company with maps, as its programs would have recorded it hour by hour.
import type { SentRecord } from "../meter/usage.ts";
import type { Random } from "../runner/random.ts";

const dayMs = 24 * 3_600_000;

/** What a key records. */
export interface Traffic {
  readonly perDay: number;
  /** How many of these requests each product gets. */
  readonly products: Readonly<Record<string, number>>;
  /** How likely it is to record one product in one hour. */
  readonly chance: number;
  /** True if it also records map loads, data transfer and compute time. */
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

const regions = ["eu-central", "eu-central", "us-east", "ap-south", "sa-east"];
const formats = ["vector", "webp", "png"];
const all = { tiles: 0.57, search: 0.17, geocoding: 0.13, routing: 0.09, elevation: 0.04 };
const apps = { tiles: 0.68, search: 0.2, routing: 0.12 };
const imports = { geocoding: 0.6, routing: 0.1, elevation: 0.3 };

/** What each key of the company records, by its name. */
export const traffic: Readonly<Record<string, Traffic>> = {
  "Production EU": { perDay: 195_000, products: all, chance: 0.85, hasMore: true },
  "Production US": { perDay: 92_000, products: all, chance: 0.85, hasMore: true },
  "Mobile app – iOS": { perDay: 87_000, products: apps, chance: 0.8, hasMore: true },
  "Mobile app – Android": { perDay: 66_000, products: apps, chance: 0.8, hasMore: true },
  "Import job (nightly)": { perDay: 47_000, products: imports, chance: 0.15, isKeyed: true },
  "Production APAC": { perDay: 45_000, products: all, chance: 0.75, hasMore: true },
  "Partner: Kartverket": { perDay: 13_500, products: all, chance: 0.5, isKeyed: true },
  "Data warehouse export": { perDay: 5_200, products: { search: 0.7, geocoding: 0.3 }, chance: 0.5 },
  "Staging (EU)": { perDay: 2_200, products: all, chance: 0.25, isKeyed: true },
  "CI pipeline": { perDay: 830, products: { tiles: 0.6, routing: 0.4 }, chance: 0.2 },
  "Old website": { perDay: 4_000, products: apps, chance: 0.3 },
  "Legacy import 2025": { perDay: 3_000, products: { geocoding: 1 }, chance: 0.1 },
};

/** Per request of the product, besides the request itself. */
const more: readonly (readonly [product: string, metric: string, perRequest: number])[] = [
  ["tiles", "map_loads", 0.27],
  ["tiles", "data_transfer", 460_000],
  ["elevation", "data_transfer", 90_000],
  ["routing", "compute_time", 1.1],
  ["search", "compute_time", 0.15],
];

/** Returns what one key records from `start` to `end`, at most an hour. */
export function recordsOfHour(
  { perDay, products, chance, hasMore = false, isKeyed = false }: Traffic,
  { start, end, random }: { start: number; end: number; random: Random },
): SentRecord[] {
  const base = perDay * (end - start) / dayMs;
  const records: SentRecord[] = [];
  const add = (
    productSlug: string,
    metric: string,
    quantity: number,
    properties?: Record<string, string>,
  ) => {
    const exact = quantity * random.between(88, 112) / 100;
    records.push({
      productSlug,
      metric,
      quantity: metric === "compute_time" ? Math.ceil(exact * 100) / 100 : Math.ceil(exact),
      timestamp: new Date(start + random.between(0, Math.max(0, end - start - 1))).toISOString(),
      ...(isKeyed && { idempotencyKey: crypto.randomUUID() }),
      ...(properties && { properties }),
    });
  };
  for (const [slug, part] of Object.entries(products)) {
    if (!random.chance(chance)) continue;
    const properties = {
      ...(random.chance(0.95) && { region: random.pick(regions) }),
      ...(slug === "tiles" && { format: random.pick(formats) }),
    };
    add(slug, "requests", base * part / chance, properties);
  }
  if (!hasMore) return records;
  for (const [slug, metric, perRequest] of more) {
    if (slug in products && random.chance(chance)) {
      add(slug, metric, base * (products[slug] ?? 0) * perRequest);
    }
  }
  add("tiles", "storage", perDay * 1_900_000);
  if (random.chance(0.2)) add("tiles", "editors", 1, { user: `u-${random.between(1, 84)}` });
  return records;
}
