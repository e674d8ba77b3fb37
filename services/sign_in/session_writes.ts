// The only way to write for a signed-in person. Each batch checks again, in its own transaction, that the session is live and that
// the role still permits the action.
import { DatabaseError, type Statement, type WriteResult } from "../../db/engine/database.ts";
import {
  findSessionRejection,
  requireSession,
  type SessionRejection,
} from "../../db/sign_in/session_guard.ts";
import type { SessionActor } from "../../domain/actor.ts";
import {
  type AppError,
  forbiddenError,
  unauthenticatedError,
  unavailableError,
} from "../../domain/errors.ts";
import { rolesWith } from "../../domain/permissions.ts";
import type { BaseContext } from "../base_context.ts";
import type { Permit } from "../organization/membership.ts";
import type { RateLimits } from "../rate_limits.ts";
import { sessionBounds } from "./session_tokens.ts";

/**
 * Writes a batch for a session. Nothing is written unless the session is live and, with a permit, the role permits the action.
 *
 * @param by The session, or its {@linkcode Permit} in an organization.
 * @returns One result per statement, in order.
 * @throws {AppError} `unauthenticated`, `forbidden`, or the permit's error for non-members; `unavailable` when too many batches
 *   of the same person are waiting.
 * @throws {DatabaseError}
 */
export type WriteAs = (
  by: SessionActor | Permit,
  batch: readonly Statement[],
) => Promise<readonly WriteResult[]>;

/** @returns The function that writes for sessions. */
export function createWriteAs(
  { config, database, clock }: BaseContext,
  { sessionWrites }: Pick<RateLimits, "sessionWrites">,
): WriteAs {
  /** One person's waiting batches must not block everyone else. */
  async function limitWaiting<T>({ user: { id } }: SessionActor, write: () => Promise<T>): Promise<T> {
    if (!sessionWrites.take(id).isAllowed) {
      throw unavailableError("Too many of your changes are waiting. Try again in a moment.");
    }
    try {
      return await write();
    } finally {
      sessionWrites.giveBack(id);
    }
  }

  return async function writeAs(by, batch) {
    const { actor, permit } = "permission" in by
      ? { actor: by.actor, permit: by }
      : { actor: by, permit: null };
    const guard = {
      sessionId: actor.id,
      ...sessionBounds(config, clock()),
      role: permit && { organizationId: permit.organizationId, anyOf: rolesWith(permit.permission) },
    };
    try {
      return (await limitWaiting(actor, () => database.write([requireSession(guard), ...batch]))).slice(1);
    } catch (error) {
      const isRejected = error instanceof DatabaseError && error.kind === "constraint";
      const rejection = isRejected ? await findSessionRejection(database, guard) : null;
      throw rejection === null ? error : rejectionError(rejection, permit);
    }
  };
}

function rejectionError(rejection: SessionRejection, permit: Permit | null): AppError {
  if (rejection === "ended" || permit === null) return unauthenticatedError();
  return rejection === "role" ? forbiddenError() : permit.notMemberError();
}
