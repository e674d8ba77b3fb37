// The SQL that numbers the windows of limits. A window has the same number whichever of its moments it is asked for; numbers of
// different lengths or time zones are not comparable.
import { sql, type Statement } from "../engine/database.ts";
import { monthOf } from "./rollups.ts";

/** @returns By how many milliseconds the clocks of a time zone are ahead of UTC at a time. */
export const ahead = (timezone: Statement, time: Statement): Statement =>
  sql`coalesce((SELECT z.ahead FROM timezone_offsets z WHERE z.timezone = ${timezone} AND z.since <= ${time}
    ORDER BY z.since DESC LIMIT 1), 0)`;

/**
 * @param per The length. @param time Milliseconds since 1970. @param offset See {@linkcode ahead}.
 * @returns The number of the window of a limit. For an hour, its start as if the clocks had always been ahead by the offset: the hours
 *   on both sides of a change of clocks differ.
 */
export const windowNumber = (per: Statement, time: Statement, offset: Statement): Statement =>
  sql`CASE ${per} WHEN 'minute' THEN ${time} / 60000
    WHEN 'hour' THEN (${time} + ${offset}) / 3600000 * 3600000 - ${offset}
    WHEN 'day' THEN (${time} + ${offset}) / 86400000
    WHEN 'month' THEN ${monthOf(sql`(${time} + ${offset})`)} ELSE 0 END`;
