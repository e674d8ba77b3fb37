// Every page with sample data, for the tests of the views. User text can be replaced.
import { exampleCurl } from "../../views/components/code.tsx";
import { auditPage, type AuditPageProps } from "../../views/audit/audit.tsx";
import { wholeAuditLog } from "../../views/audit/audit_filters.tsx";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { devMailPage, devMailsPage } from "../../views/mail/dev_mail.tsx";
import { errorPage } from "../../views/error.tsx";
import type { Assets, GateFrame, Page, PortalFrame } from "../../views/layout.tsx";
import { operatorPages } from "./operator_sample.ts";
import { peoplePages } from "./sample_people.ts";
import { continuePage, signInPage } from "../../views/sign_in/sign_in.tsx";
import { signUpPage } from "../../views/account/sign_up.tsx";
import { overviewPages } from "./overview_sample.ts";
import type { ChartProps } from "../../views/components/chart_props.ts";
import { usagePage, type UsagePageProps, type UsageReport } from "../../views/meter/usage.tsx";
import { accountPages } from "./account_sample.ts";
import { apiKeyPages } from "./api_keys_sample.ts";
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
    base: "/portal",
    viewed: null,
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

function suspendedFrame(text: string): PortalFrame {
  const frame = portalFrame(text);
  const organization = { organizationId: "org_1", name: text, role: "OWNER", suspended: true } as const;
  return { ...frame, session: { ...frame.session, organization } };
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
export function usageProps(
  text: string,
): UsagePageProps & { readonly report: UsageReport & { readonly chart: ChartProps } } {
  const measure = { slug: text, name: text, unit: null };
  const line = { name: text, sum: "1500", share: 66.7, change: 12.4 };
  const lines = { measure, period: text, all: 60, newerHref: "/portal/usage", olderHref: "/portal/usage" };
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
      stack: "key",
      pages: { products: null, keys: 2 },
    },
    label: text,
    rangeWords: text,
    unit: "day",
    timezone: "Europe/Berlin",
    metric: text,
    choices: {
      products: [{ value: "tiles", label: text }],
      metrics: [{ value: "requests", label: text }],
      apiKeys: [{ value: "key_1", label: text }],
      timezones: ["Europe/Berlin", "America/Argentina/Buenos_Aires"],
    },
    faults: { from: text, to: text, window: text, metric: text, apiKey: text, timezone: text },
    report: {
      strip: {
        metrics: [{ metric: measure, total: "517370", change: 12.4, href: "/portal/usage", isChosen: true }],
        period: text,
      },
      chart: {
        measure: { name: text, unit: null },
        by: "day",
        period: text,
        windows: [
          {
            ...name,
            values: [1000, 200],
            sums: ["1000", "200"],
            total: "1200",
            href: "/portal/usage?range=custom",
          },
          { ...name, values: [0, 300.5], sums: ["0", "300.5"], total: "300.5" },
        ],
        series: [{ name: text, color: 1, href: "/portal/usage?productSlug=a" }],
        others: { count: 2, largest: [{ name: text, total: "200", href: "/portal/usage?productSlug=b" }] },
        current: { position: 1, elapsed: "5 h 12 min" },
      },
      products: {
        ...lines,
        title: "Products",
        column: "Product",
        lines: [{ ...line, color: 1, href: `/portal/usage?productSlug=${encodeURIComponent(text)}` }],
      },
      keys: {
        ...lines,
        title: "API keys",
        column: "Key",
        lines: [
          { ...line, trend: [0, 5, 3], href: "/portal/api-keys/key_1" },
          { ...line, change: null, href: null },
        ],
      },
    },
    csvHref: `/api/portal/usage.csv?metric=${encodeURIComponent(text)}`,
    problem: null,
    limits: limitStandings(text),
    mailReach: { managers: 3, recipients: 1, unconfirmed: 2 },
    catalogue: { products: new Map(), metrics: new Map() },
    records: [{
      id: "use_1",
      timestamp: "2026-11-21T14:03:11.000Z",
      productSlug: text,
      metric: text,
      quantity: 9007199254740991,
      recordedAt: "2026-11-21T14:03:12.000Z",
      idempotencyKey: text,
      properties: { [text]: text },
      apiKeyId: "key_1",
      apiKeyName: text,
      apiKeyCreatedBy: "usr_1",
      voidedBy: "key_1",
      voidedAt: "2026-11-21T14:04:00.000Z",
      voidedByName: text,
      voidReason: text,
    }],
    empty: null,
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
  const frame = portalFrame(text);
  const typed = { name: text, email: text, organizationName: text };
  const signUp = {
    returnTo: text,
    form: { message: text, fields: { ...typed, password: text }, input: typed },
  };
  const fault = { status: 404, title: text, message: text, requestId: text, returnTo: `/${text}` };
  const usage = usageProps(text);
  const mail = {
    id: `mail_1/${text}`,
    to: text,
    subject: text,
    text: `${text}\nhttp://localhost:8000/verify-email?token=1\nhttp://localhost:8000.example.com/`,
    sentAt: now,
  };
  return {
    "sign-in": signInPage({
      frame: gateFrame,
      ...signUp,
      notice: { tone: "done", text },
    }),
    "signed in, continue": continuePage({ frame: gateFrame, href: `https://x.example/${text}`, host: text }),
    "sign-up": signUpPage({
      frame: gateFrame,
      ...signUp,
    }),
    "sign-up, closed": signUpPage({
      frame: { ...gateFrame, signUpOpen: false },
      ...signUp,
    }),
    "sign-up, by invitation": signUpPage({
      frame: { ...gateFrame, signUpOpen: false },
      byInvitation: true,
      ...signUp,
    }),
    ...accountPages(text, { frame, gateFrame }),
    ...twoStepPages(text, { frame, gateFrame }),
    ...apiKeyPages(text, { frame, limits: limitStandings(text), suspendedFrame: suspendedFrame(text) }),
    "usage": usagePage(usage),
    ...overviewPages(text, usage, auditProps(text).events),
    "usage, none here": usagePage({
      ...usage,
      limits: null,
      report: { ...usage.report, chart: null },
    }),
    "usage, no days": usagePage({ ...usage, label: null, report: null, problem: text }),
    "usage, none ever": usagePage({
      ...usage,
      empty: {
        curl: exampleCurl("https://api.example.com/usage", { productSlug: "tiles", metric: "loads" }),
      },
    }),
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
