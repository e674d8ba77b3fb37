// Changing a password, and resetting a forgotten one. No response shows whether an account exists.
import {
  type Audited,
  endAllAccess,
  findUserCredentials,
  findUserCredentialsById,
  insertAuditEvent,
  updateSessionToken,
  type UserCredentials,
} from "../../db/access/mod.ts";
import { endUnconfirmedAccess } from "../../db/people/account_takeback.ts";
import { resetPasswordHash, updatePasswordHash } from "../../db/people/users.ts";
import { type Statement, writeNamed } from "../../db/engine/database.ts";
import { deleteLinks, findLinkToken } from "../../db/outbox/mod.ts";
import { deleteUnfinishedSignIns } from "../../db/people/pending_sign_ins.ts";
import { unlockTotp } from "../../db/people/totp.ts";
import type { ClientInfo, SessionActor } from "../../domain/access/actor.ts";
import { type AppError, invalidTokenError, validationError } from "../../domain/errors.ts";
import { requireEmail } from "../../domain/outbox/email.ts";
import type { Context, SessionContext } from "../context.ts";
import { requireDomainPermits } from "./domain_rules.ts";
import {
  hashToken,
  newToken,
  requireRecentAuthentication,
  sessionSubject,
  wellFormedHash,
  writeChange,
} from "../access/mod.ts";
import { withOwnPassword } from "./reauthentication.ts";
import { findActingUser } from "./account.ts";
import { accountChangedError, personOf } from "./sign_in.ts";

/**
 * Changes the password. Every other session ends, and this one gets a new token. An account without a password sets its first
 * one after a recent authentication, without `currentPassword`.
 *
 * @throws {AppError} `invalid_credentials`, `validation_failed`, `rate_limited`, `unavailable`; `proof_required` without a password.
 */
export async function changePassword(
  context: SessionContext,
  actor: SessionActor,
  { currentPassword, newPassword }: { currentPassword?: string | undefined; newPassword: string },
): Promise<{ token: string }> {
  const { credentials } = context;
  const user = await findActingUser(context, actor);
  const isFirst = user.hasPassword === 0;
  if (isFirst !== (currentPassword === undefined)) throw currentPasswordError(isFirst);
  if (isFirst) requireRecentAuthentication(actor, context.clock());
  await checkNewPassword(context, newPassword, { ...user, path: "newPassword" });
  const action = async () => {
    const passwordHash = await credentials.hasher.hash(newPassword);
    const token = newToken();
    const isChanged = await writeChange(context, actor, {
      statement: updatePasswordHash(user.id, { from: user.passwordHash, to: passwordHash }),
      entry: { action: "password.changed", details: isFirst ? { first: "yes" } : {} },
      after: (audited) => [
        updateSessionToken(actor.id, { ...audited, tokenHash: hashToken(token) }),
        credentials.forgetFailures(sessionSubject(actor), audited),
        ...afterNewPassword(context, user, { ...audited, keep: actor.id }),
      ],
    });
    if (!isChanged) throw accountChangedError();
    context.mail.wake();
    return { token };
  };
  if (currentPassword === undefined) return await action();
  const password = { user, password: currentPassword, field: "currentPassword" };
  return await withOwnPassword(context, actor, { ...password, action });
}

function currentPasswordError(isFirst: boolean): AppError {
  const message = isFirst ? "Your account has no password yet." : "Enter your current password.";
  return validationError([{ path: "currentPassword", message }]);
}

/**
 * Sends a reset link to an address if it has an account and its email budget allows one. The result is the same if not.
 *
 * @throws {AppError} `validation_failed`, `sso_required`, `mail_unavailable`, and `rate_limited` for a client that asks too often.
 */
export async function requestPasswordReset(context: Context, client: ClientInfo, typedEmail: string) {
  const { database, mail } = context;
  mail.requireMail();
  const email = requireEmail(typedEmail);
  context.credentials.countLinkRequest(client);
  await requireDomainPermits(context, email);
  const now = context.clock();
  const found = await findUserCredentials(database, email);
  const user = found?.disabledAt === null ? found : undefined;
  const about = {
    organizationId: user?.organizationId ?? null,
    target: { id: user?.id ?? null, name: user === undefined ? null : email },
  };
  const isConfirmed = (user?.emailVerifiedAt ?? null) !== null;
  // The same work is done with or without an account, so that it takes the same time.
  await context.mailBudgets.spendIfLeft(
    { kind: "reset_password", to: email, isConfirmed, isSent: user !== undefined },
    async (isLeft) => {
      if (!isLeft && !context.rateLimits.resetEntries.take(email).isAllowed) return;
      const action = isLeft ? "password.reset_requested" : "mail.limited";
      const audit = insertAuditEvent({ type: "anonymous", client }, { action, ...about }, {
        now,
        always: true,
      });
      const audited = { now, audited: audit.id };
      const { id: subject = "", name = "" } = user ?? {};
      const reset = { kind: "reset_password", to: email, subject, fields: { name } } as const;
      const newLink = [
        ...deleteLinks(subject, { purposes: ["reset_password"], audited: audit.id }),
        ...(user === undefined ? [] : mail.outgoing(reset, audited)),
      ];
      // If no email may be sent, the link in the last one stays valid.
      await database.write([audit.statement, ...(isLeft ? newLink : [])]);
    },
  );
  mail.wake();
}

/**
 * Finds a reset link without using it up. Returns null if it doesn't work.
 *
 * @returns `email`: where it was sent; null for a link from the operator. `takesBack`: true if the address was never confirmed, see
 *   {@linkcode resetPassword}.
 */
export async function findPasswordReset(context: Context, token: string) {
  const { database, clock } = context;
  const tokenHash = wellFormedHash(token) ?? "";
  const link = await findLinkToken(database, tokenHash, clock());
  if (link?.purpose !== "reset_password") return null;
  const { subject, email } = link;
  const user = await findUserCredentialsById(database, subject);
  // The email address may have changed since, and its former owner must not get in.
  if (user?.disabledAt !== null || (email !== null && email !== user.email)) return null;
  return { user, tokenHash, email, takesBack: user.emailVerifiedAt === null && email === user.email };
}

/**
 * Sets a new password with a link, which is then used up. Every session ends. If the address was never confirmed, someone else
 * may have created the account: two-step sign-in, passkeys, identities, keys and invitations end too, and all other members are removed
 * from its organizations.
 *
 * @throws {AppError} `invalid_token`, `validation_failed`, `rate_limited`, `unavailable`.
 */
export async function resetPassword(
  context: Context,
  client: ClientInfo,
  { token, password }: { token: string; password: string },
): Promise<void> {
  const { credentials } = context;
  const reset = await findPasswordReset(context, token);
  if (reset === null) {
    credentials.countAddressFailure(client);
    throw invalidTokenError();
  }
  const { user, tokenHash, email, takesBack } = reset;
  await checkNewPassword(context, password, user);
  const passwordHash = await credentials.hasher.hash(password);
  const now = context.clock();
  const actor = personOf(user, client);
  const target = { id: user.id, name: user.email };
  const audit = insertAuditEvent(actor, { action: "password.reset", target }, { now });
  const takeBack = insertAuditEvent(actor, { action: "account.taken_back", target }, { now });
  const written = await writeNamed(context.database, {
    password: resetPasswordHash({ userId: user.id, passwordHash, tokenHash, email, now }),
    audit: audit.statement,
    takenBack: takesBack ? [takeBack.statement] : [],
    ended: afterNewPassword(context, user, { now, audited: audit.id, isTakenBack: takesBack }),
    unconfirmed: takesBack ? endUnconfirmedAccess(actor, { userId: user.id, now, audited: takeBack.id }) : [],
  });
  if (written.audit.rows.length !== 1) throw invalidTokenError();
  // Wrong passwords only: codes are still needed.
  credentials.giveBackFailures(client, [user.email]);
  context.mail.wake();
}

/** @throws {AppError} `validation_failed` for the field `path`. */
export async function checkNewPassword(
  { credentials }: Pick<Context, "credentials">,
  password: string,
  { email, name, path = "password" }: { email: string; name: string; path?: string },
): Promise<void> {
  const faults = await credentials.newPasswordFaults(password, { email, name, path });
  if (faults.length > 0) throw validationError(faults);
}

/**
 * Ends everything that the old password gave access to, or that bypasses the new one. The statements belong to the batch that
 * replaces the password, after its audit entry.
 *
 * @param options `keep`: the session that stays. `isTakenBack`: the reset also confirmed the address; the email says so.
 *   `provider`: the name of the provider whose sign-in took it back, instead of a reset.
 */
export function afterNewPassword(
  { credentials, mail }: Pick<Context, "credentials" | "mail">,
  user: UserCredentials,
  { isTakenBack = false, provider, ...audited }: Audited & {
    keep?: string;
    isTakenBack?: boolean;
    provider?: string;
  },
): Statement[] {
  const kind = isTakenBack ? "account_taken_back" : "password_changed";
  const fields = {
    name: user.name,
    ...(user.hasPassword === 0 ? { isFirst: true } : {}),
    ...(provider === undefined ? {} : { provider }),
  };
  const notice = { kind, to: user.email, fields } as const;
  return [
    // The email about a new address says to change the password if it wasn't you. That must be enough.
    ...deleteLinks(user.id, {
      purposes: ["reset_password", "change_email", "turn_off_two_step"],
      audited: audited.audited,
    }),
    ...endAllAccess(user.id, audited),
    ...deleteUnfinishedSignIns(user.id, audited),
    unlockTotp(user.id, audited),
    credentials.forgetFailures(user.email, audited),
    ...mail.outgoing(notice, audited),
  ];
}
