// All SQL of reports of leaked keys.
import type { MailFields } from "../../domain/outbox/mail.ts";
import { leakMailsPerDayMax, leakNotifiedMs } from "../../domain/keys/key_limits.ts";
import { limitMailRecipientsMax } from "../../domain/limits.ts";
import { dailyBudget } from "../../domain/outbox/mail_budget.ts";
import { activeApiKey, type Audited, ifAudited, managersOf } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { insertMails, takeMail } from "../outbox/mod.ts";

/** A key that works, and that someone reported. */
export interface ReportedKeyRow {
  readonly id: string;
  readonly name: string;
  readonly keyHash: string;
  readonly keyPrefix: string;
  readonly createdBy: string | null;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly timezone: string;
}

/** Finds the keys among some hashes that work at `now`, also if their organization is suspended. */
export function findReportedKeys(
  database: DatabaseReader,
  keyHashes: readonly string[],
  now: number,
): Promise<ReportedKeyRow[]> {
  return database.read(sql`
    SELECT k.id, k.name, k.key_hash AS keyHash, k.key_prefix AS keyPrefix, k.created_by AS createdBy,
      o.id AS organizationId, o.name AS organizationName, o.timezone
    FROM json_each(${JSON.stringify(keyHashes)}) h CROSS JOIN api_keys k ON k.key_hash = h.value
    CROSS JOIN organizations o ON o.id = k.organization_id AND o.deleted_at IS NULL
    WHERE ${activeApiKey(now)}`);
}

/** Changes a row with every report. Otherwise only a report of a key that works would wait for the disk. */
export function noteReport(now: number): Statement {
  return sql`UPDATE key_reminder_cursor SET reported_at = ${now}`;
}

/** Marks a key that works as leaked, and revokes it or, without `isRevoked`, does nothing if it was marked in the last 24 hours. */
export function markLeaked(id: string, { now, isRevoked }: { now: number; isRevoked: boolean }): Statement {
  const isDue = isRevoked
    ? sql`true`
    : sql`(k.leaked_at IS NULL OR abs(${now} - k.leaked_at) >= ${leakNotifiedMs})`;
  return sql`UPDATE api_keys AS k
    SET leaked_at = ${now}, revoked_at = iif(${isRevoked ? 1 : 0}, ${now}, k.revoked_at)
    WHERE k.id = ${id} AND ${activeApiKey(now)} AND ${isDue}`;
}

/**
 * Writes an email about an audited report to the owners and admins of the organization and to the key's creator, unless the organization
 * got too many today: someone who holds many keys must not be able to flood anyone.
 */
export function insertLeakMails(
  { organizationId, createdBy }: ReportedKeyRow,
  fields: MailFields["key_leaked"],
  { now, audited }: Audited,
): Statement[] {
  const budget = dailyBudget("key_leaked", organizationId, leakMailsPerDayMax);
  const canGetMail = sql`u.disabled_at IS NULL AND u.email_verified_at IS NOT NULL`;
  const recipients = sql`
    SELECT u.email FROM users u JOIN memberships m ON m.user_id = u.id AND m.organization_id = ${organizationId}
      WHERE u.id = ${createdBy} AND m.role = 'MEMBER' AND ${canGetMail}
    UNION ALL SELECT email FROM (SELECT u.email FROM ${managersOf(organizationId)} AND ${canGetMail}
      ORDER BY m.created_at LIMIT ${limitMailRecipientsMax})`;
  return [
    takeMail(budget, { now, only: ifAudited(audited) }),
    insertMails("key_leaked", sql`SELECT email FROM (${recipients}) WHERE changes() > 0`, { fields, now }),
  ];
}
