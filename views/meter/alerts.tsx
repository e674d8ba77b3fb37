// Links to the alerts of an organization, and who gets them.
import { groupDigits } from "../../domain/number_text.ts";
import type { LimitMailReach } from "../../domain/outbox/limit_mail_reach.ts";
import type { UsageFilters } from "./usage_address.ts";

/** Returns the address of the form that adds an alert, with a filter of usage filled in. */
export function newAlertHref(base: string, { productSlug, metric, apiKey }: UsageFilters): string {
  const filter = { productSlug: productSlug ?? "", metric: metric ?? "", apiKey: apiKey ?? "" };
  return `${base}/alerts/new?${new URLSearchParams(filter)}`;
}

export function recipientsText({ recipients }: LimitMailReach): string {
  return recipients === 1
    ? "One owner or admin gets emails about alerts and limits."
    : `${groupDigits(recipients)} owners and admins get emails about alerts and limits.`;
}
