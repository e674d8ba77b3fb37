// What stands on top of the console's pages of one organization: its name and status, what operators do with it, facts, and tabs.
import type { Plan } from "../../domain/billing/plan.ts";
import type { OperatedOrganization } from "../../domain/console/organization.ts";
import type { CatalogueMetric } from "../../domain/meter/catalogue.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { countOf } from "../../domain/number_text.ts";
import { Badge } from "./badge.tsx";
import { SubmitButton } from "./button.tsx";
import { ShortChange, unbroken } from "./change.tsx";
import { Form } from "./form.tsx";
import { Icon } from "./icon.tsx";
import { LastUsage } from "./last_usage.tsx";
import {
  organizationHref,
  organizationLimitsHref,
  organizationPlanHref,
  organizationsHref,
  planHref,
  startViewHref,
} from "./links.ts";
import { Tabs } from "./list_card.tsx";
import { Quantity } from "./quantity.tsx";
import { DayTime, RelativeTime } from "./relative_time.tsx";
import { RowMenu } from "./row_menu.tsx";
import { relativeTime, shortDate, zoneWords } from "../text/time.ts";

/** The tabs in their order. `path`: below the address of the organization. Members have pages at some of them, too. */
export const organizationTabs = [
  { tab: "overview", path: "", label: "Overview" },
  { tab: "usage", path: "/usage", label: "Usage" },
  { tab: "keys", path: "/api-keys", label: "Keys" },
  { tab: "limits", path: "/limits", label: "Limits" },
  { tab: "billing", path: "/billing", label: "Billing" },
  { tab: "members", path: "/members", label: "Members" },
  { tab: "webhooks", path: "/webhooks", label: "Webhooks" },
  { tab: "log", path: "/audit", label: "Log" },
] as const;
/** Further pages with the head, and their tabs. */
export const pagesOfTabs: Readonly<Record<string, OrganizationTab>> = { "/alerts": "limits" };
export type OrganizationTab = (typeof organizationTabs)[number]["tab"];

export interface OrganizationHead {
  readonly tab: OrganizationTab;
  readonly organization: OperatedOrganization;
  readonly plan: Plan;
  /** Null when they are not available. */
  readonly limits: readonly LimitStanding[] | null;
  /** This month's usage, on the first tab; null when it is not available. `main`: null without usage. */
  readonly usage: {
    readonly main: {
      readonly metric: CatalogueMetric;
      readonly total: string;
      readonly change: number | null;
      /** The days to compare with, such as `Oct 1–20`. */
      readonly compared: string;
    } | null;
  } | null;
}

/** Two lines: the name with what operators do here, and the tabs. The first tab also has the facts. */
export function OrganizationHead(props: OrganizationHead & { now: number }) {
  const { tab, organization: { id, name, status, memberCount, activeApiKeyCount } } = props;
  const counts: Partial<Record<OrganizationTab, number>> = { keys: activeApiKeyCount, members: memberCount };
  const title = <bdi>{name}</bdi>;
  return (
    <div class="organization-head">
      <div class="head">
        <div class="title-line">
          <a class="up-link" href={organizationsHref}>
            <Icon name="back" />
            Organizations
          </a>
          {/* Other tabs have a heading of their own. */}
          {tab === "overview" ? <h1>{title}</h1> : <a class="title" href={organizationHref(id)}>{title}</a>}
          <OrganizationStatusBadge status={status} />
          <ReachedBadge standings={props.limits ?? []} />
        </div>
        <Actions {...props} />
      </div>
      <Tabs
        label={`Pages of ${name}`}
        tabs={organizationTabs.map((one) => ({
          href: hrefOf(id, one.path),
          label: one.label,
          count: counts[one.tab] ?? null,
          isCurrent: one.tab === tab,
        }))}
      />
      {tab === "overview" && (
        <section class="card" aria-label="Details">
          <HeadFacts {...props} />
        </section>
      )}
    </div>
  );
}

function hrefOf(id: string, path: string): string {
  return organizationHref(id) + path;
}

function Actions({ organization: { id, name, status } }: OrganizationHead) {
  const isActive = status === "active";
  return (
    <div class="head-acts">
      <Form action={startViewHref(id)}>
        <SubmitButton tone="plain">View as customer</SubmitButton>
      </Form>
      <RowMenu
        about={name}
        actions={[
          { href: hrefOf(id, "/api-keys/new"), label: "Create key", icon: "plus" },
          { href: hrefOf(id, "/members#invitations"), label: "Invite a member", icon: "people" },
          { href: hrefOf(id, "/usage/records"), label: "Records", icon: "list" },
          { href: hrefOf(id, "/edit"), label: "Edit", icon: "edit" },
          isActive
            ? { href: hrefOf(id, "/suspend"), label: "Suspend", icon: "pause" }
            : { href: hrefOf(id, "/resume"), label: "Resume", icon: "play" },
          { href: hrefOf(id, "/delete"), label: "Delete", icon: "trash", isDanger: true },
        ]}
      />
    </div>
  );
}

/** Adds how long ago the organization was created, unless that is the date itself. */
function createdFact(at: string, now: number) {
  const isDate = relativeTime(Date.parse(at), now) === shortDate(Date.parse(at), now);
  return {
    label: "Created",
    value: <DayTime at={at} now={now} />,
    second: isDate ? null : <RelativeTime at={at} now={now} />,
  };
}

function HeadFacts({ organization, plan, usage, now }: OrganizationHead & { now: number }) {
  const { id, externalId, createdAt, lastUsedAt, lastUsageAt, timezone, overrides } = organization;
  const overrideCount = overrides.limits.length +
    Object.values({ ...overrides, limits: null }).filter((value) => value !== null).length;
  const facts = [
    {
      label: "External ID",
      value: externalId === null
        ? <span class="muted">Not set</span>
        : <code class="pick">{externalId}</code>,
      second: <code class="pick">{id}</code>,
    },
    {
      label: "Plan",
      value: (
        <a href={planHref(plan.id)}>
          <bdi>{plan.name}</bdi>
        </a>
      ),
      second: (
        <>
          {overrideCount > 0 && `${countOf(overrideCount, "override")} · `}
          <a href={organizationPlanHref(id)}>
            Change <span class="unseen">the plan</span>
          </a>
        </>
      ),
    },
    monthFact(usage),
    {
      label: "Last usage",
      value: <LastUsage at={lastUsageAt === null ? null : Date.parse(lastUsageAt)} now={now} />,
      second: (
        <>
          {lastUsedAt === null ? "No request yet" : "Last request "}
          {lastUsedAt && <RelativeTime at={lastUsedAt} now={now} />}
        </>
      ),
    },
    {
      label: "Time zone",
      value: zoneWords(timezone),
      second: (
        <a href={organizationLimitsHref(id)}>
          Change <span class="unseen">the time zone</span>
        </a>
      ),
    },
    createdFact(createdAt, now),
  ];
  return (
    <dl class="key-facts in-head">
      {facts.map(({ label, value, second }) => (
        <div>
          <dt>{label}</dt>
          <dd class="name">{value}</dd>
          {second !== null && <dd class="muted tiny">{second}</dd>}
        </div>
      ))}
    </dl>
  );
}

function monthFact(usage: OrganizationHead["usage"]) {
  const main = usage?.main ?? null;
  if (main === null) {
    return {
      label: "Usage this month",
      value: usage === null ? "–" : "0",
      second: usage === null ? "Not available right now" : "Nothing recorded",
    };
  }
  return {
    label: `${main.metric.name} this month`,
    value: <Quantity value={main.total} measure={main.metric} />,
    second: <MonthChange percent={main.change} period={main.compared} />,
  };
}

function MonthChange({ percent, period }: { percent: number | null; period: string }) {
  if (percent === null) return <>{`None ${unbroken(period)}`}</>;
  return (
    <>
      <ShortChange percent={percent} />
      {` vs ${unbroken(period)}`}
    </>
  );
}

function OrganizationStatusBadge({ status }: Pick<OperatedOrganization, "status">) {
  return status === "active" ? <Badge tone="on">Active</Badge> : <Badge tone="soon">Suspended</Badge>;
}

/** Red if a limit that rejects or denies requests is used up. Usage above a limit that only notifies is no fault. */
function ReachedBadge({ standings }: { standings: readonly LimitStanding[] }) {
  const modes = standings.filter(({ remaining }) => remaining === 0).map(({ mode }) => mode);
  if (modes.includes("hard")) return <Badge tone="bad">Hard limit reached</Badge>;
  if (modes.includes("cutoff")) return <Badge tone="bad">Cutoff limit reached</Badge>;
  return modes.length === 0 ? null : <Badge tone="off">Above plan</Badge>;
}
