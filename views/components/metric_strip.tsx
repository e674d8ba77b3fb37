// The totals of all metrics. Each is a link to its chart, and the chosen one is marked.
import type { CatalogueMetric } from "../../domain/meter/catalogue.ts";
import { countOf } from "../../domain/number_text.ts";
import { quantityText, quantityWords } from "../text/quantity.ts";
import { ShortChange, unbroken } from "./change.tsx";
import { Icon } from "./icon.tsx";
import { Quantity } from "./quantity.tsx";

export interface MetricTotal {
  readonly metric: CatalogueMetric;
  /** An exact decimal text. */
  readonly total: string;
  /** In percent; null if there was nothing before, undefined to leave it out. */
  readonly change?: number | null | undefined;
  readonly href: string;
  readonly isChosen: boolean;
}

export interface MetricStripProps {
  readonly metrics: readonly MetricTotal[];
  /** `change` compares with this time, such as `Oct 1–20`. */
  readonly period: string;
}

/** Longer numbers are shown smaller. */
const longCharacters = 11;

/** Further metrics are collapsed. */
const shownMax = 8;

export function MetricStrip({ metrics, period }: MetricStripProps) {
  const isShown = ({ isChosen }: MetricTotal, index: number) => index < shownMax || isChosen;
  const more = metrics.filter((metric, index) => !isShown(metric, index));
  return (
    <nav aria-label="Metric">
      <div class="strip">
        {metrics.filter(isShown).map((metric) => <MetricLink {...metric} period={period} />)}
      </div>
      {more.length > 0 && (
        <details class="more-metrics">
          <summary>
            <Icon name="chevron" />
            {countOf(more.length, "more metric")}
          </summary>
          <div class="strip">
            {more.map((metric) => <MetricLink {...metric} period={period} />)}
          </div>
        </details>
      )}
    </nav>
  );
}

function MetricLink({ metric, total, change, href, isChosen, period }: MetricTotal & { period: string }) {
  const { number } = quantityText(total, metric);
  const isLong = number.length > longCharacters;
  return (
    <a
      class="figure"
      href={href}
      aria-current={isChosen ? "true" : undefined}
      data-announce={isChosen ? `${metric.name}: ${quantityWords(total, metric)}` : undefined}
    >
      <span class="label">
        <bdi>{metric.name}</bdi>
      </span>
      <span class={isLong ? "value long" : "value"}>
        <Quantity value={total} measure={metric} />
      </span>
      {change === undefined ? null : (
        <span class="change-line">
          <ShortChange percent={change} />
          {change !== null && (
            <>
              {" "}
              <span class="period">{`vs ${unbroken(period)}`}</span>
            </>
          )}
        </span>
      )}
    </a>
  );
}
