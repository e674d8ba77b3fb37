// Who may act as an operator: a signed-in account with a second factor, or a token with the scope.
import {
  type ActiveOperatorToken,
  findActiveOperatorToken,
  updateOperatorTokenUsed,
} from "../../db/access/operator_tokens.ts";
import type { ClientInfo, OperatorActor, SessionActor } from "../../domain/access/actor.ts";
import { isAllowedFrom } from "../address_blocks.ts";
import {
  invalidOperatorTokenError,
  notFoundError,
  scopeMissingError,
  secondFactorRequiredError,
} from "../../domain/errors.ts";
import { apiKeyUsedIntervalMs, operatorSignInMs } from "../../domain/limits.ts";
import type { OperatorScope } from "../../domain/access/operator_scope.ts";
import type { Session } from "../../domain/access/session.ts";
import type { SessionContext } from "../context.ts";

/** True if a session used a second factor recently enough to act as an operator. */
export function hasOperatorSignIn({ secondFactorAt }: Pick<Session, "secondFactorAt">, now: number): boolean {
  return secondFactorAt !== null && secondFactorAt > now - operatorSignInMs &&
    secondFactorAt <= now + operatorSignInMs;
}

/** Returns the session as an operator. @throws {AppError} `not_found` for everyone else, `second_factor_required`. */
export function requireOperatorAccount(session: SessionActor, now: number): OperatorActor {
  if (!session.isOperator) throw notFoundError();
  if (!hasOperatorSignIn(session, now)) throw secondFactorRequiredError();
  return { type: "operator", client: session.client, credential: { kind: "account", session } };
}

/** The use of a token. `scope`: of several, the token needs one; null for what only accounts may do. */
interface OperatorTokenUse {
  readonly scope: OperatorScope | readonly OperatorScope[] | null;
  readonly client: ClientInfo;
}

/**
 * Finds the token of a request, and notes its use in the background.
 *
 * @param input `tokenHash`: SHA-256 in hexadecimal.
 * @throws {AppError} `invalid_operator_token`, also for a client at an address that the token doesn't allow; `scope_missing`.
 */
export async function requireOperatorToken(
  context: SessionContext,
  { tokenHash, ...use }: OperatorTokenUse & { readonly tokenHash: string },
): Promise<OperatorActor> {
  return acceptOperatorToken(
    context,
    await findActiveOperatorToken(context.database, tokenHash, context.clock()),
    use,
  );
}

/**
 * Accepts a token that was just read, or undefined if it doesn't work, as {@linkcode requireOperatorToken} does. The actor has the
 * first of several scopes that the token has.
 */
export function acceptOperatorToken(
  context: SessionContext,
  token: ActiveOperatorToken | undefined,
  { scope, client }: OperatorTokenUse,
): OperatorActor {
  if (token === undefined || !isAllowedFrom(token.addresses, client)) throw invalidOperatorTokenError();
  const scopes: readonly string[] = JSON.parse(token.scopes);
  const accepted = [scope ?? []].flat();
  const used = accepted.find((one) => scopes.includes(one));
  if (used === undefined) throw scopeMissingError(accepted[0] ?? null);
  const { id, name } = token;
  const actor = { type: "operator", client, credential: { kind: "token", id, name, scope: used } } as const;
  noteUse(context, actor, token);
  return actor;
}

/** Updates when a token was last used, without waiting: once per interval, however many requests it makes. */
function noteUse(
  { clock, rateLimits: { operatorTokenUses }, writeAs, onBackgroundError }: SessionContext,
  actor: OperatorActor,
  { id, lastUsedAt }: ActiveOperatorToken,
): void {
  const now = clock();
  if (now - (lastUsedAt ?? 0) < apiKeyUsedIntervalMs || !operatorTokenUses.take(id).isAllowed) return;
  writeAs(actor, [updateOperatorTokenUsed(id, now)]).catch((error) => {
    operatorTokenUses.giveBack(id);
    onBackgroundError(error);
  });
}
