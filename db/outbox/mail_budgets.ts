// All SQL of the budgets of emails by recipient. The addresses are never here, only their hashes.
import type { RecipientBudget, RecipientBudgets } from "../../domain/outbox/mail_budget.ts";
import { type Audited, ifAudited } from "../access/mod.ts";
import { type Database, sql, type Statement } from "../engine/database.ts";

export const hasConfirmedAccount = (email: string) =>
  sql`EXISTS (SELECT 1 FROM users WHERE email = ${email} AND email_verified_at IS NOT NULL)`;

/** True also for a window from before the clock was set back, which would end later than any other. */
const isWindowOver = (now: number, windowMs: number) =>
  sql`(ends_at <= ${now} OR ends_at > ${now + windowMs})`;

const isUsedUp = ({ subject, mailsMax, windowMs }: RecipientBudget, now: number) =>
  sql`(subject = ${subject} AND mails >= ${mailsMax} AND NOT ${isWindowOver(now, windowMs)})`;

/** Counts one email against a budget. Changes nothing if the budget is used up. @param options `only`: a further condition. */
export function takeMail(
  { subject, mailsMax, windowMs }: RecipientBudget,
  { now, only }: { now: number; only: Statement },
): Statement {
  const isOver = isWindowOver(now, windowMs);
  return sql`
    INSERT INTO mail_budgets (subject, mails, ends_at)
    SELECT ${subject}, 1, ${now + windowMs} WHERE ${only}
    ON CONFLICT (subject) DO UPDATE SET
      mails = iif(${isOver}, 1, mails + 1), ends_at = iif(${isOver}, ${now + windowMs}, ends_at)
    WHERE ${isOver} OR mails < ${mailsMax}`;
}

/**
 * Counts one email against both of its budgets with two statements. The second one changes a row if the email may be written;
 * nothing changes if either budget is used up.
 *
 * @param options `only`: a further condition. `isExempt`: a condition under which the budget of all kinds doesn't apply.
 */
function takeMails(
  { ofKind, ofAll }: RecipientBudgets,
  { now, only, isExempt }: { now: number; only: Statement; isExempt: Statement },
): Statement[] {
  const isKindLeft = sql`NOT EXISTS (SELECT 1 FROM mail_budgets WHERE ${isUsedUp(ofKind, now)})`;
  return [
    takeMail(ofAll, { now, only: sql`${only} AND NOT ${isExempt} AND ${isKindLeft}` }),
    takeMail(ofKind, { now, only: sql`${only} AND (changes() > 0 OR ${isExempt})` }),
  ];
}

/** Counts an email that someone requests; unless it `isSent`, only against the budget of its kind. */
export function takeRequestedMail(
  budgets: RecipientBudgets,
  to: string,
  { now, isSent }: { now: number; isSent: boolean },
): Statement[] {
  const isExempt = isSent ? hasConfirmedAccount(to) : sql`true`;
  return takeMails(budgets, { now, only: sql`true`, isExempt });
}

/** Counts an audited notice if no account has confirmed the address, with the statements of {@linkcode takeMails}. */
export function takeNotice(budgets: RecipientBudgets, to: string, { now, audited }: Audited): Statement[] {
  const only = sql`${ifAudited(audited)} AND NOT ${hasConfirmedAccount(to)}`;
  return takeMails(budgets, { now, only, isExempt: sql`false` });
}

export function giveMailBack(subject: string) {
  return sql`UPDATE mail_budgets SET mails = mails - 1 WHERE subject = ${subject} AND mails > 0`;
}

/** Returns the budgets that keep an email from being sent, with the ends of their windows in milliseconds since 1970. */
export function findUsedUpBudgets(
  database: Database,
  { ofKind, ofAll }: RecipientBudgets,
  { to, now }: { to: string; now: number },
): Promise<{ subject: string; endsAt: number }[]> {
  const isAllUsedUp = sql`${isUsedUp(ofAll, now)} AND NOT ${hasConfirmedAccount(to)}`;
  return database.read(sql`
    SELECT subject, ends_at AS endsAt FROM mail_budgets WHERE ${isUsedUp(ofKind, now)} OR ${isAllUsedUp}`);
}

export function deleteExpiredMailBudgets({ now, limit }: { now: number; limit: number }) {
  return sql`DELETE FROM mail_budgets WHERE subject IN (
    SELECT subject FROM mail_budgets WHERE ends_at <= ${now} LIMIT ${limit})`;
}
