// The only way to write for a signed-in person or an operator. Each batch checks again, in its own transaction, that the session or
// token still works and that the role or scope still permits the action.
import { DatabaseError, type Statement, type WriteResult } from "../../db/engine/database.ts";
import { operatorGuard } from "../../db/access/operator_guard.ts";
import { portalSessionGuard } from "../../db/access/portal_sessions.ts";
import { findRejectionReason, rejectWrite } from "../../db/access/rejected_writes.ts";
import { sessionGuard } from "../../db/access/session_guard.ts";
import {
  type OperatorActor,
  operatorIdentity,
  type PortalSessionActor,
  type SessionActor,
} from "../../domain/access/actor.ts";
import {
  type AppError,
  forbiddenError,
  invalidOperatorTokenError,
  notFoundError,
  organizationSuspendedError,
  scopeMissingError,
  secondFactorRequiredError,
  unauthenticatedError,
  unavailableError,
} from "../../domain/errors.ts";
import { operatorSignInMs } from "../../domain/limits.ts";
import { isReadPermission, type Permission, rolesWith } from "../../domain/access/permissions.ts";
import type { BaseContext } from "../base_context.ts";
import type { RateLimits } from "../rate_limits.ts";
import { sessionBounds } from "./session_tokens.ts";

/** A permission that a member has in an organization. `writeAs` checks it again in the transaction that uses it. */
interface Permit {
  readonly actor: SessionActor;
  readonly organizationId: string;
  readonly permission: Permission;
  /** Returns the error for a user who is no longer a member when the batch is written. */
  readonly notMemberError: () => AppError;
}

/** A session, its {@linkcode Permit} in an organization, an operator, or a portal session. */
export type Writer = SessionActor | Permit | OperatorActor | PortalSessionActor;

/** Returns the writer as the audit log names them. */
export function actorOf(by: Writer): SessionActor | OperatorActor | PortalSessionActor {
  return "permission" in by ? by.actor : by;
}

/**
 * Writes a batch. Nothing is written unless the session is live and, with a permit, the role permits the action; or, for an
 * operator, the credential works; or the portal session is live and may write.
 *
 * @throws {AppError} `unauthenticated`, `forbidden`, `organization_suspended`, or the permit's error for non-members;
 *   `invalid_operator_token`, `scope_missing`, `not_found` or `second_factor_required` for operators; `unavailable` when too
 *   many batches of the same person are waiting.
 * @param options `organizationId`: the writer's waiting batches are limited for each organization.
 */
export type WriteAs = (
  by: Writer,
  batch: readonly Statement[],
  options?: { readonly organizationId?: string },
) => Promise<readonly WriteResult[]>;

/** A query for a reason why a writer may not write, and the error for each. */
interface Guard {
  readonly guard: Statement;
  readonly errors: Readonly<Record<string, () => AppError>>;
}

export function createWriteAs(
  base: BaseContext,
  { sessionWrites }: Pick<RateLimits, "sessionWrites">,
): WriteAs {
  return async function writeAs(by, batch, { organizationId = "" } = {}) {
    const guarded = guardOf(base, by);
    if (guarded === null) return await base.database.write(batch);
    const { guard, errors } = guarded;
    try {
      // Keeps one person's waiting batches from blocking everyone else.
      const write = () => base.database.write([rejectWrite(guard), ...batch]);
      const name = `${subjectOf(by)} ${organizationId}`;
      return (await sessionWrites.during(name, write, tooManyWaitingError)).slice(1);
    } catch (error) {
      const isRejected = error instanceof DatabaseError && error.kind === "constraint";
      const reason = isRejected ? await findRejectionReason(base.database, guard) : null;
      throw reason === null ? error : errors[reason]?.() ?? error;
    }
  };
}

const tooManyWaitingError = () =>
  unavailableError("Too many of your changes are waiting. Try again in a moment.");

/** Returns the name that limits a person's work in progress. An organization's portal sessions share one: a product can create many. */
export function subjectOf(by: Writer): string {
  const actor = actorOf(by);
  if (actor.type === "portalSession") return `portal sessions of ${actor.organizationId}`;
  return actor.type === "session" ? actor.user.id : operatorIdentity(actor).id ?? "command line";
}

/** Returns null for the command line, whose user can write to the database anyway. */
function guardOf(base: BaseContext, by: Writer): Guard | null {
  if ("permission" in by) return guardOfSession(base, by.actor, by);
  if (by.type === "portalSession") {
    const guard = portalSessionGuard({ id: by.id, now: base.clock() });
    const errors = {
      ended: unauthenticatedError,
      read_only: forbiddenError,
      suspended: organizationSuspendedError,
    };
    return { guard, errors };
  }
  if (by.type === "operator" && by.isViewing) throw forbiddenError();
  return by.type === "session" ? guardOfSession(base, by, null) : guardOfOperator(base, by);
}

/** @param permit Null for a change that needs no role. */
function guardOfSession({ config, clock }: BaseContext, actor: SessionActor, permit: Permit | null): Guard {
  const bounds = sessionBounds(config, clock());
  if (permit === null) {
    const guard = sessionGuard({ sessionId: actor.id, ...bounds, role: null });
    return { guard, errors: { ended: unauthenticatedError } };
  }
  const { organizationId, permission, notMemberError } = permit;
  const anyOf = rolesWith(permission);
  const role = { organizationId, anyOf, isReading: isReadPermission(permission) };
  return {
    guard: sessionGuard({ sessionId: actor.id, ...bounds, role }),
    errors: {
      ended: unauthenticatedError,
      not_member: notMemberError,
      role: () => forbiddenError(anyOf[0]),
      suspended: organizationSuspendedError,
    },
  };
}

function guardOfOperator({ config, clock }: BaseContext, { credential }: OperatorActor): Guard | null {
  if (credential.kind === "commandLine") return null;
  const now = clock();
  if (credential.kind === "token") {
    const { id: tokenId, scope } = credential;
    return {
      guard: operatorGuard({ tokenId, scope, now }),
      errors: { token: invalidOperatorTokenError, scope: () => scopeMissingError(scope) },
    };
  }
  const bounds = { ...sessionBounds(config, now), secondFactorAfter: now - operatorSignInMs };
  return {
    guard: operatorGuard({ sessionId: credential.session.id, ...bounds }),
    errors: {
      ended: unauthenticatedError,
      not_operator: notFoundError,
      second_factor: secondFactorRequiredError,
    },
  };
}
