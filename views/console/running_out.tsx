// Limits per month that will be reached before they reset, if usage goes on as it has so far.
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import type { LimitScope } from "../../domain/meter/usage_limit.ts";
import { groupDigits, usedPercentText } from "../../domain/number_text.ts";
import { isoTime } from "../../domain/time.ts";
import type { RunningOut, RunningOutLimit } from "../../domain/console/organization_list.ts";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { limitName } from "../text/limit.ts";
import { organizationHref, organizationsHref } from "../components/links.ts";
import { listHref } from "../components/list_filters.tsx";

export interface RunningOutProps extends RunningOut {
  /** For the names of products and metrics. */
  readonly catalogue: Catalogue;
}

export function RunningOutCard({ runningOut, now }: { runningOut: RunningOutProps; now: number }) {
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
