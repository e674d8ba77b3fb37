// The page of the audit log. Any address shows a page.
import { auditActionsOf, type AuditEvent } from "../../domain/audit.ts";
import { isId } from "../../domain/id.ts";
import { pageItemsDefault } from "../../domain/limits.ts";
import { parseDay, periodFaults } from "../../domain/meter/usage_period.ts";
import { isoTime } from "../../domain/time.ts";
import {
  type AuditFilter,
  listAuditActors,
  listAuditEvents,
  parseAuditCursor,
} from "../../services/audit.ts";
import { auditPage } from "../../views/audit/audit.tsx";
import type { AuditAddress, AuditErrors } from "../../views/audit/audit_filters.tsx";
import type { AuditRow } from "../../views/audit/audit_table.tsx";
import type { App, AppContext } from "../env.ts";
import { deviceNames } from "./sign_in/device_name.ts";
import { portalFrame, type PortalParts, sendPage, signedInRoutes } from "./page.ts";

/** Mounts `/portal/audit`. */
export function portalAuditRoutes(app: App, parts: PortalParts): void {
  const { get } = signedInRoutes(app, parts);
  const { services } = parts;

  get("/portal/audit", async (c, actor) => {
    const people = await listAuditActors(services, actor);
    const { address, filter, errors } = auditChoice(c);
    const { events, nextCursor } = filter === null ? nothing : await listAuditEvents(services, actor, {
      ...filter,
      limit: pageItemsDefault,
      cursor: address.cursor ?? undefined,
    });
    return sendPage(
      c,
      auditPage({
        frame: portalFrame(parts, actor),
        path: "/portal/audit",
        address,
        people,
        errors,
        events: await withDevices(events),
        nextCursor,
        csvHref: filter === null ? null : auditCsvHref("/api/portal/audit.csv", address, filter),
      }),
    );
  });
}

const nothing = { events: [], nextCursor: null };
const dayMs = 24 * 3_600_000;

/** @returns The choices in the address, and what is wrong with them. Without a filter, nothing can be shown. */
export function auditChoice(
  c: AppContext,
): { address: AuditAddress; filter: AuditFilter | null; errors: AuditErrors } {
  const given = (name: string) => c.req.query(name)?.trim() || null;
  const action = given("action");
  const actions = action === null ? undefined : auditActionsOf(action);
  const isAction = actions === undefined || actions.length > 0;
  const actorId = given("actorId");
  const isActor = actorId === null || isId("usr", actorId) || isId("key", actorId) || isId("opt", actorId);
  const [from, to] = [dayOf(given("from")), dayOf(given("to"))];
  const isReversed = from.start !== undefined && to.start !== undefined && from.start > to.start;
  const toError = to.error ?? (isReversed ? periodFaults.dayOrder : undefined);
  const errors: AuditErrors = {
    ...(isAction ? {} : { action: "Unknown action. All actions are shown." }),
    ...(isActor ? {} : { actorId: "Unknown actor. All actors are shown." }),
    ...(from.error === undefined ? {} : { from: from.error }),
    ...(toError === undefined ? {} : { to: toError }),
  };
  const cursor = given("cursor");
  return {
    address: {
      organizationId: null,
      action: isAction ? action : null,
      actorId: isActor ? actorId : null,
      from: given("from"),
      to: given("to"),
      cursor: cursor !== null && parseAuditCursor(cursor) !== null ? cursor : null,
    },
    filter: from.error !== undefined || toError !== undefined ? null : {
      actions: isAction ? actions : undefined,
      actorId: isActor ? actorId ?? undefined : undefined,
      from: from.start,
      to: to.start === undefined ? undefined : to.start + dayMs,
    },
    errors,
  };
}

function dayOf(text: string | null): { start?: number; error?: string } {
  if (text === null) return {};
  const day = parseDay(text);
  return typeof day === "string" ? { error: day } : { start: day.toZonedDateTime("UTC").epochMilliseconds };
}

/** @returns The address of the same entries as a file. */
export function auditCsvHref(
  path: string,
  { action, organizationId }: AuditAddress,
  { actorId, from, to }: AuditFilter,
): string {
  const query = new URLSearchParams();
  if (action !== null) query.set("action", action);
  if (organizationId !== null) query.set("organizationId", organizationId);
  if (actorId !== undefined) query.set("actorId", actorId);
  if (from !== undefined) query.set("from", isoTime(from));
  if (to !== undefined) query.set("to", isoTime(to));
  return query.size === 0 ? path : `${path}?${query}`;
}

/** @returns The entries with the names of their browsers and programs. */
export async function withDevices<T extends AuditEvent>(events: readonly T[]): Promise<(T & AuditRow)[]> {
  const distinct = [...new Set(events.map(({ userAgent }) => userAgent))].filter((one) => one.trim() !== "");
  const words = await deviceNames(distinct);
  const devices = new Map(distinct.map((userAgent, index) => [userAgent, words[index] ?? ""]));
  return events.map((event) => ({ ...event, device: devices.get(event.userAgent) ?? null }));
}
