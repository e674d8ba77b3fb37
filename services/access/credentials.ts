// Limits guessing. Every check of a password or a code is counted before it runs, and rejected during a delay whether it is
// right or wrong.
import { hash } from "node:crypto";
import { ifAudited, writeAuditEvent } from "../../db/access/audit.ts";
import type { Statement } from "../../db/engine/database.ts";
import {
  deleteSignInFailures,
  findSignInBlock,
  insertSignInFailure,
  undoSignInFailure,
} from "../../db/access/sign_in_failures.ts";
import type { UserCredentials } from "../../db/access/user_credentials.ts";
import { type Actor, clientCopy, type ClientInfo } from "../../domain/access/actor.ts";
import { addressGroup } from "../../domain/address_group.ts";
import type { AuditAction, AuditEntry } from "../../domain/access/audit.ts";
import { AppError, type ErrorCode, type ErrorDetail, unavailableError } from "../../domain/errors.ts";
import { hasPasswordLength, type PasswordOwner } from "../../domain/people/password.ts";
import { countOf } from "../../domain/number_text.ts";
import type { Session } from "../../domain/access/session.ts";
import { AddressLimiter } from "../address_limiter.ts";
import type { BaseContext } from "../base_context.ts";
import type { RateLimits } from "../rate_limits.ts";
import type { RateLimitState } from "../rate_limiter.ts";
import type { AttemptCounter, Attempts } from "./address_attempts.ts";
import type { PasswordHashing } from "./password_hasher.ts";

/** Identifies the account in the audit entry of a guess. */
export type About = Pick<AuditEntry, "organizationId" | "target">;

interface Guess {
  /** An email address or an id, never a secret. Delays apply to it. */
  readonly subject: string;
  /** The id of the account, if the subject isn't its email address. */
  readonly account?: string;
  readonly actor: Actor;
  /** The audit entry of a wrong guess. */
  readonly failureAction: AuditAction;
  /** Called after a wrong guess, or instead of the check. */
  readonly about: () => About | Promise<About>;
}

interface AccountFailure {
  /** An id or an email address. */
  readonly account: string;
  /** When the window of the client's address ends. */
  readonly endsAt: number;
}

interface CredentialsParts {
  readonly hasher: PasswordHashing;
  readonly attempts: Attempts;
  readonly rateLimits: RateLimits;
  readonly onBackgroundError: (error: unknown) => void;
}

/** Keeps a session's own guesses apart from those of strangers, which would delay them. */
export function sessionSubject(session: Pick<Session, "id">): string {
  return `session:${session.id}`;
}

const wrongGuess: ReadonlySet<ErrorCode> = new Set(["invalid_credentials", "invalid_code"]);

/** Checks passwords and counts guesses. */
export class Credentials {
  readonly hasher: PasswordHashing;
  readonly #base: BaseContext;
  readonly #parts: CredentialsParts;
  readonly #addressFailures: AddressLimiter;

  constructor(base: BaseContext, parts: CredentialsParts) {
    this.hasher = parts.hasher;
    this.#base = base;
    this.#parts = parts;
    this.#addressFailures = new AddressLimiter(parts.rateLimits.addressFailures);
  }

  /**
   * Counts a guess, runs the check, and gives the count back unless the guess was wrong. Guesses of a session don't count for
   * the client's address, where others may have failed.
   *
   * @param check Throws `invalid_credentials` or `invalid_code` for a wrong guess. If it resolves, its batch must include the
   *   statement of {@linkcode forgetFailures}.
   * @throws {AppError} `rate_limited`, or the error of the check.
   */
  guess<T>(guess: Guess, check: () => Promise<T>): Promise<T> {
    const { actor, subject, account = subject } = guess;
    const { sessionChecks } = this.#parts.attempts;
    const run = () => this.#countedGuess(guess, check);
    return actor.type === "session"
      ? this.#inTurn(sessionChecks, addressGroup(actor.client.address), run)
      : this.#attempt(actor.client, account, run);
  }

  /**
   * Ends the delays of a subject.
   *
   * @param options `audited`: the id of an audit entry, without which nothing is forgotten. Needed for one-time codes, whose
   *   repeat must not end the delays.
   */
  forgetFailures(subject: string, options?: { audited: string }): Statement {
    return deleteSignInFailures(hashSubject(subject), options && ifAudited(options.audited));
  }

  /** True if the password is that of an account that is not disabled. Takes as long without one. @throws {AppError} `unavailable`. */
  async isPassword(found: UserCredentials | undefined, password: string): Promise<boolean> {
    const usable = found?.disabledAt === null ? found : undefined;
    const given = hasPasswordLength(password) ? password : "";
    return await this.hasher.verify(usable?.passwordHash, given) && given !== "";
  }

  /** Returns the problems with a new password, for the field `path`. */
  async newPasswordFaults(
    password: string,
    { path, ...owner }: PasswordOwner & { path: string },
  ): Promise<ErrorDetail[]> {
    const message = await this.hasher.fault(password, owner);
    return message === null ? [] : [{ path, message }];
  }

  /**
   * @param options `kind`: as of `AddressLimiter`. `account`: the id of the account that failed, if the client named one.
   * @throws {AppError} `rate_limited` if the address had too many such failures before.
   */
  countAddressFailure(
    client: ClientInfo,
    { kind, account = null }: { kind?: string; account?: string | null } = {},
  ): void {
    const state = this.#addressFailures.take(client, kind);
    this.#requireAllowed(state, client);
    if (account !== null) this.#countAccountFailure(client, { account, endsAt: state.endsAt });
  }

  /**
   * Gives the failures of an account that signed in back to the client's address. All others stay counted.
   *
   * @param accounts The names of the account: its id, its email address.
   */
  giveBackFailures(client: ClientInfo, accounts: readonly string[]): void {
    const { accountFailures } = this.#parts.rateLimits;
    const { endsAt } = this.#addressFailures.peek(client);
    for (const account of accounts) {
      // Only this caller gets the points, so that simultaneous sign-ins give each failure back once.
      const count = accountFailures.giveBack(accountFailure(client, { account, endsAt }), Infinity);
      this.#addressFailures.giveBack(client, count);
    }
  }

  /** @throws {AppError} `rate_limited` if the address has no failures left. */
  requireAddressBudget(client: ClientInfo): void {
    this.#requireAllowed(this.#addressFailures.peek(client), client);
  }

  /** @throws {AppError} `rate_limited` if the address made too many requests for emailed links. */
  countLinkRequest(client: ClientInfo): void {
    this.#requireAllowed(this.#parts.rateLimits.linkRequests.take(client), client);
  }

  /**
   * Runs a sign-up. It counts as a failed attempt only if the email address is taken, as that is a guess; successful sign-ups
   * have a larger budget.
   *
   * @throws {AppError} `rate_limited`, or the error of the sign-up.
   */
  signUpFrom<T>(client: ClientInfo, email: string, signUp: () => Promise<T>): Promise<T> {
    return this.#attempt(client, email, () => this.provedSignUpFrom(client, signUp));
  }

  /** Runs a sign-up of someone whom a provider names, so nothing is guessed. @throws {AppError} As {@linkcode signUpFrom}. */
  async provedSignUpFrom<T>(client: ClientInfo, signUp: () => Promise<T>): Promise<T> {
    const { signUps } = this.#parts.rateLimits;
    this.#requireAllowed(signUps.take(client), client);
    try {
      return await signUp();
    } catch (error) {
      signUps.giveBack(client);
      throw error;
    }
  }

  #requireAllowed({ isAllowed, resetMs }: RateLimitState, client: ClientInfo): void {
    if (isAllowed) return;
    const about = () => ({ organizationId: null });
    this.#auditLimit({ type: "anonymous", client }, addressGroup(client.address), about);
    throw rateLimited(resetMs);
  }

  /** Counts an attempt for its address until it turns out not to be a wrong guess. */
  async #attempt<T>(client: ClientInfo, account: string, action: () => Promise<T>): Promise<T> {
    const group = addressGroup(client.address);
    const { failures } = this.#parts.attempts;
    // Never counts a failure. The name keeps it apart from requests that this address doesn't forward.
    if (client.isUnknownProxy) return await this.#inTurn(failures, `${group} forwards`, action);
    const state = await failures.begin(group);
    this.#requireAllowed(state, client);
    let isFailure = false;
    try {
      return await action();
    } catch (error) {
      isFailure = error instanceof AppError && (wrongGuess.has(error.code) || error.code === "email_taken");
      throw error;
    } finally {
      if (isFailure) this.#countAccountFailure(client, { account, endsAt: state.endsAt });
      await failures.end(group, { isFailure });
    }
  }

  #countAccountFailure(client: ClientInfo, failure: AccountFailure): void {
    this.#parts.rateLimits.accountFailures.take(accountFailure(client, failure));
  }

  /** Runs guesses of one address without counting them. They wait for each other, so they can't occupy the whole hasher. */
  async #inTurn<T>(counter: AttemptCounter, group: string, action: () => Promise<T>): Promise<T> {
    const { isAllowed } = await counter.begin(group);
    if (!isAllowed) throw unavailableError("Too many passwords are being checked. Try again in a moment.");
    try {
      return await action();
    } finally {
      await counter.end(group, { isFailure: false });
    }
  }

  /** Records in the audit log that a limit was hit, once per window. */
  #auditLimit(actor: Actor, subject: string, about: Guess["about"]): void {
    const { rateLimits, onBackgroundError } = this.#parts;
    if (!rateLimits.limitEntries.take(subject).isAllowed) return;
    const by = { ...actor, client: clientCopy(actor.client) };
    const write = async () => {
      const entry = { action: "session.limited", ...await about() } as const;
      await this.#audit(by, entry);
    };
    write().catch(onBackgroundError);
  }

  async #audit(actor: Actor, entry: AuditEntry): Promise<void> {
    await writeAuditEvent(this.#base.database, actor, entry, this.#base.clock());
  }

  async #countedGuess<T>(guess: Guess, check: () => Promise<T>): Promise<T> {
    const { database, clock } = this.#base;
    const { actor, failureAction: action, about } = guess;
    const subject = hashSubject(guess.subject);
    // Counted before the slow hash, so that concurrent guesses can't pass together.
    const [, counted] = await database.write(insertSignInFailure(subject, clock()));
    if (counted?.rows.length !== 1) {
      // The right password gets the same response: a delay reveals nothing.
      this.#auditLimit(actor, subject, about);
      throw rateLimited((await findSignInBlock(database, subject)) - clock());
    }
    try {
      return await check();
    } catch (error) {
      const isWrong = error instanceof AppError && wrongGuess.has(error.code);
      if (isWrong) await this.#audit(actor, { action, ...await about() });
      else await database.write([undoSignInFailure(subject)]);
      throw error;
    }
  }
}

export function requireAllowed({ isAllowed, resetMs }: RateLimitState): void {
  if (!isAllowed) throw rateLimited(resetMs);
}

export function rateLimited(ms: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(ms / 1000));
  const wait = retryAfterSeconds <= 60
    ? countOf(retryAfterSeconds, "second")
    : countOf(Math.ceil(retryAfterSeconds / 60), "minute");
  return new AppError("rate_limited", `Too many attempts. Try again in ${wait}.`, { retryAfterSeconds });
}

/** Names the failures of an account in a window of the client's address. Those of earlier windows can't be given back. */
function accountFailure({ address }: ClientInfo, { account, endsAt }: AccountFailure): string {
  return `${addressGroup(address)} ${endsAt} ${account}`;
}

function hashSubject(subject: string): string {
  return hash("sha256", `account:${subject}`, "hex");
}
