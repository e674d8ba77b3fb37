// Usage of limits: bars, with the same in words.
import type { Child } from "hono/jsx";
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import { limitReachedAt } from "../../domain/meter/limit_pace.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { limitName, usedWords } from "../text/limit.ts";
import { type Measure, quantityWords } from "../text/quantity.ts";
import { shortDate } from "../text/time.ts";
import { RelativeTime } from "./relative_time.tsx";

export interface Meter {
  readonly name: string;
  readonly used: number;
  readonly max: number;
  /** If known. */
  readonly measure?: Measure | undefined;
  /** Says what happens from `max` on, in a sentence. */
  readonly atMax: string;
  /** The day on which `max` is reached at this rate, if that is before the limit resets. */
  readonly reachedOn?: string | null;
  /** When the limit resets, or where it comes from. */
  readonly note?: Child;
}

/** From this share on, a meter stands out and says how much is left. */
export const nearShare = 0.8;

/** `now`: milliseconds since 1970. `catalogue`: gives names and units. */
export function LimitMeters(
  { limits, now, catalogue }: {
    limits: readonly LimitStanding[];
    now: number;
    catalogue?: Catalogue | undefined;
  },
) {
  return <Meters meters={limits.map((limit) => limitMeter(limit, { now, catalogue }))} />;
}

export function Meters({ meters }: { meters: readonly Meter[] }) {
  return <ul class="meters">{meters.map((meter) => <MeterView meter={meter} />)}</ul>;
}

function limitMeter(
  limit: LimitStanding,
  { now, catalogue }: { now: number; catalogue?: Catalogue | undefined },
): Meter {
  const { used, quantity, mode, resetsAt, metric } = limit;
  const reachedAt = limitReachedAt(limit, now);
  return {
    name: limitName(limit, catalogue),
    measure: catalogue && metric !== null ? metricOf(catalogue, metric) : undefined,
    used,
    max: quantity,
    atMax: mode === "hard" ? "New requests are rejected." : "Usage is still recorded.",
    reachedOn: reachedAt === null ? null : shortDate(reachedAt, now),
    note: resetsAt === null ? "Never resets" : <>Resets {<RelativeTime at={resetsAt} now={now} />}</>,
  };
}

function MeterView({ meter }: { meter: Meter }) {
  const { name, used, max, note, measure } = meter;
  const share = max === 0 ? 1 : used / max;
  const level = share >= 1 ? " full" : share >= nearShare ? " near" : "";
  return (
    <li class={`meter${level}`}>
      <p class="meter-line">
        <strong>{name}</strong>
        <span class="what">{usedWords(used, max, measure)}</span>
      </p>
      <svg class="meter-bar" aria-hidden="true">
        {share > 0 && <rect width={`${Math.min(100 * share, 100).toFixed(1)}%`} height="100%" />}
      </svg>
      <p class="meter-line muted tiny">
        <span>{meterText(meter, share)}</span>
        {note === undefined ? null : <span>{note}</span>}
      </p>
    </li>
  );
}

/** Says 100% only when everything is used. */
function meterText({ used, max, atMax, reachedOn, measure }: Meter, share: number): string {
  if (used > max) return `Over the limit by ${amount(used - max, measure)}. ${atMax}`;
  if (share >= 1) return `Limit reached. ${atMax}`;
  const percent = `${Math.floor(100 * share)}% used`;
  const text = share < nearShare ? percent : `${percent}, ${amount(max - used, measure)} left`;
  return reachedOn ? `${text}. At this rate, reached around ${reachedOn}.` : text;
}

/** Drops the digits that binary fractions add: quantities have six decimals. */
function amount(difference: number, measure: Measure | undefined): string {
  const exact = Number(difference.toFixed(6));
  return measure === undefined ? groupDigits(exact) : quantityWords(exact, measure);
}
