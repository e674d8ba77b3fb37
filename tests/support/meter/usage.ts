// Records and reads usage over the JSON API: in batches, as sums, and page by page.
import assert from "node:assert/strict";
import type { Settings } from "../../../config.ts";
import { startTestApp, type TestApp } from "../app/app.ts";
import { bothDatabases, databaseKinds } from "../database/database.ts";
import { grantVoids } from "../operators/operators.ts";

/** A usage record as sent. */
export interface SentRecord {
  readonly productSlug: string;
  readonly metric: string;
  readonly quantity: number;
  readonly timestamp?: string;
  readonly idempotencyKey?: string;
  readonly properties?: Readonly<Record<string, string>>;
}

/** A usage record as listed. */
export interface ListedRecord extends SentRecord {
  readonly id: string;
  readonly timestamp: string;
  readonly recordedAt: string;
  readonly apiKeyId: string;
  readonly voidedAt: string | null;
  readonly voidedBy: string | null;
  readonly voidReason: string | null;
}

/** A sum as returned. */
export interface ReadSum {
  readonly start: string;
  readonly end: string;
  readonly productSlug?: string;
  readonly metric?: string;
  readonly apiKey?: string;
  readonly properties?: Readonly<Record<string, string>>;
  readonly sum: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
}

/** Disables the rate limit, because the tests' clock stands still and a second never ends. */
export const unlimited = { API_KEY_REQUESTS_PER_SECOND: "0" } as const;

type Run = (test: TestApp) => Promise<void> | void;

/** Defines a test with its own app on each kind of database: in a quick run only on the embedded one. */
export function onEveryDatabase(promise: string, run: Run, settings: Settings = {}): void {
  for (const kind of databaseKinds) define(promise, { kind, run, settings });
}

/** Defines a test with its own app on both kinds of database, because they differ in what it tests. */
export function onBothDatabases(promise: string, run: Run, settings: Settings = {}): void {
  for (const kind of bothDatabases) define(promise, { kind, run, settings });
}

/** True if the test's database is on a libSQL server, where a history takes longer. */
export function isRemote({ opened: { place } }: TestApp): boolean {
  return place.startsWith("http");
}

function define(
  promise: string,
  { kind, run, settings }: { kind: typeof bothDatabases[number]; run: Run; settings: Settings },
): void {
  Deno.test({
    name: `${kind.name} database: ${promise}`,
    ignore: kind.ignore,
    fn: async () => {
      const test = await startTestApp({ ...unlimited, ...settings }, { open: kind.open });
      try {
        await run(test);
      } finally {
        await test.dispose();
      }
    },
  });
}

/** Records any number of records, 1,000 per request. @returns How many were new. */
export async function recordAll(
  test: TestApp,
  { apiKey, records }: { apiKey: string; records: readonly SentRecord[] },
): Promise<number> {
  let accepted = 0;
  for (let at = 0; at < records.length; at += 1000) {
    const response = await test.send("/api/v1/usage/batch", {
      apiKey,
      json: { records: records.slice(at, at + 1000) },
    });
    assert.equal(response.status, 201, await response.clone().text());
    accepted += (await response.json()).accepted;
  }
  return accepted;
}

/** Sends one record with a key, whether or not the key still works. */
export function recordWith(
  test: TestApp,
  apiKey: string,
  more: Partial<SentRecord> = {},
): Promise<Response> {
  const json = { productSlug: "tiles", metric: "requests", quantity: 1, ...more };
  return test.send("/api/v1/usage", { apiKey, json });
}

/** Records one record. @returns The record from the response. */
export async function recordOne(test: TestApp, apiKey: string, more: Partial<SentRecord> = {}) {
  const response = await recordWith(test, apiKey, more);
  assert.equal(response.status, 201, await response.clone().text());
  return (await response.json()).usageRecord as ListedRecord;
}

/** Voids a record, as a key to which an operator has granted that. @returns The record from the response. */
export async function voidOne(
  test: TestApp,
  { apiKey, id, reason = "Sent twice." }: { apiKey: string; id: string; reason?: string },
): Promise<ListedRecord> {
  await test.opened.database.write([grantVoids]);
  const response = await test.send(`/api/v1/usage/records/${id}/void`, { apiKey, json: { reason } });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).usageRecord;
}

/** Reads sums of usage. @param query Including the `?`. */
export async function readSums(test: TestApp, apiKey: string, query = ""): Promise<ReadSum[]> {
  const response = await test.send(`/api/v1/usage${query}`, { apiKey });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).data;
}

/** Reads one page of a list. @param query Without the `?`. */
export async function listPage(
  test: TestApp,
  apiKey: string,
  query = "",
): Promise<{ usageRecords: ListedRecord[]; nextCursor: string | null }> {
  const response = await test.send(`/api/v1/usage/records?${query}`, { apiKey });
  assert.equal(response.status, 200, await response.clone().text());
  return await response.json();
}

/** Reads all pages of a list. @param query Without the `?`. */
export async function listAll(test: TestApp, apiKey: string, query = "limit=100"): Promise<ListedRecord[]> {
  const records: ListedRecord[] = [];
  for (let cursor = "";;) {
    const page = await listPage(test, apiKey, `${query}${cursor}`);
    records.push(...page.usageRecords);
    if (page.nextCursor === null) return records;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

/** @returns A number in millionths, read from its decimal digits. */
export function millionths(value: number): bigint {
  const [whole = "", fraction = ""] = String(value).split(".");
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
}

/** @returns The number nearest to a number of millionths. */
export function fromMillionths(micros: bigint): number {
  return Number(`${micros / 1_000_000n}.${String(micros % 1_000_000n).padStart(6, "0")}`);
}

/** Adds up records one by one. @param nameOf Names the result line that a record belongs to; lines are sorted by name. */
export function addUpNaively<T extends Pick<ListedRecord, "quantity">>(
  records: readonly T[],
  nameOf: (record: T) => readonly string[],
): { names: readonly string[]; sum: number; count: number; min: number; max: number }[] {
  const lines = new Map<string, { names: readonly string[]; micros: bigint[] }>();
  for (const record of records) {
    const names = nameOf(record);
    const line = lines.get(names.join(" ")) ?? { names, micros: [] };
    line.micros.push(millionths(record.quantity));
    lines.set(names.join(" "), line);
  }
  return [...lines].sort(([a], [b]) => a < b ? -1 : 1).map(([, { names, micros }]) => {
    const sorted = micros.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0);
    return {
      names,
      sum: fromMillionths(sorted.reduce((sum, value) => sum + value, 0n)),
      count: sorted.length,
      min: fromMillionths(sorted[0] ?? 0n),
      max: fromMillionths(sorted.at(-1) ?? 0n),
    };
  });
}
