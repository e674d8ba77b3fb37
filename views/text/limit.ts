// Limits of usage in words.
import { type Catalogue, metricOf, productOf } from "../../domain/meter/catalogue.ts";
import type { LimitMode, LimitPeriod, LimitScope } from "../../domain/meter/usage_limit.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { type Measure, quantityText, quantityWords } from "./quantity.ts";

export const perWords: Readonly<Record<LimitPeriod, string>> = {
  minute: "per minute",
  hour: "per hour",
  day: "per day",
  month: "per month",
  total: "in total",
};

export const modeWords: Readonly<Record<LimitMode, string>> = {
  hard: "Reject (hard)",
  soft: "Record (soft)",
};

/** Names a limit: `tiles · requests per month`, or with a catalogue `Map tiles · Requests per month`. */
export function limitName({ productSlug, metric, per }: LimitScope, catalogue?: Catalogue): string {
  if (productSlug === null && metric === null) return `All usage ${perWords[per]}`;
  const name = catalogue && productSlug !== null ? productOf(catalogue, productSlug).name : productSlug;
  const product = name === null ? "" : `${name} · `;
  const what = catalogue && metric !== null ? metricOf(catalogue, metric).name : metric ?? "all metrics";
  return `${product}${what} ${perWords[per]}`;
}

/** Returns text such as `2.32 of 5 TB`. */
export function usedWords(used: number, max: number, measure?: Measure): string {
  if (measure === undefined) return `${groupDigits(used)} of ${groupDigits(max)}`;
  const isSameUnit = quantityText(used, measure).unit === quantityText(max, measure).unit;
  const first = isSameUnit ? quantityText(used, measure).number : quantityWords(used, measure);
  return `${first} of ${quantityWords(max, measure)}`;
}
