// Signing up, in and out. A session is a random token that only the client has; the database has its SHA-256.
import { hash, randomBytes } from "node:crypto";
import {
  deleteEndedSessions,
  deleteSession,
  findSession,
  insertSession,
  type SessionBounds,
  updateSessionSeen,
} from "../db/sessions.ts";
import { deleteSignInFailures, findSignInBlock, insertSignInFailure } from "../db/sign_in_failures.ts";
import { findUserCredentials, insertUserWithOrganization, updatePasswordHash } from "../db/users.ts";
import { canonicalEmail } from "../domain/email.ts";
import { AppError, unauthenticatedError, validationError } from "../domain/errors.ts";
import { newId } from "../domain/id.ts";
import { addressFailuresMax, addressWindowMs, sessionSeenIntervalMs } from "../domain/limits.ts";
import { hasPasswordLength, passwordFault } from "../domain/password.ts";
import type { Session } from "../domain/session.ts";
import type { ClientInfo, ServiceContext } from "./context.ts";
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
/** Tokens of one request that are looked up; a browser sends one, or two while a domain changes. */
const tokensMax = 4;

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
    const found = await findSession(database, tokenHash, bounds(clock()));
    if (found === undefined) throw unauthenticatedError();
    return { token, session: found.session };
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
      const blockedUntil = await findSignInBlock(database, subject);
      // Whoever knows the right password gets the same answer: a delay tells nothing.
      if (blockedUntil > clock()) throw rateLimited(blockedUntil - clock());
      // Counted before the slow hash, given back after it, so that many guesses at once cannot pass together.
      takeAddressBudget(client);
      const found = email === "" ? undefined : await findUserCredentials(database, email);
      const usable = found?.disabledAt === null ? found : undefined;
      const password = hasPasswordLength(input.password) ? input.password : "";
      if (!(await hasher.verify(usable?.passwordHash, password)) || usable === undefined || password === "") {
        await database.write(insertSignInFailure(subject, clock()));
        throw new AppError("invalid_credentials", "The address or the password is not right.");
      }
      addressLimiter.giveBack(addressGroup(client.address));
      const now = clock();
      const { token, tokenHash, row } = newSession(usable.id, client, now);
      const rehashed = needsRehash(usable.passwordHash) ? await hasher.hash(password) : undefined;
      await database.write([
        insertSession(row, usable.passwordHash),
        deleteSignInFailures(subject),
        deleteEndedSessions(usable.id, bounds(now)),
        ...(rehashed === undefined
          ? []
          : [updatePasswordHash(usable.id, { from: usable.passwordHash, to: rehashed })]),
      ]);
      return signedIn(token, tokenHash);
    },

    async signOut(tokens) {
      const valid = tokens.filter((token) => tokenForm.test(token)).slice(0, tokensMax);
      if (valid.length > 0) await database.write(valid.map((token) => deleteSession(hashToken(token))));
    },

    async findSession(tokens) {
      let session: Session | null = null;
      let tried = 0;
      for (const token of tokens) {
        if (!tokenForm.test(token) || tried++ >= tokensMax) continue;
        const now = clock();
        const found = await findSession(database, hashToken(token), bounds(now));
        if (found === undefined) continue;
        if (session !== null && session.user.id !== found.session.user.id) {
          return { session: null, conflict: true };
        }
        session = found.session;
        if (now - found.lastSeenAt >= sessionSeenIntervalMs) {
          database.write([updateSessionSeen(session.id, now)]).catch(parts.onBackgroundError);
        }
      }
      return { session, conflict: false };
    },
  };
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

/** An IPv6 customer has a /64: it counts as one address. */
function addressGroup(address: string): string {
  if (!address.includes(":")) return address;
  return expandedIpv6(address).slice(0, 4).join(":");
}

function expandedIpv6(address: string): string[] {
  const [head = "", tail] = address.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  return [...front, ...Array<string>(zeros).fill("0"), ...back];
}

async function commonPasswords(): Promise<ReadonlySet<string>> {
  // Half a megabyte that only a sign-up needs.
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"]);
}
