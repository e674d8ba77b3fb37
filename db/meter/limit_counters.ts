// The SQL of limit counters outside of recording: what windows had before their counters were opened.
//
// A counter is unknown while it lacks what was recorded before it was opened. Recording and voiding change a window's usage and its
// counter by the same amount, so their difference is the same at any moment: one statement reads both, nothing is locked, and the
// difference can be added later.
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import { type Database, type DatabaseReader, sql } from "../engine/database.ts";
import { type LimitScopeRow, type LimitSum, limitSums } from "./limit_sums.ts";
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
export interface MissingSums extends Omit<LimitCell, "at">, LimitSum {
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
      c.opened_seq AS openedSeq, CAST(w.high - c.sum_high AS TEXT) AS high,
      CAST(w.low - c.sum_low AS TEXT) AS low, CAST(w.micro - c.sum_micro AS TEXT) AS micro,
      w.is_complete AS isComplete
    FROM usage_limit_counters c CROSS JOIN (${limitSums(cell, window)}) w
    WHERE c.usage_limit = ${cell.usageLimit} AND c.organization = ${cell.organization}
      AND c.window_number = ${cell.windowNumber} AND c.is_known = 0 AND c.opened_seq = ${cell.openedSeq}`);
}

/** Adds what counters lack, unless they are known or were opened again meanwhile. @throws {DatabaseError} */
export async function addMissingSums(
  database: Pick<Database, "write">,
  missing: readonly MissingSums[],
): Promise<void> {
  const part = (name: string) => sql`CAST(e.value ->> ${name} AS INTEGER)`;
  await database.write([sql`
    UPDATE usage_limit_counters AS c SET sum_high = c.sum_high + ${part("high")},
      sum_low = c.sum_low + ${part("low")}, sum_micro = c.sum_micro + ${part("micro")}, is_known = 1
    FROM json_each(${JSON.stringify(missing)}) e
    WHERE c.usage_limit = e.value ->> 'usageLimit' AND c.organization = e.value ->> 'organization'
      AND c.window_number = e.value ->> 'windowNumber' AND c.opened_seq = e.value ->> 'openedSeq'
      AND c.is_known = 0`], { bypassesQueueLimit: true });
}
