// What is used of limits: bars, with words that say the same.
import type { Child } from "hono/jsx";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { limitName } from "../text/limit.ts";
import { RelativeTime } from "./relative_time.tsx";

/** How much of something is used. */
export interface Meter {
  readonly name: string;
  readonly used: number;
  readonly max: number;
  /** What happens from `max` on, in a sentence. */
  readonly atMax: string;
  /** When the limit resets, or where it comes from. */
  readonly note?: Child;
}

/** From this share on, a meter stands out and says how much is left. */
const nearShare = 0.8;

/** Limits of usage, as meters. `now`: milliseconds since 1970. */
export function LimitMeters({ limits, now }: { limits: readonly LimitStanding[]; now: number }) {
  return <Meters meters={limits.map((limit) => limitMeter(limit, now))} />;
}

/** A list of meters. */
export function Meters({ meters }: { meters: readonly Meter[] }) {
  return <ul class="meters">{meters.map((meter) => <MeterView meter={meter} />)}</ul>;
}

/** @returns The meter of a limit of usage. @param now Milliseconds since 1970. */
function limitMeter(limit: LimitStanding, now: number): Meter {
  const { used, quantity, mode, resetsAt } = limit;
  return {
    name: limitName(limit),
    used,
    max: quantity,
    atMax: mode === "hard" ? "New requests are rejected." : "Usage is still recorded.",
    note: resetsAt === null ? "Never resets" : <>Resets {<RelativeTime at={resetsAt} now={now} />}</>,
  };
}

function MeterView({ meter }: { meter: Meter }) {
  const { name, used, max, note } = meter;
  const share = max === 0 ? 1 : used / max;
  const level = share >= 1 ? " full" : share >= nearShare ? " near" : "";
  return (
    <li class={`meter${level}`}>
      <p class="meter-line">
        <strong>{name}</strong>
        <span class="what">{`${groupDigits(used)} of ${groupDigits(max)}`}</span>
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

/** @returns What the bar shows. It says 100% only when everything is used. */
function meterText({ used, max, atMax }: Meter, share: number): string {
  if (used > max) return `Over the limit by ${amount(used - max)}. ${atMax}`;
  if (share >= 1) return `Limit reached. ${atMax}`;
  const percent = `${Math.floor(100 * share)}% used`;
  return share < nearShare ? percent : `${percent}, ${amount(max - used)} left`;
}

/** @returns A difference without the digits that binary fractions add: quantities have six decimals. */
function amount(difference: number): string {
  return groupDigits(Number(difference.toFixed(6)));
}
