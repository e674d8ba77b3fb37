// The page of an organization's usage: which stretch of time, the figures, the chart, the latest records.
import { Card } from "./components/card.tsx";
import { Chart, ChartLegend, type ChartProps, ChartTable } from "./components/chart.tsx";
import { Chips } from "./components/chips.tsx";
import { ButtonLink, SubmitButton } from "./components/button.tsx";
import { CodeBlock } from "./components/code.tsx";
import { EmptyState } from "./components/empty_state.tsx";
import { type Choice, SelectField } from "./components/field.tsx";
import { Figures } from "./components/figures.tsx";
import { Icon } from "./components/icon.tsx";
import { RecordTable, type UsageRecordRow } from "./components/record_table.tsx";
import { type Page, type PortalFrame, PortalPage } from "./layout.tsx";
import { groupDigits, percentText } from "./text/number.ts";

export type { UsageRecordRow };

/** The stretches of time that the page offers, by the value of `range`. */
export type UsageRangeId = "24h" | "7d" | "month" | "last-month" | "90d";

/** What the figures and the chart are limited to; null for everything. */
export interface UsageFilters {
  readonly productSlug: string | null;
  readonly metric: string | null;
  /** A key's id. */
  readonly apiKey: string | null;
}

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
  /** Against the stretch before; `percent` is null when nothing was used then. */
  readonly change: { readonly percent: number | null; readonly than: string } | null;
}

/** What the page shows. */
export interface UsagePageProps {
  readonly frame: PortalFrame;
  readonly range: { readonly id: UsageRangeId; readonly label: string };
  readonly filters: UsageFilters;
  readonly choices: {
    readonly products: readonly string[];
    readonly metrics: readonly string[];
    readonly apiKeys: readonly { readonly id: string; readonly name: string }[];
  };
  readonly figures: UsageFigures;
  readonly chart: ChartProps;
  /** The latest, newest first. */
  readonly records: readonly UsageRecordRow[];
  /** How to send the first record; null once there is one. */
  readonly example: { readonly curl: string } | null;
}

const ranges: readonly { id: UsageRangeId; label: string }[] = [
  { id: "24h", label: "24 hours" },
  { id: "7d", label: "7 days" },
  { id: "month", label: "This month" },
  { id: "last-month", label: "Last month" },
  { id: "90d", label: "90 days" },
];

/** @returns The page of the organization's usage. */
export function usagePage(props: UsagePageProps): Page {
  const { frame, range, example } = props;
  return (
    <PortalPage title="Usage" frame={frame} place="usage">
      <div class="head">
        <h1>Usage</h1>
        <p class="muted">
          {example === null
            ? `${range.label}. Every record is here as soon as it was acknowledged.`
            : "What your programs record with their keys appears here, as soon as it was acknowledged."}
        </p>
      </div>
      {example === null ? <UsageView {...props} /> : <FirstSteps curl={example.curl} />}
    </PortalPage>
  );
}

/** With scripts, what is in `target` is brought up to date while the page is open; what has the focus keeps it. */
function refresh(target: "#main" | "#live") {
  return {
    "hx-trigger": "every 10s",
    "hx-target": target,
    "hx-select": target,
    "hx-swap": "outerMorph ignoreTitle:true",
    // Quietly: no sign of progress.
    "hx-indicator": target,
  };
}

function FirstSteps({ curl }: { curl: string }) {
  return (
    <div class="card" hx-get="/portal/usage" {...refresh("#main")}>
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
  const { frame, figures, chart, records } = props;
  return (
    <>
      <div class="filters">
        <RangeChips {...props} />
        <FilterForm {...props} />
      </div>
      <div id="live" class="live" hx-get={usageHref(props.range.id, props.filters)} {...refresh("#live")}>
        <UsageFiguresView figures={figures} by={chart.by} />
        <Card
          title={chart.by === "day" ? "By day" : "By hour"}
          aside={figures.count === 0 ? null : <ChartLegend series={chart.series} />}
        >
          {figures.count === 0 ? <NothingHere {...props} /> : (
            <>
              <Chart {...chart} />
              <ChartTable {...chart} />
            </>
          )}
        </Card>
        {records.length === 0 ? null : (
          <Card title="Latest records" flush>
            <RecordTable records={records} now={frame.now} />
          </Card>
        )}
      </div>
    </>
  );
}

function RangeChips({ range, filters }: UsagePageProps) {
  const chips = ranges.map(({ id, label }) => ({
    label,
    href: usageHref(id, filters),
    isCurrent: id === range.id,
  }));
  return <Chips label="Range" chips={chips} />;
}

/** Sent at every change where scripts run; otherwise by its button. */
function FilterForm({ range, filters, choices }: UsagePageProps) {
  const products = choices.products.map((name) => ({ value: name, label: name }));
  const metrics = choices.metrics.map((name) => ({ value: name, label: name }));
  const apiKeys = choices.apiKeys.map(({ id, name }) => ({ value: id, label: name }));
  return (
    <form class="selects" method="get" action="/portal/usage" data-send-on-change>
      <input type="hidden" name="range" value={range.id} />
      <Filter
        label="Product"
        name="productSlug"
        all="All products"
        value={filters.productSlug}
        choices={products}
      />
      <Filter
        label="Metric"
        name="metric"
        all={filters.metric === null ? "All metrics" : null}
        value={filters.metric}
        choices={metrics}
      />
      <Filter label="Key" name="apiKey" all="All keys" value={filters.apiKey} choices={apiKeys} />
      <div class="without-scripts">
        <SubmitButton tone="plain">Show</SubmitButton>
      </div>
    </form>
  );
}

function Filter(
  { label, name, all, value, choices }: {
    label: string;
    name: string;
    /** What no choice means; null where there must be one. */
    all: string | null;
    value: string | null;
    choices: readonly Choice[];
  },
) {
  const isKnown = value === null || choices.some((choice) => choice.value === value);
  const shown = [
    ...(all === null ? [] : [{ value: "", label: all }]),
    ...choices,
    ...(isKnown ? [] : [{ value, label: value }]),
  ];
  return <SelectField label={label} name={name} value={value ?? ""} choices={shown} />;
}

function UsageFiguresView({ figures, by }: { figures: UsageFigures; by: "hour" | "day" }) {
  const { busiest, change } = figures;
  return (
    <Figures
      figures={[
        {
          label: figures.metricLabel,
          value: groupDigits(figures.sum),
          note: change === null ? null : <ChangeWords {...change} />,
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

function ChangeWords({ percent, than }: NonNullable<UsageFigures["change"]>) {
  if (percent === null) return <>{`Nothing in ${than}`}</>;
  if (percent === 0) return <>{`As much as in ${than}`}</>;
  return (
    <>
      <span class={percent > 0 ? "change up" : "change"}>
        <Icon name={percent > 0 ? "up" : "down"} />
        {`${percentText(percent)} ${percent > 0 ? "more" : "less"}`}
      </span>
      {` than in ${than}`}
    </>
  );
}

function NothingHere({ range, filters }: UsagePageProps) {
  const isFiltered = filters.productSlug !== null || filters.apiKey !== null;
  return (
    <EmptyState title="Nothing was recorded here" text="Choose another range, or fewer filters.">
      {isFiltered
        ? <ButtonLink href={`/portal/usage?range=${range.id}`}>Clear the filters</ButtonLink>
        : range.id === "90d"
        ? null
        : <ButtonLink href="/portal/usage?range=90d">Show 90 days</ButtonLink>}
    </EmptyState>
  );
}

function usageHref(range: UsageRangeId, { productSlug, metric, apiKey }: UsageFilters): string {
  const query = new URLSearchParams({ range });
  for (const [name, value] of Object.entries({ productSlug, metric, apiKey })) {
    if (value !== null) query.set(name, value);
  }
  return `/portal/usage?${query}`;
}
