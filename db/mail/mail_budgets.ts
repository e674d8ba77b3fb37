// All SQL of the budgets of emails by recipient. The addresses are never here, only their hashes.
import { type Database, sql, type Statement } from "../engine/database.ts";

/** Also true for a window from before the clock was set back, which would end later than any other. */
const isWindowOver = (now: number, windowMs: number) =>
  sql`(ends_at <= ${now} OR ends_at > ${now + windowMs})`;

/**
 * Counts one email against a budget. Changes nothing if the budget is used up.
 *
 * @param options `now`: milliseconds since 1970. `only`: a further condition.
 */
export function takeMail(
  { subject, mailsMax, windowMs }: { subject: string; mailsMax: number; windowMs: number },
  { now, only }: { now: number; only?: Statement },
) {
  const isOver = isWindowOver(now, windowMs);
  return sql`
    INSERT INTO mail_budgets (subject, mails, ends_at)
    SELECT ${subject}, 1, ${now + windowMs} WHERE ${only ?? sql`true`}
    ON CONFLICT (subject) DO UPDATE SET
      mails = iif(${isOver}, 1, mails + 1), ends_at = iif(${isOver}, ${now + windowMs}, ends_at)
    WHERE ${isOver} OR mails < ${mailsMax}`;
}

/** Takes back the count of an email that was not written. */
export function giveMailBack(subject: string) {
  return sql`UPDATE mail_budgets SET mails = mails - 1 WHERE subject = ${subject} AND mails > 0`;
}

/** @returns When a budget's window ends, in milliseconds since 1970, or undefined. */
export async function findMailBudgetEnd(database: Database, subject: string): Promise<number | undefined> {
  const row = await database.readFirst<{ endsAt: number }>(
    sql`SELECT ends_at AS endsAt FROM mail_budgets WHERE subject = ${subject}`,
  );
  return row?.endsAt;
}

/** Deletes windows that are over. */
export function deleteExpiredMailBudgets(now: number) {
  return sql`DELETE FROM mail_budgets WHERE ends_at <= ${now}`;
}
