// What the operator does with accounts on the command line: the first account, and emergencies. It runs alongside live
// servers, which learn of every change from the database. No route may use these verbs.
import {
  findUserCredentials,
  type NewUser,
  updatePasswordHash,
  type UserCredentials,
} from "../../db/account/users.ts";
import { markApiKeyRevoked } from "../../db/api_keys.ts";
import { type Audited, insertAuditEvent } from "../../db/audit.ts";
import type { Statement } from "../../db/engine/database.ts";
import { deleteLinks } from "../../db/mail/link_tokens.ts";
import {
  countActiveKeysOfUser,
  findActiveKeysOfUser,
  findPendingInvitationsOfUser,
  findUsers,
  insertJoiningUser,
  insertLinkForUser,
  type ListedMemberships,
  type ListedUserRow,
  markUserDisabled,
  markUserEnabled,
  revokeInvitationOfUser,
} from "../../db/operator/users.ts";
import { insertMembership } from "../../db/organization/memberships.ts";
import { deletePasskeys } from "../../db/sign_in/passkeys.ts";
import { deleteUnfinishedSignIns } from "../../db/sign_in/pending_sign_ins.ts";
import { deleteRecoveryCodes } from "../../db/sign_in/recovery_codes.ts";
import { deleteSessionsIfAudited } from "../../db/sign_in/sessions.ts";
import { deleteTotp } from "../../db/sign_in/totp.ts";
import type { OperatorActor } from "../../domain/actor.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import { operatorLinkLifetimeMs, operatorPageItemsMax } from "../../domain/limits.ts";
import { canonicalEmail, requireEmail } from "../../domain/mail/email.ts";
import { isoTime } from "../../domain/time.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { afterNewPassword, checkNewPassword } from "../account/passwords.ts";
import { newAccount } from "../account/sign_up.ts";
import type { Context } from "../context.ts";
import { linkAddress } from "../mail/mail.ts";
import { hashToken, newToken } from "../sign_in/session_tokens.ts";

/** An account that the operator creates. */
export interface NewUserInput {
  readonly email: string;
  readonly name: string;
  /** The name of their own organization, if they don't join one. */
  readonly organizationName?: string | undefined;
  readonly join?: { readonly organizationId: string; readonly role: Role } | undefined;
  /** Without one, they choose it with a link. */
  readonly password?: string | undefined;
}

/** A one-time link for choosing a password. It exists nowhere else and is never logged. */
export interface PasswordLink {
  readonly address: string;
  /** ISO 8601 UTC. */
  readonly expiresAt: string;
}

/**
 * Creates an account whose email address counts as confirmed.
 *
 * @throws {AppError} `email_taken`; `validation_failed`, also for an unknown organization.
 */
export async function createUser(
  context: Context,
  actor: OperatorActor,
  input: NewUserInput,
): Promise<{ userId: string; organizationId: string; link: PasswordLink | null }> {
  const { database, credentials } = context;
  const { name, join, password } = input;
  const email = requireEmail(input.email);
  if (password !== undefined) await checkNewPassword(context, password, { email, name });
  // Without a password, a hash of a random one is stored: wrong sign-ins take the same time as for anyone else.
  const passwordHash = await credentials.hasher.hash(password ?? newToken());
  const now = context.clock();
  const user = { id: newId("usr"), email, emailVerifiedAt: now, name, passwordHash, now };
  const organizationId = join?.organizationId ?? newId("org");
  const link = password === undefined ? newPasswordLink(context, user.id, now) : null;
  const [, written] = await database.write([
    ...(join === undefined
      ? newAccount(actor, user, { id: organizationId, name: input.organizationName }).statements
      : joiningAccount(actor, user, join)),
    ...(link === null ? [] : [link.statement]),
  ]);
  if (written?.rows.length === 1) return { userId: user.id, organizationId, link: link?.link ?? null };
  if (await findUserCredentials(database, email) !== undefined) {
    throw new AppError("email_taken", `An account with the email address ${email} already exists.`);
  }
  throw validationError([{ path: "join", message: "is not the id of an organization." }]);
}

/** Creates an account in an existing organization. The second statement is its audit entry. */
function joiningAccount(
  actor: OperatorActor,
  user: NewUser,
  { organizationId, role }: { organizationId: string; role: Role },
): Statement[] {
  const { id: userId, now } = user;
  const entry = { organizationId, target: { id: userId, name: user.email } };
  const account = insertAuditEvent(actor, { ...entry, action: "account.created" }, { now });
  return [
    insertJoiningUser(user, organizationId),
    account.statement,
    insertMembership({ userId, organizationId, role, now }, account.id),
    insertAuditEvent(actor, { ...entry, action: "member.joined", details: { role } }, { now }).statement,
  ];
}

/** A user as the operator sees them; a line of `user list --json`. Times in ISO 8601 UTC. */
export interface OperatorUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly createdAt: string;
  readonly emailVerifiedAt: string | null;
  readonly disabledAt: string | null;
  readonly twoStep: boolean;
  /** Of the sessions that are still signed in. */
  readonly lastSignInAt: string | null;
  readonly organizations: readonly { readonly id: string; readonly name: string; readonly role: Role }[];
}

/** Lists every user by email address. @returns One page at a time. @throws {DatabaseError} */
export async function* listUsers({ database }: Context): AsyncGenerator<readonly OperatorUser[]> {
  for (let after = "";;) {
    const rows = await findUsers(database, { after, limit: operatorPageItemsMax });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(toOperatorUser);
    after = last.email;
  }
}

function toOperatorUser(row: ListedUserRow): OperatorUser {
  const { id, email, name, createdAt, emailVerifiedAt, disabledAt, hasTotp, lastSignInAt } = row;
  const time = (ms: number | null) => ms === null ? null : isoTime(ms);
  return {
    id,
    email,
    name,
    createdAt: isoTime(createdAt),
    emailVerifiedAt: time(emailVerifiedAt),
    disabledAt: time(disabledAt),
    twoStep: hasTotp === 1,
    lastSignInAt: time(lastSignInAt),
    organizations: (JSON.parse(row.memberships) as ListedMemberships)
      .map(([id, name, role]) => ({ id, name, role }))
      .sort((a, b) => a.name.localeCompare(b.name, "en") || (a.id < b.id ? -1 : 1)),
  };
}

/**
 * Disables a user: sessions, unfinished sign-ins, emailed links and pending invitations end immediately.
 *
 * @param options `revokeKeys`: the keys that they created end too.
 * @returns How many of their keys still work, how many were revoked, and how many invitations were.
 * @throws {AppError} `not_found`.
 */
export async function disableUser(
  context: Context,
  actor: OperatorActor,
  { email, revokeKeys }: { email: string; revokeKeys: boolean },
): Promise<{ wasDisabled: boolean; activeKeys: number; revokedKeys: number; revokedInvitations: number }> {
  const { database, clock } = context;
  const { id, email: name, organizationId } = await findUser(context, email);
  const now = clock();
  const entry = { action: "account.disabled", organizationId, target: { id, name } } as const;
  const audit = insertAuditEvent(actor, entry, { now });
  const audited = { audited: audit.id };
  const [disabled] = await database.write([
    markUserDisabled(id, now),
    audit.statement,
    deleteSessionsIfAudited(id, audited),
    ...deleteUnfinishedSignIns(id, audited),
    ...deleteLinks(id, { purposes: ["verify_email", "change_email", "reset_password"], ...audited }),
  ]);
  // Afterwards, when they can create no more; and again, in case the last attempt was interrupted.
  const revokedInvitations = await revokeAll(context, {
    list: (page) => findPendingInvitationsOfUser(database, id, page),
    revoke: (invitation) => [
      revokeInvitationOfUser(id, { id: invitation.id, now: clock() }),
      insertAuditEvent(actor, {
        action: "invitation.revoked",
        organizationId: invitation.organizationId,
        target: { id: invitation.id, name: invitation.email },
      }, { now: clock() }).statement,
      ...deleteLinks(invitation.id, { purposes: ["invitation"] }),
    ],
  });
  const revokedKeys = !revokeKeys ? 0 : await revokeAll(context, {
    list: (page) => findActiveKeysOfUser(database, id, page),
    revoke: (key) => [
      markApiKeyRevoked({ organizationId: key.organizationId, createdBy: id }, key.id, clock()),
      insertAuditEvent(actor, {
        action: "api_key.revoked",
        organizationId: key.organizationId,
        target: { id: key.id, name: key.name },
      }, { now: clock() }).statement,
    ],
  });
  const activeKeys = await countActiveKeysOfUser(database, id, clock());
  return { wasDisabled: disabled?.changes !== 1, activeKeys, revokedKeys, revokedInvitations };
}

/** Revokes things page by page until none is left. @returns How many. */
async function revokeAll<T>(
  { database, clock }: Context,
  { list, revoke }: {
    list: (page: { now: number; limit: number }) => Promise<readonly T[]>;
    revoke: (item: T) => readonly Statement[];
  },
): Promise<number> {
  for (let revoked = 0;;) {
    const items = await list({ now: clock(), limit: operatorPageItemsMax });
    if (items.length === 0) return revoked;
    const results = await database.write(items.flatMap(revoke));
    revoked += results.filter(({ rows }) => rows.length === 1).length;
  }
}

/** Lets a disabled user sign in again. @throws {AppError} `not_found`. */
export async function enableUser(
  context: Context,
  actor: OperatorActor,
  email: string,
): Promise<{ wasDisabled: boolean }> {
  const { id, email: name, organizationId } = await findUser(context, email);
  const entry = { action: "account.enabled", organizationId, target: { id, name } } as const;
  const [enabled] = await context.database.write([
    markUserEnabled(id),
    insertAuditEvent(actor, entry, { now: context.clock() }).statement,
    context.credentials.forgetFailures(name),
  ]);
  return { wasDisabled: enabled?.changes === 1 };
}

/**
 * Sets a user's password, which ends every session; or without one, creates a link with which they choose it, in place of
 * older links.
 *
 * @param input `turnOffTwoStep`: for someone who lost their device; removes their passkeys too.
 * @throws {AppError} `not_found`, `validation_failed`, `unavailable` if the account changed meanwhile.
 */
export async function resetUserPassword(
  context: Context,
  actor: OperatorActor,
  { email, password, turnOffTwoStep }: {
    email: string;
    password?: string | undefined;
    turnOffTwoStep: boolean;
  },
): Promise<{ link: PasswordLink | null; hadTwoStep: boolean }> {
  const { credentials } = context;
  const user = await findUser(context, email);
  if (user.disabledAt !== null) {
    throw new AppError("validation_failed", `${user.email} is disabled. Enable the account first.`);
  }
  if (password !== undefined) await checkNewPassword(context, password, user);
  const passwordHash = password === undefined ? null : await credentials.hasher.hash(password);
  const now = context.clock();
  const reset = insertAuditEvent(actor, {
    action: passwordHash === null ? "password.reset_requested" : "password.reset",
    organizationId: user.organizationId,
    target: { id: user.id, name: user.email },
  }, { now });
  const audited = { now, audited: reset.id };
  const { link, statement } = newPasswordLink(context, user.id, now);
  const twoStep = turnOffSecondSteps(context, actor, { user, ...audited });
  const results = await context.database.write([
    ...(passwordHash === null
      // Older links are deleted before the new one is inserted.
      ? [
        ...deleteLinks(user.id, { purposes: ["reset_password"] }),
        statement,
        reset.statement,
        credentials.forgetFailures(user.email, audited),
      ]
      : [
        updatePasswordHash(user.id, { from: user.passwordHash, to: passwordHash }),
        reset.statement,
        ...afterNewPassword(context, user, audited),
      ]),
    ...(turnOffTwoStep ? twoStep.statements : []),
  ]);
  const written = new Set(results.flatMap(({ rows }) => rows.map(({ id }) => id)));
  if (!written.has(reset.id)) throw unavailableError("The account just changed. Try again.");
  return { link: passwordHash === null ? link : null, hadTwoStep: written.has(twoStep.audited) };
}

/** @returns Statements that turn off two-step sign-in and remove all passkeys, and the id of the entry about the former. */
function turnOffSecondSteps(
  { mail }: Context,
  actor: OperatorActor,
  { user, now, audited }: Audited & { user: UserCredentials },
): { audited: string; statements: readonly Statement[] } {
  const { id, email: to, name, organizationId } = user;
  const about = { organizationId, target: { id, name: to } };
  const twoStep = insertAuditEvent(actor, { action: "two_step.disabled", ...about }, { now });
  const details = { passkeys: "all" };
  const passkeys = insertAuditEvent(actor, { action: "passkey.removed", ...about, details }, { now });
  return {
    audited: twoStep.id,
    statements: [
      deleteTotp(id, { audited }),
      twoStep.statement,
      deleteRecoveryCodes(id, { audited: twoStep.id }),
      ...deleteUnfinishedSignIns(id, { audited: twoStep.id }),
      ...mail.outgoing({ kind: "two_step_disabled", to, fields: { name } }, { now, audited: twoStep.id }),
      deletePasskeys(id, { audited }),
      passkeys.statement,
      ...mail.outgoing({ kind: "passkey_removed", to, fields: { name } }, {
        now,
        audited: passkeys.id,
      }),
    ],
  };
}

async function findUser({ database }: Context, typedEmail: string): Promise<UserCredentials> {
  const email = canonicalEmail(typedEmail);
  const found = email === null ? undefined : await findUserCredentials(database, email);
  if (found === undefined) throw notFoundError();
  return found;
}

/** @returns A link, and the statement that makes it valid. */
function newPasswordLink(context: Context, userId: string, now: number) {
  const token = newToken();
  const expiresAt = now + operatorLinkLifetimeMs;
  return {
    link: {
      address: linkAddress(context.config, { purpose: "reset_password", token }),
      expiresAt: isoTime(expiresAt),
    },
    // It isn't sent by email, so using it confirms no address.
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
