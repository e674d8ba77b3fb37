// Signing in and out. With two-step sign-in the password alone gives no session, only a token for the second step.
import { insertAuditEvent } from "../../db/audit.ts";
import type { Statement } from "../../db/engine/database.ts";
import { deleteEndedSignIns } from "../../db/sign_in/sign_in_cleanup.ts";
import { insertPendingSignIn } from "../../db/sign_in/pending_sign_ins.ts";
import {
  deleteEndedSessions,
  deleteSessions,
  endReplacedSessions,
  findSessions,
  insertSession,
} from "../../db/sign_in/sessions.ts";
import { findUserCredentials, updatePasswordHash, type UserCredentials } from "../../db/account/users.ts";
import type { ClientInfo, PersonActor } from "../../domain/actor.ts";
import { canonicalEmail } from "../../domain/mail/email.ts";
import { AppError, unauthenticatedError, unavailableError } from "../../domain/errors.ts";
import { endedSignInsMax, secondStepTimeoutMs, sessionsPerUserMax } from "../../domain/limits.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { BaseContext } from "../base_context.ts";
import type { SessionContext } from "../context.ts";
import type { Credentials } from "./credentials.ts";
import { needsRehash } from "./password_hasher.ts";
import { hashToken, newSession, newToken, sessionBounds, wellFormedHashes } from "./session_tokens.ts";

/** A new session and the token that goes into the cookie, once. */
export interface SignedIn {
  readonly token: string;
  readonly session: Session;
}

/** The password was right, and it takes one step more. There is no session yet. */
export interface SecondStepNeeded {
  readonly secondStep: {
    /** Goes to the client, once; only the second step takes it. */
    readonly token: string;
    /** Milliseconds since 1970. */
    readonly expiresAt: number;
  };
}

/** The verbs of signing in and out. */
export interface SignInService {
  /**
   * Checks a password. Nothing in the answer to a wrong one tells whether the account exists.
   *
   * @throws {AppError} `invalid_credentials`, `rate_limited`, `unavailable`.
   */
  signIn(
    input: { email: string; password: string },
    client: ClientInfo,
  ): Promise<SignedIn | SecondStepNeeded>;
  /** Ends the session of each token, on the server. */
  signOut(tokens: readonly string[], client: ClientInfo): Promise<void>;
  /** Deletes some of the sign-ins that nobody finished in time, and of the sessions that nobody used for too long. @returns Whether there may be more. @throws {DatabaseError} */
  deleteEndedSignIns(): Promise<boolean>;
}

/** @param context See {@linkcode BaseContext}. */
export function createSignInService(context: BaseContext, credentials: Credentials): SignInService {
  const { config, database, clock } = context;

  async function checkAndSignIn(
    { email, password, found }: { email: string; password: string; found: UserCredentials | undefined },
    client: ClientInfo,
  ): Promise<SignedIn | SecondStepNeeded> {
    if (!await credentials.isPassword(found, password) || found === undefined) {
      throw new AppError("invalid_credentials", "The address or the password is not right.");
    }
    const rehashed = needsRehash(found.passwordHash) ? await credentials.hasher.hash(password) : undefined;
    const now = clock();
    const more = [
      credentials.forgetFailures(email),
      deleteEndedSessions(found.id, sessionBounds(config, now)),
      ...(rehashed === undefined
        ? []
        : [updatePasswordHash(found.id, { from: found.passwordHash, to: rehashed })]),
    ];
    if (found.hasTotp) return await needSecondStep(found, { client, more });
    const { token, row } = newSession(found.id, { client, now });
    const actor = personOf(found, client);
    const audit = insertAuditEvent(actor, { action: "session.created", details: { method: "password" } }, {
      now,
    });
    const [, audited] = await database.write([
      insertSession(row, found.passwordHash),
      audit.statement,
      ...more,
      ...endReplacedSessions(row, { max: sessionsPerUserMax }),
    ]);
    if (audited?.rows.length !== 1) throw changedMeanwhile();
    return await readSignedIn(context, token);
  }

  async function needSecondStep(
    found: UserCredentials,
    { client, more }: { client: ClientInfo; more: readonly Statement[] },
  ): Promise<SecondStepNeeded> {
    const token = newToken();
    const now = clock();
    const expiresAt = now + secondStepTimeoutMs;
    const pending = { tokenHash: hashToken(token), userId: found.id, expiresAt };
    // Whoever comes no further knows the password all the same: that must not go unseen.
    const audit = insertAuditEvent({ type: "anonymous", client }, {
      action: "session.second_step_asked",
      organizationId: found.organizationId,
      target: { id: found.id, name: found.email },
    }, { now });
    const [inserted] = await database.write([
      insertPendingSignIn(pending, found.passwordHash),
      audit.statement,
      ...more,
    ]);
    if (inserted?.changes !== 1) throw changedMeanwhile();
    return { secondStep: { token, expiresAt } };
  }

  return {
    async signIn(input, client) {
      const email = canonicalEmail(input.email) ?? "";
      let looking: Promise<UserCredentials | undefined> | undefined;
      const find = () =>
        looking ??= email === "" ? Promise.resolve(undefined) : findUserCredentials(database, email);
      return await credentials.guess({
        subject: email,
        actor: { type: "anonymous", client },
        refused: "session.refused",
        async about() {
          const found = await find();
          return found === undefined ? { organizationId: null } : {
            organizationId: found.organizationId ?? null,
            target: { id: found.id, name: found.email },
          };
        },
      }, async () => {
        return await checkAndSignIn({ email, password: input.password, found: await find() }, client);
      });
    },

    async signOut(tokens, client) {
      const hashes = wellFormedHashes(tokens);
      if (hashes.length === 0) return;
      const now = clock();
      const found = await findSessions(database, hashes, sessionBounds(config, now));
      const entries = found.map(({ session }) =>
        insertAuditEvent({ ...session, type: "session", client }, { action: "session.ended" }, {
          now,
          always: true,
        })
      );
      await database.write([deleteSessions(hashes), ...entries.map(({ statement }) => statement)]);
    },

    async deleteEndedSignIns() {
      const now = clock();
      const { seenAfter } = sessionBounds(config, now);
      return await deleteEndedSignIns(database, { now, seenAfter, limit: endedSignInsMax }) >=
        endedSignInsMax;
    },
  };
}

/** @returns A stored user as the one who acts, for the audit log. */
export function personOf(found: UserCredentials, client: ClientInfo): PersonActor {
  const { id, name, organizationId } = found;
  return {
    type: "session",
    user: { id, name },
    organization: organizationId === null ? null : { organizationId },
    client,
  };
}

/** @returns The error when a password was changed, or hashed anew by another sign-in, in this very moment. */
export function changedMeanwhile(): AppError {
  return unavailableError("Your account was changed at this moment. Sign in again.");
}

/** @returns The session of a token that was just written. @throws {AppError} `unauthenticated` when it ended meanwhile. */
export async function readSignedIn(
  { config, database, clock }: BaseContext | SessionContext,
  token: string,
): Promise<SignedIn> {
  const [found] = await findSessions(database, [hashToken(token)], sessionBounds(config, clock()));
  if (found === undefined) throw unauthenticatedError();
  return { token, session: found.session };
}
