// The portal's first page: the first steps of an organization and, once it has usage, the overview.
import type { Child } from "hono/jsx";
import type { AuditEvent } from "../../domain/access/audit.ts";
import { hasPermission } from "../../domain/access/permissions.ts";
import { parsePeriodQuery } from "../../domain/meter/usage_period.ts";
import { slugForm } from "../../domain/meter/usage_record.ts";
import { presentation } from "../../domain/presentation.ts";
import { listAuditEvents, may } from "../../services/access/mod.ts";
import type { OverviewQuery, PortalOverview } from "../../services/console/jobs/mod.ts";
import { readFirstSteps, readOverview } from "../../services/console/mod.ts";
import { readLimitMailReach, readLimits, readProductNames } from "../../services/meter/mod.ts";
import { listFailingWebhooks } from "../../services/outbox/mod.ts";
import { readPlan, readUsageMetric, rememberUsageChoices } from "../../services/people/mod.ts";
import { auditActorName, AuditSentence } from "../../views/access/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { CodeExample } from "../../views/components/code_example.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { Form } from "../../views/components/form.tsx";
import { Icon } from "../../views/components/icon.tsx";
import { apiKeyHref, managesAllKeys } from "../../views/components/key_name.tsx";
import { LimitMeters } from "../../views/components/limit_meters.tsx";
import { MetricChart } from "../../views/components/metric_chart.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { PlanLink } from "../../views/components/plan_link.tsx";
import { refresh } from "../../views/components/refresh.ts";
import { RelativeTime } from "../../views/components/relative_time.tsx";
import { Unconfirmed } from "../../views/components/unconfirmed.tsx";
import { Attention } from "../../views/console/attention.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import type { UsageAddress } from "../../views/meter/usage_address.ts";
import { Breakdown, type BreakdownProps, type UsageReport } from "../../views/meter/mod.ts";
import { withheldText } from "../../views/text/limit_mails.ts";
import { monthWords } from "../../views/text/time.ts";
import { onClock, zoneWords } from "../../views/text/zone.ts";
import type { App, AppContext } from "../env.ts";
import { isChoice } from "../portal/choice.ts";
import type { Viewer } from "../portal/form.ts";
import { inTime } from "../portal/in_time.ts";
import { nearestFirst, readExampleCurl } from "../meter/usage_pages.ts";
import { reportOf, tableOf } from "../meter/usage_report.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { customerPages } from "../portal/viewer.ts";

const activityMax = 5;
/** Until the first record. */
const stepsEverySeconds = 5;

export function portalOverviewRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  customerPages(app, parts).get("", async (c, viewer) => {
    const { access, frame } = viewer;
    const { hasUsage, ...steps } = await readFirstSteps(services, access);
    // The steps are those of a member.
    if (hasUsage || frame.isReadOnly) {
      return await sendPage(c, overviewPage(await readOverviewPage(c, parts, viewer)));
    }
    const curl = await readExampleCurl(parts);
    return await sendPage(c, firstStepsPage({ frame, ...steps, curl }));
  });
}

async function readOverviewPage(c: AppContext, parts: PortalParts, viewer: Viewer) {
  const { services } = parts;
  const { access, frame } = viewer;
  const knownMetric = await readUsageMetric(services, access);
  const wanted = c.req.query("metric") ?? "";
  const metric = slugForm.test(wanted) ? wanted : null;
  const { timezone } = presentation();
  const [{ numbers, usage }, limits, mailReach, { plan }, audit, failing] = await Promise.all([
    readMonth(parts, viewer, { timezone, metric: metric ?? knownMetric }),
    inTime((signal) => readLimits(services, access, { signal })),
    readLimitMailReach(services, access),
    readPlan(services, access),
    may(access, "audit.read") ? listAuditEvents(services, access, { limit: activityMax }) : null,
    may(access, "webhooks.read") ? listFailingWebhooks(services, { access }) : [],
  ]);
  if (isChoice(c) && metric === numbers?.usage.metric) {
    rememberUsageChoices(services, access, { knownMetric, metric, timezone: null });
  }
  return {
    frame,
    href: metricHref(frame, metric),
    label: `${monthWords(onClock(frame.now, timezone))} so far, in ${zoneWords(timezone)}`,
    numbers,
    catalogue: numbers?.catalogue ?? await readProductNames(services),
    usage,
    limits: limits && nearestFirst(limits),
    mailReach,
    plan: plan.name,
    failing,
    activity: audit && audit.events,
  };
}

/** Null stands for what is not available, and for an audit log without the permission to read it. */
type Overview = Awaited<ReturnType<typeof readOverviewPage>>;

function metricHref({ base }: PortalFrame, metric: string | null): string {
  return metric === null ? base : `${base}?${new URLSearchParams({ metric })}`;
}

/** Reads this month for an overview. @returns Null for unavailable parts. */
export async function readMonth(
  { services }: PortalParts,
  { access, frame }: Viewer,
  { metric, timezone }: Pick<OverviewQuery, "metric" | "timezone">,
) {
  const choice = parsePeriodQuery({ range: "month", timezone }, frame.now);
  const { period, unit } = choice;
  const numbers = period &&
    await inTime((signal) =>
      readOverview(services, access, { query: { period, unit, timezone: choice.timezone, metric }, signal })
    );
  return {
    numbers: numbers && { ...numbers, catalogue: numbers.usage.catalogue },
    usage: numbers && usageOf(numbers, { frame, choice }),
  };
}

/** Returns the month's usage. Metrics link to their charts here, keys to their pages for those who may open all of them. */
function usageOf(
  { usage: { report, ...usage } }: PortalOverview,
  { frame, choice: { period, timezone, days } }: {
    frame: PortalFrame;
    choice: ReturnType<typeof parsePeriodQuery>;
  },
): Pick<UsageReport, "strip" | "chart"> & { keys: BreakdownProps } | null {
  if (report === null || period === null) return null;
  const numbers = { ...usage, report };
  const address: UsageAddress = {
    ...{ path: `${frame.base}/usage`, range: "month", days, compare: "previous", comparedDays: days },
    ...{ window: null, timezone: null, stack: null, page: null, hasNumbers: false },
    filters: { productSlug: null, metric: usage.metric, apiKey: null, environment: null },
  };
  const options = { period, address, timezone, now: frame.now, keys: [] };
  const { strip, chart } = reportOf(numbers, options);
  const toKey = managesAllKeys(frame) ? { hrefOf: (id: string) => apiKeyHref(frame.base, id) } : {};
  return {
    strip: {
      ...strip,
      metrics: strip.metrics.map((one) => ({ ...one, href: metricHref(frame, one.metric.slug) })),
    },
    chart: chart && { ...chart, isSmall: true },
    keys: tableOf(numbers, { ...options, ...toKey, group: "apiKey" }),
  };
}

const everySeconds = 30;
const unavailable = "Not available right now. Try again in a minute.";

function overviewPage(props: Overview) {
  const { frame, href, label, numbers, usage, limits, activity } = props;
  const hasLimits = limits === null || limits.length > 0;
  return (
    <PortalPage title="Overview" frame={frame} place="overview">
      <Head label={label} frame={frame} />
      <div
        id="live"
        class="live"
        hx-get={href}
        hx-push-url="false"
        {...refresh("#live", everySeconds)}
      >
        <div class={numbers === null ? "columns even" : "columns aside"}>
          <MetricChart
            strip={usage && usage.strip.metrics.length > 0 ? usage.strip : null}
            chart={usage?.chart ?? null}
            aside={<a class="small" href={`${frame.base}/usage`}>View usage</a>}
          >
            <EmptyState
              title="No usage this month"
              text={numbers === null ? unavailable : "Usage appears here as soon as it is recorded."}
            >
              <ButtonLink href={`${frame.base}/usage?range=90d`}>Show 90 days</ButtonLink>
            </EmptyState>
          </MetricChart>
          {numbers === null ? null : <Attention {...numbers} {...props} now={frame.now} base={frame.base} />}
        </div>
        <div class="columns even">
          {hasLimits && (
            <Card title="Limits" aside={<PlanLink name={props.plan} frame={frame} />}>
              {limits === null ? <p class="muted small">{unavailable}</p> : (
                <>
                  <LimitMeters
                    limits={limits.slice(0, limitsMax)}
                    now={frame.now}
                    catalogue={props.catalogue}
                  />
                  <MailReach {...props} />
                </>
              )}
            </Card>
          )}
          {usage && usage.keys.lines.length > 0 && (
            <Card title="Busiest keys" aside={<span class="muted small">vs {usage.strip.period}</span>} flush>
              <Breakdown {...usage.keys} lines={usage.keys.lines.slice(0, keysMax)} />
            </Card>
          )}
          {activity && <Activity {...props} events={activity} />}
        </div>
      </div>
    </PortalPage>
  );
}

const unconfirmedText = "You don't get emails about these limits until you confirm your email address.";

/** Says that emails about limits are withheld. */
function MailReach({ frame, mailReach }: Pick<Overview, "frame" | "mailReach">) {
  if (mailReach?.isOwn === 1) return <Unconfirmed frame={frame} text={unconfirmedText} />;
  const withheld = mailReach && withheldText(mailReach);
  return withheld ? <p class="muted small">{withheld}</p> : null;
}

function Head({ label, frame }: Pick<Overview, "label" | "frame">) {
  const text = (
    <>
      {`${label}. `}
      <a href={`${frame.base}/billing`}>View billing</a>
    </>
  );
  return (
    <PageHead title="Overview" text={text} keepsActions>
      {!frame.isReadOnly && (
        <ButtonLink tone="primary" href={`${frame.base}/api-keys/new`}>Create key</ButtonLink>
      )}
    </PageHead>
  );
}

const limitsMax = 4;
const keysMax = 5;

function Activity(
  { events, catalogue, frame }: Pick<Overview, "catalogue" | "frame"> & {
    events: readonly AuditEvent[];
  },
) {
  return (
    <Card title="Recent activity" aside={<a href={`${frame.base}/audit`}>Audit log</a>} flush>
      <ul class="items plain">
        {events.map((event) => (
          <li>
            <div>
              <AuditSentence {...event} frame={frame} catalogue={catalogue} />
              <bdi class="second">{auditActorName(event)}</bdi>
            </div>
            <RelativeTime at={event.at} now={frame.now} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** With scripts, the page looks for completed steps, and becomes the overview with the first record. */
function firstStepsPage({ frame, hasKey, hasOthers, curl }: {
  frame: PortalFrame;
  hasKey: boolean;
  hasOthers: boolean;
  curl: string;
}) {
  const { organization } = frame.session;
  const mayInvite = organization !== null && hasPermission(organization.role, "members.manage");
  return (
    <PortalPage title="Overview" frame={frame} place="overview">
      <PageHead
        title="Welcome to {name}"
        name={organization?.name}
        text="Your first numbers are three steps and about three minutes away."
      />
      <section
        class="card"
        aria-label="First steps"
        hx-get="/portal"
        hx-push-url="false"
        {...refresh("#main", stepsEverySeconds)}
      >
        <Steps frame={frame} hasKey={hasKey} curl={curl} />
      </section>
      <div class="columns even">
        <section class="card">
          <EmptyState
            title="No usage yet"
            text="Totals, charts and your limits appear here after the first request."
          />
        </section>
        {!hasOthers && mayInvite && (
          <section class="card">
            <EmptyState
              title="No one else here yet"
              text="Invite the people who run your products. Members can create their own keys."
            >
              <ButtonLink href="/portal/members">Invite a member</ButtonLink>
            </EmptyState>
          </section>
        )}
      </div>
    </PortalPage>
  );
}

function Steps({ frame, hasKey, curl }: { frame: PortalFrame; hasKey: boolean; curl: string }) {
  const { user } = frame.session;
  const isConfirmed = user.emailVerified || !frame.sendsMail;
  const first = !isConfirmed
    ? { title: "Confirm your email address", text: `Open the link that we sent to ${user.email}.` }
    : frame.sendsMail
    ? { title: "Confirm your email address", text: `${user.email} is confirmed.` }
    : { title: "Create your account", text: `You are signed in as ${user.email}.` };
  return (
    <ol class="steps">
      <Step number={1} isDone={isConfirmed} isNext={!isConfirmed} {...first}>
        <Form action="/portal/account/verification">
          <SubmitButton tone="plain">Resend email</SubmitButton>
        </Form>
      </Step>
      <Step
        number={2}
        isDone={hasKey}
        isNext={isConfirmed && !hasKey}
        title="Create your first API key"
        text="Your products use it to record usage."
      >
        <ButtonLink tone={hasKey ? "plain" : "primary"} href="/portal/api-keys/new">
          Create key
        </ButtonLink>
      </Step>
      <Step
        number={3}
        isDone={false}
        isNext={isConfirmed && hasKey}
        title="Record your first request"
        text="With curl, TypeScript or Python. It appears here as soon as it arrives."
        below={hasKey && (
          <CodeExample
            id="first-record"
            title="Record 1 request"
            samples={[{ language: "sh", code: curl }]}
          />
        )}
      >
        <ButtonLink href="/docs">Quick start</ButtonLink>
      </Step>
    </ol>
  );
}

function Step(props: {
  number: number;
  isDone: boolean;
  isNext: boolean;
  title: string;
  text: string;
  below?: Child;
  children: Child;
}) {
  const { number, isDone, isNext, title, text, below, children } = props;
  return (
    <li
      class={`step-row${isDone ? " done" : isNext ? " now" : ""}`}
      aria-current={isNext ? "step" : undefined}
    >
      <span class="step-mark">{isDone ? <Icon name="check" /> : number}</span>
      <div>
        <h2>{title}</h2>
        <p>{text}</p>
      </div>
      {isDone ? <span class="muted small">Done</span> : children}
      {below ? <div class="step-more">{below}</div> : null}
    </li>
  );
}
