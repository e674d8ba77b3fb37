// Limits of usage in words.
import { type Catalogue, metricOf, productOf, summedMetricOf } from "../../domain/meter/catalogue.ts";
import {
  defaultNotifyAt,
  type LimitMode,
  type LimitPeriod,
  type LimitScope,
  parseLimitsText,
} from "../../domain/meter/usage_limit.ts";
import { lastsMs } from "../../domain/meter/limit_pace.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { type Measure, measureNoun, quantityText, quantityWords } from "./quantity.ts";

export const perWords: Readonly<Record<LimitPeriod, string>> = {
  minute: "per minute",
  hour: "per hour",
  day: "per day",
  month: "per month",
  total: "in total",
};

export const modeWords: Readonly<Record<LimitMode, string>> = {
  hard: "Reject (hard)",
  cutoff: "Deny (cutoff)",
  soft: "Record (soft)",
};

/** Returns text such as `80, 100%`. */
export function notifyText(notifyAt: readonly number[] | null | undefined): string {
  return `${(notifyAt ?? defaultNotifyAt).join(", ")}%`;
}

/** Names a limit: `tiles · requests per month`, or with a catalogue `Map tiles · Requests per month`. */
export function limitName(limit: LimitScope, catalogue?: Catalogue): string {
  return `${scopeName(limit, catalogue)} ${perWords[limit.per]}${byWords(limit)}`;
}

/** Returns text such as ` per user`. */
function byWords({ by }: Pick<LimitScope, "by">): string {
  return by ? ` per ${by}` : "";
}

/** Names what a limit or a grant counts: `Map tiles · Requests`. */
export function scopeName(
  { productSlug, metric }: Pick<LimitScope, "productSlug" | "metric">,
  catalogue?: Catalogue,
): string {
  if (productSlug === null && metric === null) return "All usage";
  const name = catalogue && productSlug !== null ? productOf(catalogue, productSlug).name : productSlug;
  const product = name === null ? "" : `${name} · `;
  const what = catalogue && metric !== null
    ? summedMetricOf(catalogue, metric).name
    : metric ?? "all metrics";
  return product + what;
}

/** Returns the quantity of a limit, such as `5 TB`. */
export function limitQuantity(
  { quantity, metric }: { readonly quantity: number; readonly metric: string | null },
  catalogue: Catalogue,
): string {
  return metric === null ? groupDigits(quantity) : quantityWords(quantity, metricOf(catalogue, metric));
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const lastingMaxMs = 3_650 * dayMs;

/** Says how long a quantity lasts: `33 days at the rate of the last 7 days, 455,000 per day`. */
export function paceWords(quantity: number, usedInWeek: number, measure: Measure): string {
  const lasts = lastsMs(quantity, usedInWeek);
  if (lasts === Infinity) return "No usage in the last 7 days";
  const perDay = usedInWeek / 7;
  const rounded = Number(perDay.toPrecision(perDay < 100 ? 2 : 3));
  const rate = `at the rate of the last 7 days, ${quantityWords(rounded, measure)} per day`;
  return `${lastingWords(lasts)} ${rate}`;
}

function lastingWords(ms: number): string {
  if (ms > lastingMaxMs) return "More than 10 years";
  if (ms >= 2 * dayMs) return countOf(Math.floor(ms / dayMs), "day");
  if (ms >= 2 * hourMs) return countOf(Math.floor(ms / hourMs), "hour");
  return ms < 60_000 ? "Less than a minute" : countOf(Math.floor(ms / 60_000), "minute");
}

/** Rewords limits of the audit log for people, such as `6,000,000 requests of Map tiles per month (soft)`. */
export function limitsSentence(text: string, catalogue: Catalogue): string {
  return parseLimitsText(text).map((limit) => {
    if (typeof limit === "string") return limit;
    const { productSlug, metric, per, by, quantity, mode, notifyAt, exceptions } = limit;
    const measure = metric === null ? { name: "all metrics", unit: null } : summedMetricOf(catalogue, metric);
    const product = productSlug === null ? "" : ` of ${productOf(catalogue, productSlug).name}`;
    const what = `${measureNoun(measure)}${product} ${perWords[per]}${byWords({ by })}`;
    return quantity === null
      ? `no limit for ${what}`
      : `${quantityWords(quantity, measure)} ${what} (${mode}${
        notifyAt === null ? "" : `, notify at ${notifyText(notifyAt)}`
      }${exceptions === 0 ? "" : `, ${exceptions} values with their own`})`;
  }).join("; ");
}

/** Returns text such as `2.32 of 5 TB`, or `2.32 used, 0.1 held, of 5 TB`. @param held What active holds have taken. */
export function usedWords(used: number, max: number, measure?: Measure, held = 0): string {
  const words = (quantity: number) => {
    if (measure === undefined) return groupDigits(quantity);
    const isSameUnit = quantityText(quantity, measure).unit === quantityText(max, measure).unit;
    return isSameUnit ? quantityText(quantity, measure).number : quantityWords(quantity, measure);
  };
  const all = measure === undefined ? groupDigits(max) : quantityWords(max, measure);
  return held === 0 ? `${words(used)} of ${all}` : `${words(used)} used, ${words(held)} held, of ${all}`;
}
