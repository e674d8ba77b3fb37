// Webhook endpoints: list, create, change, rotate the secret, delete. A secret leaves this file once, when it is created.
import type { Changes } from "../../domain/changes.ts";
import {
  disableWebhook,
  enableWebhook,
  type FailingWebhookRow,
  findFailingWebhooks,
  findWebhooks,
  holdMissed,
  insertWebhook,
  markWebhookDeleted,
  rotateSecret,
  selectWebhook,
  selectWebhookRoom,
  updateWebhook,
  type WebhookRow,
} from "../../db/outbox/webhooks.ts";
import { type OperatorActor, operatorIdentity } from "../../domain/access/actor.ts";
import { notFoundError, validationError, webhookLimitError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { pageItemsDefault } from "../../domain/limits.ts";
import { isoTime } from "../../domain/time.ts";
import { newWebhookSecret } from "../../domain/outbox/signature.ts";
import { isOperatorsEventName, type Webhook, webhookName } from "../../domain/outbox/webhook.ts";
import {
  failingWebhooksMax,
  webhookOldSecretMaxMs,
  webhookOldSecretMs,
} from "../../domain/outbox/webhook_limits.ts";
import { parseAddress } from "../address_blocks.ts";
import {
  type Change,
  changesBatch,
  requireAllowed,
  rowOf,
  writeAndRead,
  writeChange,
} from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { hostOf } from "./address_guard.ts";
import { type PageInput, readIdPage } from "../pages.ts";
import {
  changingScope,
  onlyForOperators,
  type OwnerScope,
  ownerScope,
  type WebhookOwner,
} from "./webhook_owner.ts";

export interface WebhookInput {
  readonly url: string;
  /** Names, for `isEventName`. */
  readonly events: readonly string[];
  readonly description?: string | undefined;
}

export type WebhookChange = Changes<WebhookInput> & {
  readonly id: string;
  readonly enabled?: boolean | undefined;
};

/** An endpoint with its new secret, which is never available again. */
export interface CreatedWebhook {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** Lists endpoints, newest first. @throws {AppError} `forbidden`, `validation_failed`. */
export async function listWebhooks(
  { database }: SessionContext,
  owner: WebhookOwner,
  { limit, cursor }: PageInput,
): Promise<{ webhooks: Webhook[]; nextCursor: string | null }> {
  const { organizationId } = ownerScope(owner, "webhooks.read");
  const { rows, nextCursor } = await readIdPage(
    (page) => findWebhooks(database, organizationId, page),
    { prefix: "whk", limit, cursor },
  );
  return { webhooks: rows.map(toWebhook), nextCursor };
}

/** @throws {AppError} `forbidden`, `not_found`. */
export async function getWebhook(
  { database }: SessionContext,
  owner: WebhookOwner,
  id: string,
): Promise<Webhook> {
  const { organizationId } = ownerScope(owner, "webhooks.read");
  const row = isId("whk", id)
    ? await database.readFirst<WebhookRow>(selectWebhook(organizationId, id))
    : undefined;
  if (row === undefined) throw notFoundError();
  return toWebhook(row);
}

/**
 * Creates an endpoint for events from now on.
 *
 * @throws {AppError} `forbidden`, `proof_required`, `validation_failed`, `webhook_address_blocked`, `webhook_limit_reached`, `rate_limited`.
 */
export async function createWebhook(
  context: SessionContext,
  owner: WebhookOwner,
  { url: given, events, description = "" }: WebhookInput,
): Promise<CreatedWebhook> {
  const { organizationId, by } = changingScope(context, owner);
  requireReceivable(organizationId, events);
  if (await context.database.readFirst(selectWebhookRoom(organizationId)) === undefined) {
    throw webhookLimitError(organizationId);
  }
  const url = await checkWebhookUrl(context, owner, given);
  const id = newId("whk");
  const createdAt = context.clock();
  const secret = newWebhookSecret();
  const { isMade, row } = await writeAndRead<WebhookRow>(context, by, {
    statement: insertWebhook({
      id,
      organizationId,
      url,
      events: JSON.stringify(events),
      description,
      secret: context.secrets.seal(id, secret),
      createdAt,
      ...creatorOf(owner),
    }),
    entry: {
      action: "webhook.created",
      organizationId,
      target: { id, name: webhookName({ url, description }) },
    },
  }, selectWebhook(organizationId, id));
  if (isMade) return { webhook: toWebhook(row()), secret };
  throw webhookLimitError(organizationId);
}

/**
 * Changes the given fields. Enabling an endpoint forgets its failures and sends nothing; disabling one holds what waits for it.
 *
 * @throws {AppError} `forbidden`, `proof_required`, `not_found`, `validation_failed`, `webhook_address_blocked`, `rate_limited`.
 */
export async function changeWebhook(
  context: SessionContext,
  owner: WebhookOwner,
  { id, enabled, ...given }: WebhookChange,
): Promise<Webhook> {
  const { organizationId, by } = changingScope(context, owner);
  const before = await getWebhook(context, owner, id);
  const { events = before.events, description = before.description } = given;
  requireReceivable(organizationId, events);
  const url = given.url === undefined || given.url === before.url
    ? before.url
    : await checkWebhookUrl(context, owner, given.url);
  const after = { ...before, url, events, description };
  const isSwitched = enabled !== undefined && enabled !== (before.status === "enabled");
  const now = context.clock();
  const changes = [
    editOf(organizationId, before, after),
    isSwitched ? switchOf(organizationId, after, { enabled, now }) : null,
  ].filter((change) => change !== null);
  if (changes.length === 0) return before;
  const results = await context.writeAs(by, [
    ...(isSwitched && enabled ? [holdMissed(organizationId, id, now)] : []),
    ...changesBatch(by, changes, now),
    selectWebhook(organizationId, id),
  ]);
  return toWebhook(rowOf<WebhookRow>(results, -1));
}

/**
 * Gives an endpoint a new secret.
 *
 * @param input `expireOldAt`: until when the old secret signs too, a day by default and at most 7 days.
 * @throws {AppError} `forbidden`, `proof_required`, `not_found`, `validation_failed`.
 */
export async function rotateWebhookSecret(
  context: SessionContext,
  owner: WebhookOwner,
  { id, ...input }: { id: string; expireOldAt?: number | "now" | undefined },
): Promise<CreatedWebhook> {
  const { organizationId, by } = changingScope(context, owner);
  const webhook = await getWebhook(context, owner, id);
  const now = context.clock();
  const { expireOldAt = now + webhookOldSecretMs } = input;
  if (expireOldAt !== "now" && (expireOldAt <= now || expireOldAt > now + webhookOldSecretMaxMs)) {
    const message = "must be in the future and at most 7 days ahead, or “now”.";
    throw validationError([{ path: "expireOldAt", message }]);
  }
  const secret = newWebhookSecret();
  const oldUntil = expireOldAt === "now" ? null : expireOldAt;
  const isRotated = await writeChange(context, by, {
    statement: rotateSecret(organizationId, id, { secret: context.secrets.seal(id, secret), oldUntil }),
    entry: { action: "webhook.secret_rotated", organizationId, target: targetOf(webhook) },
  });
  if (!isRotated) throw notFoundError();
  return { webhook: { ...webhook, oldSecretUntil: isoTime(oldUntil) }, secret };
}

/** Deletes an endpoint. Nothing is sent to it anymore. @throws {AppError} `forbidden`, `proof_required`, `not_found`. */
export async function deleteWebhook(context: SessionContext, owner: WebhookOwner, id: string): Promise<void> {
  const { organizationId, by } = changingScope(context, owner);
  const webhook = await getWebhook(context, owner, id);
  const isDeleted = await writeChange(context, by, {
    statement: markWebhookDeleted(organizationId, id, context.clock()),
    entry: { action: "webhook.deleted", organizationId, target: targetOf(webhook) },
  });
  if (!isDeleted) throw notFoundError();
}

/** Returns the changes of editable fields; null if nothing differs. */
function editOf(
  organizationId: OwnerScope["organizationId"],
  before: Webhook,
  after: Webhook,
): Change | null {
  const events = after.events.join(", ");
  const changes = {
    ...(after.url === before.url ? {} : { url: after.url }),
    ...(events === before.events.join(", ") ? {} : { events: JSON.stringify(after.events) }),
    ...(after.description === before.description ? {} : { description: after.description }),
  };
  if (Object.keys(changes).length === 0) return null;
  const words = { url: "URL", events: `events: ${events}`, description: "description" };
  const change = (Object.keys(changes) as (keyof typeof words)[]).map((name) => words[name]).join(", ");
  return {
    statement: updateWebhook(organizationId, after.id, changes),
    entry: { action: "webhook.changed", organizationId, target: targetOf(after), details: { change } },
  };
}

function switchOf(
  organizationId: OwnerScope["organizationId"],
  webhook: Webhook,
  { enabled, now }: { enabled: boolean; now: number },
): Change {
  const { id } = webhook;
  const about = { organizationId, target: targetOf(webhook) };
  return enabled
    ? { statement: enableWebhook(organizationId, id), entry: { action: "webhook.enabled", ...about } }
    : {
      statement: disableWebhook(organizationId, id, now),
      entry: { action: "webhook.disabled", ...about, details: { reason: "manual" } },
    };
}

/** Lists the newest endpoints that fail and aren't disabled. @throws {AppError} `forbidden`. */
export async function listFailingWebhooks(context: SessionContext, owner: WebhookOwner): Promise<Webhook[]> {
  const { webhooks } = await listWebhooks(context, owner, { limit: pageItemsDefault });
  return webhooks.filter(({ status, failingSince }) => status === "enabled" && failingSince !== null);
}

/** A failing endpoint of a customer. */
export type CustomerWebhook = Webhook & Pick<FailingWebhookRow, "organizationId" | "organizationName">;

/** Lists enabled endpoints of all customers that fail, at most {@linkcode failingWebhooksMax}, the longest first. */
export async function listFailingOfCustomers(
  { database }: SessionContext,
  _actor: OperatorActor,
): Promise<CustomerWebhook[]> {
  const rows = await findFailingWebhooks(database, failingWebhooksMax);
  return rows.map((row) => {
    const { organizationId, organizationName } = row;
    return { ...toWebhook(row), organizationId, organizationName };
  });
}

/** @throws {AppError} `validation_failed` for events that customers don't receive. */
function requireReceivable(
  organizationId: OwnerScope["organizationId"],
  events: readonly string[],
): void {
  if (organizationId === null) return;
  const details = events.flatMap((name, index) =>
    isOperatorsEventName(name) ? [{ path: `events[${index}]`, message: onlyForOperators }] : []
  );
  if (details.length > 0) throw validationError(details);
}

/**
 * Returns a URL in its normal form, after a look-up of its host.
 *
 * @throws {AppError} `forbidden`, `proof_required`; as `AddressGuard.check`; `rate_limited` after too many names.
 */
export async function checkWebhookUrl(
  context: SessionContext,
  owner: WebhookOwner,
  text: string,
): Promise<string> {
  const { organizationId } = changingScope(context, owner);
  const { addressGuard, rateLimits } = context;
  if (parseAddress(hostOf(addressGuard.parse(text))) === null) {
    requireAllowed(rateLimits.webhookNames.take(organizationId ?? "operators"));
  }
  return (await addressGuard.check(text)).href;
}

/** Customers don't see which operator created an endpoint of theirs. */
function creatorOf(owner: WebhookOwner): { createdById: string | null; tokenName: string | null } {
  if ("access" in owner) {
    const { access } = owner;
    return { createdById: access.role === null ? null : access.actor.user.id, tokenName: null };
  }
  const { id, name } = operatorIdentity(owner.operator);
  return { createdById: id, tokenName: owner.operator.credential.kind === "token" ? name : null };
}

function targetOf(webhook: Webhook) {
  return { id: webhook.id, name: webhookName(webhook) };
}

function toWebhook(row: WebhookRow): Webhook {
  const { createdById: id, createdByName: name } = row;
  return {
    id: row.id,
    url: row.url,
    events: JSON.parse(row.events),
    description: row.description,
    status: row.disabledAt === null ? "enabled" : "disabled",
    disabledReason: row.disabledReason,
    failingSince: isoTime(row.failingSince),
    lastDeliveredAt: isoTime(row.lastDeliveredAt),
    oldSecretUntil: isoTime(row.oldSecretUntil),
    createdAt: isoTime(row.createdAt),
    createdBy: id === null || name === null ? null : { id, name },
  };
}
