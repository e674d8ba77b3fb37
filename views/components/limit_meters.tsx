// Usage of limits: bars, with the same in words.
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import { limitReachedAt } from "../../domain/meter/limit_pace.ts";
import { currentUse } from "../../domain/meter/usage_grant.ts";
import type { LimitMode, LimitStanding } from "../../domain/meter/usage_limit.ts";
import { groupDigits, usedPercentText } from "../../domain/number_text.ts";
import { presentation } from "../../domain/presentation.ts";
import { limitName, usedWords } from "../text/limit.ts";
import { type Measure, quantityWords } from "../text/quantity.ts";
import { shortDate, zoneWords } from "../text/time.ts";
import { DayTime, ResetTime } from "./relative_time.tsx";

/** From this share on, a meter stands out and says how much is left. */
export const nearShare = 0.8;

/** Returns the used share of the current balance, without earlier grants, which say nothing about the rest. */
export function usedShare(limit: LimitStanding): number {
  const { used, quantity } = currentUse(limit);
  return quantity === 0 ? 1 : used / quantity;
}

interface Context {
  readonly now: number;
  readonly catalogue?: Catalogue | undefined;
}

/** Names the time zone of the limits if it differs from that of the page. */
export function LimitMeters({ limits, ...context }: { limits: readonly LimitStanding[] } & Context) {
  const { timezone, organizationTimezone } = presentation();
  return (
    <>
      <ul class="meters">{limits.map((limit) => <LimitMeter limit={limit} {...context} />)}</ul>
      {timezone !== organizationTimezone && (
        <p class="muted small">{`Limits are counted in ${zoneWords(organizationTimezone)}.`}</p>
      )}
    </>
  );
}

function LimitMeter({ limit, now, catalogue }: { limit: LimitStanding } & Context) {
  const { metric, resetsAt, grants, held } = limit;
  const { used, quantity } = currentUse(limit);
  const measure = catalogue && metric !== null ? metricOf(catalogue, metric) : undefined;
  const share = usedShare(limit);
  const heldShare = quantity === 0 ? 0 : Math.min(held / quantity, 1 - share);
  const level = share >= 1 ? " full" : share >= nearShare ? " near" : "";
  return (
    <li class={`meter${level}`}>
      <p class="meter-line">
        <strong>
          {limitName(limit, catalogue)}
          {limit.value !== undefined && (
            <>
              {": "}
              <bdi>{limit.value}</bdi>
            </>
          )}
        </strong>
        <span class="what">{usedWords(used, quantity, measure, held)}</span>
      </p>
      <svg class="meter-bar" aria-hidden="true">
        {share > 0 && <rect width={`${Math.min(100 * share, 100).toFixed(1)}%`} height="100%" />}
        {heldShare > 0 && (
          <rect
            width={`${(100 * heldShare).toFixed(1)}%`}
            height="100%"
            x={`${(100 * share).toFixed(1)}%`}
            class="held"
          />
        )}
      </svg>
      <p class="meter-line muted tiny">
        <span>{meterText(limit, { measure, now })}</span>
        <span>
          {grants !== undefined
            ? <GrantText grants={grants} measure={measure} now={now} />
            : resetsAt === null
            ? "Never resets"
            : <>Resets {<ResetTime at={resetsAt} now={now} />}</>}
        </span>
      </p>
    </li>
  );
}

function GrantText(
  { grants: { remaining, nextExpiresAt }, measure, now }: {
    grants: NonNullable<LimitStanding["grants"]>;
    measure: Measure | undefined;
    now: number;
  },
) {
  return (
    <>
      {`${amount(remaining, measure)} of grants left`}
      {nextExpiresAt !== null && <>, some expire {<DayTime at={nextExpiresAt} now={now} />}</>}
    </>
  );
}

const effects: Readonly<Record<LimitMode, string>> = {
  hard: "New requests are rejected.",
  cutoff: "New requests are denied.",
  soft: "Usage is still recorded.",
};

/** Says 100% only when everything is used. */
function meterText(
  limit: LimitStanding,
  { measure, now }: { measure: Measure | undefined; now: number },
): string {
  const { used, quantity, mode, remaining } = limit;
  const share = usedShare(limit);
  const effect = effects[mode];
  if (used > quantity) return `Over the limit by ${amount(used - quantity, measure)}. ${effect}`;
  if (share >= 1) return `Limit reached. ${effect}`;
  if (remaining === 0) {
    return mode === "hard" ? "Nothing left until holds end." : "Everything else is held.";
  }
  const percent = `${usedPercentText(100 * share)} used`;
  const text = share < nearShare ? percent : `${percent}, ${amount(remaining, measure)} left`;
  const reachedAt = limitReachedAt(limit, now);
  if (reachedAt === null) return text;
  const day = shortDate(reachedAt, now, presentation().organizationTimezone);
  // A date of some formats ends with a period: `25. Nov.`
  return `${text}. At this rate, reached around ${day.replace(/\.$/, "")}.`;
}

/** Drops the digits that binary fractions add: quantities have six decimals. */
function amount(difference: number, measure: Measure | undefined): string {
  const exact = Number(difference.toFixed(6));
  return measure === undefined ? groupDigits(exact) : quantityWords(exact, measure);
}
