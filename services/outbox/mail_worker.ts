// Sends the emails in the outbox; one worker serves the process. An email leaves the outbox only when the mail server has it, so
// it arrives at least once, with the same Message-ID each time. A link's token is created for each attempt, and only its SHA-256
// is stored.
import { insertMailedLinkToken } from "../../db/outbox/link_tokens.ts";
import {
  type ClaimedMail,
  claimMails,
  deleteMails,
  findNextMailDue,
  updateMailDue,
} from "../../db/outbox/mails.ts";
import { messageOf } from "../../domain/errors.ts";
import {
  developmentMailsMax,
  mailGiveUpMs,
  mailLeaseMs,
  mailPollIntervalMs,
  mailRetryMaxMs,
  mailRetryMinMs,
  mailShutdownGraceMs,
} from "../../domain/limits.ts";
import type { WithheldMails } from "../../domain/outbox/limit_mail_reach.ts";
import { type EmailTexts, linkLifetimesMs, linkPurpose } from "../../domain/outbox/mail.ts";
import {
  mailsAtOnceMax,
  mailsInProgressMax,
  mailsLookedAtMax,
  mailSlowMs,
} from "../../domain/outbox/mail_places.ts";
import type { BaseContext } from "../base_context.ts";
import { settlesWithin, sleep } from "../sleep.ts";
import { hashToken, newToken } from "../access/mod.ts";
import { type DevelopmentMail, linkAddress, type MailAccess, type MailMode, mailMode } from "./mail.ts";
import { MailError, type MailMessage, type MailTransport, smtpTransport } from "./mail_transport.ts";

/** Values are never secrets, except for `info` in development. */
interface MailLog {
  readonly debug?: ((message: string, values: Record<string, unknown>) => void) | undefined;
  info(message: string, values: Record<string, unknown>): void;
  warn(message: string, values: Record<string, unknown>): void;
}

/** `texts`: without them, nothing is sent. For tests: `transport` replaces SMTP in the mode `smtp`, `slowMs` {@linkcode mailSlowMs}. */
export interface MailWorkerOptions {
  readonly log: MailLog;
  readonly texts?: EmailTexts | undefined;
  readonly transport?: MailTransport | undefined;
  readonly slowMs?: number | undefined;
}

/** An email with its text and a link that works. */
interface WrittenMail {
  readonly claimed: ClaimedMail;
  readonly link: string | null;
  readonly message: MailMessage;
}

export class MailWorker implements MailAccess {
  readonly #mode: MailMode;
  readonly #base: BaseContext;
  readonly #options: MailWorkerOptions;
  readonly #transport: MailTransport | null;
  /** Attempts to send since the start. */
  readonly counts = { sent: 0, postponed: 0, given_up: 0 };
  /** Limit emails that `mailLimitNotices` did not write. */
  readonly withheld: WithheldMails = { unconfirmed: 0, no_owner: 0 };
  readonly #kept: DevelopmentMail[] = [];
  /** Emails that were sent but are still in the outbox, because the database didn't respond. */
  readonly #delivered = new Set<string>();
  readonly #sending = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  #woken = new AbortController();
  #isFailing = false;

  constructor(base: BaseContext, options: MailWorkerOptions) {
    this.#base = base;
    this.#options = options;
    this.#mode = mailMode(base.config);
    const { smtpUrl = "", mailFrom = "", baseUrl } = base.config;
    this.#transport = this.#mode === "smtp"
      ? options.transport ?? smtpTransport({ smtpUrl, mailFrom, baseUrl })
      : null;
  }

  developmentMails(): Promise<readonly DevelopmentMail[]> {
    return Promise.resolve([...this.#kept]);
  }

  wake(): void {
    this.#woken.abort();
  }

  /** Sends due emails until the signal; then it ends within {@linkcode mailShutdownGraceMs}. */
  async run(signal: AbortSignal): Promise<void> {
    let grace: ReturnType<typeof setTimeout> | undefined;
    signal.addEventListener("abort", () => {
      grace = setTimeout(() => this.#stopped.abort(), mailShutdownGraceMs);
    }, { once: true });
    while (!signal.aborted) {
      let restMs = mailPollIntervalMs;
      try {
        const nextDueAt = await this.#deliverSome();
        if (nextDueAt !== null) restMs = Math.max(0, Math.min(restMs, nextDueAt - this.#base.clock()));
      } catch (error) {
        this.#options.log.warn("retrying failed delivery of emails", { error });
      }
      await sleep(restMs, AbortSignal.any([signal, this.#woken.signal]));
      this.#woken = new AbortController();
    }
    await Promise.all(this.#sending);
    clearTimeout(grace);
  }

  /**
   * Sends a few emails that are due. No email is sent by two servers, or by two calls at the same time. Returns when the next
   * one is due; null for an empty outbox.
   */
  async deliverDue(): Promise<{ sent: number; nextDueAt: number | null }> {
    const { started, nextDueAt } = await this.#startDue(mailsAtOnceMax);
    const sent = await Promise.all(started);
    return { sent: sent.filter((isSent) => isSent).length, nextDueAt: await nextDueAt() };
  }

  /** As {@linkcode deliverDue}, but emails that are slow go on without a place, so those to slow recipients delay no others. */
  async #deliverSome(): Promise<number | null> {
    if (this.#sending.size >= mailsInProgressMax) await Promise.race(this.#sending);
    const { started, nextDueAt } = await this.#startDue(
      Math.min(mailsAtOnceMax, mailsInProgressMax - this.#sending.size),
    );
    const sending = started.map((one) => {
      const ended = one
        .then(() => {}, (error) => this.#options.log.warn("retrying failed delivery of emails", { error }))
        .finally(() => this.#sending.delete(ended));
      this.#sending.add(ended);
      return ended;
    });
    await settlesWithin(this.#options.slowMs ?? mailSlowMs, Promise.all(sending));
    return await nextDueAt();
  }

  async #startDue(limit: number) {
    const texts = this.#options.texts;
    const dueAt = this.#mode === "none" || texts === undefined
      ? null
      : await findNextMailDue(this.#base.database, texts.kinds);
    if (texts === undefined || dueAt === null || dueAt > this.#base.clock()) {
      return { started: [], nextDueAt: () => dueAt };
    }
    const written = await this.#write(await this.#claim(texts, limit), texts);
    return {
      started: written.map((mail) => this.#deliver(mail)),
      nextDueAt: () => findNextMailDue(this.#base.database, texts.kinds),
    };
  }

  async #claim({ kinds }: EmailTexts, limit: number): Promise<ClaimedMail[]> {
    const done = [...this.#delivered];
    const [, result] = await this.#base.database.write([
      deleteMails(done),
      claimMails(kinds, {
        now: this.#base.clock(),
        leaseMs: mailLeaseMs,
        limit,
        lookedAt: mailsLookedAtMax,
      }),
    ]);
    for (const id of done) this.#delivered.delete(id);
    const claimed = (result?.rows ?? []) as unknown as ClaimedMail[];
    return claimed.sort((a, b) => a.id < b.id ? -1 : 1);
  }

  /** Leaves out emails that were withdrawn since they were claimed, and drops those whose links have become invalid. */
  async #write(claimed: readonly ClaimedMail[], texts: EmailTexts): Promise<WrittenMail[]> {
    const now = this.#base.clock();
    const tokens = new Map<string, string>();
    const statements = claimed.flatMap((mail) => {
      const purpose = linkPurpose(mail.kind);
      if (purpose === null || mail.subject === null) return [];
      const token = newToken();
      tokens.set(mail.id, token);
      const expiresAt = now + linkLifetimesMs[purpose];
      const { subject, recipient: email } = mail;
      return insertMailedLinkToken(
        { tokenHash: hashToken(token), purpose, subject, email, now, expiresAt },
        mail,
      );
    });
    const results = statements.length === 0 ? [] : await this.#base.database.write(statements);
    const rows = results.flatMap((result) => result.rows);
    const valid = new Set(rows.map(({ tokenHash }) => tokenHash));
    const dropped = new Set(rows.map(({ droppedId }) => droppedId));
    return claimed.flatMap((mail) => {
      const { id: mailId, kind } = mail;
      if (dropped.has(mailId)) {
        this.#options.log.debug?.("dropped an email with an invalid link", { mailId, kind });
      }
      const token = tokens.get(mailId);
      if (token !== undefined && !valid.has(hashToken(token))) return [];
      return [this.#compose(mail, { texts, token, now })];
    });
  }

  #compose(
    claimed: ClaimedMail,
    { texts, token, now }: { texts: EmailTexts; token: string | undefined; now: number },
  ): WrittenMail {
    const { baseUrl } = this.#base.config;
    const purpose = linkPurpose(claimed.kind);
    const link = purpose === null || token === undefined
      ? null
      : linkAddress(this.#base.config, { purpose, token });
    const content = texts.render(claimed.kind, JSON.parse(claimed.fields), {
      home: baseUrl.origin,
      link,
      linkLifetimeMs: purpose === null ? 0 : linkLifetimesMs[purpose],
    });
    const messageId = `<${claimed.id}@${baseUrl.hostname}>`;
    return { claimed, link, message: { ...content, messageId, to: claimed.recipient, date: now } };
  }

  /** Returns true if it was sent. */
  async #deliver(mail: WrittenMail): Promise<boolean> {
    const { id } = mail.claimed;
    try {
      if (this.#transport === null) this.#keep(mail);
      else await this.#transport(mail.message, this.#stopped.signal);
    } catch (error) {
      await this.#postpone(mail.claimed, error);
      return false;
    }
    if (this.#isFailing) this.#options.log.info("the mail server accepts emails again", {});
    this.#isFailing = false;
    this.counts.sent++;
    this.#delivered.add(id);
    await this.#base.database.write([deleteMails([id])]);
    this.#delivered.delete(id);
    return true;
  }

  #keep({ claimed: { id }, link, message: { to, subject, text, html, date } }: WrittenMail): void {
    this.#kept.push({ id, to, subject, text, html, link, sentAt: date });
    if (this.#kept.length > developmentMailsMax) this.#kept.shift();
    this.#options.log.info("email not sent: SMTP_URL is not set", { to, subject, text });
  }

  async #postpone(claimed: ClaimedMail, error: unknown): Promise<void> {
    const { id: mailId, kind, attempts, createdAt } = claimed;
    const reason = messageOf(error);
    const failed = error instanceof MailError ? error.kind : null;
    const giveUpAt = createdAt + mailGiveUpMs;
    if (failed === "rejected" || this.#base.clock() >= giveUpAt) {
      this.#options.log.warn("gave up on an email", { mailId, kind, attempts, reason });
      this.counts.given_up++;
      await this.#base.database.write([deleteMails([mailId])]);
      return;
    }
    this.counts.postponed++;
    if (!this.#isFailing && failed === "server" && !this.#stopped.signal.aborted) {
      this.#isFailing = true;
      this.#options.log.warn("the mail server accepts no emails; retrying", { reason });
    }
    const waitMs = Math.min(mailRetryMaxMs, mailRetryMinMs * 2 ** (attempts - 1));
    // The last attempt is made exactly when the time is up.
    await this.#base.database.write([
      updateMailDue(claimed, Math.min(this.#base.clock() + waitMs, giveUpAt)),
    ]);
  }
}
