// The usage page: filters, totals, a chart, the most active keys and the latest records.
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import type { WindowUnit } from "../../domain/meter/usage_window.ts";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Chart, ChartLegend, type ChartProps, ChartTable } from "../components/chart.tsx";
import { Change, type ChangeProps } from "../components/change.tsx";
import { CodeBlock } from "../components/code.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Figures } from "../components/figures.tsx";
import { LimitMeters } from "../components/limit_meters.tsx";
import { type UsageAddress, UsageFilterBar, type UsageFilterProps, usageHref } from "./usage_filters.tsx";
import { type KeyUsageProps, KeyUsageTable, RecordTable, type UsageRecordRow } from "./usage_tables.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

/** The numbers above the chart. */
export interface UsageFigures {
  /** A decimal string. */
  readonly sum: string;
  /** What is summed: `requests`. */
  readonly metricLabel: string;
  readonly recordCount: number;
  /** The window with the largest sum. */
  readonly busiest: { readonly label: string; readonly value: string } | null;
  readonly activeKeys: number;
  /** The change since the period before. */
  readonly change: ChangeProps;
}

/** The usage in the range. */
export interface UsageReport {
  readonly figures: UsageFigures;
  readonly chart: ChartProps;
  readonly keys: KeyUsageProps;
  /** The numbers of the chart as a file. */
  readonly csvHref: string;
}

/** The values of the page. */
export interface UsagePageProps extends UsageFilterProps {
  readonly frame: PortalFrame;
  /** The range in words: `November 1–30, 2026, UTC`; null if it is invalid. */
  readonly label: string | null;
  /** Null if it can't be shown. Either a field is invalid, or `problem` says why. */
  readonly report: UsageReport | null;
  readonly problem: string | null;
  /** The organization's; null when they are not available. */
  readonly limits: readonly LimitStanding[] | null;
  /** The latest, newest first. */
  readonly records: readonly UsageRecordRow[];
  /** How to send the first record; null if there is one. */
  readonly example: { readonly curl: string } | null;
}

/** @returns The page. */
export function usagePage(props: UsagePageProps): Page {
  const { frame, label, example, report } = props;
  return (
    <PortalPage title="Usage" frame={frame} place="usage">
      <div class="head split" id="head">
        <div>
          <h1>Usage</h1>
          <p class="muted">
            {example === null && label !== null ? `${label}. ` : ""}Records appear here immediately.
          </p>
        </div>
        {example === null && report && <ButtonLink href={report.csvHref} isFile>Download CSV</ButtonLink>}
      </div>
      {example === null ? <UsageView {...props} /> : <FirstSteps curl={example.curl} />}
    </PortalPage>
  );
}

/** With scripts, updates a part of the page while it is open, but not what the user has focused or opened. */
function refresh(target: "#main" | "#live", everySeconds: number) {
  return {
    "hx-trigger": `every ${everySeconds}s`,
    "hx-target": target,
    "hx-select": target,
    "hx-swap": "outerMorph ignoreTitle:true",
    // Without a progress indicator.
    "hx-indicator": target,
  };
}

/** Pages with more bars are refreshed less often: they are slow to send and to draw. */
const quickBarsMax = 200;

function FirstSteps({ curl }: { curl: string }) {
  return (
    <div class="card" hx-get="/portal/usage" {...refresh("#main", 10)}>
      <EmptyState title="No usage yet" text="Create an API key, then record usage from a terminal.">
        <CodeBlock id="first-record" label="Record 1 request" code={curl} />
        <ButtonLink tone="primary" href="/portal/api-keys">Create API key</ButtonLink>
      </EmptyState>
    </div>
  );
}

function UsageView(props: UsagePageProps) {
  const { address, frame, report, limits, records, problem } = props;
  const bars = report?.chart.windows.length ?? 0;
  return (
    <>
      <UsageFilterBar {...props} />
      <div
        id="live"
        class="live"
        hx-get={usageHref(address)}
        hx-select-oob="#head:outerMorph"
        {...refresh("#live", bars > quickBarsMax ? 60 : 10)}
      >
        {report === null
          ? (
            <div class="card">
              <EmptyState title="Nothing to show" text={problem ?? "Fix the fields marked above."} />
            </div>
          )
          : <Report {...report} address={address} />}
        {limits !== null && limits.length > 0 && (
          <Card title="Limits" aside={<span class="tiny muted">Current windows, regardless of range</span>}>
            <LimitMeters limits={limits} now={frame.now} />
          </Card>
        )}
        {records.length === 0 ? null : (
          <Card
            title="Latest records"
            aside={<span class="tiny muted">Latest 10, regardless of range</span>}
            flush
          >
            <RecordTable records={records} now={frame.now} timezone={address.timezone} />
          </Card>
        )}
      </div>
    </>
  );
}

function Report({ figures, chart, keys, address }: UsageReport & { address: UsageAddress }) {
  const { filters } = address;
  const allKeysHref = usageHref({ ...address, filters: { ...filters, apiKey: null } });
  const isEmpty = figures.recordCount === 0;
  return (
    <>
      <ReportFigures figures={figures} by={chart.by} />
      <Card title={`Usage by ${chart.by}`} aside={isEmpty ? null : <ChartLegend series={chart.series} />}>
        {isEmpty ? <NoUsage address={address} /> : (
          <>
            <Chart {...chart} />
            <ChartTable {...chart} />
          </>
        )}
      </Card>
      {isEmpty ? null : (
        <Card
          title="Most active keys"
          aside={filters.apiKey === null ? null : <a class="small" href={allKeysHref}>Show all keys</a>}
          flush
        >
          <KeyUsageTable {...keys} />
        </Card>
      )}
    </>
  );
}

/** The figures above a chart. */
export function ReportFigures({ figures, by }: { figures: UsageFigures; by: WindowUnit }) {
  const { busiest } = figures;
  return (
    <Figures
      figures={[
        { label: figures.metricLabel, number: figures.sum, note: <Change {...figures.change} /> },
        { label: "Records", number: figures.recordCount },
        { label: `Busiest ${by}`, number: busiest?.value, note: busiest?.label },
        { label: "Active keys", number: figures.activeKeys },
      ]}
    />
  );
}

function NoUsage({ address }: { address: UsageAddress }) {
  const { filters, range } = address;
  const isFiltered = filters.productSlug !== null || filters.apiKey !== null;
  const noFilters = { productSlug: null, metric: null, apiKey: null };
  return (
    <EmptyState title="No usage in this range" text="Choose another range or remove filters.">
      {isFiltered
        ? <ButtonLink href={usageHref({ ...address, filters: noFilters })}>Clear filters</ButtonLink>
        : range === "90d"
        ? null
        : <ButtonLink href={usageHref({ ...address, range: "90d", window: null })}>Show 90 days</ButtonLink>}
    </EmptyState>
  );
}
