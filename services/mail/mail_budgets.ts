// Emails that people ask for are taken from their recipient's budget in the database, before they are written: the limit holds
// across all senders and all servers. Notices take from theirs in the statement that writes them (db/mail/outbox.ts).
import { findMailBudgetEnd, giveMailBack, takeMail } from "../../db/mail/mail_budgets.ts";
import { AppError } from "../../domain/errors.ts";
import { unverifiedInvitationMailsToRecipientPerDayMax } from "../../domain/limits.ts";
import type { MailKind } from "../../domain/mail/mail.ts";
import { mailBudget, mailBudgetSubject } from "../../domain/mail/mail_budget.ts";
import { countOf } from "../../domain/number_text.ts";
import type { BaseContext } from "../base_context.ts";

/** An email that someone asks for. */
export interface AskedMail {
  readonly kind: MailKind;
  /** A canonical address. */
  readonly to: string;
  /** The sender has not confirmed their own address, and may send only while the recipient got few. */
  readonly isSenderUnverified?: boolean;
  /** It goes to an account that has confirmed this address: requests for other tags of it don't count. */
  readonly isConfirmed?: boolean;
}

/** The emails that one recipient gets. */
export interface MailBudgets {
  /**
   * Takes an email of its recipient's budget for an act that writes it, and gives it back when the act fails.
   *
   * @throws {AppError} `rate_limited` when there is none left, or what the act throws.
   */
  spend<T>(mail: AskedMail, act: () => Promise<T>): Promise<T>;
  /**
   * The same for an act whose result must not depend on the budget.
   *
   * @param act Told whether it may write the email.
   */
  spendIfLeft<T>(mail: AskedMail, act: (isLeft: boolean) => Promise<T>): Promise<T>;
}

const hourMs = 3_600_000;

/** @param context See {@linkcode BaseContext}. */
export function createMailBudgets({ database, clock }: BaseContext): MailBudgets {
  function rowOf({ kind, to, isSenderUnverified = false, isConfirmed }: AskedMail) {
    const budget = mailBudget(kind);
    if (budget === null) throw new Error(`${kind} has no budget`);
    const mailsMax = isSenderUnverified ? unverifiedInvitationMailsToRecipientPerDayMax : budget.mailsMax;
    const subject = mailBudgetSubject(budget.name, to, { isConfirmed });
    return { subject, windowMs: budget.windowMs, mailsMax };
  }

  async function spendIfLeft<T>(mail: AskedMail, act: (isLeft: boolean) => Promise<T>): Promise<T> {
    const row = rowOf(mail);
    const [taken] = await database.write([takeMail(row, { now: clock() })]);
    const isLeft = taken?.changes === 1;
    try {
      return await act(isLeft);
    } catch (error) {
      if (isLeft) await database.write([giveMailBack(row.subject)]);
      throw error;
    }
  }

  return {
    spendIfLeft,
    async spend(mail, act) {
      return await spendIfLeft(mail, async (isLeft) => {
        if (isLeft) return await act();
        const endsAt = await findMailBudgetEnd(database, rowOf(mail).subject);
        throw limitError(mail, (endsAt ?? clock()) - clock());
      });
    },
  };
}

function limitError({ isSenderUnverified = false }: AskedMail, waitMs: number): AppError {
  const hours = countOf(Math.max(1, Math.ceil(waitMs / hourMs)), "hour");
  return new AppError(
    "rate_limited",
    isSenderUnverified
      ? "This address has received several emails today. Confirm your own address to send another one."
      : `This address has received too many emails. Try again in ${hours}.`,
    { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) },
  );
}
