// Guessing, bounded: every check of a password or a code goes through here, is counted before it is looked at, and refused
// during a delay whether it would have been right or not.
import { hash } from "node:crypto";
import { insertAuditEvent } from "../../db/audit.ts";
import type { Statement } from "../../db/engine/database.ts";
import {
  deleteSignInFailures,
  deleteSignInFailuresIfAudited,
  findSignInBlock,
  insertSignInFailure,
  undoSignInFailure,
} from "../../db/sign_in/sign_in_failures.ts";
import type { UserCredentials } from "../../db/account/users.ts";
import type { Actor, ClientInfo } from "../../domain/actor.ts";
import { addressGroup } from "../../domain/address_group.ts";
import type { AuditAction, AuditEntry } from "../../domain/audit.ts";
import { AppError, type ErrorCode, type ErrorDetail, unavailableError } from "../../domain/errors.ts";
import {
  addressLinkRequestsMax,
  addressSignUpsMax,
  addressSignUpWindowMs,
  addressWindowMs,
} from "../../domain/limits.ts";
import { hasPasswordLength, passwordFault } from "../../domain/sign_in/password.ts";
import { countOf } from "../../domain/number_text.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { BaseContext } from "../base_context.ts";
import type { PasswordHasher } from "./password_hasher.ts";
import { AddressAttempts } from "./address_attempts.ts";
import { RateLimiter, type RateLimitState } from "../rate_limiter.ts";

/** Whom a guess is about, for the audit log. */
export type About = Pick<AuditEntry, "organizationId" | "target">;

/** What is guessed at, and what the audit log says of a wrong guess. */
export interface Guess {
  /** A name for the delays: an address or a user's id, never a secret. */
  readonly subject: string;
  readonly actor: Actor;
  readonly refused: AuditAction;
  /** Whom it is about, if anybody: asked for after the check, or instead of it. */
  readonly about: () => About | Promise<About>;
}

/** @returns The subject of guesses that a session makes: what strangers guess at its account does not delay it. */
export function sessionSubject(session: Pick<Session, "id">): string {
  return `session:${session.id}`;
}

/** Checks of what only the right person knows. */
export interface Credentials {
  /**
   * Counts a guess, runs the check, and gives the count back when the check did not say that it was wrong. A guess of a
   * session does not count for the client's address, where others may have failed.
   *
   * @param check Throws `invalid_credentials` or `invalid_code` for a wrong guess. When it resolves, its batch must have
   *   had the statement that {@linkcode forgetFailures} gives.
   * @throws {AppError} `rate_limited`, or what the check throws.
   */
  guess<T>(guess: Guess, check: () => Promise<T>): Promise<T>;
  /**
   * @param options `audited`: the id of an audit entry, without which nothing is forgotten. For what is right only once: a
   *   repeat must not end the delays.
   * @returns A statement that ends the delays of a subject.
   */
  forgetFailures(subject: string, options?: { audited: string }): Statement;
  /**
   * @returns Whether a password is the one of a stored account; as slow for nobody's.
   * @throws {AppError} `unavailable`.
   */
  isPassword(found: UserCredentials | undefined, password: string): Promise<boolean>;
  /** @returns What is wrong with a new password, for the field `path`. */
  newPasswordFaults(
    password: string,
    about: { email: string; name: string; path: string },
  ): Promise<ErrorDetail[]>;
  /** Counts a failure of a client address. @throws {AppError} `rate_limited` when it had too many before. */
  countAddressFailure(client: ClientInfo): void;
  /** Says whether a client address may fail once more. @throws {AppError} `rate_limited`. */
  requireAddressBudget(client: ClientInfo): void;
  /**
   * Runs a sign-up. It counts as a failure of the client's address only when it fails as a guess would, because the address
   * is taken; sign-ups that succeed have a larger budget.
   *
   * @throws {AppError} `rate_limited`, or what the sign-up throws.
   */
  signUpFrom<T>(client: ClientInfo, signUp: () => Promise<T>): Promise<T>;
  /** Counts a request for a mailed link. @throws {AppError} `rate_limited` when the client's address made too many. */
  countLinkRequest(client: ClientInfo): void;
  readonly hasher: PasswordHasher;
}

const wrong: ReadonlySet<ErrorCode> = new Set(["invalid_credentials", "invalid_code"]);

/** @param context See {@linkcode BaseContext}. */
export function createCredentials(
  context: BaseContext,
  parts: { hasher: PasswordHasher; onBackgroundError: (error: unknown) => void },
): Credentials {
  const { database, clock } = context;
  const { hasher } = parts;
  const addresses = new AddressAttempts(clock);
  // Never counts a failure: it only bounds how many of one address are hashed at the same time.
  const sessionGuesses = new AddressAttempts(clock);
  const signUps = new RateLimiter({ points: addressSignUpsMax, windowMs: addressSignUpWindowMs, clock });
  const linkRequests = new RateLimiter({ points: addressLinkRequestsMax, windowMs: addressWindowMs, clock });
  // A limit that is hit again and again is one line in the audit log, not a thousand.
  const noted = new RateLimiter({ points: 1, windowMs: addressWindowMs, clock });
  let common: ReadonlySet<string> | undefined;

  function requireAllowed({ isAllowed, resetMs }: RateLimitState, client: ClientInfo): void {
    if (isAllowed) return;
    noteLimit({ type: "anonymous", client }, addressGroup(client.address), () => ({ organizationId: null }));
    throw rateLimited(resetMs);
  }

  /** Runs an attempt that counts for its address until it turns out not to have been a wrong guess. */
  async function attempt<T>(client: ClientInfo, act: () => Promise<T>): Promise<T> {
    const group = addressGroup(client.address);
    requireAllowed(await addresses.begin(group), client);
    let isFailure = false;
    try {
      return await act();
    } catch (error) {
      isFailure = error instanceof AppError && (wrong.has(error.code) || error.code === "email_taken");
      throw error;
    } finally {
      addresses.end(group, { isFailure });
    }
  }

  /** Runs a guess of a session, in turn with others of its address: together they must not take all places of the hashing. */
  async function inTurn<T>(client: ClientInfo, act: () => Promise<T>): Promise<T> {
    const group = addressGroup(client.address);
    const { isAllowed } = await sessionGuesses.begin(group);
    if (!isAllowed) throw unavailableError("Too many passwords are being checked. Try again shortly.");
    try {
      return await act();
    } finally {
      sessionGuesses.end(group, { isFailure: false });
    }
  }

  function noteLimit(
    actor: Actor,
    subject: string,
    about: Guess["about"],
  ): void {
    if (!noted.take(subject).isAllowed) return;
    const { address, userAgent, requestId } = actor.client;
    // Of a request nothing can be read any more when its answer has gone out.
    const from = { ...actor, client: { address, userAgent, requestId } };
    const write = async () => {
      const entry = { action: "session.limited", ...await about() } as const;
      await database.write([insertAuditEvent(from, entry, { now: clock(), always: true }).statement]);
    };
    write().catch(parts.onBackgroundError);
  }

  async function countedGuess<T>(
    { subject: name, actor, refused, about }: Guess,
    check: () => Promise<T>,
  ): Promise<T> {
    const subject = hashSubject(name);
    // Counted before the slow hash, so that many guesses at once cannot pass together, and given back when the guess was
    // right or never looked at.
    const [, counted] = await database.write(insertSignInFailure(subject, clock()));
    if (counted?.rows.length !== 1) {
      // The right password gets the same response: a delay shows nothing.
      noteLimit(actor, subject, about);
      throw rateLimited((await findSignInBlock(database, subject)) - clock());
    }
    try {
      return await check();
    } catch (error) {
      const isWrong = error instanceof AppError && wrong.has(error.code);
      if (!isWrong) {
        await database.write([undoSignInFailure(subject)]);
        throw error;
      }
      const { statement } = insertAuditEvent(actor, { action: refused, ...await about() }, {
        now: clock(),
        always: true,
      });
      await database.write([statement]);
      throw error;
    }
  }

  return {
    hasher,
    countAddressFailure: (client) =>
      requireAllowed(addresses.countFailure(addressGroup(client.address)), client),
    requireAddressBudget: (client) => requireAllowed(addresses.peek(addressGroup(client.address)), client),
    countLinkRequest: (client) => requireAllowed(linkRequests.take(addressGroup(client.address)), client),

    async signUpFrom(client, signUp) {
      const group = addressGroup(client.address);
      return await attempt(client, async () => {
        requireAllowed(signUps.take(group), client);
        try {
          return await signUp();
        } catch (error) {
          signUps.giveBack(group);
          throw error;
        }
      });
    },
    forgetFailures: (subject, options) =>
      options === undefined
        ? deleteSignInFailures(hashSubject(subject))
        : deleteSignInFailuresIfAudited(hashSubject(subject), options),

    async guess(guess, check) {
      const { actor } = guess;
      const run = () => countedGuess(guess, check);
      return await (actor.type === "session" ? inTurn : attempt)(actor.client, run);
    },

    async isPassword(found, password) {
      const usable = found?.disabledAt === null ? found : undefined;
      const given = hasPasswordLength(password) ? password : "";
      return await hasher.verify(usable?.passwordHash, given) && given !== "";
    },

    async newPasswordFaults(password, { email, name, path }) {
      common ??= await commonPasswords();
      const fault = passwordFault(password, { email, name, common });
      return fault === null ? [] : [{ path, message: fault }];
    },
  };
}

/** @returns The error for a person who tries too often. @param ms How long they should wait. */
export function rateLimited(ms: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(ms / 1000));
  const wait = retryAfterSeconds <= 60
    ? countOf(retryAfterSeconds, "second")
    : countOf(Math.ceil(retryAfterSeconds / 60), "minute");
  return new AppError("rate_limited", `Too many attempts. Try again in ${wait}.`, { retryAfterSeconds });
}

function hashSubject(subject: string): string {
  return hash("sha256", `account:${subject}`, "hex");
}

async function commonPasswords(): Promise<ReadonlySet<string>> {
  // Half a megabyte that only a new password needs.
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"]);
}
