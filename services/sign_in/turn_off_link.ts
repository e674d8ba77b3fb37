// The last resort to turn off two-step sign-in, for people who lost their device and their recovery codes: a session, the
// password, and a link that is emailed to them.
import { insertAuditEvent } from "../../db/audit.ts";
import { deleteLinks, findLinkToken, useTurnOffLink } from "../../db/mail/link_tokens.ts";
import { endHalfDoneSignIns } from "../../db/sign_in/pending_sign_ins.ts";
import { deleteRecoveryCodes } from "../../db/sign_in/recovery_codes.ts";
import { deleteTotp } from "../../db/sign_in/totp.ts";
import { findUserCredentialsById } from "../../db/account/users.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, invalidTokenError, unauthenticatedError } from "../../domain/errors.ts";
import type { SessionContext } from "../context.ts";
import { sessionSubject } from "./credentials.ts";
import { withOwnPassword } from "./recent_authentication.ts";
import { writeSecurityChange } from "./security_change.ts";
import { wellFormedHash } from "./session_tokens.ts";
import { turnedOffError } from "./two_step.ts";

const purpose = "turn_off_two_step";

/**
 * Emails the link to the account's address. It replaces an older one.
 *
 * @throws {AppError} `mail_unavailable`, `two_step_state`, `invalid_credentials`, `rate_limited`, `unavailable`.
 */
export async function requestTurnOffLink(
  context: SessionContext,
  actor: SessionActor,
  password: string,
): Promise<void> {
  const { clock, credentials, database, mail, mailBudgets, writeAs } = context;
  mail.requireMail();
  const user = await findUserCredentialsById(database, actor.user.id);
  if (user === undefined) throw unauthenticatedError();
  if (!user.hasTotp) throw turnedOffError();
  const { id, email: to, name } = user;
  const isConfirmed = user.emailVerifiedAt !== null;
  async function write(): Promise<void> {
    const now = clock();
    const entry = { action: "two_step.turn_off_requested" } as const;
    const audit = insertAuditEvent(actor, entry, { now, always: true });
    const audited = { now, audited: audit.id };
    await writeAs(actor, [
      audit.statement,
      credentials.forgetFailures(sessionSubject(actor)),
      ...deleteLinks(id, { purposes: [purpose], audited: audit.id }),
      ...mail.outgoing({ kind: purpose, to, subject: id, fields: { name } }, audited),
    ]);
  }
  const action = () => mailBudgets.spend({ kind: purpose, to, isConfirmed }, write);
  await withOwnPassword(context, actor, { user, password, action });
  mail.wake();
}

/** Finds the user of a link, or null if it doesn't work. Finding it doesn't use it up. */
export async function findTurnOffLink(
  { database, clock }: SessionContext,
  token: string,
): Promise<{ userId: string; tokenHash: string } | null> {
  const tokenHash = wellFormedHash(token);
  const link = tokenHash === null ? undefined : await findLinkToken(database, tokenHash, clock());
  return link?.purpose === purpose && tokenHash !== null ? { userId: link.subject, tokenHash } : null;
}

/** Turns off two-step sign-in with the link. @throws {AppError} `invalid_token`, `wrong_account`, `unauthenticated`. */
export async function turnOffTwoStepByLink(
  context: SessionContext,
  actor: SessionActor,
  token: string,
): Promise<void> {
  const link = await findTurnOffLink(context, token);
  if (link === null) throw invalidTokenError();
  const { userId, tokenHash } = link;
  if (userId !== actor.user.id) {
    throw new AppError("wrong_account", "This link is for another account. Sign in to that account first.");
  }
  const { email: to, name } = actor.user;
  const isOff = await writeSecurityChange(context, actor, {
    statement: useTurnOffLink({ userId, tokenHash, now: context.clock() }),
    entry: { action: "two_step.disabled", details: { method: "mailed link" } },
    after: (audited) => [
      deleteTotp(userId, audited),
      deleteRecoveryCodes(userId, audited),
      ...endHalfDoneSignIns(userId, audited),
      ...deleteLinks(userId, { purposes: [purpose], audited: audited.audited }),
    ],
    email: { kind: "two_step_disabled", to, fields: { name } },
  });
  if (!isOff) throw invalidTokenError();
}
