// The explorer of usage: filters, and a card of the totals of all metrics, a chart, and one table whose tabs are what the chart
// stacks. The table is the chart's legend, and its rows are links that filter.
import type { Child } from "hono/jsx";
import { outcomesKeptMs } from "../../domain/meter/outcome.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { ButtonLink } from "../components/button.tsx";
import type { ChartProps } from "../components/chart_props.ts";
import { EmptyState } from "../components/empty_state.tsx";
import { type Tab, Tabs } from "../components/list_card.tsx";
import { MetricChart } from "../components/metric_chart.tsx";
import type { MetricStripProps } from "../components/metric_strip.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { clearedHref, isPropertyName, type UsageAddress, usageHref } from "./usage_address.ts";
import { UsageFilterBar, type UsageFilterProps } from "./usage_filters.tsx";
import { Breakdown, type BreakdownProps } from "./usage_tables.tsx";

const outcomesKeptDays = outcomesKeptMs / (24 * 3_600_000);

export interface UsageReport {
  readonly strip: MetricStripProps;
  /** Null if nothing was used. */
  readonly chart: ChartProps | null;
  readonly tabs: readonly Tab[];
  /** The table of the current tab. */
  readonly table: BreakdownProps;
  /** False if the chosen metric's total is lower than its usage. */
  readonly isComplete: boolean;
  /** True for requests by outcome, in place of usage. */
  readonly isOfOutcomes: boolean;
  /** Requests that were rejected, with the tab of outcomes; null if there are none, or in that tab. */
  readonly rejected: { readonly count: number; readonly href: string } | null;
}

export interface ExplorerProps extends UsageFilterProps {
  /** The range in words: `November 2026 so far, in UTC`; null if it is invalid. */
  readonly label: string | null;
  /** Null if it can't be shown. Either a field is invalid, or `problem` says why. */
  readonly report: UsageReport | null;
  readonly problem: string | null;
  /** The numbers of the chart as a file; null without a report. */
  readonly csvHref: string | null;
  /** Pages about what is shown, next to the tabs. */
  readonly links: readonly { readonly href: string; readonly label: string }[];
}

/** `live`: the attributes of the part that updates itself, with `children`. */
export function Explorer(
  { live = {}, children, ...props }: ExplorerProps & {
    live?: Readonly<Record<string, string>>;
    children?: Child;
  },
) {
  const { address, report, problem } = props;
  return (
    <>
      <UsageFilterBar {...props} />
      <div id="live" class="live" {...live}>
        {report === null ? <NothingToShow problem={problem} address={address} /> : (
          <MetricChart
            strip={report.strip.metrics.length === 0 ? null : report.strip}
            chart={report.chart}
            isComplete={report.isComplete}
            below={(report.chart || report.isOfOutcomes) && <ExplorerTable {...report} links={props.links} />}
          >
            {report.isOfOutcomes
              ? <EmptyState title="No requests in this range" text={outcomesText} />
              : <NoUsage address={address} rejected={report.rejected} />}
          </MetricChart>
        )}
        {children ?? null}
      </div>
    </>
  );
}

const outcomesText = `Counts of requests with API keys are kept for ${outcomesKeptDays} days.`;

function ExplorerTable(
  { tabs, table, links, isOfOutcomes, rejected }: UsageReport & Pick<ExplorerProps, "links">,
) {
  const { newerHref, olderHref, all, lines } = table;
  return (
    <>
      <div class="bar">
        <Tabs label="Usage by" tabs={tabs} />
        {links.length > 0 && (
          <p class="tools small">{links.map(({ href, label }) => <a href={href}>{label}</a>)}</p>
        )}
      </div>
      {lines.length > 0 && <Breakdown {...table} />}
      <footer class="list-foot">
        <span>
          {isOfOutcomes
            ? outcomesText
            : lines.some(({ href }) => href !== null)
            ? "Select a row to filter by it."
            : ""}
        </span>
        {rejected && <RejectedLink {...rejected} />}
        {newerHref === null && olderHref === null ? null : (
          <>
            <span>{`${groupDigits(all)} in all`}</span>
            <PageLinks
              label="Pages of the table"
              links={[{ href: newerHref, label: "Previous" }, { href: olderHref, label: "Next" }]}
            />
          </>
        )}
      </footer>
    </>
  );
}

function NothingToShow({ problem, address }: { problem: string | null; address: UsageAddress }) {
  return (
    <div class="card">
      <EmptyState title="Nothing to show" text={problem ?? "Choose another range."}>
        {Object.keys(address.filters).some(isPropertyName) && (
          <ButtonLink href={clearedHref(address, (name) => !isPropertyName(name))}>Clear filters</ButtonLink>
        )}
      </EmptyState>
    </div>
  );
}

function RejectedLink({ count, href }: NonNullable<UsageReport["rejected"]>) {
  return <a href={href}>{countOf(count, "rejected request")}</a>;
}

function NoUsage({ address, rejected }: { address: UsageAddress } & Pick<UsageReport, "rejected">) {
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
      {rejected && <RejectedLink {...rejected} />}
    </EmptyState>
  );
}
