// What whoever runs the program does with accounts, at its command line: the first account, and emergencies. It writes
// beside running servers, and keeps nothing in memory that they would have to be told of.
import { insertAuditEvent } from "../../db/audit.ts";
import { markApiKeyRevoked } from "../../db/api_keys.ts";
import type { Statement } from "../../db/engine/database.ts";
import { deleteLinks } from "../../db/mail/link_tokens.ts";
import {
  countActiveKeysOfUser,
  insertLinkForUser,
  listActiveKeysOfUser,
  listOpenInvitationsOfUser,
  markUserDisabled,
  markUserEnabled,
  revokeInvitationOfUser,
} from "../../db/operator/users.ts";
import { deletePasskeys } from "../../db/sign_in/passkeys.ts";
import { endHalfDoneSignIns } from "../../db/sign_in/pending_sign_ins.ts";
import { deleteRecoveryCodes } from "../../db/sign_in/recovery_codes.ts";
import { deleteSessionsIfAudited } from "../../db/sign_in/sessions.ts";
import { deleteTotp } from "../../db/sign_in/totp.ts";
import { findUserCredentials, updatePasswordHash, type UserCredentials } from "../../db/account/users.ts";
import type { OperatorActor } from "../../domain/actor.ts";
import { canonicalEmail } from "../../domain/mail/email.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import { operatorLinkLifetimeMs, operatorPageItemsMax } from "../../domain/limits.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { isoTime } from "../../domain/meter/usage_window.ts";
import type { BaseContext } from "../base_context.ts";
import type { Credentials } from "../sign_in/credentials.ts";
import { linkAddress, type MailService } from "../mail/mail.ts";
import { afterNewPassword } from "../account/password_replacement.ts";
import { newAccount } from "./user_creation.ts";
import { listOperatorUsers, type OperatorUser } from "./user_list.ts";
import { hashToken, newToken } from "../sign_in/session_tokens.ts";

/** An account that the operator makes. */
export interface OperatorAccountInput {
  readonly email: string;
  readonly name: string;
  /** Of the organization that they get, unless they join one. */
  readonly organizationName?: string | undefined;
  readonly join?: { readonly organizationId: string; readonly role: Role } | undefined;
  /** Left out, they choose it by a link. */
  readonly password?: string | undefined;
}

/** A link by which a person chooses their password, once. It is nowhere else, and is never logged. */
export interface PasswordLink {
  readonly address: string;
  /** ISO 8601 UTC. */
  readonly expiresAt: string;
}

/** An account that was made. */
export interface CreatedAccount {
  readonly userId: string;
  readonly organizationId: string;
  readonly link: PasswordLink | null;
}

/** The operator's verbs. An address is given as typed. */
export interface OperatorService {
  /**
   * Makes an account whose address counts as proved: the operator vouches for it.
   *
   * @throws {AppError} `email_taken`; `validation_failed`, also when there is no such organization.
   */
  createUser(actor: OperatorActor, input: OperatorAccountInput): Promise<CreatedAccount>;
  /** @returns Every user by address, a page at a time. */
  listUsers(): AsyncGenerator<readonly OperatorUser[]>;
  /**
   * Ends a user's sessions, half-done sign-ins, mailed links and open invitations at once, and refuses them from now on.
   *
   * @param options `revokeKeys`: the keys that they made end too.
   * @returns How many of their keys go on working, how many ended now, and how many invitations did.
   * @throws {AppError} `not_found`.
   */
  disableUser(
    actor: OperatorActor,
    email: string,
    options: { revokeKeys: boolean },
  ): Promise<{ wasDisabled: boolean; activeKeys: number; revokedKeys: number; revokedInvitations: number }>;
  /** Lets a disabled user sign in again. @throws {AppError} `not_found`. */
  enableUser(actor: OperatorActor, email: string): Promise<{ wasDisabled: boolean }>;
  /**
   * Makes a link by which a user chooses a new password, which ends older ones; or with `password` sets it, which ends
   * every session.
   *
   * @param options `turnOffTwoStep`: for somebody who lost their device; it removes their passkeys, too.
   * @throws {AppError} `not_found`, `validation_failed`, `unavailable` when the account was changed in this moment.
   */
  resetPassword(
    actor: OperatorActor,
    email: string,
    options: { password?: string | undefined; turnOffTwoStep: boolean },
  ): Promise<{ link: PasswordLink | null; hadTwoStep: boolean }>;
}

/** @param context See {@linkcode BaseContext}. */
export function createOperatorService(
  context: BaseContext,
  parts: { credentials: Credentials; mail: MailService },
): OperatorService {
  const { config, database, clock } = context;
  const { credentials, mail } = parts;

  async function find(typed: string): Promise<UserCredentials> {
    const email = canonicalEmail(typed);
    const found = email === null ? undefined : await findUserCredentials(database, email);
    if (found === undefined) throw notFoundError();
    return found;
  }

  async function checkPassword(
    password: string,
    about: { email: string; name: string },
  ): Promise<void> {
    const faults = await credentials.newPasswordFaults(password, { ...about, path: "password" });
    if (faults.length > 0) throw validationError(faults);
  }

  /** @returns A link, and the statement that makes it work. */
  function newLink(userId: string, now: number): { link: PasswordLink; statement: Statement } {
    const token = newToken();
    const expiresAt = now + operatorLinkLifetimeMs;
    return {
      link: {
        address: linkAddress(config, { purpose: "reset_password", token }),
        expiresAt: isoTime(expiresAt),
      },
      // Whoever has it has proved no address: it did not go there by mail.
      statement: insertLinkForUser({
        tokenHash: hashToken(token),
        purpose: "reset_password",
        subject: userId,
        email: null,
        now,
        expiresAt,
      }),
    };
  }

  async function revokeKeysOf(actor: OperatorActor, userId: string): Promise<number> {
    let revoked = 0;
    for (;;) {
      const now = clock();
      const keys = await listActiveKeysOfUser(database, userId, { now, limit: operatorPageItemsMax });
      if (keys.length === 0) return revoked;
      const results = await database.write(keys.flatMap(({ id, name, organizationId }) => [
        markApiKeyRevoked({ organizationId, createdBy: userId }, id, now),
        insertAuditEvent(actor, { action: "api_key.revoked", organizationId, target: { id, name } }, { now })
          .statement,
      ]));
      revoked += results.filter(({ rows }) => rows.length === 1).length;
    }
  }

  /** Whoever is put out must not come back, as an owner even, by an invitation to an address of theirs. */
  async function revokeInvitationsOf(actor: OperatorActor, userId: string): Promise<number> {
    let revoked = 0;
    for (;;) {
      const now = clock();
      const open = await listOpenInvitationsOfUser(database, userId, { now, limit: operatorPageItemsMax });
      if (open.length === 0) return revoked;
      const results = await database.write(open.flatMap(({ id, email, organizationId }) => {
        const entry = { action: "invitation.revoked", organizationId, target: { id, name: email } } as const;
        return [
          revokeInvitationOfUser(userId, { id, now }),
          insertAuditEvent(actor, entry, { now }).statement,
          ...deleteLinks(id, { purposes: ["invitation"] }),
        ];
      }));
      revoked += results.filter(({ rows }) => rows.length === 1).length;
    }
  }

  return {
    async createUser(actor, input) {
      const { name, join } = input;
      const email = canonicalEmail(input.email);
      if (email === null) {
        throw validationError([{ path: "email", message: "is no e-mail address such as ada@example.com." }]);
      }
      if (input.password !== undefined) await checkPassword(input.password, { email, name });
      // Without a password nobody knows the one that is stored: a real hash, so that a wrong sign-in costs the same time.
      const passwordHash = await credentials.hasher.hash(input.password ?? newToken());
      const now = clock();
      const user = { id: newId("usr"), email, emailVerifiedAt: now, name, passwordHash, now };
      const organizationId = join?.organizationId ?? newId("org");
      const made = newAccount(user, {
        actor,
        organizationId,
        organizationName: input.organizationName,
        join,
      });
      const link = input.password === undefined ? newLink(user.id, now) : null;
      const [, audited] = await database.write([...made, ...(link === null ? [] : [link.statement])]);
      if (audited?.rows.length !== 1) {
        if (await findUserCredentials(database, email) !== undefined) {
          throw new AppError("email_taken", `There is an account with the address ${email} already.`);
        }
        throw validationError([{ path: "join", message: "there is no organization with this id." }]);
      }
      return { userId: user.id, organizationId, link: link?.link ?? null };
    },

    listUsers: () => listOperatorUsers(database),

    async disableUser(actor, email, { revokeKeys }) {
      const { id, email: address, organizationId } = await find(email);
      const now = clock();
      const entry = { organizationId, target: { id, name: address } };
      const audit = insertAuditEvent(actor, { ...entry, action: "account.disabled" }, { now });
      const [disabled] = await database.write([
        markUserDisabled(id, now),
        audit.statement,
        deleteSessionsIfAudited(id, { audited: audit.id }),
        ...endHalfDoneSignIns(id, { audited: audit.id }),
        ...deleteLinks(id, {
          purposes: ["verify_email", "change_email", "reset_password"],
          audited: audit.id,
        }),
      ]);
      // After they are out, so that they make no more; and again when this was interrupted the last time.
      const revokedInvitations = await revokeInvitationsOf(actor, id);
      const revokedKeys = revokeKeys ? await revokeKeysOf(actor, id) : 0;
      const activeKeys = await countActiveKeysOfUser(database, id, clock());
      return { wasDisabled: disabled?.changes !== 1, activeKeys, revokedKeys, revokedInvitations };
    },

    async enableUser(actor, email) {
      const { id, email: address, organizationId } = await find(email);
      const entry = { action: "account.enabled", organizationId, target: { id, name: address } } as const;
      const [enabled] = await database.write([
        markUserEnabled(id),
        insertAuditEvent(actor, entry, { now: clock() }).statement,
        credentials.forgetFailures(address),
      ]);
      return { wasDisabled: enabled?.changes === 1 };
    },

    async resetPassword(actor, email, { password, turnOffTwoStep }) {
      const user = await find(email);
      if (user.disabledAt !== null) {
        throw new AppError("validation_failed", `${user.email} is disabled. Enable the account first.`);
      }
      if (password !== undefined) await checkPassword(password, user);
      const passwordHash = password === undefined ? null : await credentials.hasher.hash(password);
      const now = clock();
      const reset = insertAuditEvent(actor, {
        action: passwordHash === null ? "password.reset_requested" : "password.reset",
        organizationId: user.organizationId,
        target: { id: user.id, name: user.email },
      }, { now });
      const audited = { now, audited: reset.id };
      const link = newLink(user.id, now);
      const twoStep = twoStepOff(user, { actor, mail, ...audited });
      const results = await database.write([
        ...(passwordHash === null
          // Older links end before, so that the new one is not among them.
          ? [
            ...deleteLinks(user.id, { purposes: ["reset_password"] }),
            link.statement,
            reset.statement,
            credentials.forgetFailures(user.email, audited),
          ]
          : [
            updatePasswordHash(user.id, { from: user.passwordHash, to: passwordHash }),
            reset.statement,
            ...afterNewPassword(user, { ...audited, ...parts }),
          ]),
        ...(turnOffTwoStep ? twoStep.statements : []),
      ]);
      const written = new Set(results.flatMap(({ rows }) => rows.map(({ id }) => id)));
      if (!written.has(reset.id)) {
        throw unavailableError("The account was changed in this moment. Try again.");
      }
      return { link: passwordHash === null ? link.link : null, hadTwoStep: written.has(twoStep.id) };
    },
  };
}

/** @returns What turns two-step sign-in off after an audited reset, and the id of the entry about it; passkeys go, too. */
function twoStepOff(
  user: UserCredentials,
  { actor, mail, now, audited }: { actor: OperatorActor; mail: MailService; now: number; audited: string },
): { id: string; statements: Statement[] } {
  const { id, statement } = insertAuditEvent(actor, {
    action: "two_step.disabled",
    organizationId: user.organizationId,
    target: { id: user.id, name: user.email },
  }, { now });
  const notice = { kind: "two_step_disabled", to: user.email, fields: { name: user.name } } as const;
  const passkeys = insertAuditEvent(actor, {
    action: "passkey.removed",
    organizationId: user.organizationId,
    target: { id: user.id, name: user.email },
    details: { passkeys: "all" },
  }, { now });
  return {
    id,
    statements: [
      deleteTotp(user.id, { audited }),
      statement,
      deleteRecoveryCodes(user.id, { audited: id }),
      ...endHalfDoneSignIns(user.id, { audited: id }),
      ...mail.outgoing(notice, { now, audited: id }),
      deletePasskeys(user.id, { audited }),
      passkeys.statement,
      ...mail.outgoing(
        { kind: "passkey_removed", to: user.email, fields: { name: user.name, passkey: "all of them" } },
        { now, audited: passkeys.id },
      ),
    ],
  };
}
