// The SQL of the monthly emails about unused keys. A search reads all keys in order, a bounded number in a transaction, and notes the
// organizations that have unused ones; then each note becomes emails. However many servers do this, each organization has one a month.
import type { MailFields } from "../../domain/outbox/mail.ts";
import { keyUnusedMs } from "../../domain/keys/key_list.ts";
import { mailedKeysMax } from "../../domain/keys/key_limits.ts";
import { limitMailRecipientsMax } from "../../domain/limits.ts";
import { activeApiKey, keyAddedAt, managersOf } from "../access/mod.ts";
import { type Database, type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { insertMails } from "../outbox/mod.ts";

/** The month of the search, such as `2026-11`, and the number of the last key that it has read. */
export interface UnusedKeysCursor {
  readonly month: string;
  readonly key: number;
}

/** The cursor's position after all keys. */
export const searchEnd = Number.MAX_SAFE_INTEGER;

export async function findUnusedKeysCursor(database: DatabaseReader): Promise<UnusedKeysCursor> {
  const row = await database.readFirst<UnusedKeysCursor>(sql`SELECT month, key FROM key_reminder_cursor`);
  return row ?? { month: "", key: searchEnd };
}

/** Returns the number of the last of some keys after a key, or the end if there are fewer. */
export async function findSearchStep(
  database: DatabaseReader,
  after: number,
  limit: number,
): Promise<number> {
  const row = await database.readFirst<{ last: number; count: number }>(sql`
    SELECT max(number) AS last, count(*) AS count FROM (
      SELECT number FROM api_keys WHERE number > ${after} ORDER BY number LIMIT ${limit})`);
  return row === undefined || row.count < limit ? searchEnd : row.last;
}

const isAt = ({ month, key }: UnusedKeysCursor): Statement => sql`c.month = ${month} AND c.key = ${key}`;

/** Begins a month, unless another server has moved the cursor. */
export async function beginUnusedKeysMonth(
  database: Database,
  from: UnusedKeysCursor,
  to: UnusedKeysCursor,
): Promise<void> {
  await database.write([
    sql`UPDATE key_reminder_cursor AS c SET month = ${to.month}, key = ${to.key} WHERE ${isAt(from)}`,
  ]);
}

/**
 * Notes the organizations with unused keys between the cursor and a key, and moves the cursor there, unless another server has. A key
 * that was replaced doesn't count.
 */
export async function noteUnusedKeys(
  database: Database,
  from: UnusedKeysCursor,
  { to, now }: { to: number; now: number },
): Promise<void> {
  const isUnused = sql`${activeApiKey(now)} AND coalesce(k.last_used_at, 0) <= ${now - keyUnusedMs}
    AND ${keyAddedAt} <= ${now - keyUnusedMs}
    AND k.number = (SELECT max(g.number) FROM api_keys g WHERE g.lineage = k.lineage)`;
  await database.write([
    sql`INSERT INTO unused_key_reminders (organization, keys, names)
      SELECT f.organization, count(*), json_group_array(f.name) FILTER (WHERE f.place <= ${
      integer(mailedKeysMax)
    })
      FROM (SELECT o.number AS organization, k.name,
          row_number() OVER (PARTITION BY o.number ORDER BY k.number) AS place
        FROM key_reminder_cursor c CROSS JOIN api_keys k CROSS JOIN organizations o ON o.id = k.organization_id
        WHERE ${isAt(from)} AND k.number > ${from.key} AND k.number <= ${to} AND ${isUnused}
          AND o.deleted_at IS NULL AND o.suspended_at IS NULL ORDER BY place) f
      GROUP BY f.organization
      ON CONFLICT (organization) DO UPDATE SET keys = keys + excluded.keys`,
    sql`UPDATE key_reminder_cursor AS c SET key = ${to} WHERE ${isAt(from)}`,
  ]);
}

/** An organization with unused keys. `names`: a JSON array. */
export interface UnusedKeysNote {
  readonly organization: number;
  readonly organizationId: string | null;
  readonly organizationName: string;
  readonly keys: number;
  readonly names: string;
}

/** Returns some notes. Those of deleted organizations have no id. */
export function findUnusedKeysNotes(database: DatabaseReader, limit: number): Promise<UnusedKeysNote[]> {
  return database.read(sql`
    SELECT n.organization, o.id AS organizationId, o.name AS organizationName, n.keys, n.names
    FROM unused_key_reminders n LEFT JOIN organizations o ON o.number = n.organization AND o.deleted_at IS NULL
    ORDER BY n.organization LIMIT ${limit}`);
}

/** Turns notes into emails to owners and admins who want them, unless another server has. */
export async function mailUnusedKeys(
  database: Database,
  notes: readonly UnusedKeysNote[],
  now: number,
): Promise<void> {
  await database.write(notes.flatMap(({ organization, organizationId, organizationName, keys, names }) => {
    const fields: MailFields["keys_unused"] = {
      organization: organizationName,
      count: String(keys),
      names: JSON.parse(names),
    };
    const isLeft = sql`EXISTS (SELECT 1 FROM unused_key_reminders n WHERE n.organization = ${organization})`;
    const recipients = sql`SELECT u.email FROM ${managersOf(organizationId)}
      AND u.unused_key_emails = 1 AND u.disabled_at IS NULL AND u.email_verified_at IS NOT NULL AND ${isLeft}
      ORDER BY m.created_at LIMIT ${limitMailRecipientsMax}`;
    return [
      insertMails("keys_unused", recipients, { fields, now }),
      sql`DELETE FROM unused_key_reminders WHERE organization = ${organization}`,
    ];
  }));
}
