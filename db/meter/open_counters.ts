// The SQL that opens counters of limits.
import { sql, type Statement } from "../engine/database.ts";
import { activeHolds, heldSums, windowOfHold } from "./hold_counts.ts";
import { isAccount } from "./usage_grants.ts";
import { countedSeq, isComplete } from "./usage_limits.ts";

/** A cell `a` of the group is the one of the counter `n`. */
export const isCounter = sql`n.usage_limit = a.usage_limit AND n.organization = a.organization
    AND n.window_number = a.window_number`;

/** Selects the cells `a` whose counters are missing or invalid. */
const unopened = (cells: Statement) =>
  sql`SELECT a.usage_limit, a.organization, a.window_number,
    ${isComplete(sql`a.window_number`)} AS is_known, max(c.seq, ${countedSeq}) AS opened_seq
  FROM ${cells} a CROSS JOIN usage_limits l ON l.number = a.usage_limit
  CROSS JOIN organizations o ON o.number = a.organization CROSS JOIN usage_cursor c ON c.only_row = 1
  LEFT JOIN usage_limit_counters n ON ${isCounter}
  WHERE (n.opened_seq IS NULL OR n.opened_seq < ${countedSeq})`;
/** Selects the windows of active holds for the cells `a` of limits with a window that grants raise: windows share their room. */
const windowsOfHolds = sql`SELECT DISTINCT a.usage_limit, a.organization, ${windowOfHold} AS window_number
  FROM first a CROSS JOIN usage_limits l ON l.number = a.usage_limit
  CROSS JOIN usage_grant_accounts t ON ${isAccount(sql`a.organization`)} AND t.per <> 'total'
  CROSS JOIN organizations o ON o.number = a.organization CROSS JOIN ${activeHolds(windowOfHold)}`;

/** Opens the counters that are missing or invalid, with what active holds hold. */
export const openCounters = sql`
  WITH first AS MATERIALIZED (${unopened(sql`usage_limit_added`)}),
  opened AS MATERIALIZED (SELECT * FROM first UNION ${unopened(sql`(${windowsOfHolds})`)}),
  held AS MATERIALIZED (SELECT a.usage_limit, a.organization, a.window_number, ${heldSums}
    FROM opened a CROSS JOIN usage_limits l ON l.number = a.usage_limit
    CROSS JOIN organizations o ON o.number = a.organization CROSS JOIN ${activeHolds(sql`a.window_number`)}
    GROUP BY 1, 2, 3)
  INSERT OR REPLACE INTO usage_limit_counters
    (usage_limit, organization, window_number, sum_high, sum_low, sum_micro, is_known, opened_seq,
      held_high, held_low, held_micro)
  SELECT a.usage_limit, a.organization, a.window_number, 0, 0, 0, a.is_known, a.opened_seq,
    coalesce(n.held_high, 0), coalesce(n.held_low, 0), coalesce(n.held_micro, 0)
  FROM opened a LEFT JOIN held n ON ${isCounter}`;
