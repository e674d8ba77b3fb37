// The usage page: filters, the totals of all metrics, a chart, tables of products and keys, limits and the latest records.
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import type { LimitMailReach } from "../../domain/outbox/limit_mail_reach.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import type { NamedUsageRecord } from "../../domain/meter/usage_record.ts";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import type { ChartProps } from "../components/chart_props.ts";
import { CodeExample } from "../components/code_example.tsx";
import { EnvironmentSwitch, TestNotice } from "../components/environment.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { LimitMeters } from "../components/limit_meters.tsx";
import { type LinkChoice, Switch } from "../components/menu.tsx";
import { MetricChart } from "../components/metric_chart.tsx";
import type { MetricStripProps } from "../components/metric_strip.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PlanLink } from "../components/plan_link.tsx";
import { refresh } from "../components/refresh.ts";
import { Unconfirmed } from "../components/unconfirmed.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { withheldText } from "../text/limit_mails.ts";
import { RecordTable } from "./record_table.tsx";
import { recordsHref } from "./records.tsx";
import {
  clearedHref,
  environmentHref,
  isPropertyName,
  type UsageAddress,
  type UsageFilters,
  usageHref,
} from "./usage_address.ts";
import { UsageFilterBar, type UsageFilterProps } from "./usage_filters.tsx";
import { Breakdown, type BreakdownProps } from "./usage_tables.tsx";

export interface UsageReport {
  readonly strip: MetricStripProps;
  /** Null if nothing was used. */
  readonly chart: ChartProps | null;
  /** Subjects that the chart can stack. */
  readonly stacks: readonly LinkChoice[];
  readonly products: BreakdownProps;
  /** API keys; in the console, organizations. */
  readonly keys: BreakdownProps;
  /** False if the chosen metric's total is lower than its usage. */
  readonly isComplete: boolean;
  /** A breakdown for each property. */
  readonly values: readonly BreakdownProps[];
}

export interface UsagePageProps extends UsageFilterProps {
  readonly frame: PortalFrame;
  /** The range in words: `November 2026 so far, in UTC`; null if it is invalid. */
  readonly label: string | null;
  /** Null if it can't be shown. Either a field is invalid, or `problem` says why. */
  readonly report: UsageReport | null;
  readonly problem: string | null;
  /** The numbers of the chart as a file; null without a report. */
  readonly csvHref: string | null;
  /** The form that adds an alert for the filtered usage; null for those who can't. */
  readonly newAlertHref: string | null;
  /** The organization's, those with the largest part used first; null when they are not available. */
  readonly limits: readonly LimitStanding[] | null;
  /** The recipients of emails about them; null where none are sent. */
  readonly mailReach: LimitMailReach | null;
  /** The name of the organization's plan. */
  readonly plan: string;
  readonly catalogue: Catalogue;
  /** The latest, newest first. */
  readonly records: readonly NamedUsageRecord[];
  /** Null if anything was ever recorded. `curl`: how members send the first record. */
  readonly empty: { readonly curl: string | null } | null;
}

export function usagePage(props: UsagePageProps): Page {
  const { frame, label, empty, csvHref, address } = props;
  return (
    <PortalPage title="Usage" frame={frame} place="usage">
      <div id="head">
        <PageHead
          title="Usage"
          text={`${empty === null && label !== null ? `${label}. ` : ""}Records appear here immediately.`}
          keepsActions
        >
          {empty === null && (
            <>
              <EnvironmentSwitch
                chosen={address.filters.environment}
                hrefOf={environmentHref(address)}
              />
              {frame.embed !== null
                ? null
                : props.newAlertHref === null
                ? <ButtonLink href={`${frame.base}/alerts`}>Alerts</ButtonLink>
                : <ButtonLink href={props.newAlertHref}>Notify me when…</ButtonLink>}
              {csvHref && <CsvLink href={csvHref} />}
            </>
          )}
        </PageHead>
      </div>
      {empty === null ? <UsageView {...props} /> : <NothingYet frame={frame} curl={empty.curl} />}
    </PortalPage>
  );
}

export function CsvLink({ href }: { href: string }) {
  return <ButtonLink href={href} isFile>Download CSV</ButtonLink>;
}

/** Pages with more bars are refreshed less often: they are slow to send and to draw. */
const quickBarsMax = 200;

function NothingYet({ frame: { base }, curl }: { frame: PortalFrame; curl: string | null }) {
  const text = curl === null
    ? "Usage appears here as soon as it is recorded."
    : "Create an API key, then record usage from a terminal.";
  return (
    <div class="card" hx-get={`${base}/usage`} {...refresh("#main", 10)}>
      <EmptyState title="No usage yet" text={text}>
        {curl !== null && (
          <>
            <CodeExample
              id="first-record"
              title="Record 1 request"
              samples={[{ language: "sh", code: curl }]}
            />
            <ButtonLink tone="primary" href={`${base}/api-keys/new`}>Create API key</ButtonLink>
          </>
        )}
      </EmptyState>
    </div>
  );
}

const unconfirmedText = "You don't get emails about these limits until you confirm your email address.";

function UsageView(props: UsagePageProps) {
  const { address, frame, report, limits, records, problem } = props;
  const bars = report?.chart?.windows.length ?? 0;
  const hasLimits = limits !== null && limits.length > 0;
  const withheld = props.mailReach && withheldText(props.mailReach);
  return (
    <>
      <TestNotice chosen={address.filters.environment} liveHref={environmentHref(address)(null)} />
      <UsageFilterBar {...props} />
      <div
        id="live"
        class="live"
        hx-get={usageHref(address)}
        hx-select-oob="#head:outerMorph"
        {...refresh("#live", bars > quickBarsMax ? 60 : 10)}
      >
        {report === null
          ? <NothingToShow problem={problem} address={address} />
          : <ReportChart report={report} address={address} />}
        <div class={report?.chart && hasLimits ? "columns even" : "stacked"}>
          {report?.chart && <Breakdown {...report.products} />}
          {hasLimits && (
            <Card title="Limits" aside={<LimitLinks {...props} />}>
              <LimitMeters limits={limits} now={frame.now} catalogue={props.catalogue} />
              {props.mailReach?.isOwn === 1
                ? <Unconfirmed frame={frame} text={unconfirmedText} />
                : withheld && <p class="muted small">{withheld}</p>}
            </Card>
          )}
        </div>
        {report?.chart && <Breakdown {...report.keys} />}
        {report?.chart && report.values.map((values) => <Breakdown {...values} />)}
        {records.length > 0 && (
          <Card
            title="Latest records"
            aside={
              <a
                class="small"
                href={recordsHref(frame.base, recordFilters(address.filters))}
              >
                All records
              </a>
            }
            flush
          >
            <RecordTable
              label="Latest records"
              records={records}
              frame={frame}
              timezone={props.timezone}
              catalogue={props.catalogue}
            />
          </Card>
        )}
      </div>
    </>
  );
}

/** Returns filters as the page of records takes them, which has one property. */
function recordFilters(filters: UsageFilters) {
  const { productSlug, metric, apiKey, environment = null } = filters;
  return { productSlug, metric, apiKey, environment, property: propertyIn(filters) };
}

/** Returns the first property of filters, such as `region=eu`. */
function propertyIn(filters: UsageFilters): string | null {
  const chosen = Object.entries(filters).find(([name, value]) => isPropertyName(name) && value);
  return chosen === undefined ? null : `${chosen[0].slice("properties.".length)}=${chosen[1]}`;
}

function LimitLinks({ frame, plan }: UsagePageProps) {
  if (frame.embed !== null) return <PlanLink name={plan} frame={frame} />;
  return (
    <span class="small">
      <a href={`${frame.base}/alerts`}>Alerts</a>
      {" · "}
      <PlanLink name={plan} frame={frame} />
    </span>
  );
}

export function NothingToShow({ problem, address }: { problem: string | null; address: UsageAddress }) {
  return (
    <div class="card">
      <EmptyState title="Nothing to show" text={problem ?? "Choose another range."}>
        {propertyIn(address.filters) !== null && (
          <ButtonLink href={clearedHref(address, (name) => !isPropertyName(name))}>Clear filters</ButtonLink>
        )}
      </EmptyState>
    </div>
  );
}

/** The totals of all metrics and the chart of one. */
export function ReportChart(
  { report: { strip, chart, stacks, isComplete }, address }: { report: UsageReport; address: UsageAddress },
) {
  return (
    <MetricChart
      strip={strip.metrics.length === 0 ? null : strip}
      chart={chart}
      isComplete={isComplete}
      aside={<Switch label="Stack by" choices={stacks} isLow />}
    >
      <NoUsage address={address} />
    </MetricChart>
  );
}

function NoUsage({ address }: { address: UsageAddress }) {
  const { filters, range } = address;
  const { metric: _metric, environment: _environment, ...others } = filters;
  const isFiltered = Object.values(others).some((value) => value !== null && value !== undefined);
  return (
    <EmptyState title="No usage in this range" text="Choose another range or remove filters.">
      {isFiltered
        ? (
          <ButtonLink href={clearedHref(address, (name) => name === "environment")}>
            Clear filters
          </ButtonLink>
        )
        : range === "90d"
        ? null
        : <ButtonLink href={usageHref({ ...address, range: "90d", window: null })}>Show 90 days</ButtonLink>}
    </EmptyState>
  );
}
