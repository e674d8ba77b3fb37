// The card of the totals of all metrics and the chart of the chosen one.
import type { Child } from "hono/jsx";
import { aggregationLabels } from "../../domain/meter/aggregation.ts";
import { perWindow } from "../text/quantity.ts";
import { unbroken } from "./change.tsx";
import { Chart } from "./chart.tsx";
import type { ChartProps } from "./chart_props.ts";
import { EmptyState } from "./empty_state.tsx";
import { MetricStrip, type MetricStripProps } from "./metric_strip.tsx";

export function MetricChart({ strip, chart, isComplete = true, aside, below, children }: {
  /** Left out if null, as for a single key. */
  strip: MetricStripProps | null;
  /** Null if there is nothing to draw; `children` say why. */
  chart: ChartProps | null;
  isComplete?: boolean;
  aside?: Child;
  /** A table that is the legend of the chart. */
  below?: Child;
  children?: Child;
}) {
  return (
    <section class={below ? "card explorer" : "card"} aria-label="Usage">
      {strip && <MetricStrip {...strip} />}
      <div class="body">
        {chart === null ? children ?? <EmptyState title="No usage yet" text="Usage appears here." /> : (
          <>
            <div class="chart-head">
              <div>
                <h2>{perWindow(chart.measure, chart.by)}</h2>
                {chart.measure.aggregation && (
                  <p class="muted small">{captionOf(chart.measure.aggregation, isComplete)}</p>
                )}
              </div>
              {chart.before && <span class="before-key">{unbroken(chart.before.period)}</span>}
              {aside ?? null}
            </div>
            <Chart {...chart} hasLegend={!below} />
          </>
        )}
      </div>
      {below ?? null}
    </section>
  );
}

function captionOf(aggregation: keyof typeof aggregationLabels, isComplete: boolean): string {
  const label = aggregationLabels[aggregation];
  return isComplete
    ? label
    : `${label}. Not all of it is known: some isn't counted yet, was deleted, or is beyond the maximum.`;
}
