// Recording usage on behalf of organizations, after the fact and without their keys.
import { insertAuditEvents } from "../../db/access/mod.ts";
import { backdatedRecords, findRecordTargets, type RecordTarget } from "../../db/meter/mod.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { validationError } from "../../domain/errors.ts";
import { errorDetailsMax, operatorTimestampPastMaxMs, usageTimestampPastMaxMs } from "../../domain/limits.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { timestampFault, type UsageInput } from "../../domain/meter/usage_record.ts";
import type { SessionContext } from "../context.ts";
import { findRepeats } from "../meter/mod.ts";

export interface OperatorUsageInput extends UsageInput {
  readonly target: RecordTarget;
}

/**
 * Records usage for any organizations, all of it or none. Suspended ones, and keys that don't work anymore, are fine. Records that
 * are too old for a key are in the audit log.
 *
 * @returns The numbers of new records and of records that existed already by their idempotency keys. The limits that apply, if
 *   all are for the same organization.
 * @throws {AppError} `validation_failed` for unknown organizations and keys and for timestamps out of range;
 *   `idempotency_conflict`, `series_limit_reached`, `limit_exceeded`; and those of an operator who may not write.
 */
export async function recordUsageAsOperator(
  { database, clock, recorder, writeAs }: SessionContext,
  actor: OperatorActor,
  inputs: readonly OperatorUsageInput[],
): Promise<{ accepted: number; duplicates: number; limits?: readonly LimitStanding[] }> {
  const now = clock();
  const targets = await findRecordTargets(database, inputs.map(({ target }) => target));
  const found = new Map(targets.map((target) => [nameOf(target), target]));
  const faults = inputs.flatMap(({ target, timestamp }, index) => {
    const fault = timestampFault(timestamp, now, operatorTimestampPastMaxMs);
    return [
      ...(found.has(nameOf(target))
        ? []
        : [{ path: `records[${index}].${target.kind}`, message: faultOf[target.kind] }]),
      ...(fault === null ? [] : [{ path: `records[${index}].timestamp`, message: fault }]),
    ];
  });
  if (faults.length > 0) throw validationError(faults.slice(0, errorDetailsMax));
  const organizationIds = inputs.map(({ target }) => found.get(nameOf(target))?.organizationId ?? "");
  const tooOldForKeys = now - usageTimestampPastMaxMs;
  const note = inputs.some(({ timestamp }) => timestamp !== null && timestamp < tooOldForKeys)
    ? insertAuditEvents(actor, "usage.backdated", { now, rows: backdatedRecords(tooOldForKeys) })
    : undefined;
  const { duplicates, limits } = await recorder.recordAlone(
    {
      target: inputs.map(({ target }, index) =>
        target.kind === "apiKeyId" ? target.id : organizationIds[index] ?? ""
      ),
      inputs,
      repeats: findRepeats(inputs, organizationIds),
    },
    { write: (batch) => writeAs(actor, batch) },
    note,
  );
  const hasLimits = limits.length > 0 && new Set(organizationIds).size === 1;
  return { accepted: inputs.length - duplicates, duplicates, ...(hasLimits && { limits }) };
}

const faultOf = {
  organizationId: "must be the id of an organization.",
  externalId: "must be the external id of an organization.",
  apiKeyId: "must be the id of an API key.",
} as const;

function nameOf({ kind, id }: RecordTarget): string {
  return `${kind} ${id}`;
}
