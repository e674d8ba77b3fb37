// Guessing, bounded: every check of a password or a code goes through here, is counted before it is looked at, and refused
// during a delay whether it would have been right or not.
import { hash } from "node:crypto";
import { insertAuditEvent } from "../db/audit.ts";
import type { Statement } from "../db/database.ts";
import {
  deleteSignInFailures,
  deleteSignInFailuresIfAudited,
  findSignInBlock,
  insertSignInFailure,
  undoSignInFailure,
} from "../db/sign_in_failures.ts";
import type { UserCredentials } from "../db/users.ts";
import type { Actor, ClientInfo } from "../domain/actor.ts";
import { addressGroup } from "../domain/address_group.ts";
import type { AuditAction, AuditEntry } from "../domain/audit.ts";
import { AppError, type ErrorCode, type ErrorDetail } from "../domain/errors.ts";
import { addressFailuresMax, addressWindowMs } from "../domain/limits.ts";
import { hasPasswordLength, passwordFault } from "../domain/password.ts";
import { countOf } from "../views/text/number.ts";
import type { ServiceContext } from "./context.ts";
import type { PasswordHasher } from "./password_hasher.ts";
import { RateLimiter } from "./rate_limiter.ts";

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

/** Checks of what only the right person knows. */
export interface Credentials {
  /**
   * Counts a guess, runs the check, and gives the count back when the check did not say that it was wrong.
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
  /** Takes one of the few attempts that a client address has. @throws {AppError} `rate_limited`. */
  takeAddressBudget(client: ClientInfo): void;
  /** Says whether one is left. @throws {AppError} `rate_limited`. */
  peekAddressBudget(client: ClientInfo): void;
  readonly hasher: PasswordHasher;
}

const wrong: ReadonlySet<ErrorCode> = new Set(["invalid_credentials", "invalid_code"]);

/** @param context See {@linkcode ServiceContext}. */
export function createCredentials(
  context: ServiceContext,
  parts: { hasher: PasswordHasher; onBackgroundError: (error: unknown) => void },
): Credentials {
  const { database, clock } = context;
  const { hasher } = parts;
  // One budget of an address for failed sign-ins and for sign-ups: both are what a guesser repeats.
  const addresses = new RateLimiter({ points: addressFailuresMax, windowMs: addressWindowMs, clock });
  // A limit that is hit again and again is one line in the audit log, not a thousand.
  const noted = new RateLimiter({ points: 1, windowMs: addressWindowMs, clock });
  let common: ReadonlySet<string> | undefined;

  function takeAddressBudget(client: ClientInfo): void {
    const { isAllowed, resetMs } = addresses.take(addressGroup(client.address));
    if (isAllowed) return;
    noteLimit({ type: "anonymous", client }, addressGroup(client.address), () => ({ organizationId: null }));
    throw rateLimited(resetMs);
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

  return {
    hasher,
    takeAddressBudget,
    peekAddressBudget(client) {
      const { isAllowed, resetMs } = addresses.peek(addressGroup(client.address));
      if (!isAllowed) throw rateLimited(resetMs);
    },
    forgetFailures: (subject, options) =>
      options === undefined
        ? deleteSignInFailures(hashSubject(subject))
        : deleteSignInFailuresIfAudited(hashSubject(subject), options),

    async guess({ subject: name, actor, refused, about }, check) {
      const subject = hashSubject(name);
      // Both limits are counted before the slow hash, so that many guesses at once cannot pass together, and given back
      // when the guess was right or never looked at.
      takeAddressBudget(actor.client);
      let isCounted = false;
      try {
        const [, counted] = await database.write(insertSignInFailure(subject, clock()));
        isCounted = counted?.rows.length === 1;
        if (!isCounted) {
          // Whoever knows the right password gets the same answer: a delay tells nothing.
          noteLimit(actor, subject, about);
          throw rateLimited((await findSignInBlock(database, subject)) - clock());
        }
        const result = await check();
        addresses.giveBack(addressGroup(actor.client.address));
        return result;
      } catch (error) {
        const isWrong = error instanceof AppError && wrong.has(error.code);
        if (!isWrong) {
          addresses.giveBack(addressGroup(actor.client.address));
          if (isCounted) await database.write([undoSignInFailure(subject)]);
          throw error;
        }
        const { statement } = insertAuditEvent(actor, { action: refused, ...await about() }, {
          now: clock(),
          always: true,
        });
        await database.write([statement]);
        throw error;
      }
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
