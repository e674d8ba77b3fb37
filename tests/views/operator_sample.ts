// The pages of the operator console with sample data, for the tests of the views.
import type { Page, PortalFrame } from "../../views/layout.tsx";
import {
  confirmOrganizationLimitsPage,
  confirmOrganizationPlanPage,
  organizationLimitsPage,
  organizationPlanPage,
} from "../../views/operator/organization_limit_forms.tsx";
import { overviewPage, type OverviewProps } from "../../views/operator/overview.tsx";
import { secondFactorPage } from "../../views/operator/second_factor.tsx";
import { systemPage } from "../../views/operator/system.tsx";

const at = "2026-11-20T10:00:00.000Z";

/** @returns Every page by name, with `text` wherever user text can appear. */
export function operatorPages(text: string, portal: PortalFrame): Readonly<Record<string, Page>> {
  const frame = { ...portal, isConsole: true };
  const errors = {
    message: text,
    fields: { name: text, slug: text, externalId: text, email: text, keys: text },
  };
  const organization = {
    id: "org_1",
    name: text,
    externalId: text,
    status: "suspended" as const,
    suspendedAt: at,
    planId: "plan_1",
    overrides: {
      apiKeysMax: 1,
      membersMax: null,
      requestsPerSecond: null,
      usageSeriesMax: null,
      limits: [],
    },
    timezone: "Europe/Berlin",
    metadata: {},
    memberCount: 2,
    activeApiKeyCount: 1,
    createdAt: at,
    lastUsedAt: at,
  };
  const limit = {
    id: "lim_1",
    productSlug: text,
    metric: text,
    per: "month",
    quantity: 5000,
    mode: "hard",
  } as const;
  const numbers = { apiKeysMax: 100, membersMax: 50, requestsPerSecond: 0, usageSeriesMax: 500 };
  const plan = {
    ...numbers,
    id: "plan_1",
    name: text,
    isDefault: false,
    limits: [limit, { ...limit, id: "lim_2", productSlug: null }, { ...limit, id: "lim_3", metric: null }],
    organizationCount: 3,
    createdAt: at,
  };
  const limitInput = { productSlug: text, metric: text, per: "day", quantity: text, mode: "soft" };
  const planInput = {
    apiKeysMax: text,
    membersMax: text,
    requestsPerSecond: text,
    usageSeriesMax: text,
  };
  const change = {
    changes: [{ name: text, before: "100", after: "50" }],
    below: {
      organizationCount: 3,
      isComplete: false,
      found: [
        { organization: { id: "org_1", name: text }, what: limit, used: 7000, allowed: 5000 },
        { organization: { id: "org_1", name: text }, what: "apiKeysMax" as const, used: 90, allowed: 50 },
      ],
    },
    input: { name: text },
  };
  return {
    "console, overview": overviewPage({ frame, ...overviewProps(text) }),
    "console, change an organization's plan": organizationPlanPage({
      frame,
      organization,
      plans: [plan],
      planId: "plan_1",
      ...errors,
    }),
    "console, confirm an organization's plan": confirmOrganizationPlanPage({
      frame,
      organization,
      plan,
      newPlan: plan,
      ...change,
    }),
    "console, an organization's limits": organizationLimitsPage({
      frame,
      organization,
      plan,
      input: { ...planInput, timezone: text, limits: [limitInput] },
      productSlugs: [text],
      metrics: [text],
      timezones: [text],
      ...errors,
    }),
    "console, confirm an organization's limits": confirmOrganizationLimitsPage({
      frame,
      organization,
      plan,
      ...change,
    }),
    "console, system": systemPage({ frame, facts: [{ label: text, value: text }], health: [] }),
    "console, second factor": secondFactorPage({ frame: portal }),
  };
}

function overviewProps(text: string): Omit<OverviewProps, "frame"> {
  return {
    updated: "14:05:11",
    metrics: [{ metric: text, name: text }, { metric: "bytes", name: "bytes" }],
    metric: text,
    measure: { name: text, unit: "bytes" },
    isPartial: true,
    figures: [{ label: text, number: 12, note: text }],
    chart: {
      measure: { name: text, unit: "bytes" },
      by: "day",
      period: text,
      windows: [{ label: text, name: text, startsDay: false, values: [1, 2], sums: ["1", "2"], total: "3" }],
      series: [{ name: text, color: 1 }, { name: text, color: "other" }],
      others: null,
      current: { position: 0, elapsed: "5 h 12 min" },
    },
    customers: [{ name: text, href: `/${text}`, note: text, sum: "3", share: 100, change: 12.4 }],
    activeCount: 1,
    attention: [{ icon: "mail", tone: "bad", title: text, text, href: "/operator/system", label: "View" }],
    health: [{ name: text, icon: "mail", text, tone: "bad", state: text, trouble: text }],
  };
}
