// Fills a data file with the program's own recorder as 30 days of recording would: the clock advances with each commit,
// and every record has a random UUID as its idempotency key.
import { parseConfig } from "../config.ts";
import { openDatabase } from "../db/engine/open.ts";
import { hashApiKey } from "../domain/keys/api_key.ts";
import {
  recorderCommitRecordsMax,
  recorderOrganizationRecordsMax,
  rollupQuarterMs,
} from "../domain/limits.ts";
import type { UsageInput } from "../domain/meter/usage_record.ts";
import { createProcessParts } from "../services/process_parts.ts";
import { createServices } from "../services/services.ts";

/** A combination of key, product and metric. */
export interface Series {
  /** Index of its API key. */
  readonly key: number;
  readonly productSlug: string;
  readonly metric: string;
}

const products = Array.from({ length: 10 }, (_, n) => `product-${n}`);
const metrics = ["requests", "bytes", "seconds", "rows", "tokens"];
const keys = 4;
/** The 200 series of a filled database. */
export const allSeries: readonly Series[] = Array.from(
  { length: keys },
  (_, key) => products.flatMap((productSlug) => metrics.map((metric) => ({ key, productSlug, metric }))),
).flat();
/** Number of API keys needed. */
export const seriesKeys = keys;
const recordBytes = 150;
/** Number of groups in progress or waiting, so that the next one is ready when one is on disk. */
const groupsWaiting = 3;
const groupRecords = Math.min(
  recorderCommitRecordsMax,
  Math.floor(recorderOrganizationRecordsMax / groupsWaiting),
);

/** The records to create. Times in milliseconds since 1970. */
export interface Filling {
  readonly records: number;
  /** Full API keys, as many as {@linkcode seriesKeys}. */
  readonly apiKeys: readonly string[];
  /** Timestamp of the first record. */
  readonly from: number;
  /** Timestamp of the last record. */
  readonly to: number;
}

/**
 * Fills a migrated data file that no server has open.
 *
 * Timestamps are spread evenly from `from` to `to`. The first series has a record in every quarter hour; the others are
 * chosen at random.
 *
 * @returns Records per second, once everything is on disk and the file is closed.
 */
export async function prefill(path: string, filling: Filling): Promise<number> {
  const result = parseConfig({}, { isTerminal: false });
  if (!("config" in result)) throw new Error(result.faults.join("\n"));
  let fatal: unknown;
  const note = (error: unknown) => fatal ??= error;
  const database = await openDatabase({ kind: "file", path, createFolder: false }, { onFatal: note });
  // Records are recorded at their own timestamps, so recorded_at and everything derived from it is in order.
  let now = filling.from;
  const context = { config: result.config, database, clock: () => now };
  const parts = createProcessParts(context, { onBackgroundError: note });
  const services = createServices(context, { parts, onBackgroundError: note });
  const keyHashes = filling.apiKeys.map(hashApiKey);
  const begin = performance.now();
  const waiting: Promise<unknown>[] = [];
  for (const group of groups(filling)) {
    if (waiting.length >= groupsWaiting) await waiting.shift();
    if (fatal !== undefined) throw fatal;
    now = group.at;
    const requests = group.byKey.map((inputs, key) =>
      inputs.length === 0 ? undefined : services.recorder.record({
        keyHash: keyHashes[key] ?? "",
        inputs,
        bytes: inputs.length * recordBytes,
      })
    );
    waiting.push(Promise.all(requests));
  }
  await Promise.all(waiting);
  const perSecond = filling.records / (performance.now() - begin) * 1000;
  await services.close();
  await parts.close();
  await database.close();
  return perSecond;
}

/** Splits all records into groups of one commit, each with one request per key. */
function* groups({ records, from, to }: Filling): Generator<{ at: number; byKey: UsageInput[][] }> {
  const stepMs = (to - from) / records;
  let lastQuarter = -1;
  for (let first = 0; first < records; first += groupRecords) {
    const byKey: UsageInput[][] = Array.from({ length: keys }, () => []);
    let at = from;
    for (let n = first; n < Math.min(records, first + groupRecords); n++) {
      at = Math.floor(from + n * stepMs);
      const quarter = Math.floor(at / rollupQuarterMs);
      const series = allSeries[quarter === lastQuarter ? Math.floor(Math.random() * allSeries.length) : 0];
      lastQuarter = quarter;
      if (series !== undefined) byKey[series.key]?.push(input(series, at));
    }
    yield { at, byKey };
  }
}

function input(series: Series, timestamp: number): UsageInput {
  return {
    productSlug: series.productSlug,
    metric: series.metric,
    quantity: { whole: Math.floor(Math.random() * 1000), micro: Math.random() < 0.25 ? 500_000 : 0 },
    timestamp,
    idempotencyKey: crypto.randomUUID(),
    properties: null,
  };
}
