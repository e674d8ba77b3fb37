// Every page with sample data, for the tests of the views. User text can be replaced.
import { exampleCurl } from "../../views/components/code.tsx";
import { auditPage, type AuditPageProps } from "../../views/audit/audit.tsx";
import { wholeAuditLog } from "../../views/audit/audit_filters.tsx";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { apiKeyPage } from "../../views/api_keys/api_key_page.tsx";
import { budgetPage } from "../../views/api_keys/budget.tsx";
import { apiKeysPage, type ApiKeysPageProps } from "../../views/api_keys/api_keys.tsx";
import { devMailPage, devMailsPage } from "../../views/mail/dev_mail.tsx";
import { errorPage } from "../../views/error.tsx";
import type { Assets, GateFrame, Page, PortalFrame } from "../../views/layout.tsx";
import { editApiKeyPage, revokeApiKeyPage, rotateApiKeyPage } from "../../views/api_keys/api_key.tsx";
import { operatorPages } from "./operator_sample.ts";
import { peoplePages } from "./sample_people.ts";
import { continuePage, signInPage } from "../../views/sign_in/sign_in.tsx";
import { signUpPage } from "../../views/account/sign_up.tsx";
import { usagePage, type UsagePageProps, type UsageReport } from "../../views/meter/usage.tsx";
import { accountPages } from "./account_sample.ts";
import { twoStepPages } from "./two_step_sample.ts";

export const now = Date.parse("2026-11-21T14:05:11Z");
export const assets: Assets = {
  css: "/static/portal.0.css",
  script: "/static/portal.0.js",
  htmx: "/static/htmx.0.js",
  passkeys: "/static/passkeys.0.js",
  favicon: "/static/favicon.0.svg",
  geist: "/static/geist.woff2",
  geistMono: "/static/geist-mono.woff2",
};
export const gateFrame: GateFrame = { assets, signUpOpen: true };

/** @returns The frame of a page for a signed-in member, with `text` as every name. */
export function portalFrame(text: string): PortalFrame {
  const organization = { organizationId: "org_1", name: text, role: "OWNER", suspended: false } as const;
  const user = { id: "usr_1", name: text, email: text, emailVerified: true };
  return {
    assets,
    now,
    sendsMail: true,
    isConsole: false,
    session: {
      id: "ses_1",
      user,
      organization,
      memberships: [organization],
      authenticatedAt: now,
      secondFactorAt: null,
      isOperator: false,
    },
  };
}

/** @returns The same for a suspended organization. */
function suspendedFrame(text: string): PortalFrame {
  const frame = portalFrame(text);
  const organization = { organizationId: "org_1", name: text, role: "OWNER", suspended: true } as const;
  return { ...frame, session: { ...frame.session, organization } };
}

/** @returns The props of the API keys page with an active, an expiring, a revoked and an expired key. */
export function apiKeysProps(text: string): ApiKeysPageProps {
  const key = {
    name: text,
    keyPrefix: "service_live_7Kq2mXfB…",
    createdAt: "2026-08-23T14:05:11.000Z",
    createdBy: { id: "usr_2", name: text },
    createdByOperator: false,
    permissions: ["maps:render", "usage:read", "usage:write"],
    budget: [],
    lastUsedAt: "2026-11-21T14:03:11.000Z",
    expiresAt: null,
    revokedAt: null,
    status: "active",
    createdByYou: false,
    dailyRecords: [1, 2],
  } as const;
  return {
    frame: portalFrame(text),
    apiKeys: [
      { ...key, id: "key_1" },
      { ...key, id: `key_2/${text}`, expiresAt: "2026-11-27T20:00:00.000Z", createdByYou: true },
      { ...key, id: "key_3", status: "revoked", revokedAt: "2026-08-24T00:00:00.000Z" },
      { ...key, id: "key_4", status: "expired", expiresAt: "2026-10-04T00:00:00.000Z", createdBy: null },
    ],
    counts: { active: 2, inactive: 2, activeMax: 100 },
    nextCursor: text,
    newKey: {
      name: text,
      fullKey: "service_live_1",
      replaced: { endsAt: "2026-11-22T14:05:11.000Z" },
    },
    form: {
      values: {
        name: text,
        expires: "30d",
        permissions: { usage: new Set(["usage:write"]), own: text },
      },
      fields: { name: text, expires: text, permissions: text },
      message: text,
    },
    usageUrl: "https://auth.example.com/api/v1/usage",
    flash: text,
  };
}

/** @returns Limits of which nothing, most and everything is used, and a soft one that is exceeded. */
export function limitStandings(text: string): LimitStanding[] {
  const limit = {
    limitId: "lim_1",
    productSlug: text,
    metric: text,
    per: "day",
    mode: "hard",
    quantity: 1_000,
    used: 0,
    remaining: 1_000,
    resetsAt: "2026-11-22T00:00:00.000Z",
  } as const;
  return [
    limit,
    { ...limit, limitId: "lim_2", used: 800.5, remaining: 199.5 },
    { ...limit, limitId: "lim_3", productSlug: null, metric: null, used: 1_000, remaining: 0 },
    { ...limit, limitId: "lim_4", per: "total", mode: "soft", used: 1_001, remaining: 0, resetsAt: null },
  ];
}

/** @returns The props of the usage page with two days, two series, two keys and a voided record. */
export function usageProps(text: string): UsagePageProps & { readonly report: UsageReport } {
  const key = { sum: "1500", share: 66.7, count: 4 };
  const name = { label: text, name: text, startsDay: false };
  return {
    frame: portalFrame(text),
    address: {
      path: "/portal/usage",
      range: "custom",
      days: { from: text, to: text },
      window: "day",
      timezone: "Europe/Berlin",
      filters: { productSlug: text, metric: text, apiKey: text },
    },
    label: text,
    unit: "day",
    choices: {
      products: ["tiles"],
      metrics: ["requests"],
      apiKeys: [{ id: "key_1", name: text }],
      timezones: ["Europe/Berlin", "America/Argentina/Buenos_Aires"],
    },
    faults: { from: text, to: text, window: text, metric: text, apiKey: text, timezone: text },
    report: {
      figures: {
        sum: "517370",
        metricLabel: text,
        recordCount: 88_214,
        busiest: { label: text, value: "18902" },
        activeKeys: 3,
        change: { percent: 12.4, period: text },
      },
      chart: {
        title: text,
        description: text,
        windows: [
          { ...name, values: [1000, 200], sums: ["1000", "200"], total: "1200" },
          { ...name, values: [0, 300.5], sums: ["0", "300.5"], total: "300.5" },
        ],
        series: [text, "2 others"],
        unit: text,
        by: "day",
      },
      keys: {
        keys: [{ ...key, name: text, href: `/portal/usage?apiKey=${encodeURIComponent(text)}` }],
        others: { ...key, keys: 12 },
        unit: text,
      },
      csvHref: `/api/portal/usage.csv?metric=${encodeURIComponent(text)}`,
    },
    problem: null,
    limits: limitStandings(text),
    records: [{
      id: "use_1",
      timestamp: "2026-11-21T14:03:11.000Z",
      productSlug: text,
      metric: text,
      quantity: "9007199254740991.000001",
      apiKeyName: text,
      voidedAt: "2026-11-21T14:04:00.000Z",
      voidedByName: text,
      voidReason: text,
    }],
    example: null,
  };
}

/** @returns The props of the audit log page with entries by a person, an API key and an anonymous client. */
export function auditProps(text: string): AuditPageProps {
  const event = {
    id: "aud_1",
    at: "2026-11-21T14:03:11.000Z",
    action: "member.role_changed",
    actor: { type: "session", id: "usr_1", name: text },
    target: { id: "usr_2", name: text },
    details: { from: text, to: text },
    address: text,
    userAgent: text,
    requestId: text,
    device: text,
  } as const;
  return {
    frame: portalFrame(text),
    path: "/portal/audit",
    address: { organizationId: null, action: "keys", actorId: text, from: text, to: text, cursor: text },
    people: [{ id: "usr_1", name: text, email: text }, { id: "usr_2", name: text, email: null }],
    errors: { action: text, actorId: text, from: text, to: text },
    events: [
      event,
      {
        ...event,
        id: "aud_2",
        action: "access.denied",
        details: { method: text, path: text, reason: "forbidden" },
      },
      {
        ...event,
        id: "aud_3",
        action: "api_key.limited",
        actor: { type: "apiKey", id: "key_1", name: null },
      },
      {
        ...event,
        id: "aud_4",
        actor: { type: "anonymous", id: null, name: null },
        requestId: null,
        device: null,
      },
    ],
    nextCursor: text,
    csvHref: `/api/portal/audit.csv?action=${encodeURIComponent(text)}`,
  };
}

/** @returns Every page by name, with `text` wherever user text can appear. */
export function everyPage(text: string): Readonly<Record<string, Page>> {
  const keys = apiKeysProps(text);
  const [apiKey] = keys.apiKeys;
  if (apiKey === undefined) throw new Error("the sample has no key");
  const frame = portalFrame(text);
  const signIn = { email: text, returnTo: text };
  const signUp = { name: text, email: text, organizationName: text, returnTo: text };
  const signUpErrors = { name: text, email: text, password: text, organizationName: text };
  const fault = { status: 404, title: text, message: text, requestId: text, returnTo: `/${text}` };
  const usage = usageProps(text);
  const limits = limitStandings(text);
  const mail = {
    id: `mail_1/${text}`,
    to: text,
    subject: text,
    text: `${text}\nhttp://localhost:8000/verify-email?token=1\nhttp://localhost:8000.example.com/`,
    sentAt: now,
  };
  const errors = { email: text, password: text };
  return {
    "sign-in": signInPage({
      frame: gateFrame,
      values: signIn,
      rejected: { message: text, fields: errors },
      notice: { tone: "done", text },
    }),
    "signed in, continue": continuePage({ frame: gateFrame, href: `https://x.example/${text}`, host: text }),
    "sign-up": signUpPage({
      frame: gateFrame,
      values: signUp,
      rejected: { message: text, fields: signUpErrors },
    }),
    "sign-up, closed": signUpPage({
      frame: { ...gateFrame, signUpOpen: false },
      values: signUp,
    }),
    "sign-up, by invitation": signUpPage({
      frame: { ...gateFrame, signUpOpen: false },
      byInvitation: true,
      values: signUp,
    }),
    ...accountPages(text, { frame, gateFrame }),
    ...twoStepPages(text, { frame, gateFrame }),
    "API keys": apiKeysPage(keys),
    "API keys, suspended": apiKeysPage({ ...keys, frame: suspendedFrame(text) }),
    "API keys, none": apiKeysPage({ ...keys, apiKeys: [], newKey: null, flash: null, nextCursor: null }),
    "API key": apiKeyPage({
      frame,
      apiKey: { ...apiKey, budget: limits.slice(1, 3).map((limit) => ({ ...limit, id: limit.limitId })) },
      limits,
      canSetBudget: true,
      flash: text,
    }),
    "API key, ended": apiKeyPage({
      frame,
      apiKey: { ...apiKey, status: "revoked", permissions: [], dailyRecords: null },
      limits: null,
      canSetBudget: true,
      flash: null,
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
      fields: { name: text, permissions: text },
      message: text,
    }),
    "revoke": revokeApiKeyPage({ frame, apiKey }),
    "rotate": rotateApiKeyPage({ frame, apiKey, value: text, fields: { expireOld: text } }),
    "usage": usagePage(usage),
    "usage, none here": usagePage({
      ...usage,
      limits: null,
      report: { ...usage.report, figures: { ...usage.report.figures, recordCount: 0, busiest: null } },
    }),
    "usage, no days": usagePage({ ...usage, label: null, report: null, problem: text }),
    "usage, none ever": usagePage({ ...usage, example: { curl: exampleCurl(text, null) } }),
    "mails, in development": devMailsPage({ frame: gateFrame, mails: [mail, mail], now }),
    "mails, none yet": devMailsPage({ frame: gateFrame, mails: [], now }),
    "mail, in development": devMailPage({ frame: gateFrame, mail, home: "http://localhost:8000", now }),
    ...peoplePages(text, { frame, gateFrame }),
    ...operatorPages(text, frame),
    "audit log": auditPage(auditProps(text)),
    "audit log, no matches": auditPage({ ...auditProps(text), events: [] }),
    "audit log, none": auditPage({
      ...auditProps(text),
      events: [],
      address: wholeAuditLog,
      nextCursor: null,
    }),
    "audit log, no days": auditPage({ ...auditProps(text), events: [], csvHref: null }),
    "error, signed out": errorPage({ frame: gateFrame, ...fault }),
    "error, signed in": errorPage({ frame, ...fault }),
  };
}
