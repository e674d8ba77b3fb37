// Limits on emails of each kind to one recipient, from all senders and servers. docs/decisions/0023 explains them.
import { hash } from "node:crypto";
import type { MailKind } from "./mail.ts";

/** Invitations. Beyond the second limit, only senders with a confirmed address invite. */
export const invitationMailsToRecipientPerDayMax = 10;
export const unverifiedInvitationMailsToRecipientPerDayMax = 3;
export const verificationMailsToRecipientPerDayMax = 10;
export const emailChangeMailsToRecipientPerDayMax = 5;
/** Links to reset a password and to turn off two-step sign-in. Each works for an hour. */
export const accountLinkMailsToRecipientPerHourMax = 5;
/** Notices to an unconfirmed address. A confirmed address gets all notices. */
export const noticesToUnconfirmedRecipientPerDayMax = 10;
/** Emails of all kinds to an unconfirmed address. Beyond the second limit, only password reset links are sent. */
export const mailsToUnconfirmedRecipientPerDayMax = 20;
export const otherMailsToUnconfirmedRecipientPerDayMax = 15;

/** A number of emails in a window that begins with the first of them. */
interface MailBudget {
  /** Kinds with the same name share a budget. */
  readonly name: string;
  readonly mailsMax: number;
  readonly windowMs: number;
}

const hourMs = 3_600_000;
const daily = (name: string, mailsMax: number): MailBudget => ({ name, mailsMax, windowMs: 24 * hourMs });
/** The window is as long as a link works, so a flood of requests can't lock anyone out: the last link is still valid. */
const hourly = (name: string): MailBudget => (
  { name, mailsMax: accountLinkMailsToRecipientPerHourMax, windowMs: hourMs }
);
/** Shared, so that it doesn't reveal whether the new address has an account. */
const emailChange = daily("change_email", emailChangeMailsToRecipientPerDayMax);
const requested: Readonly<Partial<Record<MailKind, MailBudget>>> = {
  invitation: daily("invitation", invitationMailsToRecipientPerDayMax),
  verify_email: daily("verify_email", verificationMailsToRecipientPerDayMax),
  change_email: emailChange,
  change_email_taken: emailChange,
  reset_password: hourly("reset_password"),
  turn_off_two_step: hourly("turn_off_two_step"),
};

const notices = daily("notice", noticesToUnconfirmedRecipientPerDayMax);

/** Some of it is kept for links with which the owner of the address takes back a stranger's account. */
const ofAllKinds = (kind: MailKind) =>
  daily(
    "unconfirmed",
    kind === "reset_password"
      ? mailsToUnconfirmedRecipientPerDayMax
      : otherMailsToUnconfirmedRecipientPerDayMax,
  );

/** `subject`: its name, which doesn't reveal the address. */
export interface RecipientBudget {
  readonly subject: string;
  readonly mailsMax: number;
  readonly windowMs: number;
}

export interface RecipientBudgets {
  readonly ofKind: RecipientBudget;
  /** The budget of all kinds together. It applies only to addresses that no account has confirmed. */
  readonly ofAll: RecipientBudget;
}

/** True for an email about a change, which no one requests. Only unconfirmed addresses have a budget of these. */
export function isNotice(kind: MailKind): boolean {
  return requested[kind] === undefined;
}

/** Returns a recipient's budgets. `isConfirmed`: an account has confirmed exactly this address. */
export function recipientBudgets(
  kind: MailKind,
  to: string,
  options: { isConfirmed?: boolean | undefined; mailsMax?: number | undefined } = {},
): RecipientBudgets {
  const { name, mailsMax, windowMs } = requested[kind] ?? notices;
  const all = ofAllKinds(kind);
  return {
    ofKind: {
      subject: mailBudgetSubject(name, to, options),
      mailsMax: options.mailsMax ?? mailsMax,
      windowMs,
    },
    ofAll: { ...all, subject: mailBudgetSubject(all.name, to) },
  };
}

/**
 * Names a recipient's budget without revealing the address. A tag after a plus sign doesn't count, since `ada+1@example.com`
 * is almost always Ada's inbox. But the address without a tag has a budget of its own. Otherwise anyone could use it up with
 * made-up tags.
 *
 * @param email Canonical.
 * @param options `isConfirmed`: an account has confirmed exactly this address; then it shares its budget with no other.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const of = (email: string) => mailBudgetSubject("invitation", email);
 * assert.equal(of("ada+1@example.com"), of("ada+2@example.com"));
 * assert.notEqual(of("ada+1@example.com"), of("ada@example.com"));
 * assert.notEqual(of("ada@example.com"), of("ada@example.org"));
 * ```
 */
export function mailBudgetSubject(
  budget: string,
  email: string,
  { isConfirmed = false }: { isConfirmed?: boolean | undefined } = {},
): string {
  const recipient = isConfirmed ? `confirmed:${email}` : email.replace(/(?<=.)\+[^@]*(?=@)/, "+");
  return hash("sha256", `mail:${budget}:${recipient}`, "hex");
}

/** Returns a budget of emails in 24 hours. @param to What it counts for: an organization or a recipient. */
export function dailyBudget(name: string, to: string, mailsMax: number): RecipientBudget {
  return { subject: mailBudgetSubject(name, to), mailsMax, windowMs: 24 * hourMs };
}
