// Signing in and out. With two-step sign-in, the password alone gives no session, only a token for the second step.
import {
  deleteExpiredSessions,
  deleteExpiredSignIns,
  deleteSessions,
  endReplacedSessions,
  findSessions,
  findUserCredentials,
  foundSessions,
  type FoundSessionsRow,
  insertAuditEvent,
  insertSession,
  selectSession,
  type UserCredentials,
} from "../../db/access/mod.ts";
import type { Statement, WriteResult } from "../../db/engine/database.ts";
import { insertPendingSignIn } from "../../db/people/pending_sign_ins.ts";
import { updatePasswordHash } from "../../db/people/users.ts";
import type { ClientInfo, PersonActor } from "../../domain/access/actor.ts";
import { canonicalEmail } from "../../domain/outbox/email.ts";
import { AppError, unauthenticatedError, unavailableError } from "../../domain/errors.ts";
import { endedSignInsMax, secondStepTimeoutMs, sessionsPerUserMax } from "../../domain/limits.ts";
import type { Session } from "../../domain/access/session.ts";
import type { BaseContext } from "../base_context.ts";
import type { Context } from "../context.ts";
import { requireDomainPermits } from "./domain_rules.ts";
import {
  hashToken,
  needsRehash,
  newSession,
  newToken,
  sessionBounds,
  wellFormedHashes,
} from "../access/mod.ts";

export interface SignedIn {
  readonly token: string;
  readonly session: Session;
}

/** The password is right, and a second step is required. There is no session yet. */
export interface SecondStepRequired {
  readonly secondStep: {
    /** Only the second step accepts it. */
    readonly token: string;
    readonly expiresAt: number;
  };
}

/**
 * Signs in with a password. The response to a wrong one doesn't reveal whether the account exists.
 *
 * @throws {AppError} `sso_required`, `invalid_credentials`, `rate_limited`, `unavailable`.
 */
export async function signIn(
  context: Context,
  client: ClientInfo,
  { email: given, password }: { email: string; password: string },
): Promise<SignedIn | SecondStepRequired> {
  const { credentials, database } = context;
  const email = canonicalEmail(given) ?? "";
  await requireDomainPermits(context, email, null);
  let search: Promise<UserCredentials | undefined> | undefined;
  const find = () =>
    search ??= email === "" ? Promise.resolve(undefined) : findUserCredentials(database, email);
  return await credentials.guess({
    subject: email,
    actor: { type: "anonymous", client },
    failureAction: "session.refused",
    async about() {
      const found = await find();
      return found === undefined
        ? { organizationId: null }
        : { organizationId: found.organizationId, target: { id: found.id, name: found.email } };
    },
  }, async () => {
    const found = await find();
    if (!await credentials.isPassword(found, password) || found === undefined) {
      throw new AppError("invalid_credentials", "Incorrect email or password.");
    }
    const rehashed = needsRehash(found.passwordHash) ? await credentials.hasher.hash(password) : undefined;
    const more = [
      credentials.forgetFailures(email),
      deleteExpiredSessions(found.id, sessionBounds(context.config, context.clock())),
      ...(rehashed === undefined
        ? []
        : [updatePasswordHash(found.id, { from: found.passwordHash, to: rehashed })]),
    ];
    return await (found.hasTotp ? beginSecondStep : createSession)(context, client, { found, more });
  });
}

export async function signOut(context: Context, client: ClientInfo, tokens: readonly string[]) {
  const { config, database, clock } = context;
  const hashes = wellFormedHashes(tokens);
  if (hashes.length === 0) return;
  const now = clock();
  const found = await findSessions(database, hashes, sessionBounds(config, now));
  const entries = found.map(({ session }) => {
    const actor = { ...session, type: "session", client } as const;
    return insertAuditEvent(actor, { action: "session.ended" }, { now, always: true }).statement;
  });
  await database.write([deleteSessions(hashes), ...entries]);
}

/** Deletes some sign-ins and sessions that have expired. Returns true if there may be more. */
export async function cleanUpSignIns({ config, database, clock }: Context): Promise<boolean> {
  const now = clock();
  const { seenAfter } = sessionBounds(config, now);
  return await deleteExpiredSignIns(database, { now, seenAfter, limit: endedSignInsMax }) >= endedSignInsMax;
}

interface CheckedPassword {
  readonly found: UserCredentials;
  /** Further statements of the same transaction. */
  readonly more: readonly Statement[];
}

async function createSession(context: Context, client: ClientInfo, { found, more }: CheckedPassword) {
  const now = context.clock();
  const { token, row } = newSession(found.id, { client, now });
  const entry = { action: "session.created", details: { method: "password" } } as const;
  const results = await context.database.write([
    insertSession(row, found.passwordHash),
    insertAuditEvent(personOf(found, client), entry, { now }).statement,
    ...more,
    ...endReplacedSessions(row, { max: sessionsPerUserMax }),
    selectSignedIn(context, token, now),
  ]);
  if (results[1]?.rows.length !== 1) throw accountChangedError();
  return signedIn(context, client, { results, token });
}

async function beginSecondStep(context: Context, client: ClientInfo, { found, more }: CheckedPassword) {
  const token = newToken();
  const now = context.clock();
  const expiresAt = now + secondStepTimeoutMs;
  // Audited even if the second step never comes: someone knows the password.
  const audit = insertAuditEvent({ type: "anonymous", client }, {
    action: "session.second_step_asked",
    organizationId: found.organizationId,
    target: { id: found.id, name: found.email },
  }, { now });
  const [inserted] = await context.database.write([
    insertPendingSignIn({ tokenHash: hashToken(token), userId: found.id, expiresAt }, found.passwordHash),
    audit.statement,
    ...more,
  ]);
  if (inserted?.changes !== 1) throw accountChangedError();
  return { secondStep: { token, expiresAt } };
}

/** Returns a stored user as an actor, for the audit log. */
export function personOf(
  found: Pick<UserCredentials, "id" | "name" | "organizationId">,
  client: ClientInfo,
): PersonActor {
  const { id, name, organizationId } = found;
  return {
    type: "session",
    user: { id, name },
    organization: organizationId === null ? null : { organizationId },
    client,
  };
}

/** Reports that a password was changed, or rehashed by another sign-in, at the same time. */
export function accountChangedError(): AppError {
  return unavailableError("Your account was just changed. Sign in again.");
}

/** Reads the session that a batch creates, as its last statement. */
export function selectSignedIn({ config }: BaseContext, token: string, now: number): Statement {
  return selectSession(hashToken(token), sessionBounds(config, now));
}

/**
 * Returns the session that {@linkcode selectSignedIn} has read, and gives the failures of its user back to the client's address.
 *
 * @throws {AppError} `unauthenticated` if there is none.
 */
export function signedIn(
  { credentials }: Context,
  client: ClientInfo,
  { results, token }: { results: readonly WriteResult[]; token: string },
): SignedIn {
  const [row] = results.at(-1)?.rows ?? [];
  const [found] = foundSessions(row as FoundSessionsRow | undefined);
  if (found === undefined) throw unauthenticatedError();
  credentials.giveBackFailures(client, [found.session.user.id, found.session.user.email]);
  return { token, session: found.session };
}
