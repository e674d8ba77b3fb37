// Reports of leaked keys, from anyone who holds one. A report never tells its sender if there is such a key.
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import {
  findReportedKeys,
  insertLeakMails,
  markLeaked,
  noteReport,
  type ReportedKeyRow,
} from "../../db/keys/leaked_keys.ts";
import { insertAuditEvent } from "../../db/access/mod.ts";
import type { Statement } from "../../db/engine/database.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { hashApiKey } from "../../domain/keys/api_key.ts";
import { leakPlace, type LeakReport } from "../../domain/keys/leaked_key.ts";
import { leakedKeysOfStepMax } from "../../domain/keys/key_limits.ts";
import type { Context } from "../context.ts";

/** Customers read these entries. The address of the person who sent a report is not for them. */
const system: Actor = { type: "system", client: { address: "", userAgent: "", requestId: null } };

type ReportContext = Pick<Context, "config" | "database" | "clock" | "mail">;

/**
 * Revokes the reported keys that work, or only notifies their organizations, as `LEAKED_KEYS` says. Takes one read and one commit for up to
 * 50 keys, known or not, so that neither the result nor the time tells which of them are keys.
 *
 * @param source Names the sender, such as “GitHub”.
 */
export async function reportLeakedKeys(
  context: ReportContext,
  reports: readonly LeakReport[],
  { source }: { source: string },
): Promise<void> {
  for (let at = 0; at < reports.length; at += leakedKeysOfStepMax) {
    // A key that is reported twice has one place.
    const places = new Map(
      reports.slice(at, at + leakedKeysOfStepMax).map((report) => [
        hashApiKey(report.key),
        leakPlace(report),
      ]),
    );
    const now = context.clock();
    const keys = await findReportedKeys(context.database, [...places.keys()], now);
    await context.database.write([
      noteReport(now),
      ...keys.flatMap((key) =>
        respondTo(context, key, { now, source, place: places.get(key.keyHash) ?? null })
      ),
    ]);
    if (keys.length > 0) context.mail.wake();
  }
}

/** Returns the change of one key with its consequences. Each is written only if the change is made. */
function respondTo(
  { config, mail }: ReportContext,
  key: ReportedKeyRow,
  { now, source, place }: { now: number; source: string; place: string | null },
): Statement[] {
  const isRevoked = config.leakedKeys === "revoke";
  const { id, name, organizationId } = key;
  const about = { organizationId, target: { id, name } };
  const response = isRevoked ? "revoked" as const : "notified" as const;
  const details = { source, response, ...place !== null && { url: place } };
  const leaked = insertAuditEvent(system, { ...about, action: "api_key.leaked", details }, { now });
  const audited = { now, audited: leaked.id };
  const revoked = insertAuditEvent(system, { ...about, action: "api_key.revoked" }, { now });
  const fields = {
    ...details,
    organization: key.organizationName,
    key: name,
    keyPrefix: key.keyPrefix,
    keyId: id,
    at: String(now),
    timezone: key.timezone,
  };
  return [
    markLeaked(id, { now, isRevoked }),
    leaked.statement,
    ...isRevoked
      ? [revoked.statement, insertChangeEvent("api_key.revoked", { now, audited: revoked.id })]
      : [],
    insertChangeEvent("api_key.leaked", audited),
    ...mail.mode === "none" ? [] : insertLeakMails(key, fields, audited),
  ];
}
