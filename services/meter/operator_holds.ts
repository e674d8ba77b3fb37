// New holds of operators. Those with a token wait with those of API keys; others are batches of their own.
import { DatabaseError, type Statement } from "../../db/engine/database.ts";
import { findRecordTargets, type RecordTarget } from "../../db/meter/record_targets.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { validationError } from "../../domain/errors.ts";
import { holdRecordsText } from "../../domain/meter/hold.ts";
import type { Context } from "../context.ts";
import type { NewHoldRequest } from "./hold_recorder.ts";
import type { HeldResult, Unsettled } from "./hold_results.ts";
import type { HoldActor } from "./holds.ts";

/** Holds for an organization or a key. @throws {AppError} As `createHold`. */
export async function holdAsOperator(
  context: Context,
  actor: OperatorActor,
  { request, target }: { request: Omit<NewHoldRequest, "target">; target?: RecordTarget | undefined },
): Promise<HeldResult | Unsettled> {
  const { holds } = context.recorder;
  const { organizationId, id } = await heldTarget(context, target);
  const own = { ...request, target: id };
  const { token, records } = request;
  if (token === null) return await holds.runAlone(own, writerOf(context, actor));
  try {
    const bytes = holdRecordsText(records).length;
    return await holds.run(own, { organizationId, keyHash: token.id, bytes });
  } catch (error) {
    // A token of the group doesn't work anymore. A batch of its own says whose.
    if (!(error instanceof DatabaseError && error.kind === "constraint")) throw error;
    return await holds.runAlone(own, writerOf(context, actor));
  }
}

/** Returns the id of the organization or the key, and that of the organization. */
async function heldTarget({ database }: Context, target?: RecordTarget) {
  const [found] = target === undefined ? [] : await findRecordTargets(database, [target]);
  if (found !== undefined) {
    const { kind, id, organizationId } = found;
    return { id: kind === "apiKeyId" ? id : organizationId, organizationId };
  }
  throw validationError([{
    path: target?.kind ?? "organizationId",
    message: "must name an existing organization or API key.",
  }]);
}

/** Returns a writer that checks the operator. */
export const writerOf = ({ writeAs }: Context, actor: OperatorActor) => ({
  write: (batch: readonly Statement[]) => writeAs(actor, batch),
});

/** Returns the token of an operator, which is checked in the transaction that holds or settles. */
export const tokenOf = (actor: HoldActor) =>
  "keyHash" in actor || actor.credential.kind !== "token" ? null : actor.credential;
