// All SQL of events of keys that expire soon. They are written in the order in which keys expire, up to a cursor that moves in the same
// batch: however many servers do this, and whenever they stop, each key has one event.
import { activeApiKey } from "../api_keys.ts";
import { type Database, type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { insertEvents } from "./events.ts";

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

/** Finds keys after a position that expire until a time, in order. */
export function findExpiringKeys(
  database: DatabaseReader,
  { after, until, limit }: { after: KeyPosition; until: number; limit: number },
): Promise<KeyPosition[]> {
  return database.read(sql`
    SELECT k.expires_at AS expiresAt, k.number FROM api_keys k WHERE ${
    isAfter(after)
  } AND k.expires_at <= ${until}
    ORDER BY k.expires_at, k.number LIMIT ${limit}`);
}

/**
 * Moves the cursor from one position to another, with an event for each key between them that works. Does nothing if another server
 * has moved it.
 *
 * @param options `replacedFor`: in milliseconds. A key that was replaced so soon before its end has no event, because its rotation had one.
 */
export async function writeExpiryEvents(
  database: Database,
  days: ExpiryDays,
  { from, to, now, replacedFor }: { from: KeyPosition; to: KeyPosition; now: number; replacedFor: number },
): Promise<void> {
  const columns = cursors[days];
  const isUnmoved = sql`${columns.expiresAt} = ${from.expiresAt} AND ${columns.number} = ${from.number}`;
  const wasJustReplaced =
    sql`EXISTS (SELECT 1 FROM api_keys g WHERE g.created_at >= k.expires_at - ${replacedFor}
    AND g.number = (SELECT min(n.number) FROM api_keys n WHERE n.lineage = k.lineage AND n.number > k.number))`;
  const rows =
    sql`SELECT o.number AS organization, json_object('target', json_object('id', k.id, 'name', k.name),
      'expiresAt', k.expires_at, 'days', ${integer(days)}) AS facts
    FROM event_cursor CROSS JOIN api_keys k CROSS JOIN organizations o ON o.id = k.organization_id
    WHERE ${isUnmoved} AND ${isAfter(from)} AND k.expires_at <= ${to.expiresAt}
      AND (k.expires_at, k.number) <= (${to.expiresAt}, ${to.number})
      AND ${activeApiKey(now)} AND o.deleted_at IS NULL AND NOT ${wasJustReplaced}`;
  await database.write([
    ...(from.expiresAt === 0 ? [] : [insertEvents("api_key.expiring", { at: now, rows })]),
    sql`UPDATE event_cursor SET ${columns.expiresAt} = ${to.expiresAt}, ${columns.number} = ${to.number}
      WHERE ${isUnmoved}`,
  ]);
}

/** As the index `api_keys_expiring` has it. */
function isAfter({ expiresAt, number }: KeyPosition): Statement {
  return sql`k.expires_at IS NOT NULL AND k.revoked_at IS NULL AND (k.expires_at, k.number) > (${expiresAt}, ${number})`;
}
