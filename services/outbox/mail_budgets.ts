// Limits on emails by recipient, across all senders and servers. An email that someone requests is counted before it is
// written; a notice is counted in the statement that writes it (db/outbox/mails.ts).
import { writeAuditEvent } from "../../db/access/mod.ts";
import { findUsedUpBudgets, giveMailBack, takeRequestedMail } from "../../db/outbox/mail_budgets.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { AppError } from "../../domain/errors.ts";
import {
  type RecipientBudgets,
  recipientBudgets,
  unverifiedInvitationMailsToRecipientPerDayMax,
} from "../../domain/outbox/mail_budget.ts";
import type { MailKind } from "../../domain/outbox/mail.ts";
import { countOf } from "../../domain/number_text.ts";
import type { BaseContext } from "../base_context.ts";
import type { RateLimits } from "../rate_limits.ts";
import type { About } from "../access/mod.ts";

export interface RequestedMail {
  readonly kind: MailKind;
  /** A canonical address. */
  readonly to: string;
  /** The sender has not confirmed their own address; their emails get through only while the recipient got few. */
  readonly isSenderUnverified?: boolean;
  /** The recipient's account has confirmed this address; requests for other tags of it don't count. */
  readonly isConfirmed?: boolean;
  /** False if no email follows, which the result must not reveal: only the budget of the kind counts. */
  readonly isSent?: boolean;
}

const hourMs = 3_600_000;

/** Limits how many requested emails each recipient gets. */
export class MailBudgets {
  readonly #context: BaseContext;
  readonly #rateLimits: RateLimits;

  constructor(context: BaseContext, rateLimits: RateLimits) {
    this.#context = context;
    this.#rateLimits = rateLimits;
  }

  /** Counts an email while `write` writes it; takes the count back if that fails. @throws {AppError} `rate_limited`. */
  async spend<T>(mail: RequestedMail, write: () => Promise<T>): Promise<T> {
    return await this.spendIfLeft(mail, async (isLeft) => {
      if (isLeft) return await write();
      throw await this.#limitError(mail);
    });
  }

  /** Counts an email for an action whose result must not depend on the budget. `isLeft`: it may write the email. */
  async spendIfLeft<T>(mail: RequestedMail, act: (isLeft: boolean) => Promise<T>): Promise<T> {
    const { database, clock } = this.#context;
    const { to, isSent = true } = mail;
    const budgets = budgetsOf(mail);
    const [takenOfAll, takenOfKind] = await database.write(
      takeRequestedMail(budgets, to, { now: clock(), isSent }),
    );
    const isLeft = takenOfKind?.changes === 1;
    try {
      return await act(isLeft);
    } catch (error) {
      const taken = takenOfAll?.changes === 1 ? [budgets.ofKind, budgets.ofAll] : [budgets.ofKind];
      if (isLeft) await database.write(taken.map(({ subject }) => giveMailBack(subject)));
      throw error;
    }
  }

  async #limitError(mail: RequestedMail): Promise<AppError> {
    const { database, clock } = this.#context;
    const budgets = budgetsOf(mail);
    const now = clock();
    const usedUp = await findUsedUpBudgets(database, budgets, { to: mail.to, now });
    const isOfSender = mail.isSenderUnverified === true &&
      usedUp.every(({ subject }) => subject === budgets.ofKind.subject);
    const waitMs = Math.max(0, ...usedUp.map(({ endsAt }) => endsAt - now));
    const hours = countOf(Math.max(1, Math.ceil(waitMs / hourMs)), "hour");
    return new AppError(
      "rate_limited",
      isOfSender
        ? "This address has received several emails today. Confirm your own address to send another one."
        : `This address has received too many emails. Try again in ${hours}.`,
      { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) },
    );
  }

  /** Runs an action, and audits if it throws `rate_limited`: for the same subject, at most every ten minutes. */
  async auditLimit<T>(limit: { subject: string; actor: Actor; about: () => About }, act: () => Promise<T>) {
    const { subject, actor, about } = limit;
    try {
      return await act();
    } catch (error) {
      const isLimit = error instanceof AppError && error.code === "rate_limited";
      if (isLimit && this.#rateLimits.emailLimitEntries.take(subject).isAllowed) {
        const entry = { action: "mail.limited", ...about() } as const;
        const { database, clock } = this.#context;
        await writeAuditEvent(database, actor, entry, clock());
      }
      throw error;
    }
  }
}

function budgetsOf({ kind, to, isSenderUnverified, isConfirmed }: RequestedMail): RecipientBudgets {
  return recipientBudgets(kind, to, {
    isConfirmed,
    mailsMax: isSenderUnverified ? unverifiedInvitationMailsToRecipientPerDayMax : undefined,
  });
}
