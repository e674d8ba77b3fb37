// Voiding a record.
import { insertAuditEvent } from "../../db/access/mod.ts";
import type { Statement } from "../../db/engine/database.ts";
import { findUsageRecord } from "../../db/meter/usage_records.ts";
import type { OtherRecords } from "../../db/meter/other_records.ts";
import { findUnknownWindows } from "../../db/meter/grant_returns.ts";
import { openCells } from "../../db/meter/limit_clearing.ts";
import { voidRecord } from "../../db/meter/usage_voids.ts";
import { operatorIdentity } from "../../domain/access/actor.ts";
import { notFoundError, unavailableError } from "../../domain/errors.ts";
import { usageVoidAttemptsMax } from "../../domain/limits.ts";
import { microsToDecimal } from "../../domain/meter/quantity.ts";
import { type StoredUsageRecord, toUsageRecord, type UsageRecord } from "../../domain/meter/usage_record.ts";
import { isoTime } from "../../domain/time.ts";
import type { OperatorAccess } from "../access/mod.ts";
import type { Context } from "../context.ts";
import { voidsBy } from "../reports/job_reader.ts";
import type { VoidedRecord } from "./jobs/other_records.ts";
import { type KeyAccess, requireApiKey } from "./usage_access.ts";

/**
 * Voids a record: sums, counts, minimum and maximum no longer include it. It stays in lists, and its idempotency key stays
 * taken. Voiding it again changes nothing. Minimum and maximum become null if they depend on records that retention has
 * deleted. The void is in the audit log of the record's organization.
 *
 * @returns The record, with the first reason.
 * @throws {AppError} `not_found`, `unavailable`; `invalid_api_key`, `organization_suspended` and `permission_missing` for keys;
 *   those of `writeAs` for operators.
 */
export async function voidUsageRecord(
  context: Context,
  access: OperatorAccess | KeyAccess,
  { id, reason, signal }: { readonly id: string; readonly reason: string; readonly signal: AbortSignal },
): Promise<UsageRecord> {
  const { clock, database, recorder, reports } = context;
  const { actor, organizationId } = access;
  const isForOperators = actor.type === "operator";
  const by = voiderOf(context, access);
  const now = clock();
  const ids = await recorder.recordIds();
  const reference = ids.parse(id);
  let others: OtherRecords | null = null;
  for (let attempt = 0; attempt < usageVoidAttemptsMax; attempt++) {
    await by.requireAllowed();
    const record = reference === null
      ? undefined
      : await findUsageRecord(database, { organizationId, ...reference });
    if (reference === null || record === undefined) throw notFoundError();
    if (record.voidedAt !== null) return toUsageRecord(record, ids, { isForOperators });
    if (attempt > 0) {
      const scan: VoidedRecord = { organizationId, now, seq: record.seq };
      others = await reports.read("findOtherRecords", scan, { reader: voidsBy(by.id), signal });
    }
    const audit = insertAuditEvent(actor, {
      action: "usage.voided",
      organizationId,
      target: { id, name: null },
      details: detailsOf(record, reason),
    }, { now });
    await completeWindows(context, record);
    const input = { ...reference, keyHash: by.keyHash, voidedBy: by.id, reason, now, others };
    const voided = await voidRecord(by, input, audit);
    if (voided !== undefined && voided.voidedAt !== null) {
      return toUsageRecord(voided, ids, { isForOperators });
    }
  }
  throw unavailableError("Too many records of the same 15 minutes are being voided. Try again.");
}

/** Completes the counters by which the batch knows what windows need of grants. */
async function completeWindows(
  { database, recorder }: Pick<Context, "database" | "recorder">,
  { seq, timestamp }: StoredUsageRecord,
): Promise<void> {
  const cells = await findUnknownWindows(database, seq);
  if (cells.length > 0) await recorder.completeCounters(await openCells(database, cells, timestamp));
}

function voiderOf(context: Context, access: OperatorAccess | KeyAccess) {
  const { database, writeAs } = context;
  if ("keyHash" in access) {
    const { keyHash, actor: { id, client } } = access;
    return {
      id,
      keyHash,
      // Before each attempt: the batch voids nothing for a key that may not, without saying why.
      requireAllowed: async () =>
        void await requireApiKey(context, keyHash, { client, permission: "usage:void" }),
      write: (batch: readonly Statement[]) => database.write(batch),
    };
  }
  const { actor } = access;
  return {
    id: operatorIdentity(actor).id ?? "operator",
    keyHash: null,
    requireAllowed: () => {},
    write: (batch: readonly Statement[]) => writeAs(actor, batch),
  };
}

function detailsOf(
  { whole, micro, metric, productSlug, timestamp }: StoredUsageRecord,
  reason: string,
) {
  return {
    quantity: microsToDecimal(BigInt(whole) * 1_000_000n + BigInt(micro)),
    metric,
    product: productSlug,
    timestamp: isoTime(timestamp),
    reason,
  };
}
