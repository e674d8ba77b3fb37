// Every request that an API key opens, as a table.
import assert from "node:assert/strict";
import { assertRows, type Row, sendRow } from "../app/rows.ts";
import type { TestApp } from "../app/app.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const long = { ...usage, properties: { text: "x".repeat(100) } };

type Use = readonly [request: string, json: Row[1]];

/** Requests that succeed with a key that works, and may void. @param recordId Of one of its records. */
export function usesOfKey(recordId: string): readonly Use[] {
  return [
    ["POST /api/v1/usage", usage],
    ["POST /api/v1/usage", { ...usage, metric: `m${crypto.randomUUID()}` }],
    ["POST /api/v1/usage/batch", { records: [usage] }],
    ["POST /api/v1/usage/batch", { records: Array(999).fill(long) }],
    ["GET /api/v1/usage", null],
    ["GET /api/v1/usage.csv", null],
    ["GET /api/v1/usage/records", null],
    [`GET /api/v1/usage/records/${recordId}`, null],
    ["GET /api/v1/limits", null],
    ["POST /api/v1/holds", { records: [usage], expiresIn: 1 }],
    ["GET /api/v1/holds", null],
    ["GET /api/auth/forward?accept=key", null],
    ["GET /api/auth/forward?accept=session,key", null],
    ["GET /api/auth/forward?accept=key&meter=tiles/requests", null],
    ["GET /api/v1/keys/forward", null],
    ["GET /api/v1/keys/forward?meter=tiles/requests", null],
    [`POST /api/v1/usage/records/${recordId}/void`, { reason: "test" }],
  ];
}

/** Requests that say what is wrong with them, but only to those whose key works. */
const invalidUses: readonly Use[] = [
  ["POST /api/v1/usage", { nothing: true }],
  ["GET /api/v1/usage?window=never", null],
];

/** Asserts that every use of a key from an address is rejected like that of an unknown key, and opens nothing. */
export async function assertDoorsClosed(
  test: TestApp,
  by: { apiKey: string; peerAddress?: string },
  recordId: string,
): Promise<void> {
  const all = [...usesOfKey(recordId), ...invalidUses];
  await assertRows(test, by, all.map(([request, json]): Row => [request, json, "401 invalid_api_key"]));
}

/** Asserts that every use of a key succeeds, from an address. */
export async function assertDoorsOpen(
  test: TestApp,
  by: { apiKey: string; peerAddress?: string },
  recordId: string,
): Promise<void> {
  for (const [request, json] of usesOfKey(recordId)) {
    const { status, html } = await sendRow(test, by, request, json);
    assert(status < 300, `${request}: ${status} ${html}`);
  }
}
