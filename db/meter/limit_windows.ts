// The SQL that numbers the windows of limits. A window has the same number whichever of its moments it is asked for; numbers of
// different lengths or time zones are not comparable.
import { operatorTimestampPastMaxMs } from "../../domain/limits.ts";
import { timezoneOffsets } from "../../domain/time.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { monthOf } from "./rollups.ts";

/** @returns By how many milliseconds the clocks of a time zone are ahead of UTC at a time. */
export const ahead = (timezone: Statement, time: Statement): Statement =>
  sql`coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = ${timezone} AND z.since <= ${time}
    ORDER BY z.since DESC LIMIT 1), 0)`;

/**
 * @param per The length. @param time Milliseconds since 1970. @param offset See {@linkcode ahead}.
 * @returns The number of the window of a limit. For an hour, its start as if the clocks had always been ahead by the offset.
 */
export const windowNumber = (per: Statement, time: Statement, offset: Statement): Statement =>
  sql`CASE ${per} WHEN 'minute' THEN ${time} / 60000
    WHEN 'hour' THEN (${time} + ${offset}) / 3600000 * 3600000 - ${offset}
    WHEN 'day' THEN (${time} + ${offset}) / 86400000
    WHEN 'month' THEN ${monthOf(sql`(${time} + ${offset})`)} ELSE 0 END`;

/**
 * Writes by how much the clocks of a time zone are ahead, for all times that records may have while the rows are kept up to date.
 * Belongs to the batch that sets the time zone of an organization.
 *
 * @param timezone An IANA name. @param now Milliseconds since 1970.
 */
export function timezoneRows(timezone: string, now: number): Statement[] {
  const offsets = timezoneOffsets(timezone, { start: now - offsetsPastMs, end: now + offsetsFutureMs });
  return [
    sql`DELETE FROM timezone_offsets WHERE timezone = ${timezone}`,
    sql`INSERT INTO timezone_offsets (timezone, since, ahead)
    SELECT ${timezone}, value ->> 'since', value ->> 'ahead' FROM json_each(${JSON.stringify(offsets)})`,
  ];
}

/** @returns The time zones that organizations have had. @throws {DatabaseError} */
export async function findTimezones(database: DatabaseReader): Promise<string[]> {
  const rows = await database.read<{ timezone: string }>(sql`SELECT DISTINCT timezone FROM timezone_offsets`);
  return rows.map(({ timezone }) => timezone);
}

const dayMs = 24 * 3_600_000;
/** Longer than an operator's records may lie back. */
const offsetsPastMs = operatorTimestampPastMaxMs + 100 * dayMs;
const offsetsFutureMs = 5 * 366 * dayMs;
