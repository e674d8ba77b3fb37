// The console's page about one organization.
import type { AuditEvent } from "../../domain/audit.ts";
import type { LimitMailReach } from "../../domain/mail/limit_mail_reach.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import type { Member } from "../../domain/organization.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import type { OperatedOrganization, OrganizationNote } from "../../domain/operator/organization.ts";
import type { Plan } from "../../domain/operator/plan.ts";
import { ApiKeyTable, type KeyLineRow } from "../api_keys/api_key_table.tsx";
import { AuditSentence } from "../audit/audit_table.tsx";
import { auditActorName } from "../audit/audit_text.ts";
import { ActionsCard } from "../components/actions_card.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Facts } from "../components/facts.tsx";
import { LastUsage } from "../components/last_usage.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { Cell, LinkedName, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { MetricChart } from "../components/metric_chart.tsx";
import type { UsageReport } from "../meter/usage.tsx";
import { Breakdown } from "../meter/usage_tables.tsx";
import { roleWords } from "../text/role.ts";
import { zoneWords } from "../text/time.ts";
import { organizationHref, organizationsHref, userHref } from "./links.ts";
import { listHref } from "./list_filters.tsx";
import { OrganizationLimits, PlanFact, ReachedBadge } from "./organization_limits.tsx";
import { OrganizationStatusBadge } from "./organization_table.tsx";
import { OrganizationStatements, type OrganizationStatementsProps } from "./organization_statements.tsx";

/** The sidebar's entry of all pages about organizations. */
const organizationPlace = "operator/organizations";

type OrganizationAction =
  | "edit"
  | "members"
  | "members#invitations"
  | "api-keys"
  | "api-keys/new"
  | "notes/new"
  | "usage"
  | "usage/records"
  | "suspend"
  | "resume"
  | "delete";

function organizationActionHref(id: string, action: OrganizationAction): string {
  return `${organizationHref(id)}/${action}`;
}

interface OrganizationPageProps {
  readonly frame: PortalFrame;
  readonly organization: OperatedOrganization;
  readonly plan: Plan;
  readonly limits: readonly LimitStanding[];
  /** The people who get emails about limits; null where none are sent. */
  readonly mailReach: LimitMailReach | null;
  /** The current month; null if nothing can be shown. */
  readonly usage: UsageReport | null;
  /** True if limits, usage and statements could not be read in time. */
  readonly isBusy: boolean;
  /** The chosen metric; null without usage. */
  readonly metric: string | null;
  readonly statements: OrganizationStatementsProps["statements"];
  readonly openMonth: string;
  /** Some of the keys, newest first. */
  readonly apiKeys: readonly KeyLineRow[];
  readonly members: readonly Member[];
  readonly notes: readonly OrganizationNote[];
  readonly olderNotesHref: string | null;
  readonly events: readonly AuditEvent[];
  /** The names of products and metrics. */
  readonly catalogue: Catalogue;
  readonly flash: string | null;
}

export function organizationPage(props: OrganizationPageProps): Page {
  const { frame, organization, plan, limits, usage, isBusy, flash } = props;
  const { id, name, status } = organization;
  return (
    // Members have no such page.
    <PortalPage title={name} frame={{ ...frame, viewed: null }} place={organizationPlace}>
      <PageHead
        back={{ href: organizationsHref, label: "Organizations" }}
        title="{name}"
        name={name}
        text={
          <>
            <OrganizationStatusBadge status={status} /> <ReachedBadge standings={limits} />
          </>
        }
      >
        <span class="buttons">
          <ButtonLink href={organizationActionHref(id, "usage/records")}>Records</ButtonLink>
          <ButtonLink href={organizationActionHref(id, "members#invitations")}>Invite</ButtonLink>
          <ButtonLink href={organizationActionHref(id, "api-keys/new")}>Create key</ButtonLink>
          <ButtonLink href={organizationActionHref(id, "edit")}>Edit</ButtonLink>
        </span>
      </PageHead>
      <Notice tone="done" text={flash} />
      <div class="card">
        <Facts facts={factsOf(organization, plan, frame.now)} />
      </div>
      <div class="columns">
        <div class="stacked">
          <Usage id={id} usage={usage} isBusy={isBusy} />
          <OrganizationLimits {...props} standings={limits} now={frame.now} />
          <OrganizationStatements
            organizationId={id}
            metric={props.metric === null ? null : metricOf(props.catalogue, props.metric).name}
            statements={props.statements}
            open={props.openMonth}
          />
          <Keys {...props} />
        </div>
        <div class="stacked">
          <Notes {...props} />
          <Members {...props} />
          <Metadata organization={organization} />
          <AuditLog {...props} />
        </div>
      </div>
      <DangerZone organization={organization} />
    </PortalPage>
  );
}

function factsOf(organization: OperatedOrganization, plan: Plan, now: number) {
  const { id, externalId, memberCount, activeApiKeyCount, createdAt, suspendedAt, lastUsedAt, lastUsageAt } =
    organization;
  return [
    { label: "External ID", value: externalId === null ? "Not set" : <code class="pick">{externalId}</code> },
    { label: "ID", value: <code class="pick">{id}</code> },
    { label: "Plan", value: <PlanFact organization={organization} plan={plan} /> },
    { label: "Members", value: groupDigits(memberCount) },
    { label: "Active keys", value: groupDigits(activeApiKeyCount) },
    {
      label: "Last usage",
      value: <LastUsage at={lastUsageAt === null ? null : Date.parse(lastUsageAt)} now={now} />,
    },
    { label: "Last request", value: <RelativeTime at={lastUsedAt} now={now} /> },
    { label: "Created", value: <DayTime at={createdAt} now={now} /> },
    { label: "Time zone", value: zoneWords(organization.timezone) },
    ...(suspendedAt === null
      ? []
      : [{ label: "Suspended", value: <RelativeTime at={suspendedAt} now={now} /> }]),
  ];
}

function Usage({ id, usage, isBusy }: Pick<OrganizationPageProps, "usage" | "isBusy"> & { id: string }) {
  const empty = isBusy
    ? {
      title: "Not available right now",
      text: "Usage, limits and statements could not be read. Try again in a minute.",
    }
    : { title: "No usage this month", text: "Usage appears here as soon as it is recorded." };
  return (
    <>
      <MetricChart
        strip={usage?.strip ?? null}
        chart={usage?.chart ?? null}
        aside={<a class="small" href={organizationActionHref(id, "usage")}>View usage</a>}
      >
        <EmptyState {...empty} />
      </MetricChart>
      {usage?.chart && <Breakdown {...usage.products} />}
      {usage?.chart && <Breakdown {...usage.keys} />}
    </>
  );
}

function Notes({ frame, organization: { id }, notes, olderNotesHref }: OrganizationPageProps) {
  return (
    <Card title="Notes" aside={<span class="tiny muted">Operators only</span>}>
      {notes.length === 0 ? <p class="muted small">No notes yet.</p> : (
        <ul class="stacked">
          {notes.map((note) => (
            <li>
              <p class="small">{note.text}</p>
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
        <ButtonLink href={organizationActionHref(id, "notes/new")}>Add note</ButtonLink>
        {olderNotesHref !== null && <ButtonLink tone="quiet" href={olderNotesHref}>Older notes</ButtonLink>}
      </div>
    </Card>
  );
}

function Keys({ frame, organization: { id }, apiKeys }: OrganizationPageProps) {
  const all = <a class="small" href={organizationActionHref(id, "api-keys")}>All keys</a>;
  return (
    <Card title="API keys" aside={all} flush>
      {apiKeys.length === 0
        ? <EmptyState title="No API keys yet" text="Members create keys, and so can you." />
        : <ApiKeyTable frame={frame} lines={apiKeys} areInactive={false} />}
    </Card>
  );
}

function Members({ organization: { id, memberCount }, members }: OrganizationPageProps) {
  const all = <a class="small" href={organizationActionHref(id, "members")}>Members and invitations</a>;
  return (
    <Card title="Members" aside={all} flush>
      {members.length === 0
        ? <EmptyState title="No members" text="Invite the owner, so that someone can sign in." />
        : (
          <Table label="Members" columns={["Member", "Role"]} isSmall>
            {members.map(({ user, role }) => (
              <Row>
                <Cell
                  place="title"
                  value={<LinkedName href={userHref(user.id)} name={user.name} note={user.email} />}
                />
                <Cell label="Role" value={<span>{roleWords[role]}</span>} />
              </Row>
            ))}
          </Table>
        )}
      {memberCount > members.length && (
        <footer class="small muted">{`${groupDigits(memberCount - members.length)} more`}</footer>
      )}
    </Card>
  );
}

function Metadata({ organization: { id, metadata } }: Pick<OrganizationPageProps, "organization">) {
  const entries = Object.entries(metadata).sort(([a], [b]) => a < b ? -1 : 1);
  return (
    <Card title="Metadata" aside={<a class="small" href={organizationActionHref(id, "edit")}>Edit</a>} flush>
      {entries.length === 0 ? <p class="body muted small">No metadata. Members don't see it.</p> : (
        <Facts
          facts={entries.map(([label, value]) => ({ label, value: <code class="pick">{value}</code> }))}
        />
      )}
    </Card>
  );
}

function AuditLog({ frame, organization: { id }, events, catalogue }: OrganizationPageProps) {
  if (events.length === 0) return null;
  const all = <a class="small" href={listHref("/operator/audit", { organizationId: id })}>All entries</a>;
  return (
    <Card title="Audit log" aside={all} flush>
      <Table label="Audit log" columns={["Action", "Time"]} isSmall>
        {events.map((event) => (
          <Row>
            <Cell place="title">
              <AuditSentence {...event} organizationId={null} isConsole catalogue={catalogue} />
              <div class="muted tiny">
                <bdi>{auditActorName(event)}</bdi>
              </div>
            </Cell>
            <Cell label="Time" value={<RelativeTime at={event.at} now={frame.now} />} />
          </Row>
        ))}
      </Table>
    </Card>
  );
}

function DangerZone({ organization: { id, status } }: Pick<OrganizationPageProps, "organization">) {
  return (
    <ActionsCard
      title="Danger zone"
      actions={[
        status === "active"
          ? {
            title: "Suspend",
            text: suspendText,
            href: organizationActionHref(id, "suspend"),
            label: "Suspend",
            tone: "plain-destroy",
          }
          : {
            title: "Resume",
            text: resumeText,
            href: organizationActionHref(id, "resume"),
            label: "Resume",
          },
        {
          title: "Delete",
          text: "Ends its keys and memberships. Closed statements are kept. This can't be undone.",
          href: organizationActionHref(id, "delete"),
          label: "Delete organization",
          tone: "plain-destroy",
        },
      ]}
    />
  );
}

export const suspendText =
  "Requests with its keys will fail immediately. Its members can still sign in, read and export, but change nothing except their own accounts. You can resume it at any time.";
export const resumeText = "Its keys work again immediately, and its members can change things again.";
