// The console's pages of one organization that customers have not. The other tabs are the customers' pages.
import {
  type Plan,
  planNumberNames,
  type PlanNumbers,
  type PlanOverrides,
} from "../../domain/billing/plan.ts";
import type { OperatedOrganization } from "../../domain/console/organization.ts";
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import { currentUse } from "../../domain/meter/usage_grant.ts";
import type { LimitScope, LimitStanding, NewLimit } from "../../domain/meter/usage_limit.ts";
import type { LimitMailReach } from "../../domain/outbox/limit_mail_reach.ts";
import { presentation } from "../../domain/presentation.ts";
import { listNotes } from "../../services/console/mod.ts";
import { listGrants, readLimitMailReach, readProductNames } from "../../services/meter/mod.ts";
import { companySignIn } from "../../services/people/mod.ts";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { PlanIncludes } from "../../views/components/feature_list.tsx";
import {
  organizationHref,
  organizationLimitsHref,
  organizationPlanHref,
  organizationsHref,
  planHref,
} from "../../views/components/links.ts";
import { ListCard } from "../../views/components/list_card.tsx";
import { MetricChart } from "../../views/components/metric_chart.tsx";
import { Notice } from "../../views/components/notice.tsx";
import type { OrganizationHead } from "../../views/components/organization_head.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { DayTime, ResetTime } from "../../views/components/relative_time.tsx";
import { Cell, Name, Row, Table, Words } from "../../views/components/table.tsx";
import { Used } from "../../views/components/used.tsx";
import { Attention } from "../../views/console/attention.tsx";
import { PortalPage } from "../../views/layout.tsx";
import { grantsShownMax } from "../../views/meter/grants.tsx";
import { GrantsCard, RejectedRequests } from "../../views/meter/mod.ts";
import { providerFacts, SignInBadge } from "../../views/people/mod.ts";
import { limitName, limitQuantity, modeWords, notifyText } from "../../views/text/limit.ts";
import { missedText } from "../../views/text/limit_mails.ts";
import { numberText, numberWords } from "../../views/text/plan.ts";
import type { App, AppContext } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { type ConsoleActor, operatorPages } from "../portal/operator_page.ts";
import { readMonth } from "./overview.tsx";
import { outcomeSummary } from "../meter/outcome_summary.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { tabViewer } from "../portal/viewer.ts";

const place = "operator/organizations";
const notesShownMax = 3;
const rejectionsShownMax = 5;
const path = `${organizationsHref}/:id`;
const flashes = {
  created: "Organization created.",
  saved: "Changes saved.",
  suspended: "Organization suspended. Requests with its keys fail.",
  resumed: "Organization resumed. Its keys work again.",
  "sso-stopped": "Single sign-on is no longer required.",
  granted: "Grant added. It raises the limit immediately.",
  "grant-voided": "Grant voided.",
  "refill-voided": "Grants no longer repeat. What was left of them was voided.",
  noted: "Note added.",
  "note-deleted": "Note deleted.",
};

export function operatorOrganizationTabs(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = operatorPages(app, parts);

  get(path, async (c, actor) => await sendPage(c, overviewPage(await readOverview(c, parts, actor))));

  get(`${path}/limits`, async (c, actor) => {
    const { frame, head, access } = await tabViewer(c, parts, { actor, tab: "limits" });
    const mailReach = await readLimitMailReach(services, access);
    const catalogue = await readProductNames(services);
    const { grants } = await listGrants(services, access, { limit: grantsShownMax });
    const base = organizationHref(access.organizationId);
    return await sendPage(
      c,
      <PortalPage title="Limits" frame={frame} place={place}>
        <PageHead title="Limits" text={<LimitsText {...head} />}>
          <ButtonLink href={`${frame.base}/alerts`}>Alerts</ButtonLink>
          <ButtonLink href={`${base}/grants/new`}>Add grant</ButtonLink>
          <ButtonLink href={organizationLimitsHref(access.organizationId)}>Edit overrides</ButtonLink>
        </PageHead>
        <Notice tone="done" text={flashOf(c, flashes)} />
        <OrganizationLimits
          {...head}
          mailReach={mailReach}
          catalogue={catalogue}
          now={frame.now}
        />
        <GrantsCard
          grants={grants}
          catalogue={catalogue}
          now={frame.now}
          hrefs={{
            grant: (id) => `${base}/grants/${id}/void`,
            refill: (id) => `${base}/refills/${id}/void`,
          }}
        />
      </PortalPage>,
    );
  });
}

function LimitsText({ plan, organization: { id } }: OrganizationHead) {
  return (
    <>
      The values of the plan{" "}
      <a href={planHref(plan.id)}>
        <bdi>{plan.name}</bdi>
      </a>, and what this organization has instead. <a href={organizationPlanHref(id)}>Change plan</a>
    </>
  );
}

async function readOverview(c: AppContext, parts: PortalParts, actor: ConsoleActor) {
  const { services } = parts;
  const viewer = await tabViewer(c, parts, { actor, tab: "overview" });
  const { frame, head, access: { organizationId } } = viewer;
  const { timezone } = presentation();
  const [{ numbers, usage }, sso, { notes, nextCursor }, requests, catalogue] = await Promise.all([
    readMonth(parts, viewer, { metric: c.req.query("metric") || null, timezone }),
    companySignIn.getCompanySignIn(services, viewer.access),
    listNotes(services, { organizationId, limit: notesShownMax, cursor: c.req.query("notes") }),
    outcomeSummary(parts, viewer.access, { rejectionsMax: rejectionsShownMax }),
    readProductNames(services),
  ]);
  const olderNotesHref = nextCursor && `${organizationHref(organizationId)}?notes=${nextCursor}`;
  const rejected = { ...requests, catalogue };
  return { frame, head, numbers, usage, sso, notes, olderNotesHref, rejected, flash: flashOf(c, flashes) };
}

type Overview = Awaited<ReturnType<typeof readOverview>>;

function overviewPage(props: Overview) {
  const { frame, head, numbers, usage, flash } = props;
  const { organization, limits } = head;
  const empty = numbers === null
    ? { title: "Not available right now", text: "Usage could not be read. Try again in a minute." }
    : { title: "No usage this month", text: "Usage appears here as soon as it is recorded." };
  return (
    <PortalPage title="Overview" frame={frame} place={place}>
      <Notice tone="done" text={flash} />
      <div class="columns aside">
        <MetricChart
          strip={usage?.strip ?? null}
          chart={usage?.chart ?? null}
          aside={<a class="small" href={`${frame.base}/usage`}>View usage</a>}
        >
          <EmptyState {...empty} />
        </MetricChart>
        {numbers && <Attention {...numbers} limits={limits} now={frame.now} base={frame.base} />}
      </div>
      <div class="columns aside">
        <RejectedRequests {...props.rejected} frame={frame} />
        <div class="stacked">
          <Notes {...props} />
          <Metadata organization={organization} />
        </div>
      </div>
      <SingleSignOn {...props} />
    </PortalPage>
  );
}

function SingleSignOn({ frame, sso, head: { organization } }: Overview) {
  if (sso.provider === null) return null;
  return (
    <Card title="Single sign-on" aside={<SignInBadge {...sso.provider} />} flush>
      <Facts
        facts={[
          ...providerFacts(sso, frame),
          ...sso.provider.enforced
            ? [{
              label: "Provider broken?",
              value: <a href={`${organizationHref(organization.id)}/single-sign-on`}>Stop requiring it</a>,
            }]
            : [],
        ]}
      />
    </Card>
  );
}

function Notes({ frame, head: { organization: { id } }, notes, olderNotesHref }: Overview) {
  return (
    <Card title="Notes" aside={<span class="tiny muted">Operators only</span>}>
      {notes.length === 0 ? <p class="muted small">No notes yet.</p> : (
        <ul class="stacked">
          {notes.map((note) => (
            <li>
              <p class="small whole">{note.text}</p>
              <p class="muted tiny">
                <bdi>{note.author.name ?? "Command line"}</bdi>
                {" · "}
                <DayTime at={note.createdAt} now={frame.now} />
                {" · "}
                <a href={`${organizationHref(id)}/notes/${note.id}/delete`}>Delete</a>
              </p>
            </li>
          ))}
        </ul>
      )}
      <div class="buttons">
        <ButtonLink href={`${organizationHref(id)}/notes/new`}>Add note</ButtonLink>
        {olderNotesHref !== null && <ButtonLink tone="quiet" href={olderNotesHref}>Older notes</ButtonLink>}
      </div>
    </Card>
  );
}

function Metadata({ organization: { id, metadata } }: { organization: OperatedOrganization }) {
  const entries = Object.entries(metadata).sort(([a], [b]) => a < b ? -1 : 1);
  return (
    <Card title="Metadata" aside={<a class="small" href={`${organizationHref(id)}/edit`}>Edit</a>} flush>
      {entries.length === 0 ? <p class="body muted small">No metadata. Members don't see it.</p> : (
        <Facts
          facts={entries.map(([label, value]) => ({ label, value: <code class="pick whole">{value}</code> }))}
        />
      )}
    </Card>
  );
}

function OrganizationLimits({ organization, plan, limits, mailReach, catalogue, now }: OrganizationHead & {
  mailReach: LimitMailReach | null;
  catalogue: Catalogue;
  now: number;
}) {
  const standings = limits ?? [];
  const missed = mailReach && standings.length > 0 ? missedText(mailReach) : null;
  const { id, overrides } = organization;
  const columns = ["Limit", ...valueColumns, "Used"];
  return (
    <ListCard label="Limits">
      <Table label="Limits" columns={columns} isSmall>
        {limitRows(plan.limits, overrides.limits).map((row) => (
          <LimitRow
            {...row}
            organizationId={id}
            standing={standings.find((one) => limitName(one) === limitName(row.scope))}
            catalogue={catalogue}
            now={now}
          />
        ))}
        {planNumberNames.map((name) => (
          <NumberRow name={name} plan={plan} overrides={overrides} used={usedOf(organization, name)} />
        ))}
      </Table>
      {plan.features.length > 0 && (
        <div class="body ruled">
          <PlanIncludes {...plan} withSlugs />
        </div>
      )}
      {missed && (
        <div class="body ruled">
          <p class="muted small">{missed}</p>
        </div>
      )}
    </ListCard>
  );
}

const valueColumns = [
  { title: "Plan", isNumber: true, isOptional: true },
  { title: "Override", isNumber: true, isOptional: true },
];

interface LimitRowProps {
  readonly scope: LimitScope;
  readonly fromPlan: (NewLimit & { readonly id: string }) | undefined;
  readonly override: NewLimit | undefined;
}

/** Pairs the limits of the plan and of the organization that count the same. */
function limitRows(plan: Plan["limits"], overrides: PlanOverrides["limits"]): readonly LimitRowProps[] {
  const names = new Set(plan.map((limit) => limitName(limit)));
  return [
    ...plan.map((limit) => ({
      scope: limit,
      fromPlan: limit,
      override: overrides.find((one) => limitName(one) === limitName(limit)),
    })),
    ...overrides.filter((limit) => !names.has(limitName(limit))).map((limit) => ({
      scope: limit,
      fromPlan: undefined,
      override: limit,
    })),
  ];
}

function LimitRow(
  { scope, fromPlan, override, organizationId, standing, catalogue, now }: LimitRowProps & {
    organizationId: string;
    standing: LimitStanding | undefined;
    catalogue: Catalogue;
    now: number;
  },
) {
  const { mode, notifyAt, quantity } = override ?? fromPlan ?? {};
  const name = limitName(scope, catalogue);
  const href = organizationLimitsHref(organizationId, override === undefined ? fromPlan?.id : undefined);
  const text = (limit: NewLimit | undefined) => quantityText(limit, catalogue);
  return (
    <Row>
      <Cell place="title">
        <Name text={name} />
        <div class="muted tiny">
          {mode && modeWords[mode]}
          {typeof quantity === "number" && ` · notifies at ${notifyText(notifyAt)}`}
          {standing?.resetsAt && (
            <>
              {" · resets "}
              <ResetTime at={standing.resetsAt} now={now} />
            </>
          )}
        </div>
        <a class="tiny" href={href}>
          {override === undefined ? "Override" : "Edit"}
          <span class="unseen">{` ${name}`}</span>
        </a>
      </Cell>
      <Cell label="Plan" isNumber isOptional>{text(fromPlan)}</Cell>
      <Cell label="Override" isNumber isOptional>{text(override)}</Cell>
      <Cell label="Used">
        {standing === undefined ? "–" : (
          <Used
            used={currentUse(standing).used}
            allowed={currentUse(standing).quantity}
            measure={scope.metric === null ? undefined : metricOf(catalogue, scope.metric)}
          />
        )}
      </Cell>
    </Row>
  );
}

function quantityText(limit: NewLimit | undefined, catalogue: Catalogue): string {
  if (limit === undefined) return "–";
  const { quantity, metric } = limit;
  return quantity === null ? "No limit" : limitQuantity({ quantity, metric }, catalogue);
}

function NumberRow(
  { name, plan, overrides, used }: {
    name: keyof PlanNumbers;
    plan: Plan;
    overrides: PlanOverrides;
    used: number | null;
  },
) {
  const override = overrides[name];
  const allowed = override ?? plan[name];
  return (
    <Row>
      <Cell place="title" value={<Name text={numberWords[name]} />} />
      <Cell label="Plan" isNumber isOptional>{numberText(name, plan[name])}</Cell>
      <Cell label="Override" isNumber isOptional>{override === null ? "–" : numberText(name, override)}</Cell>
      <Cell label="Used">
        {used === null
          ? <Words onCard={`Allowed: ${numberText(name, allowed)}`} offCard="–" />
          : <Used used={used} allowed={allowed} />}
      </Cell>
    </Row>
  );
}

function usedOf(organization: OperatedOrganization, name: keyof PlanNumbers): number | null {
  if (name === "apiKeysMax") return organization.activeApiKeyCount;
  return name === "membersMax" ? organization.memberCount : null;
}
