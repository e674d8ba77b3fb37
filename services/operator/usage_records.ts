// Usage records of all organizations, for operators.
import { findUsageRecord } from "../../db/meter/usage_records.ts";
import { type OperatorActor, operatorIdentity } from "../../domain/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import type { SessionContext } from "../context.ts";
import { type VoidInput, voidRecordAs } from "../meter/usage_voids.ts";
import { operatorReader } from "../reports/report_reader.ts";
import {
  type OperatorRecordQuery,
  type OperatorUsageRecord,
  toOperatorUsageRecord,
} from "../reports/jobs/operator_usage_records.ts";

/**
 * Lists records; see `readOperatorRecordPage`.
 *
 * @returns A page and the cursor of the next one, null at the end.
 * @throws {AppError} `validation_failed` for a cursor whose record doesn't exist; `unavailable`.
 */
export async function listOperatorUsageRecords(
  { reports, clock }: SessionContext,
  actor: OperatorActor,
  { query, signal }: { query: OperatorRecordQuery; signal: AbortSignal },
): Promise<{ usageRecords: OperatorUsageRecord[]; nextCursor: string | null }> {
  return await reports.read("readOperatorRecordPage", { ...query, now: clock() }, {
    reader: operatorReader(actor),
    signal,
  });
}

/** @returns A record of any organization. @throws {AppError} `not_found`. */
export async function readOperatorUsageRecord(
  { database, recorder }: SessionContext,
  id: string,
): Promise<OperatorUsageRecord> {
  const ids = await recorder.recordIds();
  const reference = ids.parse(id);
  const row = reference === null ? undefined : await findUsageRecord(database, reference);
  if (row === undefined) throw notFoundError();
  return toOperatorUsageRecord(row, ids);
}

/**
 * Voids a record of any organization; see {@linkcode voidRecordAs}.
 *
 * @returns The record, with the first reason.
 * @throws {AppError} `not_found`, `unavailable`; and those of an operator who may not write.
 */
export async function voidOperatorUsageRecord(
  context: SessionContext,
  actor: OperatorActor,
  input: VoidInput,
): Promise<OperatorUsageRecord> {
  const record = await voidRecordAs(context, {
    actor,
    keyHash: null,
    voidedBy: operatorIdentity(actor).id ?? "operator",
    writer: { write: (batch) => context.writeAs(actor, batch) },
  }, { ...input, find: (reference) => findUsageRecord(context.database, reference) });
  return toOperatorUsageRecord(record, await context.recorder.recordIds());
}
