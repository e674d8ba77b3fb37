// The SQL of limit counters outside of recording: what windows had before their counters were opened.
//
// A counter is unknown while it lacks what was recorded before it was opened. Recording and voiding change a window's usage and its
// counter by the same amount, so their difference is the same at any moment: one statement reads both, nothing is locked, and the
// difference can be added later.
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import type { SumParts } from "../../domain/meter/quantity.ts";
import { bind, type Database, type DatabaseReader, sql } from "../engine/database.ts";
import { insertNotices } from "./limit_notices.ts";
import { type LimitScopeRow, limitSums } from "./limit_sums.ts";
import { ahead, windowNumber } from "./limit_windows.ts";

/** A limit's counter for one window of an organization. */
export interface LimitCell {
  /** The limit's number. */
  readonly usageLimit: number;
  /** The organization's number. */
  readonly organization: number;
  readonly windowNumber: number;
  /** A time in the window, in milliseconds since 1970. */
  readonly at: number;
}

/** A cell with what it counts. */
export interface ScopedCell extends LimitCell, LimitScopeRow {
  /** That of the organization: an IANA name. */
  readonly timezone: string;
  /** When the counter was opened. */
  readonly openedSeq: number;
}

/** @returns Those of the cells whose counters are unknown, without windows of an earlier time zone. @throws {DatabaseError} */
export function findUnknownCells(
  database: DatabaseReader,
  cells: readonly LimitCell[],
): Promise<ScopedCell[]> {
  return database.read(sql`
    SELECT l.number AS usageLimit, o.number AS organization, c.window_number AS windowNumber,
      e.value ->> 'at' AS at, l.product_slug AS productSlug, l.metric, l.per, l.lineage, o.timezone,
      c.opened_seq AS openedSeq
    FROM json_each(${JSON.stringify(cells)}) e
    JOIN usage_limit_counters c ON c.usage_limit = e.value ->> 'usageLimit'
      AND c.organization = e.value ->> 'organization' AND c.window_number = e.value ->> 'windowNumber'
    JOIN usage_limits l ON l.number = c.usage_limit
    JOIN organizations o ON o.number = c.organization
    WHERE c.is_known = 0 AND c.window_number = ${
    windowNumber(sql`l.per`, time, ahead(sql`o.timezone`, time))
  }`);
}
const time = sql`CAST(e.value ->> 'at' AS INTEGER)`;

/** What an unknown counter lacks. */
export interface MissingSums extends LimitCell, SumParts {
  readonly openedSeq: number;
}

/**
 * @param window Null for `total`.
 * @returns What a counter lacks of a window; undefined if it is known, or was deleted or opened again meanwhile. @throws {DatabaseError}
 */
export function findMissingSums(
  database: DatabaseReader,
  cell: ScopedCell,
  window: UsageWindow | null,
): Promise<MissingSums | undefined> {
  return database.readFirst(sql`
    SELECT c.usage_limit AS usageLimit, c.organization, c.window_number AS windowNumber,
      CAST(${cell.at} AS INTEGER) AS at, c.opened_seq AS openedSeq,
      CAST(coalesce(w.high - c.sum_high, 0) AS TEXT) AS high,
      CAST(coalesce(w.low - c.sum_low, 0) AS TEXT) AS low,
      CAST(coalesce(w.micro - c.sum_micro, 0) AS TEXT) AS micro
    FROM usage_limit_counters c CROSS JOIN (${limitSums(cell, window)}) w
    WHERE c.usage_limit = ${cell.usageLimit} AND c.organization = ${cell.organization}
      AND c.window_number = ${cell.windowNumber} AND c.is_known = 0 AND c.opened_seq = ${cell.openedSeq}`);
}

/**
 * Adds what counters lack, unless they are known or were opened again meanwhile. Where something was recorded since they were opened,
 * the limits that it has nearly or completely used are noted.
 *
 * @param now Milliseconds since 1970. @throws {DatabaseError}
 */
export async function addMissingSums(
  database: Pick<Database, "write">,
  missing: readonly MissingSums[],
  now: number,
): Promise<void> {
  const part = (name: string) => sql`CAST(e.value ->> ${name} AS INTEGER)`;
  const from = sql`json_each(${JSON.stringify(missing)}) e`;
  const isUnknown =
    sql`c.usage_limit = e.value ->> 'usageLimit' AND c.organization = e.value ->> 'organization'
      AND c.window_number = e.value ->> 'windowNumber' AND c.opened_seq = e.value ->> 'openedSeq'
      AND c.is_known = 0`;
  await database.write([
    sql`INSERT OR IGNORE INTO usage_limit_added (usage_limit, organization, window_number, at, sum_high, sum_low, sum_micro)
    SELECT c.usage_limit, c.organization, c.window_number, ${part("at")}, c.sum_high, c.sum_low, c.sum_micro
    FROM ${from} CROSS JOIN usage_limit_counters c ON ${isUnknown}`,
    sql`UPDATE usage_limit_counters AS c SET sum_high = c.sum_high + ${part("high")},
      sum_low = c.sum_low + ${part("low")}, sum_micro = c.sum_micro + ${part("micro")}, is_known = 1
    FROM ${from} WHERE ${isUnknown}`,
    bind(insertNotices, null, null, now),
    sql`DELETE FROM usage_limit_added`,
  ], { bypassesQueueLimit: true });
}
