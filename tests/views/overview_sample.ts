// The overview and the pages of records with sample data.
import assert from "node:assert/strict";
import type { AuditEvent } from "../../domain/audit.ts";
import type { Page } from "../../views/layout.tsx";
import { voidRecordPage } from "../../views/meter/void_record.tsx";
import { allRecords, recordPage, recordsPage } from "../../views/meter/records.tsx";
import type { UsagePageProps } from "../../views/meter/usage.tsx";
import { firstStepsPage } from "../../views/overview/first_steps.tsx";
import { overviewPage } from "../../views/overview/overview.tsx";

/** @returns The pages by name. @param usage Of the usage page. @param activity Of the audit log. */
export function overviewPages(
  text: string,
  usage: UsagePageProps,
  activity: readonly AuditEvent[],
): Readonly<Record<string, Page>> {
  const { frame } = usage;
  const steps = { frame, hasKey: false, hasOthers: false, curl: text };
  const { user } = frame.session;
  const unverified = { ...frame.session, user: { ...user, emailVerified: false } };
  const { limits, report } = usage;
  const catalogue = { products: new Map(), metrics: new Map() };
  const overview = {
    frame,
    href: "/portal",
    label: text,
    numbers: {
      expiring: { count: 4, keys: [{ id: "key_1", name: text, endsAt: frame.now + 86_400_000 }] },
      withoutTwoStep: { count: 2, names: [text] },
      catalogue,
    },
    usage: report,
    limits,
    activity,
  };
  return {
    ...recordPages(text, usage),
    "overview": overviewPage(overview),
    "overview, quiet": overviewPage({ ...overview, usage: null, limits: [], activity: null }),
    "overview, not available": overviewPage({ ...overview, numbers: null, usage: null, limits: null }),
    "first steps": firstStepsPage(steps),
    "first steps with a key": firstStepsPage({ ...steps, hasKey: true, hasOthers: true }),
    "first steps, unverified": firstStepsPage({ ...steps, frame: { ...frame, session: unverified } }),
  };
}

function recordPages(
  text: string,
  { frame, choices, records, catalogue }: UsagePageProps,
): Record<string, Page> {
  const [record] = records;
  assert.ok(record);
  const props = {
    frame,
    address: { ...allRecords, productSlug: text, apiKey: text, search: text, from: text },
    timezone: "Europe/Berlin",
    choices: { ...choices, products: [text], metrics: [text], apiKeys: [{ id: "key_1", name: text }] },
    catalogue,
    errors: {},
    records,
    nextCursor: text,
    previousCursor: text,
  };
  const none = { ...props, address: allRecords, records: [], nextCursor: null, previousCursor: null };
  const counted = { ...record, voidedAt: null, voidedBy: null, voidedByName: null, voidReason: null };
  const one = { frame, record, catalogue, timezone: "UTC", flash: null };
  return {
    "records": recordsPage(props),
    "records, none": recordsPage(none),
    "records, none of these": recordsPage({ ...props, records: [] }),
    "records, wrong days": recordsPage({ ...props, errors: { from: text, to: text }, records: null }),
    "record": recordPage({ ...one, flash: text, timezone: "Europe/Berlin" }),
    "record of the operator": recordPage({
      ...one,
      record: { ...counted, apiKeyId: null, apiKeyName: null, properties: null, idempotencyKey: null },
    }),
    "record, to void": voidRecordPage({
      ...one,
      frame: {
        ...frame,
        isConsole: true,
        base: "/operator/organizations/org_1",
        viewed: { id: "org_1", name: text },
      },
      reason: text,
      message: text,
      fields: { reason: text },
    }),
  };
}
