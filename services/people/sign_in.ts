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
  type NewSession,
  selectSession,
  type UserCredentials,
} from "../../db/access/mod.ts";
import { type NamedBatch, type Statement, writeNamed } from "../../db/engine/database.ts";
import { insertPendingSignIn, type NewPendingSignIn } from "../../db/people/pending_sign_ins.ts";
import { updatePasswordHash } from "../../db/people/users.ts";
import type { ClientInfo, PersonActor } from "../../domain/access/actor.ts";
import { canonicalEmail } from "../../domain/outbox/email.ts";
import { AppError, unauthenticatedError, unavailableError } from "../../domain/errors.ts";
import { endedSignInsMax, secondStepTimeoutMs } from "../../domain/limits.ts";
import type { Session } from "../../domain/access/session.ts";
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
  await requireDomainPermits(context, email);
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
    const { passwordHash: from } = found;
    const more = [
      credentials.forgetFailures(email),
      ...(rehashed === undefined ? [] : [updatePasswordHash(found.id, { from, to: rehashed })]),
    ];
    const entered = found.hasTotp
      ? await askSecondStep(context, client, found, {
        insert: (pending) => insertPendingSignIn(pending, from),
        more,
      })
      : await createSession(context, client, found, {
        details: { method: "password" },
        batchOf: (row, audit) => ({ session: insertSession(row, from), audit: audit.statement, more }),
      });
    if (entered === null) throw accountChangedError();
    return entered;
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

type SessionBatch = NamedBatch & { readonly audit: Statement };

interface NewSignIn {
  /** The details of its audit entry. */
  readonly details?: Readonly<Record<string, string>>;
  /** Returns the statements that insert the session; null for none. If `audit` writes no entry, nothing was done. */
  readonly batchOf: (
    session: NewSession,
    audit: ReturnType<typeof insertAuditEvent>,
  ) => SessionBatch | null | Promise<SessionBatch | null>;
}

/**
 * Creates a session and reads it, in one batch that also deletes the user's expired sessions and those that it replaces. Gives the
 * failures of its user back to the client's address.
 *
 * @returns Null if there was no batch, or if its `audit` wrote no entry.
 * @throws {AppError} `unauthenticated` if the session has already ended.
 */
export async function createSession(
  context: Context,
  client: ClientInfo,
  user: Pick<UserCredentials, "id" | "name" | "organizationId">,
  { details = {}, batchOf }: NewSignIn,
): Promise<SignedIn | null> {
  const { config, credentials, database } = context;
  const now = context.clock();
  const bounds = sessionBounds(config, now);
  const { token, row } = newSession(user.id, { client, now });
  const entry = { action: "session.created", details } as const;
  const batch = await batchOf(row, insertAuditEvent(personOf(user, client), entry, { now }));
  if (batch === null) return null;
  const { audit, created } = await writeNamed(database, {
    ...batch,
    expired: deleteExpiredSessions(user.id, bounds),
    replaced: endReplacedSessions(row),
    created: selectSession(row.tokenHash, bounds),
  });
  if (audit.rows.length !== 1) return null;
  const [found] = foundSessions(created.rows[0] as FoundSessionsRow | undefined);
  if (found === undefined) throw unauthenticatedError();
  credentials.giveBackFailures(client, [found.session.user.id, found.session.user.email]);
  return { token, session: found.session };
}

/**
 * Begins a sign-in that waits for its second step.
 *
 * @param options `insert`: inserts it. `details`: of its audit entry. `more`: further statements.
 * @returns Null if nothing was inserted.
 */
export async function askSecondStep(
  { config, database, clock }: Context,
  client: ClientInfo,
  user: Pick<UserCredentials, "id" | "email" | "organizationId">,
  { insert, details = {}, more = [] }: {
    insert: (pending: NewPendingSignIn) => Statement;
    details?: Readonly<Record<string, string>>;
    more?: readonly Statement[];
  },
): Promise<SecondStepRequired | null> {
  const token = newToken();
  const now = clock();
  const expiresAt = now + secondStepTimeoutMs;
  // Audited even if the second step never comes: someone knows the password.
  const entry = insertAuditEvent({ type: "anonymous", client }, {
    action: "session.second_step_asked",
    organizationId: user.organizationId,
    target: { id: user.id, name: user.email },
    details,
  }, { now });
  const { audit } = await writeNamed(database, {
    pending: insert({ tokenHash: hashToken(token), userId: user.id, expiresAt }),
    audit: entry.statement,
    more,
    expired: deleteExpiredSessions(user.id, sessionBounds(config, now)),
  });
  return audit.rows.length === 1 ? { secondStep: { token, expiresAt } } : null;
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
