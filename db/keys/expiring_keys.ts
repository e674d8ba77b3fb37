// All SQL of events and emails about keys that expire soon. A key has the time of its next one, which the batch that writes it moves on:
// however many servers do this, and whenever they stop, each key has one event for each number of days, and is in one email.
import { mailedKeysMax } from "../../domain/keys/key_limits.ts";
import { limitMailRecipientsMax } from "../../domain/limits.ts";
import { expiringKeysOfStepMax } from "../../domain/outbox/webhook_limits.ts";
import { activeApiKey } from "../access/mod.ts";
import { type Database, type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { insertEvents, insertMails } from "../outbox/mod.ts";

const dayMs = 86_400_000;
const day = integer(dayMs);
const week = integer(7 * dayMs);

/** The first time to remind of a key whose expiry is set at `now`: 7 days or 1 day before; null after that, or without expiry. */
export const remindAt = (expiresAt: Statement, now: number): Statement =>
  sql`(SELECT CASE WHEN e.at - ${week} > ${now} THEN e.at - ${week} WHEN e.at - ${day} > ${now} THEN e.at - ${day} END
    FROM (SELECT ${expiresAt} AS at) e)`;

export async function hasExpiringKeys(database: DatabaseReader, now: number): Promise<boolean> {
  return await database.readFirst(sql`SELECT 1 FROM api_keys WHERE remind_at <= ${now} LIMIT 1`) !==
    undefined;
}

/**
 * Writes an event for each of the next keys that works, and an email to each recipient about theirs.
 *
 * @param options `isMailed`: there are emails.
 * @returns How many keys were due, of at most `expiringKeysOfStepMax`.
 */
export async function writeExpiryEvents(
  database: Database,
  { now, isMailed }: { now: number; isMailed: boolean },
): Promise<number> {
  const next = sql`SELECT number FROM api_keys WHERE remind_at <= ${now}
    ORDER BY remind_at LIMIT ${integer(expiringKeysOfStepMax)}`;
  const due = sql`(${next}) d CROSS JOIN api_keys k ON k.number = d.number
    CROSS JOIN organizations o ON o.id = k.organization_id
    WHERE ${activeApiKey(now)} AND o.deleted_at IS NULL`;
  const rows =
    sql`SELECT o.number AS organization, json_object('target', json_object('id', k.id, 'name', k.name),
      'expiresAt', k.expires_at, 'days', iif(k.expires_at - k.remind_at > ${day}, 7, 1)) AS facts FROM ${due}`;
  const results = await database.write([
    insertEvents("api_key.expiring", { at: now, rows }),
    ...isMailed ? [insertMails("keys_expiring", expiryMails(due), { now })] : [],
    sql`UPDATE api_keys SET remind_at = iif(expires_at - remind_at > ${day}, expires_at - ${day}, NULL)
      WHERE number IN (${next})`,
  ]);
  return results.at(-1)?.changes ?? 0;
}

/**
 * Selects the emails about keys `k` of organizations `o`: to the creator of each or, without one in the organization, to its owners. Only
 * members cause them, so they need no budget.
 */
function expiryMails(due: Statement): Statement {
  return sql`
    SELECT r.email, json_object('count', CAST(count(*) AS TEXT), 'keys', json_group_array(json_object('name', r.name,
      'prefix', r.key_prefix, 'organization', r.organization, 'expiresAt', CAST(r.expires_at AS TEXT), 'timezone', r.timezone))
      FILTER (WHERE r.place <= ${integer(mailedKeysMax)})) AS fields
    FROM (SELECT u.email, k.name, k.key_prefix, k.expires_at, o.name AS organization, o.timezone,
        row_number() OVER (PARTITION BY u.id ORDER BY k.expires_at, k.number) AS place
      FROM (SELECT k.*, (SELECT m.user_id FROM memberships m
          WHERE m.organization_id = o.id AND m.user_id = k.created_by) AS creator FROM ${due}) k
      CROSS JOIN organizations o ON o.id = k.organization_id
      CROSS JOIN users u ON u.id IN (SELECT k.creator UNION ALL SELECT user_id FROM (
        SELECT m.user_id FROM memberships m WHERE k.creator IS NULL AND m.organization_id = o.id AND m.role = 'OWNER'
        ORDER BY m.created_at LIMIT ${limitMailRecipientsMax}))
      WHERE u.email_verified_at IS NOT NULL AND u.disabled_at IS NULL
      ORDER BY place) r
    GROUP BY r.email`;
}
