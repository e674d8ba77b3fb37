// Events as endpoints and the API's callers get them: bodies made of the facts that were stored when something happened.
import { limitWindow } from "../meter/limit_window.ts";
import { microsToNumber, quantityMicros, sumMicros } from "../meter/quantity.ts";
import type { LimitMode, LimitPeriod, LimitScope } from "../meter/usage_limit.ts";
import { isoTime, parseTimestamp } from "../time.ts";
import type { EventType } from "./event_types.ts";

interface Named {
  readonly id: string | null;
  readonly name: string | null;
}

/** The parts of a sum: high, low and millionths. */
type Parts = readonly [high: number, low: number, micro: number];

const sumOf = ([high, low, micro]: Parts) =>
  sumMicros({ high: String(high), low: String(low), micro: String(micro) });

/** A limit, and its use when people were notified. */
export interface LimitFacts {
  readonly limit: {
    readonly id: string;
    readonly productSlug: string | null;
    readonly metric: string | null;
    readonly per: LimitPeriod;
    /** The property of a limit per value. */
    readonly by?: string | null;
    /** Its value, if the event may name it. */
    readonly value?: string | null;
    readonly mode: LimitMode;
    readonly isAlert: 0 | 1;
    /** The quantity in parts; null for one that was removed or doesn't apply anymore, which clears the limit. */
    readonly whole: number | null;
    readonly micro: number | null;
    /** The key whose usage counts. */
    readonly apiKey: Named | null;
  };
  /** The parts of the sum: high, low and millionths; and those of what active holds have taken, if anything. */
  readonly used: readonly [...parts: Parts, held?: Parts | null];
  readonly percent: number;
  /** 1 if a request was rejected. */
  readonly isRefusal?: 0 | 1;
  /** The time of the usage, which is in the limit's window. */
  readonly usedAt: number;
  readonly timezone: string;
}

/** The facts stored with an event, as `db/outbox/events.ts` writes them. Never secrets. */
export interface EventFacts extends Partial<LimitFacts> {
  readonly organization?:
    | { readonly id: string; readonly externalId: string | null; readonly name: string }
    | null;
  /** The changed object. */
  readonly target?: Named;
  readonly actor?: Named & { readonly type: string };
  /** Details of the audit entry. */
  readonly details?: Readonly<Record<string, string>>;
  /** Expiry of the target, if it is a key. */
  readonly expiresAt?: number | null;
  /** Days until the key expires. */
  readonly days?: number;
  readonly plan?: Named | null;
  readonly webhook?: { readonly id: string; readonly reason?: "failing" | "gone" };
}

export interface StoredEvent {
  readonly id: string;
  readonly type: EventType;
  readonly at: number;
  /** {@linkcode EventFacts} as JSON. */
  readonly facts: string;
  /** The number of the only endpoint that gets it, as a test. */
  readonly webhook: number | null;
}

export interface EventPayload {
  readonly type: EventType;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Returns the body that endpoints get, as JSON. It is the same each time, and has at most `eventBytesMax` bytes. */
export function eventBody(event: StoredEvent, options: { isForOperators: boolean }): string {
  return JSON.stringify(eventPayload(event, options));
}

/** @param options `isForOperators`: otherwise, it isn't told which operator did something. */
export function eventPayload(
  { type, at, facts: text, webhook }: StoredEvent,
  { isForOperators }: { isForOperators: boolean },
): EventPayload {
  const facts: EventFacts = JSON.parse(text);
  const { organization, actor } = facts;
  const hidesActor = actor?.type === "operator" && !isForOperators;
  const data = {
    ...(organization && { organization }),
    ...subjectOf(type, facts),
    ...(actor && { actor: hidesActor ? { type: actor.type, id: null, name: null } : actor }),
    ...(webhook !== null && { test: true }),
  };
  return { type, timestamp: isoTime(at), data };
}

export interface EventSubject {
  readonly limit: LimitScope | null;
  /** The name of the key, the member or the plan, or the month of a statement. */
  readonly name: string | null;
  readonly organization: string | null;
  readonly isTest: boolean;
}

export function eventSubject({ data }: EventPayload): EventSubject {
  const { limit, apiKey, member, plan, statement, organization, test } = data as {
    readonly limit?: LimitScope;
    readonly statement?: { readonly period: string };
    readonly test?: boolean;
  } & Readonly<Partial<Record<"apiKey" | "member" | "plan" | "organization", Named | null>>>;
  return {
    limit: limit ?? null,
    name: (apiKey ?? member ?? plan)?.name ?? statement?.period ?? null,
    organization: organization?.name ?? null,
    isTest: test === true,
  };
}

/** Returns what an event is about. Each value is chosen here, so that nothing else that is stored gets out. */
function subjectOf(type: EventType, facts: EventFacts): Record<string, unknown> {
  const { target, details = {}, expiresAt = null, plan = null, days, webhook } = facts;
  switch (type) {
    case "api_key.created":
    case "api_key.revoked":
      return { apiKey: { ...target, expiresAt: isoTime(expiresAt) } };
    case "api_key.rotated": {
      const end = parseTimestamp(details["oldExpiresAt"] ?? "") ?? Infinity;
      const oldExpiresAt = Math.min(end, expiresAt ?? Infinity);
      return {
        apiKey: { ...target, expiresAt: Number.isFinite(oldExpiresAt) ? isoTime(oldExpiresAt) : null },
        replacedBy: details["replacedBy"] ?? null,
      };
    }
    case "api_key.expiring":
      return { apiKey: { ...target, expiresAt: isoTime(expiresAt) }, days };
    case "api_key.leaked":
      return {
        apiKey: { ...target, expiresAt: isoTime(expiresAt) },
        revoked: details["response"] === "revoked",
      };
    case "member.added":
    case "member.removed": {
      const { role } = details;
      return { member: { ...target, ...(role !== undefined && { role }) } };
    }
    case "organization.plan_changed":
      return { plan };
    case "statement.closed":
      return { statement: { id: target?.id ?? null, period: target?.name ?? null } };
    case "webhook.disabled":
    case "webhook.test":
      return { webhook };
    case "organization.created":
    case "organization.suspended":
    case "organization.resumed":
    case "organization.deleted":
      return {};
    default:
      return limitData(type, facts as LimitFacts);
  }
}

function limitData(
  type: EventType,
  { limit, used: [high, low, millionths, held], percent, usedAt, timezone }: LimitFacts,
) {
  const { id, productSlug, metric, per, by, value, mode, isAlert, apiKey, whole, micro } = limit;
  const isLifted = whole === null || micro === null;
  const max = isLifted ? null : quantityMicros({ whole, micro });
  const used = sumOf([high, low, millionths]);
  const window = limitWindow(per, timezone, usedAt);
  return {
    limit: {
      ...{ id, productSlug, metric, per },
      ...by && { by },
      ...typeof value === "string" && { value },
      quantity: max === null ? null : microsToNumber(max),
      mode,
    },
    ...(isAlert === 1 && { alert: true }),
    ...(apiKey && { apiKey }),
    ...(type === "limit.reached" && {
      reason: mode === "cutoff" ? "cutoff" : max === null || used >= max ? "full" : "too_large",
    }),
    ...(type !== "limit.cleared" && { percent }),
    used: microsToNumber(used),
    held: microsToNumber(sumOf(held ?? [0, 0, 0])),
    window: window && { start: isoTime(window.start), end: isoTime(window.end) },
  };
}
