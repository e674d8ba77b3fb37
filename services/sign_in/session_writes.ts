// The only way to write for a signed-in person. Each batch asks the database again whether the session is live and whether the
// role still allows the act, in the transaction that does it.
import { DatabaseError, type Statement } from "../../db/engine/database.ts";
import { findSessionRefusal, requireSession, type SessionRefusal } from "../../db/sign_in/session_guard.ts";
import type { SessionActor } from "../../domain/actor.ts";
import {
  type AppError,
  forbiddenError,
  unauthenticatedError,
  unavailableError,
} from "../../domain/errors.ts";
import { sessionWritesWaitingMax } from "../../domain/limits.ts";
import { rolesThatMay } from "../../domain/permissions.ts";
import type { ServiceContext, SessionContext } from "../context.ts";
import type { Permit } from "../organization/membership.ts";
import { sessionBounds } from "./session_tokens.ts";

/** @returns The context of verbs that act for a session. @param context See {@linkcode ServiceContext}. */
export function sessionContext(context: ServiceContext): SessionContext {
  const { config, database, clock } = context;

  /** Batches that wait for the database, by user: one person must not take the places of all others. */
  const waiting = new Map<string, number>();

  async function inPlaceOf<T>({ user: { id } }: SessionActor, write: () => Promise<T>): Promise<T> {
    const before = waiting.get(id) ?? 0;
    if (before >= sessionWritesWaitingMax) {
      throw unavailableError("Too many of your changes are waiting to be written. Try again in a moment.");
    }
    waiting.set(id, before + 1);
    try {
      return await write();
    } finally {
      const others = (waiting.get(id) ?? 1) - 1;
      if (others > 0) waiting.set(id, others);
      else waiting.delete(id);
    }
  }

  async function writeAs(by: SessionActor | Permit, batch: readonly Statement[]) {
    const { actor, permit } = "act" in by ? { actor: by.actor, permit: by } : { actor: by, permit: null };
    const guard = {
      sessionId: actor.id,
      ...sessionBounds(config, clock()),
      role: permit && { organizationId: permit.organizationId, anyOf: rolesThatMay(permit.act) },
    };
    try {
      return (await inPlaceOf(actor, () => database.write([requireSession(guard), ...batch]))).slice(1);
    } catch (error) {
      const isRefused = error instanceof DatabaseError && error.kind === "constraint";
      const refusal = isRefused ? await findSessionRefusal(database, guard) : null;
      throw refusal === null ? error : refusalError(refusal, permit);
    }
  }

  return { config, database, clock, writeAs };
}

function refusalError(refusal: SessionRefusal, permit: Permit | null): AppError {
  if (refusal === "ended" || permit === null) return unauthenticatedError();
  return refusal === "role" ? forbiddenError() : permit.notMemberError();
}
