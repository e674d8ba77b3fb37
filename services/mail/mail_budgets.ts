// Limits on emails by recipient, across all senders and servers. An email that someone requests is counted before it is
// written; a notice is counted in the statement that writes it (db/mail/outbox.ts).
import { insertAuditEvent } from "../../db/audit.ts";
import { findMailBudgetEnd, giveMailBack, takeMail } from "../../db/mail/mail_budgets.ts";
import type { Actor } from "../../domain/actor.ts";
import { AppError } from "../../domain/errors.ts";
import { unverifiedInvitationMailsToRecipientPerDayMax } from "../../domain/limits.ts";
import type { MailKind } from "../../domain/mail/mail.ts";
import { mailBudget, mailBudgetSubject } from "../../domain/mail/mail_budget.ts";
import { countOf } from "../../domain/number_text.ts";
import type { BaseContext } from "../base_context.ts";
import type { RateLimits } from "../rate_limits.ts";
import type { About } from "../sign_in/credentials.ts";

/** An email that someone requests. */
export interface RequestedMail {
  readonly kind: MailKind;
  /** A canonical address. */
  readonly to: string;
  /** The sender has not confirmed their own address; their emails get through only while the recipient got few. */
  readonly isSenderUnverified?: boolean;
  /** The recipient's account has confirmed this address; requests for other tags of it don't count. */
  readonly isConfirmed?: boolean;
}

const hourMs = 3_600_000;

/** The budgets of all recipients. */
export class MailBudgets {
  readonly #context: BaseContext;
  readonly #rateLimits: RateLimits;

  constructor(context: BaseContext, rateLimits: RateLimits) {
    this.#context = context;
    this.#rateLimits = rateLimits;
  }

  /**
   * Counts an email while `write` writes it, and takes the count back if that fails.
   *
   * @throws {AppError} `rate_limited` if the budget is used up, or what `write` throws.
   */
  async spend<T>(mail: RequestedMail, write: () => Promise<T>): Promise<T> {
    return await this.spendIfLeft(mail, async (isLeft) => {
      if (isLeft) return await write();
      const now = this.#context.clock();
      const endsAt = await findMailBudgetEnd(this.#context.database, budgetOf(mail).subject);
      throw limitError(mail, (endsAt ?? now) - now);
    });
  }

  /** The same for an action whose result must not depend on the budget. It receives whether it may write the email. */
  async spendIfLeft<T>(mail: RequestedMail, act: (isLeft: boolean) => Promise<T>): Promise<T> {
    const { database, clock } = this.#context;
    const budget = budgetOf(mail);
    const [taken] = await database.write([takeMail(budget, { now: clock() })]);
    const isLeft = taken?.changes === 1;
    try {
      return await act(isLeft);
    } catch (error) {
      if (isLeft) await database.write([giveMailBack(budget.subject)]);
      throw error;
    }
  }

  /**
   * Runs an action that sends an email, and writes an audit entry if it throws `rate_limited`.
   *
   * @param limit Whose limit it is. Entries with the same subject are written at most every ten minutes.
   */
  async auditLimit<T>(limit: { subject: string; actor: Actor; about: () => About }, act: () => Promise<T>) {
    const { subject, actor, about } = limit;
    try {
      return await act();
    } catch (error) {
      const isLimit = error instanceof AppError && error.code === "rate_limited";
      if (isLimit && this.#rateLimits.emailLimitEntries.take(subject).isAllowed) {
        const entry = { action: "mail.limited", ...about() } as const;
        const { database, clock } = this.#context;
        await database.write([insertAuditEvent(actor, entry, { now: clock(), always: true }).statement]);
      }
      throw error;
    }
  }
}

function budgetOf({ kind, to, isSenderUnverified = false, isConfirmed }: RequestedMail) {
  const budget = mailBudget(kind);
  if (budget === null) throw new Error(`${kind} has no budget`);
  const mailsMax = isSenderUnverified ? unverifiedInvitationMailsToRecipientPerDayMax : budget.mailsMax;
  return {
    subject: mailBudgetSubject(budget.name, to, { isConfirmed }),
    windowMs: budget.windowMs,
    mailsMax,
  };
}

function limitError({ isSenderUnverified = false }: RequestedMail, waitMs: number): AppError {
  const hours = countOf(Math.max(1, Math.ceil(waitMs / hourMs)), "hour");
  return new AppError(
    "rate_limited",
    isSenderUnverified
      ? "This address has received several emails today. Confirm your own address to send another one."
      : `This address has received too many emails. Try again in ${hours}.`,
    { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) },
  );
}
