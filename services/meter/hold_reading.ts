// Reads a hold, its records and the limits that count them.
import type { Beyond } from "../../db/meter/hold_group.ts";
import { findBeyond } from "../../db/meter/holds.ts";
import { findLimitStandings } from "../../db/meter/limit_standings.ts";
import { findUsageRecord } from "../../db/meter/usage_records.ts";
import {
  type Hold,
  type HoldRecord,
  parseHoldRecords,
  type StoredHold,
  toHold,
} from "../../domain/meter/hold.ts";
import { limitStanding } from "../../domain/meter/limit_window.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { toUsageRecord, type UsageRecord } from "../../domain/meter/usage_record.ts";
import type { Context } from "../context.ts";
import { type BeyondLimit, beyondOf } from "./hold_results.ts";
import { usageOf } from "./limits.ts";
import { readValuesOf } from "./value_limits.ts";

/** Returns a hold as it is now. */
export async function holdOut(
  { clock, recorder }: Pick<Context, "clock" | "recorder">,
  hold: StoredHold,
): Promise<Hold> {
  const ids = await recorder.recordIds();
  return toHold(hold, { now: clock(), idOf: ids.of });
}

/** Reads the records of a settlement; deleted ones are left out. */
export async function recordsOf({ database, recorder }: Context, hold: StoredHold): Promise<UsageRecord[]> {
  const { firstSeq, recordedAt, organizationId } = hold;
  if (firstSeq === null || recordedAt === null) return [];
  const ids = await recorder.recordIds();
  const found = await Promise.all(
    parseHoldRecords(hold.settlement ?? "[]").map((_, index) =>
      findUsageRecord(database, { organizationId, seq: firstSeq + index, recordedAt })
    ),
  );
  return found.flatMap((row) => row === undefined ? [] : toUsageRecord(row, ids));
}

/** Reads by how much limits are exceeded now because of a settlement. */
export async function readBeyond({ database, clock }: Context, { id }: StoredHold): Promise<BeyondLimit[]> {
  const all = await findBeyond<Beyond>(database, id, clock());
  return beyondOf(all, id);
}

/** Reads the limits that count records, as they are now. */
export async function limitsOf(
  { database, clock }: Context,
  { organizationId, organization, apiKeyId }: StoredHold,
  records: readonly HoldRecord[],
): Promise<LimitStanding[]> {
  if (organization < 0) return [];
  const now = clock();
  const rows = await findLimitStandings(database, { organizationId, apiKeyId: apiKeyId ?? undefined, now });
  const values = await readValuesOf({ database }, records, { organizationId, now });
  const whole = rows.flatMap(({ grants: _grants, ...row }) => {
    const counts = records.some(({ productSlug, metric }) =>
      ["", productSlug].includes(row.productSlug) && ["", metric].includes(row.metric)
    );
    return counts && row.used !== null && row.reserved !== null
      ? limitStanding(usageOf(row, row.used, now))
      : [];
  });
  return [...whole, ...values.map(limitStanding)];
}
