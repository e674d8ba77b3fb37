// Defines the figures that are measured with requests: what to send where, what to compare it with, and the aim.
import { testPassword } from "../tests/support/app/app.ts";
import { signUp } from "./account.ts";
import { keyPlace, type LoadRequest } from "./lua.ts";
import { allSeries } from "./prefill.ts";
import { createToken, delayMs, type Site, type SiteName, smallRecords } from "./sites.ts";

/**
 * A measure: records or requests per second, the response time, or the processor time of a request in microseconds (of all
 * threads, or of those that serve HTTP).
 */
export type Measure = "perSecond" | "p50Ms" | "p99Ms" | "totalCpu" | "httpCpu";

/** A target value, in the measure's unit or as a ratio. */
export interface Aim {
  readonly of: Measure;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** What to send to a site. */
type RequestOf = (site: Site) => LoadRequest | Promise<LoadRequest>;

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
  /** Send at half of the rate that this figure has just reached, whether or not the server keeps up. */
  readonly halfRateOf?: string;
  /** Other requests that are sent at the same time, at a steady rate. */
  readonly meanwhile?: { readonly records: number; readonly perSecond: number; readonly request: RequestOf };
  /** Whether to measure it with the program of BENCH_BEFORE too. */
  readonly hasBefore?: boolean;
  readonly request: RequestOf;
}

const batchRecords = 1_000;
const manyConnections = 128;
const batchConnections = 8;
/** Sign-ins at a time. Of more, some would be rejected: each counts as a failed attempt until it succeeds. */
const signInConnections = 4;
/** Records per second that are recorded during sign-ins, and how many in a request. */
const recordsMeanwhile = 10_000;
const smallBatchRecords = 10;
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
const count = (value: number) => value.toLocaleString("en");
/** Any series but the first, which has a record in every quarter hour, even in the small database. */
const someSeries = 77;

/**
 * @returns All figures.
 * @param options `records`: number of records in the full database. `before`: the folder of an older checkout to compare with.
 */
export function figuresOf({ records, before }: { records: number; before: string | undefined }): Figure[] {
  const figures = [
    ...sessionFigures,
    ...verificationFigures,
    ...singleFigures,
    ...batchFigures(records),
    signIns,
    ...remoteFigures,
    ...readingFigures(records),
  ];
  return before === undefined ? figures : figures.flatMap(withBefore);
}

const sessionFigures: readonly Figure[] = [
  {
    ...echoing("GET of a session's JSON", ""),
    request: ({ origin, account }) => ({ method: "GET", url: origin, headers: { Cookie: account.cookie } }),
  },
  {
    ...checking("GET /api/auth/me"),
    ratios: [
      { to: "GET of a session's JSON", of: "httpCpu", atMost: 2.5 },
      { to: "GET of a session's JSON", of: "perSecond" },
    ],
  },
  {
    ...checking("GET /api/auth/me, 2 threads"),
    site: "two",
    ratios: [
      { to: "GET /api/auth/me", of: "perSecond", atLeast: 1.6 },
      { to: "GET of a session's JSON", of: "httpCpu" },
      { to: "GET of a session's JSON", of: "perSecond" },
    ],
    hasBefore: true,
  },
];

const verificationFigures: readonly Figure[] = [
  verifyingElsewhere("better-auth's verifyApiKey", "/better-auth"),
  verifyingElsewhere("hand-written verification", "/by-hand"),
  {
    ...checking("POST /api/v1/keys/verify"),
    ratios: [
      { to: "GET /api/auth/me", of: "perSecond", atLeast: 0.8 },
      { to: "GET /api/auth/me", of: "totalCpu" },
      { to: "better-auth's verifyApiKey", of: "perSecond", atLeast: 10 },
      { to: "better-auth's verifyApiKey", of: "totalCpu" },
      { to: "hand-written verification", of: "perSecond" },
      { to: "hand-written verification", of: "totalCpu" },
    ],
    request: async (site) => ({
      method: "POST",
      url: `${site.origin}/api/v1/keys/verify`,
      headers: { ...json, Authorization: `Bearer ${await createToken(site, "keys:verify")}` },
      body: JSON.stringify({ key: site.account.apiKeys[0]?.fullKey }),
    }),
  },
];

const singleFigures: readonly Figure[] = [
  echoing("echo of a record", oneRecord),
  {
    ...recording("singles", oneRecord),
    site: "one",
    ratios: [
      { to: "echo of a record", of: "httpCpu", atMost: 1.7 },
      { to: "echo of a record", of: "perSecond" },
    ],
  },
  {
    ...recording("singles, 2 threads", oneRecord),
    ratios: [
      { to: "echo of a record", of: "perSecond", atLeast: 0.6 },
      { to: "echo of a record", of: "httpCpu" },
      { to: "singles", of: "perSecond" },
    ],
    hasBefore: true,
  },
  {
    ...recording("limited singles, 2 threads", oneRecord),
    site: "limited",
    ratios: [
      { to: "singles, 2 threads", of: "perSecond", atLeast: 0.85 },
      { to: "singles, 2 threads", of: "totalCpu" },
    ],
  },
  {
    ...recording("singles, 2 threads, half the rate", oneRecord),
    halfRateOf: "singles, 2 threads",
    aims: [{ of: "p99Ms", atMost: 15 }],
  },
  {
    ...recording("singles with keys, 2 threads", oneRecordWithKey),
    ratios: [{ to: "echo of a record", of: "perSecond" }],
  },
];

function batchFigures(records: number): Figure[] {
  return [
    { ...echoing("echo of a batch", batch), connections: batchConnections, records: batchRecords },
    {
      ...recording("batches", batch, batchRecords),
      ratios: [{ to: "echo of a batch", of: "perSecond" }],
      aims: [{ of: "perSecond", atLeast: 250_000 }],
      hasBefore: true,
    },
    {
      ...recording(`batches with keys, ${count(records)} stored`, batchWithKeys, batchRecords),
      site: "full",
      aims: [{ of: "perSecond", atLeast: 100_000 }],
    },
  ];
}

/** Each sign-in writes to the same file as the records. */
const signIns: Figure = {
  name: `sign-ins during ${count(recordsMeanwhile)} records/s`,
  site: "two",
  connections: signInConnections,
  records: 0,
  ratios: [],
  aims: [],
  hasBefore: true,
  meanwhile: {
    records: smallBatchRecords,
    perSecond: recordsMeanwhile / smallBatchRecords,
    request: usageRequest("/api/v1/usage/batch", batchOf({}, smallBatchRecords)),
  },
  request: async ({ origin }) => {
    // Another account: the oldest sessions of one that signs in so often end.
    const email = "grace@example.com";
    await signUp(origin.replace("127.0.0.1", "localhost"), { email, keys: 0 });
    const body = JSON.stringify({ email, password: testPassword });
    return { method: "POST", url: `${origin}/api/auth/sign-in`, headers: json, body };
  },
};

const remoteFigures: readonly Figure[] = [
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
];

function readingFigures(records: number): Figure[] {
  const small = `month by day, ${count(smallRecords)} records`;
  const smallFilled = `month by day, ${count(smallRecords)}, no gaps`;
  return [
    reading(small, "small", someSeries),
    reading(smallFilled, "small", 0),
    {
      ...reading(`month by day, ${count(records)} records`, "full", someSeries),
      ratios: [{ to: small, of: "p50Ms", atMost: noise }, { to: smallFilled, of: "p50Ms", atMost: noise }],
      aims: [{ of: "p50Ms", atMost: 5 }],
    },
  ];
}

/** @returns The figure, and the same with the older program. */
function withBefore(figure: Figure): Figure[] {
  if (figure.hasBefore !== true) return [figure];
  const to = `${figure.name}, before`;
  const ratios = [
    ...figure.ratios,
    { to, of: "perSecond" },
    // With other requests meanwhile, the time of each can't be told apart.
    ...(figure.meanwhile === undefined ? [{ to, of: "totalCpu" }] as const : []),
  ] as const;
  const ratiosBefore = figure.ratios.map(({ to, of }) => ({ to, of }));
  return [{ ...figure, name: to, site: "before", ratios: ratiosBefore, aims: [] }, { ...figure, ratios }];
}

/** @returns The figures with matching names, and those that they are compared with. */
export function chosenFigures(figures: readonly Figure[], only: RegExp): Figure[] {
  const chosen = figures.filter(({ name }) => only.test(name));
  const others = chosen.flatMap(({ ratios, halfRateOf }) => [...ratios.map(({ to }) => to), halfRateOf]);
  return figures.filter((figure) => chosen.includes(figure) || others.includes(figure.name));
}

function echoing(name: string, body: string): Figure {
  return {
    name,
    site: "echo",
    connections: manyConnections,
    records: 0,
    ratios: [],
    aims: [],
    request: ({ origin }) => ({ method: "POST", url: origin, headers: json, body }),
  };
}

function checking(name: string): Figure {
  return {
    name,
    site: "one",
    connections: manyConnections,
    records: 0,
    ratios: [],
    aims: [],
    request: ({ origin, account: { cookie } }) => ({
      method: "GET",
      url: `${origin}/api/auth/me`,
      headers: { Cookie: cookie },
    }),
  };
}

function verifyingElsewhere(name: string, path: string): Figure {
  return {
    ...checking(name),
    site: "verifiers",
    request: async ({ origin }) => ({
      method: "POST",
      url: `${origin}${path}`,
      headers: json,
      // The server's only key.
      body: await (await fetch(`${origin}${path}`)).text(),
    }),
  };
}

function recording(name: string, body: string, records = 1): Figure {
  return {
    name,
    site: "two",
    connections: records === 1 ? manyConnections : batchConnections,
    records,
    ratios: [],
    aims: [],
    request: records === 1 ? usageRequest("/api/v1/usage", body) : usageRequest("/api/v1/usage/batch", body),
  };
}

function usageRequest(path: string, body: string): RequestOf {
  return ({ origin, account }) => ({
    method: "POST",
    url: `${origin}${path}`,
    headers: { ...json, Authorization: `Bearer ${account.apiKeys[0]?.fullKey}` },
    body,
  });
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
function batchOf(more: Readonly<Record<string, string>>, length = batchRecords): string {
  const kinds = allSeries.filter(({ key }) => key === 0);
  const records = Array.from({ length }, (_, n) => {
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
