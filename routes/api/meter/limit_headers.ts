// The hard limits of a request in response headers (draft-ietf-httpapi-ratelimit-headers).
import type { LimitPeriod, LimitStanding } from "../../../domain/meter/usage_limit.ts";
import type { AppContext } from "../../env.ts";

/** The seconds of a window; those of months differ. */
const windowSeconds: Readonly<Partial<Record<LimitPeriod, number>>> = {
  minute: 60,
  hour: 3_600,
  day: 24 * 3_600,
};
/** The largest integer in a header. */
const integerMax = 999_999_999_999_999;

/**
 * Adds the hard limit with the smallest share left, if there is any, to the headers of the key's rate limit.
 *
 * @param now Milliseconds since 1970.
 */
export function addLimitHeaders(c: AppContext, limits: readonly LimitStanding[], now: number): void {
  const shareLeft = ({ remaining, quantity }: LimitStanding) => quantity === 0 ? 0 : remaining / quantity;
  const [tightest] = limits.filter(({ mode }) => mode === "hard").sort((a, b) => shareLeft(a) - shareLeft(b));
  if (tightest === undefined) return;
  const { limitId, per, quantity, remaining, resetsAt } = tightest;
  const whole = (value: number) => Math.min(Math.floor(value), integerMax);
  const seconds = resetsAt === null ? null : Math.max(0, Math.ceil((Date.parse(resetsAt) - now) / 1000));
  const time = seconds === null ? "" : `;t=${seconds}`;
  const window = windowSeconds[per] === undefined ? "" : `;w=${windowSeconds[per]}`;
  const added = {
    "ratelimit": `"${limitId}";r=${whole(remaining)}${time}`,
    "ratelimit-policy": `"${limitId}";q=${whole(quantity)}${window}`,
  };
  const earlier = new Map(c.get("responseHeaders"));
  for (const [name, value] of Object.entries(added)) {
    const before = earlier.get(name);
    earlier.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  c.set("responseHeaders", [...earlier]);
}
