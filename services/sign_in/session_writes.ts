// The only way to write for a signed-in person. Each batch asks the database again whether the session is live and whether the
// role still allows the act, in the transaction that does it.
import { DatabaseError, type Statement, type WriteResult } from "../../db/engine/database.ts";
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
import type { BaseContext } from "../base_context.ts";
import type { Permit } from "../organization/membership.ts";
import { sessionBounds } from "./session_tokens.ts";

/**
 * Writes a batch for a session. Nothing is written unless the session is live and, with a permit, the role allows the act.
 *
 * @param by The session, or the {@linkcode Permit} that it has in an organization.
 * @returns One result for each statement, in order.
 * @throws {AppError} `unauthenticated`, `forbidden`, or the permit's error for people who are not members; `unavailable`
 *   when too many batches of the same person are waiting.
 * @throws {DatabaseError}
 */
export type WriteAs = (
  by: SessionActor | Permit,
  batch: readonly Statement[],
) => Promise<readonly WriteResult[]>;

/** @returns The function that writes for sessions. */
export function createWriteAs({ config, database, clock }: BaseContext): WriteAs {
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

  return async function writeAs(by, batch) {
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
  };
}

function refusalError(refusal: SessionRefusal, permit: Permit | null): AppError {
  if (refusal === "ended" || permit === null) return unauthenticatedError();
  return refusal === "role" ? forbiddenError() : permit.notMemberError();
}
