// Alerts: limits that members and operators set for an organization, which notify and never reject.
import { findNamedKey, ifAudited, organizationNumber } from "../../db/access/mod.ts";
import {
  type AlertColumns,
  deleteAlertRow,
  hasRoomForAlert,
  insertAlert,
  type NewAlert,
  replaceExceptions,
  selectAlerts,
  updateAlert,
} from "../../db/meter/alerts.ts";
import { recheckLimits, toExceptions } from "../../db/meter/limit_rows.ts";
import { toStandingRow } from "../../db/meter/limit_standings.ts";
import type { AuditAction } from "../../domain/access/audit.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { canCountValues, valueLimitsMax } from "../../domain/meter/value_limit.ts";
import { limitStanding, type LimitUsage } from "../../domain/meter/limit_window.ts";
import { type Alert, defaultNotifyAt, hasScopeOf, limitsText } from "../../domain/meter/usage_limit.ts";
import { isoTime } from "../../domain/time.ts";
import { alertsOfOrganizationMax } from "../../domain/outbox/webhook_limits.ts";
import {
  type Access,
  type Change,
  requirePermission,
  resolveOrganization,
  writeAndRead,
  writeChange,
} from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { noUsage, sumMissing, usageOf } from "./limits.ts";
import { usageScope } from "./usage_access.ts";

interface AlertQuery {
  /** Selects the alert with this id. */
  readonly id?: string;
  /** Adds up usage that has no counter. */
  readonly signal?: AbortSignal;
}

/** @throws {AppError} `forbidden`; `unavailable` with a `signal`. */
export async function listAlerts(
  context: SessionContext,
  access: Access,
  { id, signal }: AlertQuery = {},
): Promise<Alert[]> {
  const { organizationId, now } = usageScope(context, access);
  const found = await context.database.read<AlertColumns>(selectAlerts({ organizationId, id, now }));
  if (signal === undefined) return found.map((row) => toAlert(row, now));
  const rows = found.map(toStandingRow);
  const whole = rows.filter((_, at) => found[at]?.by === null);
  const usages = await sumMissing(context, { organizationId, rows: whole, now }, {
    reader: access.reader,
    signal,
  });
  return found.map((row) => toAlert(row, now, usages.find(({ limitId }) => limitId === row.limitId)));
}

/** @throws {AppError} As {@linkcode listAlerts}; `not_found`. */
export async function getAlert(
  context: SessionContext,
  access: Access,
  query: AlertQuery & { id: string },
): Promise<Alert> {
  const [alert] = isId("lim", query.id) ? await listAlerts(context, access, query) : [];
  if (alert === undefined) throw notFoundError();
  return alert;
}

/** @throws {AppError} `forbidden`, `limit_reached`; `validation_failed` for a key of another organization. */
export async function createAlert(
  context: SessionContext,
  access: Access,
  alert: NewAlert,
): Promise<Alert> {
  const by = requirePermission(access, "alerts.manage");
  const { organizationId } = access;
  const now = context.clock();
  const id = newId("lim");
  const apiKey = await keyOf(context, access, alert.apiKeyId);
  await requireRoom(context, access, { id, ...alert });
  const { isMade, row } = await writeAndRead<AlertColumns>(context, by, {
    statement: insertAlert(organizationId, { id, ...alert }, {
      now,
      condition: hasRoomForAlert(alertsOfOrganizationMax),
    }),
    entry: entryOf("alert.created", access, { id, ...alert, apiKey }),
    after: (audited) => replaceExceptions(id, alert.values ?? [], audited),
  }, selectAlerts({ organizationId, id, now }));
  if (isMade) return toAlert(row(), now);
  await resolveOrganization(context, organizationId);
  throw new AppError(
    "limit_reached",
    `An organization can have at most ${alertsOfOrganizationMax} alerts. Delete one first.`,
  );
}

/**
 * Changes an alert. One that counts other usage then is a new one with the same id.
 *
 * @throws {AppError} `forbidden`, `not_found`; `validation_failed` for a key of another organization.
 */
export async function changeAlert(
  context: SessionContext,
  access: Access,
  { id, ...change }: { [Name in keyof NewAlert]?: NewAlert[Name] | undefined } & { id: string },
): Promise<Alert> {
  const by = requirePermission(access, "alerts.manage");
  const before = await getAlert(context, access, { id });
  const { organizationId } = access;
  const { productSlug = before.productSlug, metric = before.metric, per = before.per } = change;
  const { quantity = before.quantity, notifyAt = before.notifyAt } = change;
  const { apiKeyId = before.apiKey?.id ?? null, by: property = before.by ?? null } = change;
  const kept = property === before.by ? before.values : [];
  const values = property === null ? [] : change.values ?? kept ?? [];
  requireValueWindow({ by: property, per }, change.values);
  const after = { id, productSlug, metric, per, by: property, quantity, notifyAt, apiKeyId, values };
  const isSameUsage = hasScopeOf(before, after) && apiKeyId === (before.apiKey?.id ?? null);
  if (isSameUsage && textOf(before) === textOf(after)) return before;
  const now = context.clock();
  const apiKey = isSameUsage ? before.apiKey : await keyOf(context, access, apiKeyId);
  await requireRoom(context, access, after);
  const { row } = await writeAndRead<AlertColumns>(context, by, {
    statement: isSameUsage ? updateAlert(organizationId, after) : deleteAlertRow(organizationId, id),
    entry: entryOf("alert.changed", access, { ...after, apiKey }, { from: textOf(before) }),
    after: (audited) => [
      ...(isSameUsage
        ? []
        : [insertAlert(organizationId, after, { now, condition: ifAudited(audited.audited) })]),
      ...replaceExceptions(id, values, audited),
      ...recheck(access)(audited),
    ],
  }, selectAlerts({ organizationId, id, now }));
  return toAlert(row(), now);
}

/** @throws {AppError} `validation_failed` for a window that an alert per value can't have, or exceptions of another one. */
function requireValueWindow({ by, per }: Pick<NewAlert, "by" | "per">, values: NewAlert["values"]): void {
  if (by && !canCountValues(per)) {
    throw validationError([{ path: "per", message: "must be hour, day or month with `by`." }]);
  }
  if (!by && values !== undefined && values.length > 0) {
    throw validationError([{ path: "values", message: "needs `by`." }]);
  }
}

/** @throws {AppError} `limit_reached` if the organization has too many other alerts per value. */
async function requireRoom(
  context: SessionContext,
  access: Access,
  { id, by }: Pick<NewAlert, "by"> & { id: string },
): Promise<void> {
  if (!by) return;
  const others = (await listAlerts(context, access)).filter((one) => one.by && one.id !== id);
  if (others.length < valueLimitsMax) return;
  const message = `An organization can have at most ${valueLimitsMax} alerts per value. Delete one first.`;
  throw new AppError("limit_reached", message);
}

/** @throws {AppError} `forbidden`, `not_found`. */
export async function deleteAlert(context: SessionContext, access: Access, id: string): Promise<void> {
  const by = requirePermission(access, "alerts.manage");
  const isDeleted = await writeChange(context, by, {
    entry: entryOf("alert.deleted", access, await getAlert(context, access, { id })),
    statement: deleteAlertRow(access.organizationId, id),
    after: recheck(access),
  });
  if (!isDeleted) throw notFoundError();
}

function recheck({ organizationId }: Access): NonNullable<Change["after"]> {
  const owner = { column: "organization", number: organizationNumber(organizationId) } as const;
  return ({ audited }) => [recheckLimits(owner, ifAudited(audited))];
}

function textOf(alert: Omit<NewAlert, "apiKeyId">): string {
  return limitsText([{ ...alert, mode: "soft" }]);
}

function entryOf(
  action: AuditAction,
  { organizationId }: Access,
  { id, apiKey, ...alert }: Omit<NewAlert, "apiKeyId"> & Pick<Alert, "id" | "apiKey">,
  details: { from?: string } = {},
) {
  const target = { id, name: textOf(alert) };
  return { action, organizationId, target, details: { ...apiKey && { apiKey: apiKey.name }, ...details } };
}

/** Finds the key whose usage an alert counts. @throws {AppError} `validation_failed`. */
async function keyOf({ database }: SessionContext, { organizationId }: Access, id: string | null) {
  if (id === null) return null;
  const key = await findNamedKey(database, { id, organizationId });
  if (key?.environment === "live") return key;
  const message = key === undefined
    ? "must be the id of a key of the organization."
    : "can't be a test key: its usage counts against no limit.";
  throw validationError([{ path: "apiKeyId", message }]);
}

/** @param usage Undefined if it was not added up. */
function toAlert(row: AlertColumns, now: number, usage?: LimitUsage): Alert {
  const { apiKey, notifyAt, createdAt, by, exceptions } = row;
  const standing = toStandingRow(row);
  const counted = usage ?? usageOf(standing, standing.used ?? noUsage, now);
  const { limitId: id, productSlug, metric, per, quantity, used, resetsAt } = limitStanding(counted);
  return {
    id,
    productSlug,
    metric,
    per,
    ...by !== null && { by, values: toExceptions(JSON.parse(exceptions)) },
    apiKey: apiKey && JSON.parse(apiKey),
    quantity,
    notifyAt: notifyAt === null ? defaultNotifyAt : JSON.parse(notifyAt),
    used: by !== null || (usage === undefined && standing.used === null) ? null : used,
    resetsAt,
    createdAt: isoTime(createdAt),
  };
}
