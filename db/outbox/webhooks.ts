// All SQL of webhook endpoints. Those of operators have no organization (0). Secrets are stored as `services/secrets.ts` seals them.
import type { WebhookDisabledReason } from "../../domain/outbox/webhook.ts";
import { webhooksOfOperatorsMax, webhooksOfOrganizationMax } from "../../domain/outbox/webhook_limits.ts";
import { type Audited, ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { holdDeliveries } from "./deliveries.ts";

/** An endpoint as stored, without its secrets. */
export interface WebhookRow {
  readonly id: string;
  readonly url: string;
  /** A JSON list. */
  readonly events: string;
  readonly description: string;
  readonly disabledAt: number | null;
  readonly disabledReason: WebhookDisabledReason | null;
  readonly failingSince: number | null;
  readonly lastDeliveredAt: number | null;
  readonly oldSecretUntil: number | null;
  readonly createdAt: number;
  readonly createdById: string | null;
  readonly createdByName: string | null;
}

/** An organization's endpoints; null for those of operators. */
export type WebhookOwnerId = string | null;

interface NewWebhookRow extends Pick<WebhookRow, "id" | "url" | "events" | "description" | "createdAt"> {
  readonly organizationId: WebhookOwnerId;
  readonly secret: string;
  readonly createdById: string | null;
  /** The name of an operator token. Names of users are read when they are shown. */
  readonly tokenName: string | null;
}

export const numberOf = (organizationId: WebhookOwnerId): Statement =>
  organizationId === null
    ? sql`0`
    : sql`(SELECT o.number FROM organizations o WHERE o.id = ${organizationId} AND o.deleted_at IS NULL)`;

/** A condition: the endpoint `w` belongs to the owner, and isn't deleted. */
export const isWebhookOf = (organizationId: WebhookOwnerId): Statement =>
  sql`w.organization = ${numberOf(organizationId)} AND w.deleted_at IS NULL`;

const isWebhook = (organizationId: WebhookOwnerId, id: string): Statement =>
  sql`w.id = ${id} AND ${isWebhookOf(organizationId)}`;

const columns =
  sql`w.id, w.url, w.events, w.description, w.disabled_at AS disabledAt, w.disabled_reason AS disabledReason,
    w.failing_since AS failingSince, w.last_delivered_at AS lastDeliveredAt, w.created_at AS createdAt, w.old_secret_until AS oldSecretUntil,
    w.created_by AS createdById, coalesce(w.created_by_name, u.name) AS createdByName`;
const select = sql`SELECT ${columns} FROM webhooks w LEFT JOIN users u ON u.id = w.created_by`;

/** Finds endpoints, newest first, from after the id `before`. */
export function findWebhooks(
  database: DatabaseReader,
  organizationId: WebhookOwnerId,
  { limit, before = null }: { limit: number; before?: string | null | undefined },
): Promise<WebhookRow[]> {
  return database.read(sql`${select}
    WHERE ${
    isWebhookOf(organizationId)
  } AND (${before} IS NULL OR w.id < ${before}) ORDER BY w.id DESC LIMIT ${limit}`);
}

/** A failing endpoint of a customer. */
export type FailingWebhookRow = WebhookRow & {
  readonly organizationId: string;
  readonly organizationName: string;
};

/** Finds enabled endpoints of all customers that fail, those that fail the longest first. */
export function findFailingWebhooks(database: DatabaseReader, limit: number): Promise<FailingWebhookRow[]> {
  return database.read(sql`
    SELECT ${columns}, o.id AS organizationId, o.name AS organizationName
    FROM webhooks w INDEXED BY webhooks_failing
    CROSS JOIN organizations o ON o.number = w.organization AND o.deleted_at IS NULL
    LEFT JOIN users u ON u.id = w.created_by
    WHERE w.failing_since IS NOT NULL AND w.disabled_at IS NULL AND w.deleted_at IS NULL
    ORDER BY w.failing_since LIMIT ${limit}`);
}

export const selectWebhook = (organizationId: WebhookOwnerId, id: string): Statement =>
  sql`${select} WHERE ${isWebhook(organizationId, id)}`;

/** Finds the owner of an endpoint: `organizationId` is null for operators'. */
export function findOwnerOfWebhook(database: DatabaseReader, id: string) {
  return database.readFirst<{ organizationId: WebhookOwnerId }>(sql`
    SELECT o.id AS organizationId FROM webhooks w LEFT JOIN organizations o ON o.number = w.organization
    WHERE w.id = ${id} AND w.deleted_at IS NULL AND (w.organization = 0 OR o.deleted_at IS NULL AND o.id IS NOT NULL)`);
}

/** A condition: an owner has fewer endpoints than there may be. @param owner Its number. */
const hasRoom = (owner: Statement, organizationId: WebhookOwnerId): Statement =>
  sql`(SELECT count(*) FROM webhooks w WHERE w.organization = ${owner} AND w.deleted_at IS NULL)
    < ${organizationId === null ? webhooksOfOperatorsMax : webhooksOfOrganizationMax}`;

export const selectWebhookRoom = (organizationId: WebhookOwnerId): Statement =>
  sql`SELECT 1 WHERE ${hasRoom(numberOf(organizationId), organizationId)}`;

/** Inserts an endpoint for future events, unless its owner has the maximum number. */
export function insertWebhook(webhook: NewWebhookRow): Statement {
  const { id, organizationId, url, events, description, secret, createdAt, createdById, tokenName } = webhook;
  return sql`
    INSERT INTO webhooks (id, organization, url, events, description, secret, is_slow, since_seq, created_at, created_by, created_by_name)
    SELECT ${id}, n.organization, ${url}, ${events}, ${description}, ${secret}, 1,
      (SELECT coalesce(max(seq), 0) FROM events), ${createdAt}, ${createdById}, ${tokenName}
    FROM (SELECT ${numberOf(organizationId)} AS organization) n
    WHERE n.organization IS NOT NULL AND ${hasRoom(sql`n.organization`, organizationId)}`;
}

/** Changes the given fields. With another URL, the endpoint counts as slow until it has been quick. */
export function updateWebhook(
  organizationId: WebhookOwnerId,
  id: string,
  { url = null, events = null, description = null }: Partial<
    Record<"url" | "events" | "description", string | null>
  >,
): Statement {
  return sql`UPDATE webhooks AS w SET url = coalesce(${url}, url), events = coalesce(${events}, events),
    description = coalesce(${description}, description), is_slow = is_slow OR ${url} IS NOT NULL,
    quick_attempts = iif(${url} IS NULL, quick_attempts, 0) WHERE ${isWebhook(organizationId, id)}`;
}

/** Enables a disabled endpoint as if it had never failed. Missed events stay held. Only requests in progress may be repeated. */
export function enableWebhook(organizationId: WebhookOwnerId, id: string): Statement {
  return sql`UPDATE webhooks AS w SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL, failures = 0,
      turn_at = (SELECT min(due_at) FROM webhook_deliveries d WHERE d.webhook = w.number AND d.status = 'waiting')
    WHERE ${isWebhook(organizationId, id)} AND w.disabled_at IS NOT NULL`;
}

/** Holds everything that waits for a disabled endpoint and that the worker hasn't held yet. */
export function holdMissed(organizationId: WebhookOwnerId, id: string, now: number): Statement {
  return holdDeliveries(now, sql`AND ${isWebhook(organizationId, id)}`);
}

/** Disables an endpoint. The worker holds what waits for it. */
export function disableWebhook(organizationId: WebhookOwnerId, id: string, now: number): Statement {
  return sql`UPDATE webhooks AS w SET disabled_at = ${now}, disabled_reason = 'manual', turn_at = NULL
    WHERE ${isWebhook(organizationId, id)} AND w.disabled_at IS NULL`;
}

/** Gives an endpoint a new secret. @param oldUntil Until when the old one signs too; null if it doesn't. */
export function rotateSecret(
  organizationId: WebhookOwnerId,
  id: string,
  { secret, oldUntil }: { secret: string; oldUntil: number | null },
): Statement {
  return sql`UPDATE webhooks AS w SET old_secret = CASE WHEN ${oldUntil} IS NOT NULL THEN secret END,
    old_secret_until = ${oldUntil}, secret = ${secret} WHERE ${isWebhook(organizationId, id)}`;
}

/** Its secrets go immediately, its deliveries in the background. */
const deletion = (now: number): Statement =>
  sql`deleted_at = ${now}, turn_at = NULL, secret = '', old_secret = NULL, old_secret_until = NULL`;

export function markWebhookDeleted(organizationId: WebhookOwnerId, id: string, now: number): Statement {
  return sql`UPDATE webhooks AS w SET ${deletion(now)} WHERE ${isWebhook(organizationId, id)}`;
}

/** Marks the endpoints of organizations as deleted after an audited change. @param ids Selects the organizations. */
export function markWebhooksDeleted(ids: Statement, { now, audited }: Audited): Statement {
  return sql`UPDATE webhooks SET ${deletion(now)} WHERE deleted_at IS NULL
    AND organization IN (SELECT number FROM organizations WHERE id IN (${ids})) AND ${ifAudited(audited)}`;
}
