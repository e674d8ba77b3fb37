// Alerts: limits that members and operators set for an organization, which notify and never reject.
import { findApiKey } from "../../db/api_keys.ts";
import { type Audited, ifAudited } from "../../db/audit.ts";
import {
  type AlertColumns,
  deleteAlertRow,
  insertAlert,
  type NewAlert,
  selectAlerts,
  updateAlert,
} from "../../db/meter/alerts.ts";
import { recheckLimits } from "../../db/meter/limit_rows.ts";
import { toStandingRow } from "../../db/meter/limit_standings.ts";
import { organizationNumber } from "../../db/operator/organizations.ts";
import type { AuditAction } from "../../domain/audit.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { limitStanding } from "../../domain/meter/limit_window.ts";
import { type Alert, defaultNotifyAt, hasScopeOf, limitsText } from "../../domain/meter/usage_limit.ts";
import { isoTime } from "../../domain/time.ts";
import { alertsOfOrganizationMax } from "../../domain/webhooks/webhook_limits.ts";
import { type Access, requirePermission, resolveOrganization } from "../access.ts";
import { writeAndRead, writeChange } from "../change.ts";
import type { SessionContext } from "../context.ts";
import { noUsage, sumMissing, usageOf } from "./limits.ts";
import { usageScope } from "./usage_access.ts";

/** @throws {AppError} `forbidden`. */
export async function listAlerts(
  context: SessionContext,
  access: Access,
  signal: AbortSignal,
): Promise<Alert[]> {
  const { organizationId, now } = usageScope(context, access);
  const rows = await context.database.read<AlertColumns>(selectAlerts({ organizationId, now }));
  return await toAlerts(context, access, { rows, now, signal });
}

/** @param signal Without it, usage that has no counter is not added up. @throws {AppError} `forbidden`, `not_found`. */
export async function getAlert(
  context: SessionContext,
  access: Access,
  { id, signal }: { id: string; signal?: AbortSignal | undefined },
): Promise<Alert> {
  const { organizationId, now } = usageScope(context, access);
  const row = isId("lim", id)
    ? await context.database.readFirst<AlertColumns>(selectAlerts({ organizationId, id, now }))
    : undefined;
  if (row === undefined) throw notFoundError();
  return await toAlert(context, access, { row, now, signal });
}

/** @throws {AppError} `forbidden`, `limit_reached`; `validation_failed` for a key of another organization. */
export async function createAlert(
  context: SessionContext,
  access: Access,
  { signal, ...alert }: NewAlert & { signal?: AbortSignal },
): Promise<Alert> {
  const by = requirePermission(access, "alerts.manage");
  const { organizationId } = access;
  const now = context.clock();
  const id = newId("lim");
  const alertsMax = alertsOfOrganizationMax;
  const apiKey = await keyOf(context, access, alert.apiKeyId);
  const { isMade, row } = await writeAndRead<AlertColumns>(context, by, {
    statement: insertAlert(organizationId, { id, ...alert }, { now, alertsMax }),
    entry: entryOf("alert.created", access, { id, ...alert, apiKey }),
  }, selectAlerts({ organizationId, id, now }));
  if (isMade) return await toAlert(context, access, { row: row(), now, signal });
  await resolveOrganization(context, organizationId);
  throw new AppError(
    "limit_reached",
    `An organization can have at most ${alertsMax} alerts. Delete one first.`,
  );
}

/**
 * Changes an alert. With another quantity or scope, it notifies again in windows in which it has.
 *
 * @throws {AppError} `forbidden`, `not_found`; `validation_failed` for a key of another organization.
 */
export async function changeAlert(
  context: SessionContext,
  access: Access,
  { id, signal, ...change }: { [Name in keyof NewAlert]?: NewAlert[Name] | undefined } & {
    id: string;
    signal?: AbortSignal;
  },
): Promise<Alert> {
  const by = requirePermission(access, "alerts.manage");
  const before = await getAlert(context, access, { id });
  const { organizationId } = access;
  const { productSlug = before.productSlug, metric = before.metric, per = before.per } = change;
  const { quantity = before.quantity, notifyAt = before.notifyAt } = change;
  const { apiKeyId = before.apiKey?.id ?? null } = change;
  const after = { productSlug, metric, per, quantity, notifyAt, apiKeyId };
  const isSameUsage = hasScopeOf(before, after) && apiKeyId === (before.apiKey?.id ?? null);
  if (isSameUsage && textOf(before) === textOf(after)) return await getAlert(context, access, { id, signal });
  const now = context.clock();
  const apiKey = isSameUsage ? before.apiKey : await keyOf(context, access, apiKeyId);
  const { row } = await writeAndRead<AlertColumns>(context, by, {
    statement: updateAlert(organizationId, { id, ...after }, { restartedAt: isSameUsage ? null : now }),
    entry: entryOf("alert.changed", access, { id, ...after, apiKey, before }),
    after: (audited) => isSameUsage && quantity === before.quantity ? [] : [recheckOf(access, audited)],
  }, selectAlerts({ organizationId, id, now }));
  return await toAlert(context, access, { row: row(), now, signal });
}

/** @throws {AppError} `forbidden`, `not_found`. */
export async function deleteAlert(
  context: SessionContext,
  access: Access,
  id: string,
): Promise<void> {
  const by = requirePermission(access, "alerts.manage");
  const alert = await getAlert(context, access, { id });
  const isDeleted = await writeChange(context, by, {
    statement: deleteAlertRow(access.organizationId, id),
    entry: entryOf("alert.deleted", access, alert),
    after: (audited) => [recheckOf(access, audited)],
  });
  if (!isDeleted) throw notFoundError();
}

function recheckOf({ organizationId }: Access, { audited, now }: Audited) {
  const owner = { column: "organization", number: organizationNumber(organizationId) } as const;
  return recheckLimits(owner, ifAudited(audited), now);
}

function textOf(alert: Omit<NewAlert, "apiKeyId">): string {
  return limitsText([{ ...alert, mode: "soft" }]);
}

function entryOf(
  action: AuditAction,
  { organizationId }: Access,
  { id, apiKey, before, ...alert }:
    & Omit<NewAlert, "apiKeyId">
    & Pick<Alert, "id" | "apiKey">
    & { before?: Alert },
) {
  const details = { ...(apiKey && { apiKey: apiKey.name }), ...(before && { from: textOf(before) }) };
  return { action, organizationId, target: { id, name: textOf(alert) }, details };
}

/** Finds the key whose usage an alert counts. @throws {AppError} `validation_failed`. */
async function keyOf({ database }: SessionContext, { organizationId }: Access, id: string | null) {
  if (id === null) return null;
  const key = await findApiKey(database, { organizationId }, id);
  if (key !== undefined) return key;
  throw validationError([{ path: "apiKeyId", message: "must be the id of a key of the organization." }]);
}

interface ReadOptions {
  /** When the rows were read. */
  readonly now: number;
  readonly signal: AbortSignal | undefined;
}

async function toAlert(
  context: SessionContext,
  access: Access,
  { row, ...options }: ReadOptions & { readonly row: AlertColumns },
): Promise<Alert> {
  const [alert] = await toAlerts(context, access, { rows: [row], ...options });
  if (alert === undefined) throw notFoundError();
  return alert;
}

/** Adds up usage without a counter. An alert is returned even if that fails: it may just have been set. */
async function toAlerts(
  context: SessionContext,
  { organizationId, reader }: Access,
  { rows, now, signal }: ReadOptions & { readonly rows: readonly AlertColumns[] },
): Promise<Alert[]> {
  const standings = rows.map(toStandingRow);
  const usages = signal === undefined
    ? null
    : await sumMissing(context, { organizationId, rows: standings, now }, { reader, signal })
      .catch((error) => {
        if (signal.aborted || error instanceof AppError && error.code === "unavailable") return null;
        throw error;
      });
  return rows.map(({ apiKey, notifyAt, createdAt }, at) => {
    const standing = standings[at];
    if (standing === undefined) throw new Error("a row without a standing");
    const usage = usages?.[at] ?? usageOf(standing, standing.used ?? noUsage, now);
    const { limitId: id, used, productSlug, metric, per, quantity, resetsAt } = limitStanding(usage);
    return {
      id,
      productSlug,
      metric,
      apiKey: apiKey && JSON.parse(apiKey),
      per,
      quantity,
      notifyAt: notifyAt === null ? defaultNotifyAt : JSON.parse(notifyAt),
      used: usages === null && standing.used === null ? null : used,
      resetsAt,
      createdAt: isoTime(createdAt),
    };
  });
}
