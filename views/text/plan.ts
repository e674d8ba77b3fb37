// The numbers of plans in words.
import { groupDigits } from "../../domain/number_text.ts";
import type { PlanNumbers } from "../../domain/billing/plan.ts";

export const numberWords: Readonly<Record<keyof PlanNumbers, string>> = {
  apiKeysMax: "API keys",
  membersMax: "Members",
  requestsPerSecond: "Requests per second",
  usageSeriesMax: "Usage series",
  holdsMax: "Active holds",
};

export const numberHints: Readonly<Record<keyof PlanNumbers, string>> = {
  apiKeysMax: "Active keys of an organization.",
  membersMax: "Members of an organization.",
  requestsPerSecond: "Of each API key. 0 for no limit.",
  usageSeriesMax: "Combinations of product, metric and API key of an organization.",
  holdsMax: "Active holds of an organization.",
};

/** Returns a number of a plan in words: `No limit` where 0 stands for that. */
export function numberText(name: keyof PlanNumbers, value: number): string {
  return name === "requestsPerSecond" && value === 0 ? "No limit" : groupDigits(value);
}
