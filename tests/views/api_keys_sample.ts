// Sample pages of API keys. sample.ts has the others.
import assert from "node:assert/strict";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { apiKeyPage, type ApiKeyPageProps } from "../../views/api_keys/api_key_page.tsx";
import type { ApiKeysPageProps } from "../../views/api_keys/api_keys.tsx";
import { firstRequestPage } from "../../views/api_keys/first_request.tsx";
import {
  createdKeyPage,
  type CreatedKeyProps,
  formSentPage,
  newApiKeyPage,
  type NewKeyValues,
} from "../../views/api_keys/new_api_key.tsx";
import type { KeyLineRow } from "../../views/api_keys/api_key_table.tsx";
import {
  budgetPage,
  editApiKeyPage,
  revokeApiKeyPage,
  rotateApiKeyPage,
} from "../../views/api_keys/api_key_forms.tsx";
import { catalogueOf } from "../../domain/meter/catalogue.ts";
import type { Page, PortalFrame } from "../../views/layout.tsx";
import { keyList, keyListPages } from "./key_list_sample.ts";

/** @returns The props of the API keys page with an active, an expiring and an unused key. */
export function apiKeysProps(text: string, frame: PortalFrame): ApiKeysPageProps {
  return { frame, ...keyList(text), newKey: newKeyValues(text), flash: text };
}

function newKeyValues(text: string): NewKeyValues {
  return {
    name: text,
    expiry: { expires: "date", expiresOn: text },
    permissions: { usage: new Set(["usage:write"]), own: text },
    formToken: text,
  };
}

/** @returns The props of the page with a new key, which replaces another. */
export function createdKeyProps(text: string, frame: PortalFrame): CreatedKeyProps {
  const [apiKey] = apiKeysProps(text, frame).lines;
  if (apiKey === undefined) throw new Error("There is no key.");
  return {
    frame,
    apiKey,
    fullKey: "service_live_1",
    replaced: { endsAt: "2026-11-22T14:05:11.000Z" },
    usageUrl: "https://auth.example.com/api/v1/usage",
    usage: { productSlug: "tiles", metric: "loads" },
  };
}

function firstRequestOf(text: string) {
  const last = { at: "2026-11-21T14:03:11.000Z", network: text, userAgent: text, status: 422, error: text };
  return { isUsed: true, last, isAwaited: true };
}

function apiKeyPageProps(
  text: string,
  { frame, limits, apiKey }: {
    frame: PortalFrame;
    limits: readonly LimitStanding[];
    apiKey: KeyLineRow;
  },
): ApiKeyPageProps {
  const firstRequest = firstRequestOf(text);
  const day = { start: Date.parse("2026-11-21"), end: Date.parse("2026-11-22") };
  return {
    frame,
    apiKey: { ...apiKey, budget: limits.slice(1, 3).map((limit) => ({ ...limit, id: limit.limitId })) },
    generations: [apiKey, { ...apiKey, id: "key_0", expiresAt: "2026-11-22T14:05:11.000Z" }],
    report: {
      metrics: [
        { slug: "a", name: text, unit: null, total: "3", change: 12.5, share: 100 },
        { slug: "b", name: text, unit: "bytes", total: "1234567.5", change: null, share: null },
      ],
      catalogue: catalogueOf({ products: [], used: [] }),
      lastRecord: { product: text, metric: { slug: "a", name: text, unit: null }, quantity: 1 },
      chart: {
        metric: { slug: "a", name: text, unit: null },
        windows: [{ start: day.start - 86_400_000, end: day.start }, day],
        stack: {
          series: [text],
          others: { count: 2, largest: [{ part: `${text} 2`, sum: "1" }] },
          windows: [
            { values: [0, 0], sums: ["0", "0"], total: "0" },
            { values: [2, 1], sums: ["2", "1"], total: "3" },
          ],
        },
        products: new Map([[text, { slug: text, name: text, color: 1 }]]),
        today: "3",
      },
    },
    limits,
    lastRequest: firstRequest.last,
    firstRequest,
    events: [{
      id: "aud_1",
      at: "2026-11-21T14:03:11.000Z",
      action: "api_key.renamed",
      actor: { type: "session", id: "usr_1", name: text },
      target: { id: "key_1", name: text },
      details: {},
      address: text,
      userAgent: text,
      requestId: text,
    }],
    flash: text,
  };
}

/** @returns Every page of API keys by name, with `text` wherever user text can appear. */
export function apiKeyPages(
  text: string,
  { frame, limits, suspendedFrame }: {
    frame: PortalFrame;
    limits: readonly LimitStanding[];
    suspendedFrame: PortalFrame;
  },
): Readonly<Record<string, Page>> {
  const keys = apiKeysProps(text, frame);
  const created = createdKeyProps(text, frame);
  const [apiKey] = keys.lines;
  assert(apiKey !== undefined);
  const page = apiKeyPageProps(text, { frame, limits, apiKey });
  return {
    ...keyListPages(text, { frame, keys, suspended: suspendedFrame }),
    "API key": apiKeyPage(page),
    "API key, ended": apiKeyPage({
      ...page,
      apiKey: { ...apiKey, status: "revoked", permissions: [] },
      report: null,
      limits: null,
      lastRequest: null,
      events: [],
      flash: null,
    }),
    "API key, unused": apiKeyPage({
      ...page,
      generations: [apiKey],
      firstRequest: { ...firstRequestOf(text), isUsed: false },
    }),
    "budget": budgetPage({
      frame,
      apiKey,
      limits: [{ productSlug: text, metric: text, per: text, quantity: text, mode: text }],
      productSlugs: [text],
      metrics: [text],
      fields: { "limits": text, "limits[0]": text, "limits[0].quantity": text },
      message: text,
    }),
    "edit": editApiKeyPage({
      frame,
      apiKey: { ...apiKey, permissions: ["usage:void"] },
      name: text,
      permissions: { usage: new Set(["usage:void"]), own: text },
      expiry: { expires: "date", expiresOn: text },
      fields: { name: text, permissions: text },
      message: text,
    }),
    "revoke": revokeApiKeyPage({ frame, apiKey, today: page.report?.chart ?? null }),
    "rotate": rotateApiKeyPage({
      frame,
      apiKey,
      value: text,
      formToken: text,
      fields: { expireOld: text },
    }),
    "new key": newApiKeyPage({
      frame,
      values: keys.newKey,
      fields: { name: text, expires: text, expiresOn: text, permissions: text },
      message: text,
    }),
    "new key, created": createdKeyPage(created),
    "new key, form sent before": formSentPage({ frame, apiKey }),
    "first request": firstRequestPage({
      frame,
      apiKey,
      request: firstRequestOf(text),
    }),
  };
}
