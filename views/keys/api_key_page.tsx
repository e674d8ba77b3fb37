// The page of one API key with its rotations: its usage, its limits, and its actions.
import type { ApiKey, LastRequest } from "../../domain/keys/api_key.ts";
import type { AuditEvent } from "../../domain/access/audit.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import type { KeyReport } from "../../domain/meter/key_report.ts";
import { auditActorName, AuditSentence } from "../access/mod.ts";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { TestBadge } from "../components/environment.tsx";
import { opens } from "../components/embed_bar.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { type ApiKeyAction, apiKeyHref, managesAllKeys } from "../components/key_name.tsx";
import { LimitMeters } from "../components/limit_meters.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PlanLink } from "../components/plan_link.tsx";
import { DayTime, MomentTime } from "../components/relative_time.tsx";
import { RowMenu } from "../components/row_menu.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { listHref } from "../components/list_filters.tsx";
import { fullDate } from "../text/time.ts";
import { revokeWarning } from "./api_key_forms.tsx";
import { ApiKeyStatus, LeakText } from "./api_key_table.tsx";
import { type FirstRequest, FirstRequestCard, statusText } from "./first_request.tsx";
import { KeyFacts, KeyUsage } from "./key_usage.tsx";
import { PermissionList } from "./permission_fields.tsx";

interface ApiKeyPageProps {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKey;
  /** With the current one first, then newest first. */
  readonly generations: readonly ApiKey[];
  /** Null if it is not available. */
  readonly report: KeyReport | null;
  /** Limits of the organization, then of the budget; null when they are not available. */
  readonly limits: readonly LimitStanding[] | null;
  /** The name of the organization's plan. */
  readonly plan: string;
  /** With any key of the lineage. */
  readonly lastRequest: LastRequest | null;
  readonly firstRequest: FirstRequest;
  /** The latest entries about the key; null without the permission to read them. */
  readonly events: readonly AuditEvent[] | null;
  /** The names of products and metrics. */
  readonly catalogue: Catalogue;
  readonly flash: string | null;
}

export function apiKeyPage(props: ApiKeyPageProps): Page {
  const { frame, apiKey, generations, report, flash, events } = props;
  const { id, name } = apiKey;
  const isActive = apiKey.status === "active";
  const uses = generations.map(({ lastUsedAt }) => lastUsedAt).filter((at) => at !== null);
  const canAct = isActive && !frame.isReadOnly;
  const [, ...replaced] = generations;
  const isNew = isActive && !props.firstRequest.isUsed && !report?.lastUsageAt &&
    replaced.every(({ lastUsedAt }) => lastUsedAt === null);
  return (
    <PortalPage title={name} frame={frame} place="api-keys">
      <PageHead
        back={{ href: `${frame.base}/api-keys`, label: "API keys" }}
        title="{name}"
        name={name}
        text={<Origin {...props} />}
      >
        {canAct && <Actions {...props} />}
      </PageHead>
      <Notice tone="done" text={flash} />
      <Notice tone="error" text={leakWarning(apiKey)} />
      <KeyFacts
        frame={frame}
        apiKey={apiKey}
        report={report}
        lastRequestAt={uses.toSorted().at(-1) ?? null}
      />
      <div class="columns aside">
        <div class="stacked">
          {isNew
            ? (
              <FirstRequestCard
                frame={frame}
                apiKeyId={id}
                request={props.firstRequest}
                record={report?.lastRecord}
              />
            )
            : <KeyUsage frame={frame} apiKeyId={id} report={report} />}
          {events && <Events {...props} events={events} />}
        </div>
        <div class="stacked">
          {isActive && <Budget {...props} />}
          <LastUse {...props} />
          <Card title="Permissions" aside={canAct && <a href={hrefOf(props, "edit")}>Change</a>}>
            <PermissionList permissions={apiKey.permissions} />
          </Card>
          {generations.length > 1 && <Rotations {...props} />}
        </div>
      </div>
      {canAct && <DangerZone {...props} />}
    </PortalPage>
  );
}

function leakWarning({ leakedAt, status }: ApiKey): string | null {
  if (leakedAt === null) return null;
  const reported = `Reported as leaked on ${fullDate(Date.parse(leakedAt))}.`;
  return status === "active"
    ? `${reported} Anyone who has this key can use it. Rotate or revoke it.`
    : `${reported} It no longer works. Check its last request and its usage.`;
}

function hrefOf({ frame, apiKey }: ApiKeyPageProps, action?: ApiKeyAction): string {
  return apiKeyHref(frame.base, apiKey.id, action);
}

function Origin({ apiKey, frame: { now, session } }: ApiKeyPageProps) {
  return (
    <span class="origin small">
      <ApiKeyStatus apiKey={apiKey} now={now} />
      <TestBadge {...apiKey} />
      <code class="pick">{apiKey.keyPrefix}</code>
      <code class="pick">{apiKey.id}</code>
      <span>
        {"Created "}
        <DayTime at={apiKey.createdAt} now={now} />
        {" by "}
        {apiKey.createdBy?.id === session.user.id ? "you" : <bdi>{creatorName(apiKey)}</bdi>}
      </span>
    </span>
  );
}

function creatorName({ createdBy, createdByOperator }: ApiKey): string {
  if (createdByOperator) return "the operator";
  return createdBy === null ? "a former member" : createdBy.name;
}

function Actions(props: ApiKeyPageProps) {
  const { frame, apiKey: { id, name, environment } } = props;
  return (
    <>
      <ButtonLink href={hrefOf(props, "rotate")}>Rotate</ButtonLink>
      <ButtonLink href={hrefOf(props, "edit")}>Edit</ButtonLink>
      <RowMenu
        about={name}
        actions={[
          ...(managesAllKeys(frame) && environment === "live"
            ? [{ href: hrefOf(props, "budget"), label: "Edit budget", icon: "gauge" } as const]
            : []),
          ...(opens(frame, "usage")
            ? [
              {
                href: `${frame.base}/usage?apiKey=${encodeURIComponent(id)}`,
                label: "View in usage",
                icon: "usage",
              } as const,
            ]
            : []),
          { href: hrefOf(props, "revoke"), label: "Revoke", icon: "trash", isDanger: true },
        ]}
      />
    </>
  );
}

function Events(
  { apiKey, events, catalogue, frame }: ApiKeyPageProps & { events: readonly AuditEvent[] },
) {
  const all = listHref(`${frame.base}/audit`, { targetId: apiKey.id });
  return (
    <Card
      title="Audit log"
      aside={<a href={all}>All entries</a>}
      flush
    >
      {events.length === 0
        ? <EmptyState title="No entries" text="Changes to this key appear here." />
        : (
          <ul class="items plain">
            {events.map((event) => (
              <li>
                <div>
                  <AuditSentence {...event} organizationId={null} frame={frame} catalogue={catalogue} />
                  <span class="second">
                    <bdi>{auditActorName(event)}</bdi>
                  </span>
                </div>
                <MomentTime at={event.at} now={frame.now} />
              </li>
            ))}
          </ul>
        )}
    </Card>
  );
}

function Budget(props: ApiKeyPageProps) {
  const { frame, apiKey, limits, catalogue } = props;
  if (apiKey.environment === "test") {
    return (
      <Card title="Limits">
        <p class="muted small">Usage of test keys is on no statement and counts against no limit.</p>
      </Card>
    );
  }
  const canSetBudget = managesAllKeys(frame) && !frame.isReadOnly;
  const ofBudget = new Set(apiKey.budget.map(({ id }) => id));
  const isEmpty = ofBudget.size === 0;
  const own = limits?.filter(({ limitId }) => ofBudget.has(limitId));
  const others = limits?.filter(({ limitId }) => !ofBudget.has(limitId)) ?? [];
  return (
    <>
      <Card
        title="Budget"
        aside={canSetBudget && !isEmpty && <a href={hrefOf(props, "budget")}>Change</a>}
      >
        {isEmpty
          ? (
            <>
              <p class="muted small">
                {`No budget. A budget limits what this key can use, within ${
                  frame.viewed === null ? "your" : "the"
                } organization's limits.`}
              </p>
              {canSetBudget && (
                <p>
                  <ButtonLink href={hrefOf(props, "budget")}>Set budget</ButtonLink>
                </p>
              )}
            </>
          )
          : own === undefined
          ? <p class="muted">Not available right now</p>
          : <LimitMeters limits={own} now={frame.now} catalogue={catalogue} />}
      </Card>
      {others.length > 0 && (
        <Card title="Organization limits" aside={<PlanLink name={props.plan} frame={frame} />}>
          <p class="muted small">All keys added up.</p>
          <LimitMeters limits={others} now={frame.now} catalogue={catalogue} />
        </Card>
      )}
    </>
  );
}

function LastUse({ lastRequest, frame: { now } }: ApiKeyPageProps) {
  if (lastRequest === null) return null;
  const { at, network, userAgent, status, error } = lastRequest;
  return (
    <Card title="Last request">
      <dl class="details">
        <dt>Time</dt>
        <dd>
          <MomentTime at={at} now={now} />
        </dd>
        <dt>Network</dt>
        <dd>
          <code>{network || "Unknown"}</code>
        </dd>
        <dt>Client</dt>
        <dd>{userAgent === "" ? "Unknown" : <bdi>{userAgent}</bdi>}</dd>
        <dt>Response</dt>
        <dd>
          {statusText(status)}
          {error && <span class="muted tiny block">{error}</span>}
        </dd>
      </dl>
      <p class="muted tiny">We keep the network and client of the last request only.</p>
    </Card>
  );
}

function Rotations({ generations, frame: { now } }: ApiKeyPageProps) {
  return (
    <Card title="Rotations" aside={<span class="muted tiny">Usage combined</span>} flush>
      <ul class="items plain">
        {generations.map((apiKey, index) => (
          <li>
            <div>
              <code class="pick">{apiKey.keyPrefix}</code>
              <span class="second">
                {"Created "}
                <DayTime at={apiKey.createdAt} now={now} />
                {index > 0 && apiKey.status === "active" && apiKey.expiresAt && (
                  <>
                    {" · works until "}
                    <MomentTime at={apiKey.expiresAt} now={now} />
                  </>
                )}
              </span>
              <LeakText apiKey={apiKey} now={now} />
            </div>
            {index === 0 && apiKey.status === "active"
              ? <span class="badge on">Current</span>
              : <ApiKeyStatus apiKey={apiKey} now={now} />}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function DangerZone(props: ApiKeyPageProps) {
  const { apiKey, report, generations, frame: { now } } = props;
  return (
    <section class="card danger-zone" id="danger">
      <header>
        <h2>Danger zone</h2>
      </header>
      <div class="split">
        <div>
          <strong>Revoke this key</strong>
          <p>{revokeWarning(apiKey, { now, report, isRotated: generations.length > 1 })}</p>
        </div>
        <ButtonLink tone="plain-destroy" href={hrefOf(props, "revoke")}>Revoke key</ButtonLink>
      </div>
    </section>
  );
}
