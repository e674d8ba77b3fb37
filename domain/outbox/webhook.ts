// Webhook endpoints: URLs that events are sent to.
import { allEventTypes, operatorEventTypes, receivesEvent } from "./event_types.ts";

/** `manual`: someone disabled it. `failing`: it failed for days. `gone`: it returned 410. */
export const webhookDisabledReasons = ["manual", "failing", "gone"] as const;
export type WebhookDisabledReason = (typeof webhookDisabledReasons)[number];

/** An endpoint of an organization or of operators. Times are ISO 8601 UTC. */
export interface Webhook {
  readonly id: string;
  readonly url: string;
  /** Names of events, for `receivesEvent`. */
  readonly events: readonly string[];
  /** Empty if there is none. */
  readonly description: string;
  readonly status: "enabled" | "disabled";
  readonly disabledReason: WebhookDisabledReason | null;
  /** The time of its last success, if attempts have failed since. */
  readonly failingSince: string | null;
  readonly lastDeliveredAt: string | null;
  /** After a rotation, until when the old secret signs too. */
  readonly oldSecretUntil: string | null;
  readonly createdAt: string;
  /** A user, or the operator token of an endpoint of operators. Null for an operator at an organization's endpoint. */
  readonly createdBy: { readonly id: string; readonly name: string } | null;
}

/** Returns what pages and the audit log call an endpoint: never its URL, whose path may contain a token. */
export function webhookName({ url, description }: Pick<Webhook, "url" | "description">): string {
  return description || new URL(url).host;
}

/** Returns true if only operators receive all events of a name, such as `statement.*`. */
export function isOperatorsEventName(name: string): boolean {
  const types = allEventTypes.filter((type) => receivesEvent([name], type));
  return types.length > 0 && types.every((type) => operatorEventTypes.has(type));
}
