// The page of an organization's usage: which stretch of time, the figures, the chart, the most active keys, the latest
// records.
import type { WindowUnit } from "../../domain/meter/usage_window.ts";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Chart, ChartLegend, type ChartProps, ChartTable } from "../components/chart.tsx";
import { CodeBlock } from "../components/code.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Figures } from "../components/figures.tsx";
import { Icon } from "../components/icon.tsx";
import { type KeyUsageProps, KeyUsageTable } from "./key_usage_table.tsx";
import { RecordTable, type UsageRecordRow } from "./record_table.tsx";
import { type UsageAddress, type UsageFilters, usageHref } from "./usage_address.ts";
import { type UsageChoices, type UsageFaults, UsageFilterBar } from "./usage_filters.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { groupDigits, percentText } from "../../domain/number_text.ts";

export { type UsageAddress, type UsageChoices, type UsageFaults, usageHref, type UsageRecordRow };

/** The numbers above the chart. */
export interface UsageFigures {
  /** An exact decimal text. */
  readonly sum: string;
  /** What is summed: `requests`. */
  readonly metricLabel: string;
  /** How many records. */
  readonly count: number;
  /** The window with the largest sum: when, and how much. */
  readonly busiest: { readonly label: string; readonly value: string } | null;
  readonly activeKeys: number;
  /** Against the stretch before. */
  readonly change: {
    /** Null when nothing was used then. */
    readonly percent: number | null;
    readonly than: string;
    /** The range still runs: the stretch before is counted only as far as it has come. */
    readonly isRunning: boolean;
  };
}

/** What was used in the range. */
export interface UsageReport {
  readonly figures: UsageFigures;
  readonly chart: ChartProps;
  readonly keys: KeyUsageProps;
  /** The file with the chart's numbers. */
  readonly csvHref: string;
}

/** What the page shows. */
export interface UsagePageProps {
  readonly frame: PortalFrame;
  readonly address: UsageAddress;
  /** The range in words: `1–30 November 2026, UTC`; null when it is none. */
  readonly label: string | null;
  /** How long the windows are that are shown. */
  readonly unit: WindowUnit;
  readonly choices: UsageChoices;
  readonly faults: UsageFaults;
  /** Null when what was asked for cannot be shown; `trouble` then says why, if no field does. */
  readonly report: UsageReport | null;
  readonly trouble: string | null;
  /** The latest, newest first. */
  readonly records: readonly UsageRecordRow[];
  /** How to send the first record; null once there is one. */
  readonly example: { readonly curl: string } | null;
}

const byWords: Readonly<Record<WindowUnit, string>> = {
  hour: "By hour",
  day: "By day",
  week: "By week",
  month: "By month",
};
const noFilters: UsageFilters = { productSlug: null, metric: null, apiKey: null };

/** @returns The page of the organization's usage. */
export function usagePage(props: UsagePageProps): Page {
  const { frame, label, example, report } = props;
  return (
    <PortalPage title="Usage" frame={frame} place="usage">
      <div class="head split" id="head">
        <div>
          <h1>Usage</h1>
          <p class="muted">
            {example === null
              ? `${label === null ? "" : `${label}. `}Every record is here as soon as it was acknowledged.`
              : "What your programs record with their keys appears here, as soon as it was acknowledged."}
          </p>
        </div>
        {example !== null || report === null
          ? null
          : <ButtonLink href={report.csvHref} isFile>Download CSV</ButtonLink>}
      </div>
      {example === null ? <UsageView {...props} /> : <FirstSteps curl={example.curl} />}
    </PortalPage>
  );
}

/**
 * With scripts, what is in `target` is brought up to date while the page is open; what has the focus keeps it, what is
 * open stays open.
 */
function refresh(target: "#main" | "#live", everySeconds: number) {
  return {
    "hx-trigger": `every ${everySeconds}s`,
    "hx-target": target,
    "hx-select": target,
    "hx-swap": "outerMorph ignoreTitle:true",
    // Quietly: no sign of progress.
    "hx-indicator": target,
  };
}

/** So many bars are refreshed often; more are much to send and to draw. */
const quickBarsMax = 200;

function FirstSteps({ curl }: { curl: string }) {
  return (
    <div class="card" hx-get="/portal/usage" {...refresh("#main", 10)}>
      <EmptyState
        title="Nothing was recorded yet"
        text="Create a key, then send the first record from a terminal."
      >
        <CodeBlock id="first-record" label="Record 1 request" code={curl} />
        <ButtonLink tone="primary" href="/portal/api-keys">Create a key</ButtonLink>
      </EmptyState>
    </div>
  );
}

function UsageView(props: UsagePageProps) {
  const { address, frame, report, records, trouble } = props;
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
              <EmptyState
                title="There is nothing to show"
                text={trouble ?? "Correct what is marked above."}
              />
            </div>
          )
          : <Report {...report} address={address} />}
        {records.length === 0
          ? null
          : (
            <Card title="Latest records" aside={<span class="tiny muted">Whatever the range</span>} flush>
              <RecordTable records={records} now={frame.now} timezone={address.timezone} />
            </Card>
          )}
      </div>
    </>
  );
}

function Report({ figures, chart, keys, address }: UsageReport & { address: UsageAddress }) {
  const isEmpty = figures.count === 0;
  return (
    <>
      <UsageFiguresView figures={figures} by={chart.by} />
      <Card title={byWords[chart.by]} aside={isEmpty ? null : <ChartLegend series={chart.series} />}>
        {isEmpty ? <NothingHere address={address} /> : (
          <>
            <Chart {...chart} />
            <ChartTable {...chart} />
          </>
        )}
      </Card>
      {isEmpty ? null : (
        <Card title="Most active keys" aside={<AllKeys address={address} />} flush>
          <KeyUsageTable {...keys} />
        </Card>
      )}
    </>
  );
}

/** The way back from one key. */
function AllKeys({ address }: { address: UsageAddress }) {
  if (address.filters.apiKey === null) return null;
  const filters = { ...address.filters, apiKey: null };
  return <a class="small" href={usageHref({ ...address, filters })}>Show all keys</a>;
}

function UsageFiguresView({ figures, by }: { figures: UsageFigures; by: WindowUnit }) {
  const { busiest } = figures;
  return (
    <Figures
      figures={[
        {
          label: figures.metricLabel,
          value: groupDigits(figures.sum),
          note: <ChangeWords {...figures.change} />,
        },
        { label: "records", value: groupDigits(figures.count) },
        {
          label: `busiest ${by}`,
          value: busiest === null ? "–" : groupDigits(busiest.value),
          note: busiest?.label ?? null,
        },
        { label: "active keys", value: groupDigits(figures.activeKeys) },
      ]}
    />
  );
}

function ChangeWords({ percent, than, isRunning }: UsageFigures["change"]) {
  // Word joiners: a line does not end between the days of a range.
  const then = `${isRunning ? "at this point of" : "in"} ${than.replace(/(?<=\d)–(?=\d)/, "\u2060–\u2060")}`;
  if (percent === null) return <>{`Nothing ${then}`}</>;
  if (percent === 0) return <>{`As much as ${then}`}</>;
  return (
    <>
      <span class={percent > 0 ? "change up" : "change"}>
        <Icon name={percent > 0 ? "up" : "down"} />
        {`${percentText(percent)} ${percent > 0 ? "more" : "less"}`}
      </span>
      {` than ${then}`}
    </>
  );
}

function NothingHere({ address }: { address: UsageAddress }) {
  const { filters, range } = address;
  const isFiltered = filters.productSlug !== null || filters.apiKey !== null;
  return (
    <EmptyState title="Nothing was recorded here" text="Choose another range, or fewer filters.">
      {isFiltered
        ? <ButtonLink href={usageHref({ ...address, filters: noFilters })}>Clear the filters</ButtonLink>
        : range === "90d"
        ? null
        : <ButtonLink href={usageHref({ ...address, range: "90d", window: null })}>Show 90 days</ButtonLink>}
    </EmptyState>
  );
}
