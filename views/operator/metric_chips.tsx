// Links that choose the metric of a page of the console.
import { listHref } from "./list_filters.tsx";

export interface MetricChipsProps {
  /** The page's address, without choices. */
  readonly path: string;
  readonly metrics: readonly { readonly metric: string; readonly name: string }[];
  /** The chosen one. */
  readonly metric: string | null;
}

/** The metrics, if there are several. */
export function MetricChips({ path, metrics, metric }: MetricChipsProps) {
  if (metrics.length < 2) return null;
  return (
    <nav class="chips" aria-label="Metric">
      {metrics.map((one) => (
        <a
          href={listHref(path, { metric: one.metric })}
          aria-current={one.metric === metric ? "true" : undefined}
        >
          {one.name}
        </a>
      ))}
    </nav>
  );
}
