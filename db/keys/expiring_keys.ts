// All SQL of events and emails about keys that expire soon. They are written in the order in which keys expire, up to a cursor that moves in the same
// batch: however many servers do this, and whenever they stop, each key has one event, and is in one email.
import { mailedKeysMax } from "../../domain/keys/key_limits.ts";
import { limitMailRecipientsMax } from "../../domain/limits.ts";
import { activeApiKey } from "../access/mod.ts";
import { type Database, type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { insertEvents, insertMails } from "../outbox/mod.ts";

interface KeyPosition {
  readonly expiresAt: number;
  readonly number: number;
}

/** The days before keys expire at which there is an event, each with the columns of its cursor. */
const cursors = {
  7: { expiresAt: sql`week_expires_at`, number: sql`week_key` },
  1: { expiresAt: sql`day_expires_at`, number: sql`day_key` },
} as const;
export type ExpiryDays = keyof typeof cursors;

/** Returns the cursor; its time is 0 before the first step. */
export async function findExpiryCursor(database: DatabaseReader, days: ExpiryDays): Promise<KeyPosition> {
  const { expiresAt, number } = cursors[days];
  const row = await database.readFirst<KeyPosition>(sql`
    SELECT ${expiresAt} AS expiresAt, ${number} AS number FROM event_cursor`);
  return row ?? { expiresAt: 0, number: 0 };
}

/** Finds keys after a position that expire until a time, in order, by the index `api_keys_expiring`. */
export function findExpiringKeys(
  database: DatabaseReader,
  { after, until, limit }: { after: KeyPosition; until: number; limit: number },
): Promise<KeyPosition[]> {
  return database.read(sql`
    SELECT k.expires_at AS expiresAt, k.number FROM api_keys k WHERE k.expires_at IS NOT NULL
      AND k.revoked_at IS NULL AND (k.expires_at, k.number) > (${after.expiresAt}, ${after.number})
      AND k.expires_at <= ${until}
    ORDER BY k.expires_at, k.number LIMIT ${limit}`);
}

/**
 * Moves the cursor from one position to another, with an event for each of `keys` that works, and an email to each recipient about theirs.
 * Does nothing if another server has moved it.
 *
 * @param options `replacedFor`: in milliseconds. A key that was replaced so soon before its end has no event, because its rotation had one.
 *   `isMailed`: there are emails.
 */
export async function writeExpiryEvents(
  database: Database,
  days: ExpiryDays,
  { from, to, keys, now, replacedFor, isMailed }: {
    from: KeyPosition;
    to: KeyPosition;
    keys: readonly KeyPosition[];
    now: number;
    replacedFor: number;
    isMailed: boolean;
  },
): Promise<void> {
  const columns = cursors[days];
  const isUnmoved = sql`${columns.expiresAt} = ${from.expiresAt} AND ${columns.number} = ${from.number}`;
  const wasJustReplaced =
    sql`EXISTS (SELECT 1 FROM api_keys g WHERE g.created_at >= k.expires_at - ${replacedFor}
    AND g.number = (SELECT min(n.number) FROM api_keys n WHERE n.lineage = k.lineage AND n.number > k.number))`;
  const numbers = JSON.stringify(keys.map(({ number }) => number));
  const due = sql`event_cursor CROSS JOIN json_each(${numbers}) e CROSS JOIN api_keys k ON k.number = e.value
    CROSS JOIN organizations o ON o.id = k.organization_id
    WHERE ${isUnmoved} AND k.expires_at <= ${to.expiresAt} AND ${
    activeApiKey(now)
  } AND o.deleted_at IS NULL AND NOT ${wasJustReplaced}`;
  const rows =
    sql`SELECT o.number AS organization, json_object('target', json_object('id', k.id, 'name', k.name),
      'expiresAt', k.expires_at, 'days', ${integer(days)}) AS facts FROM ${due}`;
  await database.write([
    ...keys.length > 0 ? [insertEvents("api_key.expiring", { at: now, rows })] : [],
    ...isMailed ? [insertMails("keys_expiring", expiryMails(due), { now })] : [],
    sql`UPDATE event_cursor SET ${columns.expiresAt} = ${to.expiresAt}, ${columns.number} = ${to.number}
      WHERE ${isUnmoved}`,
  ]);
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
