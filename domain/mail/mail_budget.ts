// How many emails of each kind one recipient gets, from all senders together.
import { hash } from "node:crypto";
import {
  accountLinkMailsToRecipientPerHourMax,
  emailChangeMailsToRecipientPerDayMax,
  invitationMailsToRecipientPerDayMax,
  noticesToUnconfirmedRecipientPerDayMax,
  verificationMailsToRecipientPerDayMax,
} from "../limits.ts";
import type { MailKind } from "./mail.ts";

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

/** The budget of notices about changes. It applies only to unconfirmed addresses. */
export const noticeBudget = daily("notice", noticesToUnconfirmedRecipientPerDayMax);

/** @returns The budget of a kind of email that people request; null for a notice. */
export function mailBudget(kind: MailKind): MailBudget | null {
  return requested[kind] ?? null;
}

/**
 * @param email Canonical. A tag after a plus sign doesn't count, since `ada+1@example.com` is almost always Ada's inbox. But
 *   the address without a tag has a budget of its own. Otherwise anyone could use it up with made-up tags.
 * @param options `isConfirmed`: an account has confirmed exactly this address; then it shares its budget with no other.
 * @returns The name of a recipient's budget, which doesn't reveal the address.
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
export function mailBudgetSubject(budget: string, email: string, { isConfirmed = false } = {}): string {
  const recipient = isConfirmed ? `confirmed:${email}` : email.replace(/(?<=.)\+[^@]*(?=@)/, "+");
  return hash("sha256", `mail:${budget}:${recipient}`, "hex");
}
