// The SQL that writes notices about limits, in the transaction that records usage. Emails are made from them later.
import { lowBits } from "../../domain/meter/quantity.ts";
import { integer, sql } from "../engine/database.ts";
import { ahead, windowNumber } from "./limit_windows.ts";
import { comparable } from "./usage_limits.ts";

/** How full the window of the counter `n` is, at least: in multiples of a fifth. */
const isUsed = (fifths: number) => {
  const [used, limit] = [integer(5), integer(fifths)];
  return sql`${
    comparable(sql`(n.sum_high * ${used})`, sql`(n.sum_low * ${used})`, sql`(n.sum_micro * ${used})`)
  }
    >= ${
    comparable(
      sql`((l.quantity_whole >> ${integer(lowBits)}) * ${limit})`,
      sql`((l.quantity_whole & ${integer(2 ** lowBits - 1)}) * ${limit})`,
      sql`(l.quantity_micro * ${limit})`,
    )
  }`;
};
/** For minutes and hours, the day. */
const noticeWindow = sql`iif(l.per IN ('minute', 'hour'),
    ${windowNumber(sql`'day'`, sql`a.at`, ahead(sql`o.timezone`, sql`a.at`))}, a.window_number)`;
/**
 * Notes the limits of organizations that a group has nearly or completely used, or that a request of it doesn't fit into. Those with
 * an unknown counter are noted when it is completed.
 */
export const insertNotices = sql`
  INSERT INTO usage_limit_notices (usage_limit, organization, window_number, level, at, noted_at)
  SELECT usage_limit, organization, window_number, level, at, CAST(?3 AS INTEGER) FROM (
    SELECT a.usage_limit, a.organization, ${noticeWindow} AS window_number, a.at, CASE
        WHEN a.reason IS NOT NULL THEN 'refused' WHEN ${isUsed(5)} THEN 'reached' ELSE 'near' END AS level
    FROM (SELECT usage_limit, organization, window_number, at, NULL AS reason FROM usage_limit_added
        WHERE sum_high + sum_low + sum_micro > 0
      UNION ALL SELECT usage_limit, organization, window_number, at, reason FROM usage_limit_refused
        WHERE reason = 'exceeded') a
    CROSS JOIN usage_limits l ON l.number = a.usage_limit AND l.lineage IS NULL
    CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization
      AND n.window_number = a.window_number AND (a.reason IS NOT NULL OR (n.is_known AND ${isUsed(4)}))
    CROSS JOIN organizations o ON o.number = a.organization
  ) a WHERE level <> 'near' OR NOT EXISTS (SELECT 1 FROM usage_limit_notices x WHERE x.usage_limit = a.usage_limit
      AND x.organization = a.organization AND x.window_number = a.window_number AND x.level = 'reached')
  ON CONFLICT DO NOTHING`;
