// Outcomes of requests in words.
import type { ChosenOutcome } from "../../domain/meter/outcome.ts";

export const outcomeWords: Readonly<Record<ChosenOutcome, string>> = {
  accepted: "Accepted",
  duplicate: "Duplicate",
  limit_exceeded: "Over a limit",
  rate_limited: "Rate limited",
  permission_missing: "Missing permission",
  feature_missing: "Feature not in plan",
  suspended: "Organization suspended",
  revoked: "Key revoked",
  expired: "Key expired",
  disabled: "Key disabled",
  address_denied: "Address not allowed",
  invalid: "Invalid request",
  rejected: "Rejected",
};
