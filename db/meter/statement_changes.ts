// Notes which organizations recorded or voided something in a month that is closed or being closed, in the transaction that records or
// voids. The next statement looks only at these.
import { rollupQuarterMs } from "../../domain/limits.ts";
import { integer, sql, type Statement } from "../engine/database.ts";
import { isLive } from "./environments.ts";

/** The newest statement `n`, if there is one. From the moment it exists, changes of its month and of earlier ones are noted. */
const isNewest = sql`n.number = (SELECT max(number) FROM statements)`;
/** The statement `m` of the month of a time before the end of the newest; none for times before the first statement. */
const hasTime = (time: Statement) =>
  sql`m.number =
    (SELECT s.number FROM statements s WHERE s.start_at <= ${time} ORDER BY s.start_at DESC LIMIT 1)`;
const insert = sql`INSERT INTO statement_changes (organization, month, latest)`;
const quarterMs = integer(rollupQuarterMs);

/** Notes what `usage_added` has of organizations. */
export const noteAddedUsage = sql`${insert}
  SELECT DISTINCT a.organization, m.number, n.number
  FROM statements n CROSS JOIN usage_added a CROSS JOIN statements m
  WHERE ${isNewest} AND a.quarter * ${quarterMs} < n.end_at AND ${hasTime(sql`a.quarter * ${quarterMs}`)}
    AND ${isLive(sql`a.organization`)}
  ON CONFLICT DO NOTHING`;

/** Notes a voided record. Does no harm if it was voided before. @param seq Of the record. */
export const noteVoidedRecord = (seq: number) =>
  sql`${insert}
  SELECT r.organization, m.number, n.number
  FROM statements n CROSS JOIN usage_records r CROSS JOIN statements m
  WHERE ${isNewest} AND r.seq = ${seq} AND r.timestamp < n.end_at AND ${hasTime(sql`r.timestamp`)}
    AND ${isLive(sql`r.organization`)}
    AND EXISTS (SELECT 1 FROM usage_voids v WHERE v.seq = r.seq)
  ON CONFLICT DO NOTHING`;
