// An example of each type of event: for the documentation, and to test endpoints.
import { type EventFacts, type EventPayload, eventPayload, type LimitFacts } from "./event.ts";
import type { EventType } from "./event_types.ts";

const exampleAt = Date.UTC(2026, 10, 21, 14, 3, 11, 250);
const dayMs = 86_400_000;
const idOf = (prefix: string) => `${prefix}_0199d3c1a2b47c6e8f00112233445566`;

const limit: Omit<LimitFacts, "percent" | "used"> = {
  limit: {
    id: idOf("lim"),
    productSlug: "maps",
    metric: "tiles",
    per: "month",
    mode: "hard",
    isAlert: 0,
    whole: 100_000,
    micro: 0,
    apiKey: null,
  },
  usedAt: exampleAt,
  timezone: "UTC",
};
const actor = { type: "session", id: idOf("usr"), name: "Ada Lovelace" };
const operator = { type: "operator", id: null, name: null };
const system = { type: "system", id: null, name: null };
const apiKey = { target: { id: idOf("key"), name: "Production" }, expiresAt: exampleAt + 7 * dayMs };
const member = { target: { id: idOf("usr"), name: "Grace Hopper" }, details: { role: "MEMBER" } };
const webhook = { id: idOf("whk") };
const sum = (quantity: number) => [0, quantity, 0] as const;

const examples: Readonly<Record<EventType, EventFacts>> = {
  "limit.approaching": { ...limit, percent: 80, used: sum(80_000) },
  "limit.reached": { ...limit, percent: 100, used: sum(100_000) },
  "limit.exceeded": { ...limit, limit: { ...limit.limit, mode: "soft" }, percent: 100, used: sum(100_250) },
  "limit.cleared": { ...limit, percent: 100, used: sum(99_000) },
  "api_key.created": { ...apiKey, actor },
  "api_key.rotated": { ...apiKey, details: { replacedBy: idOf("key").replace("66", "77") }, actor },
  "api_key.revoked": { ...apiKey, actor },
  "api_key.expiring": { ...apiKey, days: 7 },
  "api_key.leaked": { ...apiKey, details: { response: "revoked" }, actor: system },
  "member.added": { ...member, actor },
  "member.removed": { ...member, actor },
  "organization.created": { actor },
  "organization.plan_changed": { plan: { id: idOf("plan"), name: "Business" }, actor: operator },
  "organization.suspended": { actor: operator },
  "organization.resumed": { actor: operator },
  "organization.deleted": { actor },
  "statement.closed": {
    target: { id: idOf("stm"), name: "2026-10" },
    actor: system,
  },
  "webhook.disabled": { webhook: { ...webhook, reason: "failing" } },
  "webhook.test": { webhook },
};

/** Returns the facts of an example. @param webhookId The endpoint that gets it. */
export function exampleFacts(type: EventType, webhookId = idOf("whk")): EventFacts {
  if (type === "statement.closed") return examples[type];
  const webhook = examples[type].webhook && { webhook: { ...examples[type].webhook, id: webhookId } };
  const organization = { id: idOf("org"), externalId: "customer-4711", name: "Northwind Maps" };
  return { organization, ...examples[type], ...webhook };
}

/** Returns an example of what endpoints get. */
export function exampleEvent(type: EventType): EventPayload {
  const facts = JSON.stringify(exampleFacts(type));
  const event = { id: idOf("evt"), type, at: exampleAt, facts, webhook: null };
  return eventPayload(event, { isForOperators: false });
}
