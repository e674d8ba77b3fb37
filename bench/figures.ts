// Defines the figures measured with requests: what to send where, what to compare it with, and the aim.
import { keyPlace, type LoadRequest } from "./lua.ts";
import { allSeries } from "./prefill.ts";
import { delayMs, type Site, type SiteName, smallRecords } from "./sites.ts";

/** A measure: records or requests per second, or the response time. */
export type Measure = "perSecond" | "p50Ms" | "p99Ms";

/** A target value, in the measure's unit or as a ratio. */
export interface Aim {
  readonly of: Measure;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** One measurement. */
export interface Figure {
  readonly name: string;
  readonly site: SiteName;
  readonly connections: number;
  /** Number of records in one request. */
  readonly records: number;
  /** Ratios to other figures of the same round, by name. */
  readonly ratios: readonly (Aim & { readonly to: string })[];
  readonly aims: readonly Aim[];
  /** Whether to measure the response time of single requests instead of throughput. */
  readonly isSequential?: boolean;
  /** @param open Starts another site, if the request needs data from it. */
  readonly request: (
    site: Site,
    open: (name: SiteName) => Promise<Site>,
  ) => LoadRequest | Promise<LoadRequest>;
}

const batchRecords = 1_000;
const manyConnections = 128;
const batchConnections = 8;
/**
 * Each connection waits for its commit, so N connections get at most N responses per delay. With 128 of them, their
 * number would be the limit.
 */
const farConnections = 1_024;
/** Factor by which two runs of the same figure may differ. */
const noise = 1.25;

const json = { "Content-Type": "application/json" };
const single = { productSlug: "tiles", metric: "requests", quantity: 1 };
const oneRecord = JSON.stringify(single);
const oneRecordWithKey = JSON.stringify({ ...single, idempotencyKey: keyPlace });
const batch = batchOf({});
const batchWithKeys = batchOf({ idempotencyKey: keyPlace });
/** Any series but the first, which has a record in every quarter hour, even in the small database. */
const someSeries = 77;

/** @returns All figures. @param records Number of records in the full database. */
export function figuresOf(records: number): Figure[] {
  const count = (value: number) => value.toLocaleString("en");
  const small = `month by day, ${count(smallRecords)} records`;
  const smallFilled = `month by day, ${count(smallRecords)}, no gaps`;
  return [
    {
      ...echoing("echo of a session", ""),
      request: async ({ origin }, open) => ({
        method: "POST",
        url: `${origin}/echo`,
        headers: json,
        body: (await open("empty")).account.sessionUser,
      }),
    },
    {
      name: "GET /api/auth/me",
      site: "empty",
      connections: manyConnections,
      records: 0,
      ratios: [{ to: "echo of a session", of: "perSecond", atLeast: 0.5 }],
      aims: [],
      request: ({ origin, account: { cookie } }) => ({
        method: "GET",
        url: `${origin}/api/auth/me`,
        headers: { Cookie: cookie },
      }),
    },
    echoing("echo of a record", oneRecord),
    {
      ...echoing("the same with our headers", oneRecord),
      ratios: [{ to: "echo of a record", of: "perSecond" }],
      request: ({ origin }) => ({ method: "POST", url: `${origin}/headers`, headers: json, body: oneRecord }),
    },
    {
      ...recording("singles", oneRecord),
      ratios: [{ to: "echo of a record", of: "perSecond", atLeast: 0.6 }],
      aims: [{ of: "p99Ms", atMost: 15 }],
    },
    {
      ...recording("singles with keys", oneRecordWithKey),
      ratios: [{ to: "echo of a record", of: "perSecond" }],
    },
    { ...echoing("echo of a batch", batch), connections: batchConnections, records: batchRecords },
    {
      ...recording("batches", batch, batchRecords),
      ratios: [{ to: "echo of a batch", of: "perSecond" }],
      aims: [{ of: "perSecond", atLeast: 250_000 }],
    },
    {
      ...recording(`batches with keys, ${count(records)} stored`, batchWithKeys, batchRecords),
      site: "full",
      aims: [{ of: "perSecond", atLeast: 100_000 }],
    },
    {
      ...recording("the same, read and discarded", batchWithKeys, batchRecords),
      site: "echo",
      request: ({ origin }) => ({
        method: "POST",
        url: `${origin}/read`,
        headers: json,
        body: batchWithKeys,
      }),
    },
    {
      ...recording("remote singles", oneRecord),
      site: "remote",
      ratios: [{ to: "echo of a record", of: "perSecond", atLeast: 0.3 }],
    },
    {
      ...recording("remote batches", batch, batchRecords),
      site: "remote",
      ratios: [{ to: "batches", of: "perSecond" }],
    },
    { ...recording("remote batches with keys", batchWithKeys, batchRecords), site: "remote" },
    {
      ...recording(`remote singles, ${delayMs} ms away`, oneRecord),
      site: "far",
      connections: farConnections,
      aims: [{ of: "perSecond", atLeast: 5_000 }],
    },
    reading(small, "small", someSeries),
    reading(smallFilled, "small", 0),
    {
      ...reading(`month by day, ${count(records)} records`, "full", someSeries),
      ratios: [{ to: small, of: "p50Ms", atMost: noise }, { to: smallFilled, of: "p50Ms", atMost: noise }],
      aims: [{ of: "p50Ms", atMost: 5 }],
    },
  ];
}

/** @returns The figures with matching names, and those that they are compared with. */
export function chosenFigures(figures: readonly Figure[], only: RegExp): Figure[] {
  const chosen = figures.filter(({ name }) => only.test(name));
  const ceilings = new Set(chosen.flatMap(({ ratios }) => ratios.map(({ to }) => to)));
  return figures.filter((figure) => chosen.includes(figure) || ceilings.has(figure.name));
}

function echoing(name: string, body: string): Figure {
  return {
    name,
    site: "echo",
    connections: manyConnections,
    records: 0,
    ratios: [],
    aims: [],
    request: ({ origin }) => ({ method: "POST", url: `${origin}/echo`, headers: json, body }),
  };
}

function recording(name: string, body: string, records = 1): Figure {
  return {
    name,
    site: "empty",
    connections: records === 1 ? manyConnections : batchConnections,
    records,
    ratios: [],
    aims: [],
    request: ({ origin, account }) => ({
      method: "POST",
      url: `${origin}/api/v1/usage${records === 1 ? "" : "/batch"}`,
      headers: { ...json, Authorization: `Bearer ${account.apiKeys[0]?.fullKey}` },
      body,
    }),
  };
}

function reading(name: string, site: "full" | "small", place: number): Figure {
  return {
    name,
    site,
    connections: 1,
    records: 0,
    ratios: [],
    aims: [],
    isSequential: true,
    request: ({ origin, account, filled }) => {
      const series = allSeries[place];
      const apiKey = account.apiKeys[series?.key ?? 0];
      if (series === undefined || apiKey === undefined || filled === undefined) throw new Error(name);
      const query = new URLSearchParams({
        from: filled.from,
        to: filled.to,
        window: "day",
        productSlug: series.productSlug,
        metric: series.metric,
        apiKey: apiKey.id,
      });
      return {
        method: "GET",
        url: `${origin}/api/v1/usage?${query}`,
        headers: { Authorization: `Bearer ${apiKey.fullKey}` },
      };
    },
  };
}

/** @returns A batch as a collector sends it, with mixed usage of one key. */
function batchOf(more: Readonly<Record<string, string>>): string {
  const kinds = allSeries.filter(({ key }) => key === 0);
  const records = Array.from({ length: batchRecords }, (_, n) => {
    const kind = kinds[n % kinds.length];
    return {
      productSlug: kind?.productSlug,
      metric: kind?.metric,
      quantity: n % 4 === 0 ? n + 0.5 : n,
      ...more,
    };
  });
  return JSON.stringify({ records });
}
