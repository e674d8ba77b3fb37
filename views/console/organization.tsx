// The console's pages of one organization that customers have not: its overview and its limits.
import type { LimitMailReach } from "../../domain/outbox/limit_mail_reach.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import type { UsageGrant } from "../../domain/meter/usage_grant.ts";
import type { OperatedOrganization, OrganizationNote } from "../../domain/console/organization.ts";
import type { CompanySignIn } from "../../domain/people/company_sign_in.ts";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Facts } from "../components/facts.tsx";
import { MetricChart } from "../components/metric_chart.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { GrantsCard, type UsageReport } from "../meter/mod.ts";
import { Attention, type AttentionProps } from "./attention.tsx";
import { providerFacts, SignInBadge } from "../people/mod.ts";
import { organizationHref, organizationLimitsHref } from "../components/links.ts";
import type { OrganizationHead } from "../components/organization_head.tsx";
import { OrganizationLimits } from "./organization_limits.tsx";

interface TabProps {
  readonly frame: PortalFrame;
  readonly head: OrganizationHead;
}

interface OverviewProps extends TabProps {
  /** Null when they are not available. */
  readonly numbers: Pick<AttentionProps, "expiring" | "withoutTwoStep" | "catalogue"> | null;
  /** The current month; null when it is not available or nothing was used. */
  readonly usage: UsageReport | null;
  readonly sso: CompanySignIn;
  readonly notes: readonly OrganizationNote[];
  readonly olderNotesHref: string | null;
  /** The names of products and metrics. */
  readonly catalogue: Catalogue;
  readonly flash: string | null;
}

const place = "operator/organizations";

export function organizationOverviewPage(props: OverviewProps): Page {
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
      <div class="columns even">
        <Notes {...props} />
        <Metadata organization={organization} />
      </div>
      <SingleSignOn {...props} />
    </PortalPage>
  );
}

function SingleSignOn({ frame, sso, head: { organization } }: OverviewProps) {
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

function Notes({ frame, head: { organization: { id } }, notes, olderNotesHref }: OverviewProps) {
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

export function organizationLimitsPage(
  { frame, head, mailReach, grants, catalogue, flash }: TabProps & {
    /** The latest grants. */
    grants: readonly UsageGrant[];
    /** The names of products and metrics. */
    catalogue: Catalogue;
    /** The people who get emails about limits; null where none are sent. */
    mailReach: LimitMailReach | null;
    flash: string | null;
  },
): Page {
  const grantsHref = `${organizationHref(head.organization.id)}/grants`;
  return (
    <PortalPage title="Limits" frame={frame} place={place}>
      <PageHead title="Limits" text="The plan's values, and what this organization has instead.">
        <ButtonLink href={`${frame.base}/alerts`}>Alerts</ButtonLink>
        <ButtonLink href={`${grantsHref}/new`}>Add grant</ButtonLink>
        <ButtonLink href={organizationLimitsHref(head.organization.id)}>Edit overrides</ButtonLink>
      </PageHead>
      <Notice tone="done" text={flash} />
      <OrganizationLimits
        {...head}
        standings={head.limits ?? []}
        mailReach={mailReach}
        catalogue={catalogue}
        now={frame.now}
      />
      <GrantsCard
        grants={grants}
        catalogue={catalogue}
        now={frame.now}
        voidHref={(id) => `${grantsHref}/${id}/void`}
      />
    </PortalPage>
  );
}

export const suspendText =
  "Requests with its keys will fail immediately. Its members can still sign in, read and export, but change nothing except their own accounts. You can resume it at any time.";
export const resumeText = "Its keys work again immediately, and its members can change things again.";
