// The first page of the operator console.
import { metricOf, productOf, summedMetricOf } from "../../domain/meter/catalogue.ts";
import { monthSoFar } from "../../domain/meter/month_so_far.ts";
import { percentChange } from "../../domain/meter/usage_report.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type { OperatorOverview } from "../../services/console/jobs/mod.ts";
import { failingWebhooksMax } from "../../domain/outbox/webhook_limits.ts";
import { type Webhook, webhookName } from "../../domain/outbox/webhook.ts";
import {
  type CustomerWebhook,
  listFailingOfCustomers,
  listFailingWebhooks,
} from "../../services/outbox/mod.ts";
import { listStatements } from "../../services/billing/mod.ts";
import { readForOperator } from "../../services/console/mod.ts";
import { Change } from "../../views/components/change.tsx";
import { chartOf } from "../../views/components/chart_props.ts";
import { type Health, healthOf } from "../../views/console/health.ts";
import { organizationHref, organizationsHref } from "../../views/components/links.ts";
import { type Attention, overviewPage } from "../../views/console/overview.tsx";
import { limitName } from "../../views/text/limit.ts";
import type { Measure } from "../../views/text/quantity.ts";
import { clockTime, monthWords, shortDate } from "../../views/text/time.ts";
import { daysWords } from "../../views/text/zone.ts";
import { webhookHref } from "../../views/outbox/webhook.tsx";
import type { App } from "../env.ts";
import { failingWebhooksHref } from "../outbox/failing_webhooks.tsx";
import { readSystemState } from "../system_state.ts";
import { mountPage } from "../portal/noun_pages.ts";
import { consolePages, operatorHome } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";

const namedMax = 3;

export function operatorOverviewRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountPage(consolePages(app, parts, "operator"), operatorHome, async (c, { actor, frame }) => {
    const { now } = frame;
    const [overview, state, billing, failing, ofCustomers] = await Promise.all([
      readForOperator(services, actor, {
        job: "readOverview",
        metric: c.req.query("metric") ?? null,
        signal: c.req.raw.signal,
      }),
      readSystemState(parts),
      listStatements(services, { limit: 1 }),
      listFailingWebhooks(services, { operator: actor }),
      listFailingOfCustomers(services, actor),
    ]);
    const nameOf = (metric: string) => summedMetricOf(overview.catalogue, metric).name;
    const measure = overview.metric === null
      ? { name: "Usage", unit: null }
      : summedMetricOf(overview.catalogue, overview.metric);
    const health = healthOf(state, frame);
    return overviewPage({
      frame,
      updated: clockTime(overview.updatedAt),
      metrics: overview.metrics.map((metric) => ({ metric, name: nameOf(metric) })),
      metric: overview.metric,
      measure,
      isPartial: overview.isPartial,
      figures: figuresOf(overview, measure),
      chart: overview.metric === null ? null : monthChart(overview, { metric: overview.metric, now }),
      customers: overview.customers.map((customer) => ({
        ...customer,
        href: organizationHref(customer.id),
        note: customer.externalId ?? customer.id,
      })),
      activeCount: overview.organizations.month,
      runningOut: { ...overview.runningOut, catalogue: overview.catalogue },
      attention: [
        ...attentionOf(health),
        ...failingWebhooks(failing, now),
        ...reachedLimits(overview),
        ...failingOfCustomers(ofCustomers),
        ...abovePlan(overview),
        ...suspendedOrganizations(overview),
        ...openMonth(billing, now),
      ],
      health,
    });
  });
}

function figuresOf(
  { metric, today, month, organizations, updatedAt }: OperatorOverview,
  measure: Measure,
) {
  const before = daysWords(monthSoFar(updatedAt).before, "UTC", updatedAt);
  const ofMetric = (percent: number | null, period: string) =>
    metric === null ? undefined : Change({ percent, period });
  const [active, activeBefore] = [organizations.month, organizations.monthBefore];
  return [
    {
      label: `${measure.name} today`,
      measure,
      number: today.sum,
      note: ofMetric(today.change, `a week ago until ${clockTime(updatedAt).slice(0, 5)}`),
    },
    {
      label: `${measure.name} this month`,
      measure,
      number: month.sum,
      note: ofMetric(month.change, before),
    },
    {
      label: "Active organizations today",
      number: organizations.today,
      note: `of ${groupDigits(organizations.all)}`,
    },
    {
      label: "Active this month",
      number: active,
      note: Change({ percent: percentChange(BigInt(active), BigInt(activeBefore)), period: before }),
    },
  ];
}

function monthChart(
  { days, chart, catalogue }: OperatorOverview,
  { metric, now }: { metric: string; now: number },
) {
  return chartOf(chart, {
    measure: metricOf(catalogue, metric),
    by: "day",
    period: "this month, UTC",
    windows: days,
    timezone: "UTC",
    now,
    series: (slug) => productOf(catalogue, slug),
  });
}

function attentionOf(health: readonly Health[]): Attention[] {
  return health.flatMap(({ name, icon, tone, state, trouble }) =>
    trouble === null ? [] : [{
      icon,
      tone: tone === "bad" ? tone : "soon" as const,
      title: `${name}: ${state.toLowerCase()}`,
      text: trouble,
      href: "/operator/system",
      label: "View",
    }]
  );
}

function failingWebhooks(failing: readonly Webhook[], now: number): Attention[] {
  const [first] = failing;
  if (first === undefined) return [];
  const since = shortDate(Date.parse(first.failingSince ?? ""), now);
  const others = failing.length - 1;
  return [{
    icon: "alert",
    tone: "bad",
    title: others === 0 ? `“${webhookName(first)}” is failing` : `${failing.length} webhooks are failing`,
    text: `Deliveries to “${webhookName(first)}” have failed since ${since}.`,

    href: others === 0 ? webhookHref(operatorHome, first.id) : `${operatorHome}/webhooks`,
    label: "View",
  }];
}

function failingOfCustomers(webhooks: readonly CustomerWebhook[]): Attention[] {
  if (webhooks.length === 0) return [];
  const names = new Map(webhooks.map((one) => [one.organizationId, one.organizationName]));
  const named = [...names].slice(0, namedMax);
  const isMany = webhooks.length === failingWebhooksMax;
  return [{
    icon: "webhook",
    tone: "soon",
    title: `${countOf(webhooks.length, "customer webhook")}${isMany ? " or more" : ""} ${
      webhooks.length === 1 ? "is" : "are"
    } failing`,
    text: "Deliveries fail for:",
    links: named.map(([id, label]) => ({ href: `${organizationHref(id)}/webhooks`, label })),
    others: names.size - named.length,
    href: failingWebhooksHref,
    label: "View",
  }];
}

/** No fault: their requests are accepted. */
function abovePlan({ aboveCount: count }: OperatorOverview): Attention[] {
  return count === 0 ? [] : [{
    icon: "gauge",
    tone: null,
    title: `${countOf(count, "organization")} ${count === 1 ? "is" : "are"} above ${
      count === 1 ? "its" : "their"
    } plan`,
    text: "A soft limit is used up. Requests are accepted.",
    href: `${organizationsHref}?limits=above`,
    label: "View",
  }];
}

function reachedLimits({ reachedLimits: reached, catalogue }: OperatorOverview): Attention[] {
  const item = { icon: "gauge", tone: "bad", label: "View" } as const;
  const others = reached.length - namedMax;
  return [
    ...reached.slice(0, namedMax).map(({ id, name, mode, ...limit }) => ({
      ...item,
      title: `${name} has hit a ${mode} limit`,
      text: `${mode === "hard" ? "Requests that don't fit are rejected" : "New requests are denied"}: ${
        limitName(limit, catalogue)
      }.`,
      href: organizationHref(id),
    })),
    ...(others <= 0 ? [] : [{
      ...item,
      title: `${countOf(others, "other organization")} ${others === 1 ? "has" : "have"} hit a limit`,
      text: `${reached.slice(namedMax, 2 * namedMax).map(({ name }) => name).join(", ")}${
        others > namedMax ? " and others" : ""
      }.`,
      href: `${organizationsHref}?limits=rejected`,
    }]),
  ];
}

function suspendedOrganizations({ suspended: { count, sending, some } }: OperatorOverview): Attention[] {
  if (count === 0) return [];
  const shown = sending === 0 ? some : some.filter(({ isSending }) => isSending === 1);
  return [{
    icon: "building",
    tone: "soon",
    title: `${countOf(count, "organization")} ${count === 1 ? "is" : "are"} suspended`,
    text: sending === 0
      ? "No requests since then from:"
      : `${groupDigits(sending)} still ${sending === 1 ? "sends" : "send"} requests, which are rejected:`,
    links: shown.map(({ id, name }) => ({ href: organizationHref(id), label: name })),
    others: (sending === 0 ? count : sending) - shown.length,
    href: `${organizationsHref}?status=suspended`,
    label: "View",
  }];
}

/** Says that a month has ended without a statement, once there is a first one. */
function openMonth(
  { statements, next }: Awaited<ReturnType<typeof listStatements>>,
  now: number,
): Attention[] {
  if (statements.length === 0 || !next.isEnded) return [];
  const days = Math.floor((now - Date.parse(next.end)) / 86_400_000);
  return [{
    icon: "file",
    tone: "soon",
    title: `${monthWords(Date.parse(`${next.period}-01T00:00:00Z`))} is not closed`,
    text: `The month ended ${days === 0 ? "today" : `${countOf(days, "day")} ago`}.`,
    href: "/operator/statements",
    label: "View",
  }];
}
