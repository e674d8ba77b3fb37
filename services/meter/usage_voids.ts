// Voiding a record, for customers and for operators.
import { insertAuditEvent } from "../../db/audit.ts";
import type { Database } from "../../db/engine/database.ts";
import type { OrganizationUsageRecord } from "../../db/meter/usage_records.ts";
import { type RemainingExtremes, voidRecord } from "../../db/meter/usage_voids.ts";
import type { Actor } from "../../domain/actor.ts";
import { notFoundError, unavailableError } from "../../domain/errors.ts";
import { usageVoidAttemptsMax } from "../../domain/limits.ts";
import { microsToDecimal } from "../../domain/meter/quantity.ts";
import type { RecordReference } from "../../domain/meter/usage_record_id.ts";
import { isoTime } from "../../domain/time.ts";
import type { SessionContext } from "../context.ts";
import { voidsBy } from "../reports/report_reader.ts";
import type { VoidedRecord } from "../reports/jobs/remaining_extremes.ts";

/** Who voids. */
export interface Voider {
  readonly actor: Actor;
  /** See `UsageVoid`. */
  readonly keyHash: string | null;
  readonly voidedBy: string;
  /** Writes the batch. */
  readonly writer: Pick<Database, "write">;
}

/** What to void. */
export interface VoidInput {
  /** The record's id. */
  readonly id: string;
  readonly reason: string;
  readonly signal: AbortSignal;
}

/**
 * Voids a record: sums, counts, minimum and maximum no longer include it. It stays in lists, and its idempotency key stays
 * taken. Voiding it again changes nothing. Minimum and maximum become null if they depend on records that retention has
 * deleted. The void is in the audit log of the record's organization.
 *
 * @param find Finds the record, if the voider may void it, and throws if they may void none.
 * @returns The record, with the first reason.
 * @throws {AppError} `not_found`, `unavailable`; and what `find` and the writer throw.
 */
export async function voidRecordAs(
  { clock, recorder, reports }: SessionContext,
  { actor, writer, ...by }: Voider,
  { id, reason, signal, find }: VoidInput & {
    readonly find: (reference: RecordReference) => Promise<OrganizationUsageRecord | undefined>;
  },
): Promise<OrganizationUsageRecord> {
  const now = clock();
  const reference = (await recorder.recordIds()).parse(id);
  let remaining: RemainingExtremes | null = null;
  for (let attempt = 0; attempt < usageVoidAttemptsMax; attempt++) {
    const record = reference === null ? undefined : await find(reference);
    if (reference === null || record === undefined) throw notFoundError();
    if (record.voidedAt !== null) return record;
    const { organizationId } = record;
    if (attempt > 0) {
      const scan: VoidedRecord = { organizationId, now, seq: record.seq };
      remaining = await reports.read("findRemainingExtremes", scan, {
        reader: voidsBy(by.voidedBy),
        signal,
      });
    }
    const audit = insertAuditEvent(actor, {
      action: "usage.voided",
      organizationId,
      target: { id, name: null },
      details: detailsOf(record, reason),
    }, { now });
    const voided = await voidRecord(writer, { ...reference, ...by, reason, now, remaining }, audit.statement);
    if (voided !== undefined && voided.voidedAt !== null) return { ...voided, organizationId };
  }
  throw unavailableError("Too many records of the same 15 minutes are being voided. Try again.");
}

function detailsOf(
  { whole, micro, metric, productSlug, timestamp }: OrganizationUsageRecord,
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
