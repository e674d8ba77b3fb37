// The page of one API key with its rotations: its usage, its limits, and its actions.
import type { AuditEvent } from "../../domain/access/audit.ts";
import type { ApiKey } from "../../domain/keys/api_key.ts";
import { type Access, listAuditEvents, may } from "../../services/access/mod.ts";
import { getApiKeyLineage } from "../../services/keys/mod.ts";
import {
  listHolds,
  listRejections,
  readLastRequest,
  readLimits,
  readProductNames,
} from "../../services/meter/mod.ts";
import { auditActorName, AuditSentence } from "../../views/access/mod.ts";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { opens } from "../../views/components/embed_bar.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { TestBadge } from "../../views/components/environment.tsx";
import {
  type ApiKeyAction,
  apiKeyHref,
  managesAllKeys,
  mayEnable,
} from "../../views/components/key_name.tsx";
import { LimitMeters } from "../../views/components/limit_meters.tsx";
import { listHref } from "../../views/components/list_filters.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { DayTime, MomentTime } from "../../views/components/relative_time.tsx";
import { RowMenu } from "../../views/components/row_menu.tsx";
import { ApiKeyStatus, LeakText } from "../../views/keys/api_key_table.tsx";
import { FirstRequestCard, statusText } from "../../views/keys/first_request.tsx";
import { KeyFacts } from "../../views/keys/key_facts.tsx";
import { KeyAccess } from "../../views/keys/key_access_fields.tsx";
import { PermissionList } from "../../views/keys/permission_fields.tsx";
import { PortalPage } from "../../views/layout.tsx";
import { ActiveHolds, Explorer, KeyRejections } from "../../views/meter/mod.ts";
import { fullDate } from "../../views/text/time.ts";
import { flashOf, type Viewer } from "../portal/form.ts";
import { inTime } from "../portal/in_time.ts";
import type { AppContext } from "../env.ts";
import { KeyReference } from "./api_key_reference.tsx";
import { DangerZone } from "./api_key_danger.tsx";
import { firstRequestOf, keyReport } from "./key_report.ts";
import { paramOf } from "../portal/noun_pages.ts";
import { nearestFirst, readExplorer } from "../meter/usage_pages.ts";
import type { PortalParts } from "../portal/page.ts";

const latestEventsMax = 5;
const shownHoldsMax = 10;
const shownRejectionsMax = 10;

export async function readKeyPage(c: AppContext, parts: PortalParts, viewer: Viewer) {
  const { services } = parts;
  const { access, frame } = viewer;
  const { current: apiKey, generations } = await getApiKeyLineage(services, access, paramOf(c, "keyId"));
  const usage = {
    apiKey: apiKey.id,
    path: apiKeyHref(frame.base, apiKey.id),
    knownMetric: null,
    usualRange: "30d",
  } as const;
  const [explored, report, limits, { holds, nextCursor }, lastRequest, requests, events] = await Promise.all([
    inTime((signal) => readExplorer(c, parts, viewer, { ...usage, signal })),
    keyReport(parts, access, apiKey.id),
    inTime((signal) => readLimits(services, access, { apiKeyId: apiKey.id, signal })),
    listHolds(services, access, {
      status: "active",
      apiKey: generations.map(({ id }) => id),
      limit: shownHoldsMax,
      cursor: undefined,
    }),
    readLastRequest(services, generations),
    listRejections(services, access, {
      apiKey: generations.map(({ id }) => id),
      limit: shownRejectionsMax,
    }),
    may(access, "audit.read") ? latestEvents(parts, access, generations) : null,
  ]);
  return {
    frame,
    apiKey,
    /** With the current one first, then newest first. */
    generations,
    explorer: explored?.explorer ?? null,
    report,
    /** Those of the budget are among them. */
    limits: limits && nearestFirst(limits),
    /** Active ones, for any key of the lineage. */
    active: { holds, isPart: nextCursor !== null },
    /** With any key of the lineage. */
    lastRequest,
    /** With all keys of the lineage. */
    requests,
    firstRequest: await firstRequestOf(parts, apiKey),
    events,
    catalogue: report?.catalogue ?? await readProductNames(services),
    flash: flashOf(c, {
      budget: "The budget has been saved.",
      changed: `Changes to “${apiKey.name}” have been saved.`,
      disabled: `“${apiKey.name}” has been disabled.`,
      enabled: `“${apiKey.name}” has been enabled.`,
    }),
  };
}

/** Null stands for what is not available, and for entries without the permission to read them. */
type KeyPage = Awaited<ReturnType<typeof readKeyPage>>;

async function latestEvents({ services }: PortalParts, access: Access, keys: readonly ApiKey[]) {
  const { events } = await listAuditEvents(services, access, {
    targetIds: keys.map(({ id }) => id),
    limit: latestEventsMax,
    cursor: undefined,
  });
  return events;
}

export function apiKeyPage(props: KeyPage) {
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
      <Notice tone="error" text={disabledText(props)} />
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
            : <Usage {...props} />}
          <Rejections {...props} />
          {events && <Events {...props} events={events} />}
        </div>
        <div class="stacked">
          {isActive && <Budget {...props} />}
          <ActiveHolds {...props.active} catalogue={props.catalogue} now={frame.now} />
          <LastUse {...props} />
          <Card title="Permissions" aside={canAct && <a href={hrefOf(props, "edit")}>Change</a>}>
            <PermissionList permissions={apiKey.permissions} />
          </Card>
          <KeyAccess apiKey={apiKey} />
          <KeyReference apiKey={apiKey} href={frame.isReadOnly ? null : hrefOf(props, "reference")} />
          {generations.length > 1 && <Rotations {...props} />}
        </div>
      </div>
      {canAct && <DangerZone {...props} isRotated={generations.length > 1} />}
    </PortalPage>
  );
}

function Usage({ explorer }: KeyPage) {
  if (explorer !== null) return <Explorer {...explorer} />;
  return (
    <Card title="Usage">
      <p class="muted">Not available right now</p>
    </Card>
  );
}

function leakWarning({ leakedAt, status }: ApiKey): string | null {
  if (leakedAt === null) return null;
  const reported = `Reported as leaked on ${fullDate(Date.parse(leakedAt))}.`;
  return status === "active"
    ? `${reported} Anyone who has this key can use it. Rotate or revoke it.`
    : `${reported} It no longer works. Check its last request and its usage.`;
}

function disabledText({ apiKey, frame }: KeyPage): string | null {
  if (apiKey.enabled || apiKey.status !== "active") return null;
  if (!apiKey.disabledByOperator) {
    return "This key is disabled. Requests with it fail until someone enables it.";
  }
  return frame.viewed === null
    ? "The operator of this service disabled this key. Only they can enable it."
    : "An operator disabled this key. Its organization can't enable it.";
}

function hrefOf({ frame, apiKey }: KeyPage, action?: ApiKeyAction): string {
  return apiKeyHref(frame.base, apiKey.id, action);
}

function Origin({ apiKey, frame: { now, session } }: KeyPage) {
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

function Actions(props: KeyPage) {
  const { frame, apiKey } = props;
  const { id, name, environment } = apiKey;
  return (
    <>
      {apiKey.enabled
        ? <ButtonLink href={hrefOf(props, "rotate")}>Rotate</ButtonLink>
        : mayEnable(frame, apiKey) && <ButtonLink href={hrefOf(props, "enable")}>Enable</ButtonLink>}
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
  { apiKey, events, catalogue, frame }: KeyPage & { events: readonly AuditEvent[] },
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

function Rejections({ requests, frame, catalogue, apiKey }: KeyPage) {
  const budget = new Set(apiKey.budget.map(({ id }) => id));
  return (
    <KeyRejections rejections={requests.rejections} frame={frame} catalogue={catalogue} budget={budget} />
  );
}

function Budget(props: KeyPage) {
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
  return (
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
  );
}

function LastUse({ lastRequest, frame: { now } }: KeyPage) {
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

function Rotations({ generations, frame: { now } }: KeyPage) {
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
