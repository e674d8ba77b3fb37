// Who may act as an operator: a signed-in account with a second factor, or a token with the scope.
import { findActiveOperatorToken } from "../../db/operator/operator_tokens.ts";
import type { ClientInfo, OperatorActor, SessionActor } from "../../domain/actor.ts";
import {
  invalidOperatorTokenError,
  notFoundError,
  scopeMissingError,
  secondFactorRequiredError,
} from "../../domain/errors.ts";
import { operatorSignInMs } from "../../domain/limits.ts";
import type { OperatorScope } from "../../domain/operator/operator_scope.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { SessionContext } from "../context.ts";

/** @returns Whether a session used a second factor recently enough to act as an operator. `now`: milliseconds since 1970. */
export function hasOperatorSignIn({ secondFactorAt }: Pick<Session, "secondFactorAt">, now: number): boolean {
  return secondFactorAt !== null && secondFactorAt > now - operatorSignInMs &&
    secondFactorAt <= now + operatorSignInMs;
}

/** @returns The session as an operator. @throws {AppError} `not_found` for everyone else, `second_factor_required`. */
export function requireOperatorAccount(session: SessionActor, now: number): OperatorActor {
  if (!session.isOperator) throw notFoundError();
  if (!hasOperatorSignIn(session, now)) throw secondFactorRequiredError();
  return { type: "operator", client: session.client, credential: { kind: "account", session } };
}

/**
 * @param input `tokenHash`: SHA-256 in hexadecimal. `scope`: null for what only accounts may do.
 * @returns The token as an operator.
 * @throws {AppError} `invalid_operator_token`, `scope_missing`.
 */
export async function requireOperatorToken(
  { database, clock }: SessionContext,
  { tokenHash, scope, client }: { tokenHash: string; scope: OperatorScope | null; client: ClientInfo },
): Promise<OperatorActor> {
  const token = await findActiveOperatorToken(database, tokenHash, clock());
  if (token === undefined) throw invalidOperatorTokenError();
  const scopes: readonly string[] = JSON.parse(token.scopes);
  if (scope === null || !scopes.includes(scope)) throw scopeMissingError(scope);
  const { id, name } = token;
  return { type: "operator", client, credential: { kind: "token", id, name, scope } };
}
