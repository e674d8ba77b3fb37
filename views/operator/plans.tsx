// The console's pages of plans: the list, one plan, and the pages that ask before something is done to it.
import type { UsageLimit } from "../../domain/meter/usage_limit.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type { OperatedOrganization } from "../../domain/operator/organization.ts";
import type { Plan } from "../../domain/operator/plan.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Facts } from "../components/facts.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { actionsColumn, Cell, LinkedName, Name, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { limitName, modeWords } from "../text/limit.ts";
import { planHref, plansHref } from "./links.ts";
import { OrganizationTable } from "./organizations.tsx";
import { numberText } from "./plan_text.ts";

/** The sidebar's entry of all pages about plans. */
export const planPlace = "operator/plans";

/** The link back to the list. */
export const backToPlans = { href: plansHref, label: "Plans" };

/** What the list shows. */
export interface PlansPageProps {
  readonly frame: PortalFrame;
  readonly plans: readonly Plan[];
  /** What was just done. */
  readonly flash: string | null;
}

/** @returns The list of plans. */
export function plansPage({ frame, plans, flash }: PlansPageProps): Page {
  const columns = [
    "Plan",
    { title: "Organizations", isNumber: true },
    { title: "API keys", isNumber: true },
    { title: "Members", isNumber: true },
    { title: "Requests per second", isNumber: true },
    "Usage limits",
    actionsColumn,
  ];
  return (
    <PortalPage title="Plans" frame={frame} place={planPlace}>
      <PageHead title="Plans" text="How much organizations can use. New organizations get the default plan.">
        <ButtonLink tone="primary" href={`${plansHref}/new`}>Create plan</ButtonLink>
      </PageHead>
      <Notice tone="done" text={flash} />
      <Card title="Oldest first" flush>
        <Table label="Plans" columns={columns}>
          {plans.map((plan) => <PlanRow plan={plan} />)}
        </Table>
      </Card>
    </PortalPage>
  );
}

const limitsNamedMax = 2;

function PlanRow({ plan }: { plan: Plan }) {
  const { id, name, limits } = plan;
  return (
    <Row>
      <Cell place="title">
        <div class="address">
          <LinkedName href={planHref(id)} name={name} />
          {plan.isDefault && <Badge tone="on">Default</Badge>}
        </div>
      </Cell>
      <Cell label="Organizations" isNumber>{groupDigits(plan.organizationCount)}</Cell>
      <Cell label="API keys" isNumber>{groupDigits(plan.apiKeysMax)}</Cell>
      <Cell label="Members" isNumber>{groupDigits(plan.membersMax)}</Cell>
      <Cell label="Requests per second" isNumber>
        {numberText("requestsPerSecond", plan.requestsPerSecond)}
      </Cell>
      <Cell label="Usage limits">
        <span>
          {limits.slice(0, limitsNamedMax).map((limit) => <div class="small">{limitText(limit)}</div>)}
          {limits.length > limitsNamedMax && (
            <div class="muted tiny">{`${limits.length - limitsNamedMax} more`}</div>
          )}
          {limits.length === 0 && "None"}
        </span>
      </Cell>
      <Cell place="actions">
        <div class="actions-row">
          <ButtonLink tone="quiet" href={planHref(id, "edit")} about={name}>Edit</ButtonLink>
        </div>
      </Cell>
    </Row>
  );
}

function limitText(limit: UsageLimit): string {
  return `${limitName(limit)}: ${groupDigits(limit.quantity)}`;
}

/** What the page of a plan shows. */
export interface PlanPageProps {
  readonly frame: PortalFrame;
  readonly plan: Plan;
  /** Some of the organizations that have it. */
  readonly organizations: readonly OperatedOrganization[];
  readonly nextHref: string | null;
  /** What was just done. */
  readonly flash: string | null;
}

/** @returns The page of a plan. */
export function planPage({ frame, plan, organizations, nextHref, flash }: PlanPageProps): Page {
  const { id, name, isDefault, limits } = plan;
  return (
    <PortalPage title={name} frame={frame} place={planPlace}>
      <PageHead
        back={backToPlans}
        title="{name}"
        name={name}
        text={isDefault && <Badge tone="on">Default</Badge>}
      >
        <ButtonLink href={planHref(id, "edit")}>Edit</ButtonLink>
      </PageHead>
      <Notice tone="done" text={flash} />
      <div class="card">
        <Facts
          facts={[
            { label: "API keys", value: groupDigits(plan.apiKeysMax) },
            { label: "Members", value: groupDigits(plan.membersMax) },
            {
              label: "Requests per second",
              value: numberText("requestsPerSecond", plan.requestsPerSecond),
            },
            { label: "Usage series", value: groupDigits(plan.usageSeriesMax) },
            { label: "Created", value: <DayTime at={plan.createdAt} now={frame.now} /> },
            { label: "ID", value: <code class="pick">{id}</code> },
          ]}
        />
      </div>
      <Card title="Usage limits" flush>
        {limits.length === 0
          ? <EmptyState title="No usage limits" text="Organizations with this plan can record any amount." />
          : <LimitTable limits={limits} />}
      </Card>
      <Card
        title="Organizations"
        aside={<span class="muted small">{groupDigits(plan.organizationCount)}</span>}
        flush
      >
        {organizations.length === 0
          ? <EmptyState title="No organizations" text="No organization has this plan." />
          : <OrganizationTable organizations={organizations} now={frame.now} />}
      </Card>
      <PageLinks links={[{ href: nextHref, label: "More organizations" }]} />
      <PlanActions plan={plan} />
    </PortalPage>
  );
}

function LimitTable({ limits }: { limits: readonly UsageLimit[] }) {
  const columns = ["Limit", { title: "Quantity", isNumber: true }, "When exceeded"];
  return (
    <Table label="Usage limits" columns={columns}>
      {limits.map((limit) => (
        <Row>
          <Cell place="title" value={<Name text={limitName(limit)} />} />
          <Cell label="Quantity" isNumber>{groupDigits(limit.quantity)}</Cell>
          <Cell label="When exceeded" value={<span>{modeWords[limit.mode]}</span>} />
        </Row>
      ))}
    </Table>
  );
}

function PlanActions({ plan: { id, isDefault, organizationCount } }: { plan: Plan }) {
  if (isDefault) return null;
  return (
    <Card title="More actions" flush>
      <ul class="acts">
        <li>
          <div>
            <h3>Make default</h3>
            <p class="muted small">{defaultText}</p>
          </div>
          <ButtonLink href={planHref(id, "default")}>Make default</ButtonLink>
        </li>
        <li>
          <div>
            <h3>Delete</h3>
            <p class="muted small">
              {organizationCount === 0
                ? "No organization has this plan. This can't be undone."
                : "A plan can be deleted when no organization has it any more."}
            </p>
          </div>
          {organizationCount === 0 && (
            <ButtonLink tone="plain-destroy" href={planHref(id, "delete")}>Delete plan</ButtonLink>
          )}
        </li>
      </ul>
    </Card>
  );
}

const defaultText = "New organizations get this plan. Existing organizations keep theirs.";

/** What is done to a plan after a confirmation. */
export type ConfirmedPlanAction = keyof typeof confirmations;

const confirmations = {
  default: {
    title: "Make default",
    heading: "Make “{name}” the default plan?",
    text: defaultText,
    submit: "Make default",
    tone: "primary",
  },
  delete: {
    title: "Delete plan",
    heading: "Delete “{name}”?",
    text: "The plan and its limits are removed. This can't be undone.",
    submit: "Delete plan",
    tone: "destroy",
  },
} as const;

/** @returns The page that asks whether to do something to a plan. */
export function confirmPlanPage(
  { frame, plan, action, message }: {
    frame: PortalFrame;
    plan: Plan;
    action: ConfirmedPlanAction;
    message: string | null;
  },
): Page {
  const { id, name } = plan;
  return (
    <ConfirmPage
      frame={frame}
      place={planPlace}
      {...confirmations[action]}
      name={name}
      facts={[
        { label: "Organizations", value: groupDigits(plan.organizationCount) },
        { label: "Usage limits", value: countOf(plan.limits.length, "limit") },
      ]}
      action={planHref(id, action)}
      back={{ href: planHref(id), label: name }}
      error={message}
    />
  );
}
