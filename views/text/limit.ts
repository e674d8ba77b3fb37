// Limits of usage in words.
import type { LimitMode, LimitPeriod, LimitScope } from "../../domain/meter/usage_limit.ts";

/** How long what is used counts. */
export const perWords: Readonly<Record<LimitPeriod, string>> = {
  minute: "per minute",
  hour: "per hour",
  day: "per day",
  month: "per month",
  total: "in total",
};

/** What becomes of records beyond a limit. */
export const modeWords: Readonly<Record<LimitMode, string>> = {
  hard: "Reject (hard)",
  soft: "Record (soft)",
};

/** @returns What a limit counts: `tiles · requests per month`. */
export function limitName({ productSlug, metric, per }: LimitScope): string {
  if (productSlug === null && metric === null) return `All usage ${perWords[per]}`;
  const product = productSlug === null ? "" : `${productSlug} · `;
  return `${product}${metric ?? "all metrics"} ${perWords[per]}`;
}
