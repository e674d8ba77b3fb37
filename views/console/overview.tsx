// The first page of the operator console: totals, a chart, the busiest organizations, and what needs attention.
import type { Child } from "hono/jsx";
import type { RunningOut, RunningOutLimit } from "../../domain/console/organization_list.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import type { LimitScope } from "../../domain/meter/usage_limit.ts";
import { countOf, groupDigits, usedPercentText } from "../../domain/number_text.ts";
import { isoTime } from "../../domain/time.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { ShortChange } from "../components/change.tsx";
import type { ChartProps } from "../components/chart_props.ts";
import { EmptyState } from "../components/empty_state.tsx";
import { Icon, type IconName } from "../components/icon.tsx";
import { organizationHref, organizationsHref } from "../components/links.ts";
import { listHref } from "../components/list_filters.tsx";
import { Switch } from "../components/menu.tsx";
import { MetricChart } from "../components/metric_chart.tsx";
import { PageHead, type PageLink } from "../components/page_head.tsx";
import { Quantity } from "../components/quantity.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { Share } from "../components/share.tsx";
import { ItemTable } from "../components/item_table.tsx";
import { LinkedName } from "../components/table.tsx";
import type { Health } from "./health.ts";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { limitName } from "../text/limit.ts";
import { type Measure, quantityText } from "../text/quantity.ts";

export interface Attention {
  readonly icon: IconName;
  /** Null for what is no fault. */
  readonly tone: "bad" | "soon" | null;
  readonly title: string;
  readonly text: string;
  /** Links at the end of the text. `others`: the number of further ones. */
  readonly links?: readonly PageLink[];
  readonly others?: number;
  readonly href: string;
  readonly label: string;
}

interface Customer {
  readonly name: string;
  readonly href: string;
  readonly note: string;
  /** An exact decimal text. */
  readonly sum: string;
  /** Percent of all organizations; null if that is 0. */
  readonly share: number | null;
  /** Percent more than in the same part of the month before; null if there was nothing. */
  readonly change: number | null;
}

interface OverviewProps {
  readonly frame: PortalFrame;
  /** The time of the numbers, such as `15:12:09`. */
  readonly updated: string;
  readonly metrics: readonly { readonly metric: string; readonly name: string }[];
  readonly metric: string | null;
  /** The name and unit of quantities of the chosen one. */
  readonly measure: Measure;
  /** Only the busiest products and metrics are included. */
  readonly isPartial: boolean;
  readonly figures: readonly Figure[];
  /** Null before the first record. */
  readonly chart: ChartProps | null;
  readonly customers: readonly Customer[];
  readonly activeCount: number;
  readonly attention: readonly Attention[];
  readonly runningOut: RunningOutProps;
  readonly health: readonly Health[];
}

export function overviewPage(props: OverviewProps): Page {
  const { frame, updated, figures, chart } = props;
  return (
    <PortalPage title="Overview" frame={frame} place="operator">
      <PageHead
        title="Overview"
        text={`All organizations, in UTC. Updated ${updated}.${
          props.isPartial ? " Only the busiest products and metrics are included." : ""
        }`}
      >
        <ButtonLink tone="primary" href="/operator/organizations/new">Create organization</ButtonLink>
      </PageHead>
      {props.metrics.length > 1 && (
        <div class="filter-bar">
          <Switch
            label="Metric"
            choices={props.metrics.map(({ metric, name }) => ({
              href: listHref("/operator", { metric }),
              label: name,
              isCurrent: metric === props.metric,
            }))}
          />
        </div>
      )}
      <Figures figures={figures} />
      <div class="columns">
        <MetricChart strip={null} chart={chart}>
          <EmptyState title="No usage this month" text="Usage of all organizations appears here." />
        </MetricChart>
        <AttentionCard attention={props.attention} />
      </div>
      <div class="columns">
        <Customers {...props} />
        <div class="stacked">
          <RunningOutCard runningOut={props.runningOut} now={frame.now} />
          <HealthCard health={props.health} />
        </div>
      </div>
    </PortalPage>
  );
}

function Customers(
  { customers, activeCount, measure }: Pick<OverviewProps, "customers" | "activeCount" | "measure">,
) {
  return (
    <Card
      title="Top organizations this month"
      aside={<a class="small" href={`${organizationsHref}?reset=1`}>All organizations</a>}
      flush
    >
      {customers.length === 0
        ? <EmptyState title="No active organizations" text="No organization has recorded usage this month." />
        : (
          <>
            <ItemTable
              label="Top organizations"
              items={customers}
              columns={[
                { title: "Organization", in: "title", cell: (customer) => <LinkedName {...customer} /> },
                {
                  title: measure.name,
                  isNumber: true,
                  cell: ({ sum }) => <Quantity value={sum} measure={measure} />,
                },
                { title: "Share", cell: ({ share }) => <Share percent={share} /> },
                {
                  title: "Change",
                  isNumber: true,
                  isOptional: true,
                  cell: ({ change }) => <ShortChange percent={change} />,
                },
              ]}
              isSmall
            />
            <footer>
              <p class="muted small">
                {`${customers.length} of ${groupDigits(activeCount)} active this month`}
              </p>
            </footer>
          </>
        )}
    </Card>
  );
}

function AttentionCard({ attention }: Pick<OverviewProps, "attention">) {
  return (
    <Card
      title="Needs attention"
      aside={attention.length > 0 && <span class="muted small">{String(attention.length)}</span>}
      flush
    >
      {attention.length === 0
        ? <EmptyState title="All good" text="Nothing needs your attention." />
        : (
          <ul class="acts tight">
            {attention.map(({ icon, tone, title, text, links = [], others = 0, href, label }) => (
              <li>
                <span class={`mark ${tone ?? ""}`}>
                  <Icon name={icon} />
                </span>
                <div>
                  <h3>{title}</h3>
                  <p class="muted small">
                    {text}
                    {links.map((link, index) => (
                      <>
                        {index === 0 ? " " : ", "}
                        <a href={link.href}>
                          <bdi>{link.label}</bdi>
                        </a>
                      </>
                    ))}
                    {others > 0 && ` and ${countOf(others, "other")}`}
                  </p>
                </div>
                <a class="small" href={href}>
                  {label}
                  <span class="unseen">{` ${title}`}</span>
                </a>
              </li>
            ))}
          </ul>
        )}
    </Card>
  );
}

function HealthCard({ health }: Pick<OverviewProps, "health">) {
  return (
    <Card title="System health" aside={<a class="small" href="/operator/system">Details</a>} flush>
      <HealthList health={health} />
    </Card>
  );
}

export function HealthList({ health }: { health: readonly Health[] }) {
  return (
    <ul class="acts tight">
      {health.map(({ name, text, title, tone, state }) => (
        <li>
          <div>
            <h3>{name}</h3>
            <p class="muted small">{title === undefined ? text : <span title={title}>{text}</span>}</p>
          </div>
          <Badge tone={tone}>{state}</Badge>
        </li>
      ))}
    </ul>
  );
}

interface Figure {
  readonly label: string;
  /** A number or a decimal string; none if there is nothing to show. */
  readonly number: number | string | undefined;
  readonly measure?: Measure;
  readonly note?: Child;
}

/** Longer numbers are shown smaller. */
const longCharacters = 11;

function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl class="card figures">
      {figures.map(({ label, number, measure = { name: label, unit: null }, note }) => {
        const { number: text } = quantityText(number ?? "–", measure);
        return (
          <div>
            <dt>{label}</dt>
            <dd class={text.length > longCharacters ? "value long" : "value"}>
              <Quantity value={number ?? "–"} measure={measure} />
            </dd>
            {note === undefined ? null : <dd class="tiny muted">{note}</dd>}
          </div>
        );
      })}
    </dl>
  );
}

interface RunningOutProps extends RunningOut {
  /** For the names of products and metrics. */
  readonly catalogue: Catalogue;
}

function RunningOutCard({ runningOut, now }: { runningOut: RunningOutProps; now: number }) {
  const { count, first, catalogue } = runningOut;
  return (
    <Card
      title="Limits running out"
      aside={<a class="small" href={listHref(organizationsHref, { limits: "near" })}>Near a limit</a>}
      flush
    >
      {first.length === 0
        ? (
          <EmptyState
            title="None expected"
            text="No monthly limit is likely to be reached before it resets."
          />
        )
        : (
          <>
            <ul class="acts tight">
              {first.map(({ id, name, quantity, used, reachedAt, ...limit }) => (
                <li>
                  <div>
                    <h3>
                      <a href={organizationHref(id)}>
                        <bdi>{name}</bdi>
                      </a>
                    </h3>
                    <p class="muted small">
                      {`${limitName(scopeOf(limit), catalogue)}: ${
                        usedPercentText(used / quantity * 100)
                      } used`}
                    </p>
                  </div>
                  <span class="small">
                    Around <DayTime at={isoTime(reachedAt)} now={now} />
                  </span>
                </li>
              ))}
            </ul>
            {count > first.length && (
              <footer>
                <p class="muted small">
                  {`${first.length} of ${groupDigits(count)} organizations, soonest first`}
                </p>
              </footer>
            )}
          </>
        )}
    </Card>
  );
}

function scopeOf({ productSlug, metric }: Pick<RunningOutLimit, "productSlug" | "metric">): LimitScope {
  return { productSlug: productSlug || null, metric: metric || null, per: "month" };
}
