// The types of events, and which of them an endpoint receives.

/** Every type with its meaning, for people who choose. */
export const eventTypes = {
  "limit.approaching": "Usage has reached a percentage below 100 of a limit or an alert",
  "limit.reached":
    "A hard or cutoff limit is used completely, or a request was too large for the rest of a hard one",
  "limit.exceeded": "Usage has reached 100 percent of a soft limit or an alert, or a higher percentage",
  "limit.cleared":
    "A limit that was reached has room again, because usage was voided or the limit was raised or removed",
  "api_key.created": "An API key was created",
  "api_key.rotated": "An API key was replaced by a new one",
  "api_key.revoked": "An API key was revoked",
  "api_key.expiring": "An API key expires in seven days, or in one day",
  "api_key.leaked": "An API key was reported as leaked",
  "member.added": "Someone became a member of the organization",
  "member.removed": "Someone is no longer a member of the organization",
  "organization.created": "An organization was created",
  "organization.plan_changed": "The organization's plan was changed",
  "organization.suspended": "The organization was suspended",
  "organization.resumed": "The organization was resumed",
  "organization.deleted": "The organization was deleted",
  "statement.closed": "A month was closed",
  "webhook.disabled": "A webhook was disabled because it failed for days, or is gone",
  "webhook.test": "An example, sent to test a webhook",
} as const;

export type EventType = keyof typeof eventTypes;
export const allEventTypes = Object.keys(eventTypes) as [EventType, ...EventType[]];

/** Types that only operators receive. */
export const operatorEventTypes: ReadonlySet<EventType> = new Set<EventType>([
  "organization.created",
  "organization.deleted",
  "statement.closed",
]);

/** Returns the types that customers receive, or operators. */
export function eventTypesFor({ isForOperators }: { isForOperators: boolean }): readonly EventType[] {
  return allEventTypes.filter((type) => isForOperators || !operatorEventTypes.has(type));
}

export function isEventType(text: string): text is EventType {
  return Object.hasOwn(eventTypes, text);
}

/**
 * Returns true for a name that an endpoint may list: a type, `*` for all, or a noun with `.*`, such as `limit.*`.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert(isEventName("limit.*") && isEventName("*") && isEventName("api_key.created"));
 * assert(!isEventName("limits.*") && !isEventName("limit"));
 * ```
 */
export function isEventName(text: string): boolean {
  if (text === "*" || isEventType(text)) return true;
  return text.endsWith(".*") && allEventTypes.some((type) => type.startsWith(text.slice(0, -1)));
}

/** Returns true if an endpoint that lists these names receives events of a type. */
export function receivesEvent(names: readonly string[], type: EventType): boolean {
  const noun = `${type.slice(0, type.indexOf("."))}.*`;
  return names.some((name) => name === "*" || name === type || name === noun);
}
