// The console's page of the audit log: what operators did, or everything in one organization.
import { AppError } from "../../../domain/errors.ts";
import { consolePageItemsMax } from "../../../domain/limits.ts";
import { listAuditEvents, operatorAccess } from "../../../services/access/mod.ts";
import { readProductNames } from "../../../services/meter/mod.ts";
import { auditPage } from "../../../views/access/audit.tsx";
import type { App } from "../../env.ts";
import { auditChoice, auditCsvHref, withDevices } from "../audit.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { operatorFrame, operatorPages } from "./page.ts";

const path = "/operator/audit";
const nothing = { events: [], nextCursor: null };

export function operatorAuditPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = operatorPages(app, parts);
  get(path, async (c, actor) => {
    const { filter, errors, ...choice } = auditChoice(c);
    const organizationId = c.req.query("organizationId")?.trim() || null;
    const address = { ...choice.address, organizationId };
    const log = organizationId === null
      ? actor
      : await operatorAccess(services, actor, organizationId).catch(notFound);
    const found = filter === null ? nothing : log && await listAuditEvents(services, log, {
      ...filter,
      limit: consolePageItemsMax,
      cursor: address.cursor ?? undefined,
    });
    const page = auditPage({
      frame: operatorFrame(parts, actor),
      path,
      address,
      people: null,
      errors: found === null ? { ...errors, organizationId: "Organization not found." } : errors,
      events: await withDevices(found?.events ?? []),
      catalogue: await readProductNames(services),
      nextCursor: found?.nextCursor ?? null,
      csvHref: filter === null || found === null
        ? null
        : auditCsvHref("/api/operator/audit.csv", address, filter),
    });
    return await sendPage(c, page);
  });
}

/** Returns null for an unknown organization. @throws Any other error. */
function notFound(error: unknown): null {
  if (error instanceof AppError && error.code === "not_found") return null;
  throw error;
}
