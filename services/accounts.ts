// Signing up, in and out. A session is a random token that only the client has; the database has its SHA-256.
import { hash, randomBytes } from "node:crypto";
import {
  deleteEndedSessions,
  deleteSessions,
  findSessions,
  insertSession,
  type SessionBounds,
  updateSessionSeen,
} from "../db/sessions.ts";
import {
  deleteSignInFailures,
  findSignInBlock,
  insertSignInFailure,
  undoSignInFailure,
} from "../db/sign_in_failures.ts";
import { findUserCredentials, insertUserWithOrganization, updatePasswordHash } from "../db/users.ts";
import type { ClientInfo } from "../domain/actor.ts";
import { addressGroup } from "../domain/address_group.ts";
import { canonicalEmail } from "../domain/email.ts";
import { AppError, unauthenticatedError, unavailableError, validationError } from "../domain/errors.ts";
import { newId } from "../domain/id.ts";
import { addressFailuresMax, addressWindowMs, sessionSeenIntervalMs } from "../domain/limits.ts";
import { hasPasswordLength, passwordFault } from "../domain/password.ts";
import type { Session } from "../domain/session.ts";
import type { ServiceContext } from "./context.ts";
import { needsRehash, type PasswordHasher } from "./password_hasher.ts";
import { RateLimiter } from "./rate_limiter.ts";

/** What a person types to sign up. */
export interface SignUpInput {
  readonly name: string;
  readonly email: string;
  readonly password: string;
  readonly organizationName?: string | undefined;
}

/** A new session and the token that goes into the cookie, once. */
export interface SignedIn {
  readonly token: string;
  readonly session: Session;
}

/** The verbs of accounts and sessions. */
export interface AccountService {
  /**
   * Makes a user, and an organization that they own, and signs them in.
   *
   * @throws {AppError} `sign_up_closed`, `validation_failed`, `email_taken`, `rate_limited`, `unavailable`.
   */
  signUp(input: SignUpInput, client: ClientInfo): Promise<SignedIn>;
  /**
   * Signs a person in. Nothing in the answer tells whether the account exists.
   *
   * @throws {AppError} `invalid_credentials`, `rate_limited`, `unavailable`.
   */
  signIn(input: { email: string; password: string }, client: ClientInfo): Promise<SignedIn>;
  /** Ends the session of each token, on the server. */
  signOut(tokens: readonly string[]): Promise<void>;
  /**
   * Says who is signed in, of all the tokens that came along: stale and planted ones among them sign nobody out.
   *
   * @returns The session; or null, with `conflict` when valid tokens of different users came together.
   */
  findSession(tokens: readonly string[]): Promise<{ session: Session | null; conflict: boolean }>;
}

const dayMs = 24 * 3_600_000;
/** 32 random bytes in base64url. */
const tokenForm = /^[A-Za-z0-9_-]{43}$/;

/**
 * @param context See {@linkcode ServiceContext}.
 * @param parts `hasher`: for passwords. `onBackgroundError`: told when noting a session's last use failed.
 */
export function createAccountService(
  context: ServiceContext,
  parts: { hasher: PasswordHasher; onBackgroundError: (error: unknown) => void },
): AccountService {
  const { config, database, clock } = context;
  const { hasher } = parts;
  // One budget of an address for failed sign-ins and for sign-ups: both are what a guesser repeats.
  const addressLimiter = new RateLimiter({ points: addressFailuresMax, windowMs: addressWindowMs, clock });
  /** Sessions whose last use is being noted: of many requests at once, one does it. */
  const beingSeen = new Set<string>();
  let common: ReadonlySet<string> | undefined;

  function bounds(now: number): SessionBounds {
    return {
      createdAfter: now - config.sessionMaxDays * dayMs,
      seenAfter: now - config.sessionIdleDays * dayMs,
    };
  }

  function takeAddressBudget(client: ClientInfo): void {
    const { isAllowed, resetMs } = addressLimiter.take(addressGroup(client.address));
    if (!isAllowed) throw rateLimited(resetMs);
  }

  function newSession(userId: string, client: ClientInfo, now: number) {
    const token = randomBytes(32).toString("base64url");
    const tokenHash = hashToken(token);
    const { address } = client;
    const userAgent = client.userAgent.slice(0, 400);
    return { token, tokenHash, row: { id: newId("ses"), tokenHash, userId, now, address, userAgent } };
  }

  async function signedIn(token: string, tokenHash: string): Promise<SignedIn> {
    const [found] = await findSessions(database, [tokenHash], bounds(clock()));
    if (found === undefined) throw unauthenticatedError();
    return { token, session: found.session };
  }

  async function checkAndSignIn(
    attempt: { email: string; password: string; subject: string },
    client: ClientInfo,
  ): Promise<SignedIn> {
    const { email, subject } = attempt;
    const found = email === "" ? undefined : await findUserCredentials(database, email);
    const usable = found?.disabledAt === null ? found : undefined;
    const password = hasPasswordLength(attempt.password) ? attempt.password : "";
    const matches = await hasher.verify(usable?.passwordHash, password).catch(async (error) => {
      await database.write([undoSignInFailure(subject)]);
      throw error;
    });
    if (!matches || usable === undefined || password === "") {
      throw new AppError("invalid_credentials", "The address or the password is not right.");
    }
    const now = clock();
    const { token, tokenHash, row } = newSession(usable.id, client, now);
    const rehashed = needsRehash(usable.passwordHash) ? await hasher.hash(password) : undefined;
    const [inserted] = await database.write([
      insertSession(row, usable.passwordHash),
      deleteSignInFailures(subject),
      deleteEndedSessions(usable.id, bounds(now)),
      ...(rehashed === undefined
        ? []
        : [updatePasswordHash(usable.id, { from: usable.passwordHash, to: rehashed })]),
    ]);
    // The password was changed, or hashed anew by another sign-in, in this very moment.
    if (inserted?.rows.length !== 1) {
      throw unavailableError("Your account was changed at this moment. Sign in again.");
    }
    return signedIn(token, tokenHash);
  }

  return {
    async signUp(input, client) {
      if (config.signUp !== "open") {
        throw new AppError(
          "sign_up_closed",
          "Accounts are made by invitation here. Ask whoever runs this service.",
        );
      }
      const budget = addressLimiter.peek(addressGroup(client.address));
      if (!budget.isAllowed) throw rateLimited(budget.resetMs);
      common ??= await commonPasswords();
      const email = canonicalEmail(input.email);
      const faults = [];
      if (email === null) {
        faults.push({ path: "email", message: "Enter an e-mail address such as ada@example.com." });
      }
      const fault = passwordFault(input.password, { email: email ?? "", name: input.name, common });
      if (fault !== null) faults.push({ path: "password", message: fault });
      if (email === null || fault !== null) throw validationError(faults);

      takeAddressBudget(client);
      const passwordHash = await hasher.hash(input.password);
      const now = clock();
      const userId = newId("usr");
      const { token, tokenHash, row } = newSession(userId, client, now);
      const [inserted] = await database.write([
        ...insertUserWithOrganization({
          id: userId,
          email,
          name: input.name,
          passwordHash,
          organizationId: newId("org"),
          organizationName: input.organizationName ?? `${input.name}’s organization`,
          now,
        }),
        insertSession(row, passwordHash),
      ]);
      if (inserted?.rows.length !== 1) {
        throw new AppError("email_taken", "There is an account with this address already. Sign in instead.");
      }
      return signedIn(token, tokenHash);
    },

    async signIn(input, client) {
      const email = canonicalEmail(input.email) ?? "";
      const subject = hash("sha256", `account:${email}`, "hex");
      // Both limits are counted before the slow hash, so that many guesses at once cannot pass together, and given back
      // when the password was right or never looked at.
      takeAddressBudget(client);
      try {
        const [, counted] = await database.write(insertSignInFailure(subject, clock()));
        if (counted?.rows.length !== 1) {
          // Whoever knows the right password gets the same answer: a delay tells nothing.
          throw rateLimited((await findSignInBlock(database, subject)) - clock());
        }
        const signed = await checkAndSignIn({ email, password: input.password, subject }, client);
        addressLimiter.giveBack(addressGroup(client.address));
        return signed;
      } catch (error) {
        const isGuess = error instanceof AppError && error.code === "invalid_credentials";
        if (!isGuess) addressLimiter.giveBack(addressGroup(client.address));
        throw error;
      }
    },

    async signOut(tokens) {
      const hashes = wellFormedHashes(tokens);
      if (hashes.length > 0) await database.write([deleteSessions(hashes)]);
    },

    async findSession(tokens) {
      const now = clock();
      const found = await findSessions(database, wellFormedHashes(tokens), bounds(now));
      const users = new Set(found.map(({ session }) => session.user.id));
      if (users.size > 1) return { session: null, conflict: true };
      const latest = found.at(-1);
      if (latest === undefined) return { session: null, conflict: false };
      const { session, lastSeenAt } = latest;
      if (now - lastSeenAt >= sessionSeenIntervalMs && !beingSeen.has(session.id)) {
        beingSeen.add(session.id);
        database.write([updateSessionSeen(session.id, now)])
          .catch(parts.onBackgroundError)
          .finally(() => beingSeen.delete(session.id));
      }
      return { session, conflict: false };
    },
  };
}

/** All of them: a sibling may plant more cookies than one would think, and must sign nobody out by it. */
function wellFormedHashes(tokens: readonly string[]): string[] {
  return tokens.filter((token) => tokenForm.test(token)).map(hashToken);
}

/** @returns The SHA-256 of a session token: 256 random bits need neither salt nor a slow hash. */
function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}

function rateLimited(ms: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(ms / 1000));
  return new AppError("rate_limited", "Too many attempts. Wait a little, then try again.", {
    retryAfterSeconds,
  });
}

async function commonPasswords(): Promise<ReadonlySet<string>> {
  // Half a megabyte that only a sign-up needs.
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"]);
}
