// Usage records across organizations, for operators.
import { findUsageRecord } from "../../db/meter/mod.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import { type OperatorAccess, operatorAccess, organizationIdOf } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import type { OperatorRecordQuery, OperatorUsageRecord } from "../meter/jobs/mod.ts";
import { readForOperator } from "./usage.ts";

/**
 * Lists records of all organizations or some, by id or `external:` and an external id; see `readOperatorRecordPage`.
 *
 * @returns A page and the cursor of the next one, null at the end.
 * @throws {AppError} `not_found`; `validation_failed` for a cursor whose record doesn't exist; `unavailable`.
 */
export async function listRecordsOfOrganizations(
  context: SessionContext,
  actor: OperatorActor,
  { query, signal }: { query: OperatorRecordQuery; signal: AbortSignal },
): Promise<{ usageRecords: OperatorUsageRecord[]; nextCursor: string | null }> {
  const organizationIds = query.organizationIds &&
    await Promise.all(query.organizationIds.map((idText) => organizationIdOf(context, idText)));
  const input = { ...query, organizationIds, signal };
  return await readForOperator(context, actor, { job: "readOperatorRecordPage", ...input });
}

/** Returns an operator's access to the organization of a record. @throws {AppError} `not_found`. */
export async function accessToRecord(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<OperatorAccess> {
  const reference = (await context.recorder.recordIds()).parse(id);
  const record = reference === null ? undefined : await findUsageRecord(context.database, reference);
  if (record === undefined) throw notFoundError();
  return await operatorAccess(context, actor, record.organizationId);
}
