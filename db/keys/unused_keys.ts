// The SQL of the monthly emails about unused keys. A search reads all organizations in order, some at a time, and its cursor moves in the
// batch that writes their emails. However many servers do this, each organization has one a month.
import type { MailFields } from "../../domain/outbox/mail.ts";
import { keyUnusedMs } from "../../domain/keys/key_list.ts";
import { mailedKeysMax } from "../../domain/keys/key_limits.ts";
import { limitMailRecipientsMax } from "../../domain/limits.ts";
import { isActiveIn, keyAddedAt, managersOf } from "../access/mod.ts";
import { type Database, type DatabaseReader, integer, sql } from "../engine/database.ts";
import { insertMails } from "../outbox/mod.ts";

/** The month of the search, such as `2026-11`, and the number of the last organization that it has read. */
export interface UnusedKeysCursor {
  readonly month: string;
  readonly organization: number;
}

/** The cursor's position after all organizations. */
export const searchEnd = Number.MAX_SAFE_INTEGER;

export async function findUnusedKeysCursor(database: DatabaseReader): Promise<UnusedKeysCursor> {
  const row = await database.readFirst<UnusedKeysCursor>(sql`
    SELECT month, key AS organization FROM key_reminder_cursor`);
  return row ?? { month: "", organization: searchEnd };
}

/** An organization with its number of unused keys. `names`: some of theirs, as a JSON array. */
export interface UnusedKeys {
  readonly organization: number;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly keys: number;
  readonly names: string;
}

/** Reads some organizations after a number. A key that was replaced doesn't count. */
export function findUnusedKeys(
  database: DatabaseReader,
  { after, now, limit }: { after: number; now: number; limit: number },
): Promise<UnusedKeys[]> {
  const isUnused = sql`coalesce(k.last_used_at, 0) <= ${now - keyUnusedMs}
    AND ${keyAddedAt} <= ${now - keyUnusedMs}
    AND k.number = (SELECT max(g.number) FROM api_keys g WHERE g.lineage = k.lineage)`;
  return database.read(sql`
    SELECT f.organization, f.organizationId, f.organizationName, count(f.place) AS keys,
      json_group_array(f.name) FILTER (WHERE f.place <= ${integer(mailedKeysMax)}) AS names
    FROM (SELECT o.number AS organization, o.id AS organizationId, o.name AS organizationName, k.name,
        iif(k.number IS NULL, NULL, row_number() OVER (PARTITION BY o.number ORDER BY k.number)) AS place
      FROM (SELECT number, id, name FROM organizations
        WHERE number > ${after} AND deleted_at IS NULL AND suspended_at IS NULL ORDER BY number LIMIT ${limit}) o
      LEFT JOIN api_keys k ON ${isActiveIn(sql`o.id`, now)} AND ${isUnused}
      ORDER BY o.number, place) f
    GROUP BY f.organization ORDER BY f.organization`);
}

/**
 * Moves the cursor, and writes the emails about the keys of `found` to owners and admins who want them. Does nothing if another server has
 * moved it.
 */
export async function mailUnusedKeys(
  database: Database,
  from: UnusedKeysCursor,
  { to, found, now }: { to: UnusedKeysCursor; found: readonly UnusedKeys[]; now: number },
): Promise<void> {
  const isAt = sql`c.month = ${from.month} AND c.key = ${from.organization}`;
  const mails = found.map(({ organizationId, organizationName, keys, names }) => {
    const fields: MailFields["keys_unused"] = {
      organization: organizationName,
      count: String(keys),
      names: JSON.parse(names),
    };
    const recipients = sql`SELECT u.email FROM ${managersOf(organizationId)}
      AND u.unused_key_emails = 1 AND u.disabled_at IS NULL AND u.email_verified_at IS NOT NULL
      AND EXISTS (SELECT 1 FROM key_reminder_cursor c WHERE ${isAt})
      ORDER BY m.created_at LIMIT ${limitMailRecipientsMax}`;
    return insertMails("keys_unused", recipients, { fields, now });
  });
  await database.write([
    ...mails,
    sql`UPDATE key_reminder_cursor AS c SET month = ${to.month}, key = ${to.organization} WHERE ${isAt}`,
  ]);
}
