// The overview: the month's metrics, what needs attention, limits, the busiest keys and the latest entries of the audit log.
import type { AuditEvent } from "../../domain/access/audit.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import { auditActorName, AuditSentence } from "../access/mod.ts";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { LimitMeters } from "../components/limit_meters.tsx";
import { MetricChart } from "../components/metric_chart.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PlanLink } from "../components/plan_link.tsx";
import { refresh } from "../components/refresh.ts";
import { RelativeTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { Breakdown, type UsageReport } from "../meter/mod.ts";
import { Attention, type AttentionProps } from "./attention.tsx";

interface OverviewPageProps extends Pick<AttentionProps, "limits" | "failing"> {
  readonly frame: PortalFrame;
  readonly href: string;
  /** The month and the time zone: `November 2026 so far, in UTC`. */
  readonly label: string;
  /** Null when unavailable. */
  readonly numbers: Pick<AttentionProps, "expiring" | "withoutTwoStep"> | null;
  /** Null when unavailable or nothing was used. */
  readonly usage: UsageReport | null;
  /** The latest entries, newest first; null for those who may not read the audit log. */
  readonly activity: readonly AuditEvent[] | null;
  /** The names of products and metrics. */
  readonly catalogue: Catalogue;
  /** The name of the organization's plan. */
  readonly plan: string;
}

const everySeconds = 30;
const unavailable = "Not available right now. Try again in a minute.";

export function overviewPage(props: OverviewPageProps): Page {
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
        <div class="columns even">
          {numbers === null ? null : <Attention {...numbers} {...props} now={frame.now} base={frame.base} />}
          {hasLimits && (
            <Card title="Limits" aside={<PlanLink name={props.plan} frame={frame} />}>
              {limits === null ? <p class="muted small">{unavailable}</p> : (
                <LimitMeters
                  limits={limits.slice(0, limitsMax)}
                  now={frame.now}
                  catalogue={props.catalogue}
                />
              )}
            </Card>
          )}
        </div>
        <div class="columns even">
          {usage && usage.keys.lines.length > 0 && (
            <Breakdown
              {...usage.keys}
              title="Busiest keys"
              lines={usage.keys.lines.slice(0, keysMax)}
              newerHref={null}
              olderHref={null}
            />
          )}
          {activity && <Activity {...props} events={activity} />}
        </div>
      </div>
    </PortalPage>
  );
}

function Head({ label, frame }: Pick<OverviewPageProps, "label" | "frame">) {
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
  { events, catalogue, frame }: Pick<OverviewPageProps, "catalogue" | "frame"> & {
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
