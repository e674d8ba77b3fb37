// The page of the audit log. Any address shows a page.
import { presentation } from "../../domain/presentation.ts";
import { auditActionsOf, type AuditEvent } from "../../domain/access/audit.ts";
import { AppError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { isoTime } from "../../domain/time.ts";
import {
  type Access,
  type AuditFilter,
  listAuditActors,
  listAuditEvents,
  parseAuditCursor,
  requirePermission,
} from "../../services/access/mod.ts";
import { getApiKeyLineage } from "../../services/keys/mod.ts";
import { readProductNames } from "../../services/meter/mod.ts";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import type { PortalFrame } from "../../views/layout.tsx";
import { auditPage } from "../../views/access/audit.tsx";
import type { AuditAddress, AuditErrors } from "../../views/access/audit_filters.tsx";
import type { AuditRow } from "../../views/access/audit_table.tsx";
import type { App, AppContext } from "../env.ts";
import { dayRange } from "./day_range.ts";
import { deviceNames } from "./sign_in/device_name.ts";
import { type PortalParts, sendPage } from "./page.ts";
import { organizationPages } from "./viewer.ts";

const path = "/audit";
const auditPageEntries = 25;

/** The page is also the tab of an organization's log in the console. */
export function portalAuditRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  organizationPages(app, parts).get(path, async (c, { access, frame }) => {
    requirePermission(access, "audit.read");
    const { address: chosen, filter: given, errors } = auditChoice(c);
    const lineage = await keyOf(parts, access, c.req.query("targetId"));
    // Entries about a key are read by another index than those of a person.
    const address = { ...chosen, ...lineage && { targetId: lineage.current.id, actorId: null } };
    const filter = given && { ...given, targetIds: lineage?.generations.map(({ id }) => id) };
    const people = lineage === null ? await listAuditActors(services, access) : [];
    const { events, nextCursor } = filter === null ? nothing : await listAuditEvents(services, access, {
      ...filter,
      limit: auditPageEntries,
      cursor: address.cursor ?? undefined,
    });
    return sendPage(
      c,
      auditPage({
        frame,
        path: frame.base + path,
        address,
        people,
        errors,
        events: await withDevices(events),
        catalogue: await readProductNames(services),
        nextCursor,
        about: lineage === null
          ? undefined
          : { name: lineage.current.name, href: apiKeyHref(frame.base, lineage.current.id) },
        csvHref: filter === null || lineage !== null ? null : csvOf(frame, address, filter),
      }),
    );
  });
}

/** Operators' files name operators, so there is none as customer. */
function csvOf({ viewed, isReadOnly }: PortalFrame, address: AuditAddress, filter: AuditFilter) {
  if (isReadOnly) return null;
  return viewed === null
    ? auditCsvHref("/api/portal/audit.csv", address, filter)
    : auditCsvHref("/api/operator/audit.csv", { ...address, organizationId: viewed.id }, filter);
}

/** Returns the key that entries should be about, with its rotations; null without one that the reader can see. */
async function keyOf({ services }: PortalParts, access: Access, id: string | undefined) {
  if (id === undefined) return null;
  try {
    return await getApiKeyLineage(services, access, id);
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return null;
    throw error;
  }
}

const nothing = { events: [], nextCursor: null };

/** Reads the choices in the address. Without a filter, nothing can be shown. */
export function auditChoice(
  c: AppContext,
): { address: AuditAddress; filter: AuditFilter | null; errors: AuditErrors } {
  const given = (name: string) => c.req.query(name)?.trim() || null;
  const action = given("action");
  const actions = action === null ? undefined : auditActionsOf(action);
  const isAction = actions === undefined || actions.length > 0;
  const actorId = given("actorId");
  const isActor = actorId === null || isId("usr", actorId) || isId("key", actorId) || isId("opt", actorId);
  const days = dayRange({ from: given("from"), to: given("to") }, presentation().timezone);
  const errors: AuditErrors = {
    ...(isAction ? {} : { action: "Unknown action. All actions are shown." }),
    ...(isActor ? {} : { actorId: "Unknown actor. All actors are shown." }),
    ...days.errors,
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
    filter: Object.keys(days.errors).length > 0 ? null : {
      actions: isAction ? actions : undefined,
      actorId: isActor ? actorId ?? undefined : undefined,
      from: days.from,
      to: days.to,
    },
    errors,
  };
}

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

/** Adds the names of browsers and programs to entries. */
export async function withDevices<T extends AuditEvent>(events: readonly T[]): Promise<(T & AuditRow)[]> {
  const distinct = [...new Set(events.map(({ userAgent }) => userAgent))].filter((one) => one.trim() !== "");
  const words = await deviceNames(distinct);
  const devices = new Map(distinct.map((userAgent, index) => [userAgent, words[index] ?? ""]));
  return events.map((event) => ({ ...event, device: devices.get(event.userAgent) ?? null }));
}
