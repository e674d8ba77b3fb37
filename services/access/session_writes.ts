// The only way to write for a signed-in person or an operator. Each batch checks again, in its own transaction, that the session or
// token still works and that the role or scope still permits the action.
import { DatabaseError, type Statement, type WriteResult } from "../../db/engine/database.ts";
import {
  findOperatorRejection,
  type OperatorGuard,
  requireOperator,
} from "../../db/access/operator_guard.ts";
import { findPortalSessionRejection, requirePortalSession } from "../../db/access/portal_sessions.ts";
import {
  findSessionRejection,
  requireSession,
  type SessionRejection,
} from "../../db/access/session_guard.ts";
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

interface Guard {
  readonly statement: Statement;
  /** Returns null for a writer who is still allowed. */
  readonly findError: () => Promise<AppError | null>;
}

export function createWriteAs(
  base: BaseContext,
  { sessionWrites }: Pick<RateLimits, "sessionWrites">,
): WriteAs {
  return async function writeAs(by, batch, { organizationId = "" } = {}) {
    const guard = guardOf(base, by);
    if (guard === null) return await base.database.write(batch);
    const { statement, findError } = guard;
    try {
      // Keeps one person's waiting batches from blocking everyone else.
      const write = () => base.database.write([statement, ...batch]);
      const name = `${subjectOf(by)} ${organizationId}`;
      return (await sessionWrites.during(name, write, tooManyWaitingError)).slice(1);
    } catch (error) {
      const isRejected = error instanceof DatabaseError && error.kind === "constraint";
      throw (isRejected ? await findError() : null) ?? error;
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
  if ("permission" in by) return sessionGuard(base, by.actor, by);
  if (by.type === "portalSession") return portalSessionGuard(base, by);
  if (by.type === "operator" && by.isViewing) throw forbiddenError();
  return by.type === "session" ? sessionGuard(base, by, null) : operatorGuard(base, by);
}

function sessionGuard(
  { config, database, clock }: BaseContext,
  actor: SessionActor,
  permit: Permit | null,
): Guard {
  const guard = {
    sessionId: actor.id,
    ...sessionBounds(config, clock()),
    role: permit && {
      organizationId: permit.organizationId,
      anyOf: rolesWith(permit.permission),
      isReading: isReadPermission(permit.permission),
    },
  };
  return {
    statement: requireSession(guard),
    findError: async () => {
      const rejection = await findSessionRejection(database, guard);
      return rejection && sessionError(rejection, permit);
    },
  };
}

function sessionError(rejection: SessionRejection, permit: Permit | null): AppError {
  if (rejection === "ended" || permit === null) return unauthenticatedError();
  if (rejection === "suspended") return organizationSuspendedError();
  return rejection === "role" ? forbiddenError(rolesWith(permit.permission)[0]) : permit.notMemberError();
}

function portalSessionGuard({ database, clock }: BaseContext, actor: PortalSessionActor): Guard {
  const guard = { id: actor.id, now: clock() };
  const errors = {
    ended: unauthenticatedError,
    read_only: forbiddenError,
    suspended: organizationSuspendedError,
  };
  return {
    statement: requirePortalSession(guard),
    findError: async () => {
      const rejection = await findPortalSessionRejection(database, guard);
      return rejection && errors[rejection]();
    },
  };
}

function operatorGuard(
  { config, database, clock }: BaseContext,
  { credential }: OperatorActor,
): Guard | null {
  if (credential.kind === "commandLine") return null;
  const now = clock();
  const guard: OperatorGuard = credential.kind === "token"
    ? { tokenId: credential.id, scope: credential.scope, now }
    : {
      sessionId: credential.session.id,
      ...sessionBounds(config, now),
      secondFactorAfter: now - operatorSignInMs,
    };
  const errors = {
    token: invalidOperatorTokenError,
    scope: () => scopeMissingError(credential.kind === "token" ? credential.scope : null),
    ended: unauthenticatedError,
    not_operator: notFoundError,
    second_factor: secondFactorRequiredError,
  };
  return {
    statement: requireOperator(guard),
    findError: async () => {
      const rejection = await findOperatorRejection(database, guard);
      return rejection && errors[rejection]();
    },
  };
}
