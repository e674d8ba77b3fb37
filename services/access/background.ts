// The background work on sessions and the audit log.
import { shortenSomeSessions } from "../../db/access/domain_rules.ts";
import { type BackgroundWork, upkeep } from "../background_work.ts";
import type { Context } from "../context.ts";
import { deleteOldAuditEvents } from "./audit.ts";

export function accessWork(context: Context): BackgroundWork[] {
  return [
    upkeep("old audit entries", () => deleteOldAuditEvents(context)),
    upkeep("sessions that an organization shortens", () => shortenSomeSessions(context.database)),
  ];
}
