// Operators reset passwords: with a link, or on the command line with a new password.
import {
  deletePasskeys,
  deleteRecoveryCodes,
  deleteTotp,
  deleteUnfinishedSignIns,
  updatePasswordHash,
} from "../../db/people/mod.ts";
import { type Audited, insertAuditEvent, type UserCredentials } from "../../db/access/mod.ts";
import type { Statement } from "../../db/engine/database.ts";
import { deleteLinks } from "../../db/outbox/mod.ts";
import { confirmUserIsEnabled, insertLinkForUser } from "../../db/console/users.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { unavailableError } from "../../domain/errors.ts";
import { operatorLinkLifetimeMs } from "../../domain/limits.ts";
import { isoTime } from "../../domain/time.ts";
import { afterNewPassword, checkNewPassword } from "../people/mod.ts";
import { hashToken, newToken, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { linkAddress } from "../outbox/mod.ts";
import { findEnabledUser, type UserReference } from "./users.ts";

/** A one-time link for choosing a password. It exists nowhere else and is never logged. */
export interface PasswordLink {
  readonly address: string;
  /** ISO 8601 UTC. */
  readonly expiresAt: string;
}

/**
 * Emails a user a link to choose a new password; older links end. Without a mail server, an operator account gets the link; a
 * token never does, because with it anyone could sign in as the user.
 *
 * @throws {AppError} `not_found`; `forbidden` for an operator's account; `validation_failed` for a disabled one; `mail_unavailable`
 *   for a token without a mail server.
 */
export async function sendPasswordReset(
  context: SessionContext,
  actor: OperatorActor,
  reference: UserReference,
): Promise<{ sentTo: string | null; link: PasswordLink | null }> {
  const { mail } = context;
  if (mail.mode === "none" && actor.credential.kind !== "token") {
    const { link } = await resetUserPassword(context, actor, { ...reference, turnOffTwoStep: false });
    return { sentTo: null, link };
  }
  mail.requireMail();
  const user = await findEnabledUser(context, actor, reference);
  const { id, email, name, organizationId } = user;
  const isSent = await writeChange(context, actor, {
    statement: confirmUserIsEnabled(id, email),
    entry: { action: "password.reset_requested", organizationId, target: { id, name: email } },
    after: ({ audited }) => [
      ...deleteLinks(id, { purposes: ["reset_password"], audited }),
      context.credentials.forgetFailures(email, { audited }),
    ],
    email: { kind: "reset_password", to: email, subject: id, fields: { name } },
  });
  if (!isSent) throw accountChangedError();
  return { sentTo: email, link: null };
}

/**
 * Sets a user's password, which ends every session; or without one, creates a link with which they choose it, in place of
 * older links.
 *
 * @param input `turnOffTwoStep`: for someone who lost their device; removes their passkeys too.
 * @throws {AppError} `not_found`, `validation_failed`, `unavailable` if the account changed meanwhile.
 */
export async function resetUserPassword(
  context: SessionContext,
  actor: OperatorActor,
  { password, turnOffTwoStep, ...reference }: UserReference & {
    readonly password?: string | undefined;
    readonly turnOffTwoStep: boolean;
  },
): Promise<{ link: PasswordLink | null; hadTwoStep: boolean }> {
  const { credentials } = context;
  const user = await findEnabledUser(context, actor, reference);
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
  const results = await context.writeAs(actor, [
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
  if (!written.has(reset.id)) throw accountChangedError();
  return { link: passwordHash === null ? link : null, hadTwoStep: written.has(twoStep.audited) };
}

/** Returns statements that turn off two-step sign-in and remove all passkeys, and the id of the entry about the former. */
function turnOffSecondSteps(
  { mail }: SessionContext,
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

const accountChangedError = () => unavailableError("The account just changed. Try again.");

/** Returns a link, and the statement that makes it valid. */
export function newPasswordLink(context: SessionContext, userId: string, now: number) {
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
