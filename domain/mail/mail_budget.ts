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
export interface MailBudget {
  /** Kinds with the same name share a budget. */
  readonly name: string;
  readonly mailsMax: number;
  readonly windowMs: number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** A flood of resets cannot keep a person out: the window is as long as a link works, so its last link is still valid. */
const accountLinks = { mailsMax: accountLinkMailsToRecipientPerHourMax, windowMs: hourMs } as const;
/** One budget, so that nothing shows whether the new address has an account. */
const emailChange: MailBudget = {
  name: "change_email",
  mailsMax: emailChangeMailsToRecipientPerDayMax,
  windowMs: dayMs,
};
const asked: Readonly<Partial<Record<MailKind, MailBudget>>> = {
  invitation: { name: "invitation", mailsMax: invitationMailsToRecipientPerDayMax, windowMs: dayMs },
  verify_email: { name: "verify_email", mailsMax: verificationMailsToRecipientPerDayMax, windowMs: dayMs },
  change_email: emailChange,
  change_email_taken: emailChange,
  reset_password: { name: "reset_password", ...accountLinks },
  turn_off_two_step: { name: "turn_off_two_step", ...accountLinks },
};

/** Notices say what was done to an account. Only one whose address is not confirmed has a budget for them. */
export const noticeBudget: MailBudget = {
  name: "notice",
  mailsMax: noticesToUnconfirmedRecipientPerDayMax,
  windowMs: dayMs,
};

/** @returns The budget of a kind of email that is sent because someone asks for it; null for a notice. */
export function mailBudget(kind: MailKind): MailBudget | null {
  return asked[kind] ?? null;
}

/**
 * @param email Canonical. What follows a plus sign does not count: `ada+1@example.com` is almost always Ada's inbox. But the
 *   address without one has a budget of its own: anyone can make up tags until theirs is used up.
 * @param options `isConfirmed`: an account has confirmed this very address, tag included; it shares a budget with no other.
 * @returns A name for a recipient's budget that does not show the address.
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
