// The worker of the outbox. A mail leaves the outbox only after the server has it, so it arrives at least once; its
// Message-ID is the same each time. The token of a link is made for each attempt and is kept as its SHA-256 alone.
import type { Config } from "../../config.ts";
import type { Statement } from "../../db/engine/database.ts";
import { deleteEndedLinks, insertMailedLinkToken } from "../../db/mail/link_tokens.ts";
import { deleteEndedMailBudgets } from "../../db/mail/mail_budgets.ts";
import {
  type ClaimedMail,
  claimMails,
  deleteMails,
  deleteOldMails,
  findNextMailDue,
  hastenMails,
  insertMail,
  updateMailDue,
} from "../../db/mail/outbox.ts";
import { mailUnavailableError } from "../../domain/errors.ts";
import {
  developmentMailsMax,
  endedLinksIntervalMs,
  mailGiveUpMs,
  mailLeaseMs,
  mailPollIntervalMs,
  mailRetryMaxMs,
  mailRetryMinMs,
  mailsAtOnceMax,
  mailShutdownGraceMs,
  mailsLookedAtMax,
} from "../../domain/limits.ts";
import { linkLifetimesMs, type LinkPurpose, linkPurpose, type NewMail } from "../../domain/mail/mail.ts";
import { mailContent, mailKinds } from "../../views/mail/mails.tsx";
import type { BaseContext } from "../base_context.ts";
import { hashToken, newToken } from "../sign_in/session_tokens.ts";
import { MailError, type MailMessage, type MailTransport, smtpTransport } from "./mail_transport.ts";

/** Where mails go: to a server; to the log and `/dev/mail`; nowhere, which is told to whoever needs one. */
export type MailMode = "smtp" | "development" | "none";

/** A mail that was kept instead of sent. */
export interface DevelopmentMail {
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Where its button leads. */
  readonly link: string | null;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
}

/** What a look at the outbox did. */
export interface MailRound {
  readonly sent: number;
  /** When there is more to do, in milliseconds since 1970; null when the outbox is empty. */
  readonly nextDueAt: number | null;
}

/** Attempts to send, by result. */
export type MailCounts = Readonly<Record<"sent" | "postponed" | "given_up", number>>;

/** The outbox and its worker. */
export interface MailService {
  readonly mode: MailMode;
  /** What became of attempts to send since the start; it changes as they happen. */
  readonly counts: MailCounts;
  /** @throws {AppError} `mail_unavailable` where mails go nowhere. */
  requireMail(): void;
  /**
   * @param options `now`: milliseconds since 1970. `audited`: the id of the audit entry of the change that causes the mail.
   * @returns The statements that put it into the outbox with that change; none where mails go nowhere.
   */
  outgoing(mail: NewMail, options: { now: number; audited: string }): Statement[];
  /** Says that a mail was written, so that it goes out at once. */
  wake(): void;
  /**
   * Sends a few mails that are due. Several instances, or calls at once, never send the same mail.
   *
   * @throws {DatabaseError}
   */
  deliverDue(): Promise<MailRound>;
  /** Sends what is due, whenever it is, until the signal; then it ends within {@linkcode mailShutdownGraceMs}. */
  run(signal: AbortSignal): Promise<void>;
  /** @returns The last mails that were kept, newest last; none but in development. */
  developmentMails(): readonly DevelopmentMail[];
}

/** What an operator should know of mails. Values are never secrets, but for `info` in development. */
export interface MailLog {
  readonly debug?: ((message: string, values: Record<string, unknown>) => void) | undefined;
  info(message: string, values: Record<string, unknown>): void;
  warn(message: string, values: Record<string, unknown>): void;
}

/** What a mail service can be given. */
export interface MailOptions {
  readonly log: MailLog;
  /** Instead of SMTP, in mode `smtp`. */
  readonly transport?: MailTransport | undefined;
}

/** @returns Where mails go with these settings. */
export function mailMode({ smtpUrl, secure }: Pick<Config, "smtpUrl" | "secure">): MailMode {
  if (smtpUrl !== undefined) return "smtp";
  return secure ? "none" : "development";
}

/** A mail whose link works and whose words are written. */
interface WrittenMail {
  readonly claimed: ClaimedMail;
  readonly link: string | null;
  readonly message: MailMessage;
}

/** @param context See {@linkcode BaseContext}. @param options See {@linkcode MailOptions}. */
export function createMailService(context: BaseContext, options: MailOptions): MailService {
  const { config, database, clock } = context;
  const { log } = options;
  const mode = mailMode(config);
  const counts = { sent: 0, postponed: 0, given_up: 0 };
  const kept: DevelopmentMail[] = [];
  /** Mails that the server has and the outbox has too, as the database did not answer. */
  const delivered = new Set<string>();
  const stopped = new AbortController();
  const bell = createBell();
  const transport = mode === "smtp" ? options.transport ?? smtp(config) : null;
  let isFailing = false;

  async function deliverDue(): Promise<MailRound> {
    const dueAt = mode === "none" ? null : await findNextMailDue(database, mailKinds);
    if (dueAt === null || dueAt > clock()) return { sent: 0, nextDueAt: dueAt };
    const written = await writeMails(await claim());
    const sent = await Promise.all(written.map(deliver));
    return {
      sent: sent.filter((isSent) => isSent).length,
      nextDueAt: await findNextMailDue(database, mailKinds),
    };
  }

  async function claim(): Promise<ClaimedMail[]> {
    const done = [...delivered];
    const [, result] = await database.write([
      deleteMails(done),
      claimMails(mailKinds, {
        now: clock(),
        leaseMs: mailLeaseMs,
        limit: mailsAtOnceMax,
        lookedAt: mailsLookedAtMax,
      }),
    ]);
    for (const id of done) delivered.delete(id);
    const claimed = (result?.rows ?? []) as unknown as ClaimedMail[];
    return claimed.sort((a, b) => a.id < b.id ? -1 : 1);
  }

  /**
   * Leaves out mails that were taken back since they were claimed, and drops those whose link would be dead on arrival:
   * an invitation that ended with its maker's role, say. No link is made for them, and nothing is sent.
   */
  async function writeMails(claimed: readonly ClaimedMail[]): Promise<WrittenMail[]> {
    const now = clock();
    const tokens = new Map<string, string>();
    const statements = claimed.flatMap((mail) => {
      const purpose = linkPurpose(mail.kind);
      if (purpose === null || mail.subject === null) return [];
      const token = newToken();
      const tokenHash = hashToken(token);
      tokens.set(mail.id, token);
      const expiresAt = now + linkLifetimesMs[purpose];
      return insertMailedLinkToken(
        { tokenHash, purpose, subject: mail.subject, email: mail.recipient, now, expiresAt },
        mail,
      );
    });
    const results = statements.length === 0 ? [] : await database.write(statements);
    const rows = results.flatMap((result) => result.rows);
    const working = new Set(rows.map(({ tokenHash }) => tokenHash));
    const dropped = new Set(rows.map(({ droppedId }) => droppedId));
    return claimed.flatMap((mail) => {
      const { id: mailId, kind } = mail;
      if (dropped.has(mailId)) log.debug?.("a mail is not sent: its link would not work", { mailId, kind });
      const token = tokens.get(mailId);
      if (token !== undefined && !working.has(hashToken(token))) return [];
      return [writeMail(mail, { token: token ?? null, now })];
    });
  }

  function writeMail(
    claimed: ClaimedMail,
    { token, now }: { token: string | null; now: number },
  ): WrittenMail {
    const purpose = linkPurpose(claimed.kind);
    const link = purpose === null || token === null ? null : linkAddress(config, { purpose, token });
    const content = mailContent(claimed.kind, JSON.parse(claimed.fields), {
      home: config.baseUrl.origin,
      link,
      linkLifetimeMs: purpose === null ? 0 : linkLifetimesMs[purpose],
    });
    const messageId = `<${claimed.id}@${config.baseUrl.hostname}>`;
    return { claimed, link, message: { ...content, messageId, to: claimed.recipient, date: now } };
  }

  /** @returns Whether it was sent. */
  async function deliver(mail: WrittenMail): Promise<boolean> {
    const { claimed, message } = mail;
    try {
      if (transport === null) keep(mail);
      else await transport(message, stopped.signal);
    } catch (error) {
      await postpone(claimed, error);
      return false;
    }
    if (isFailing) log.info("mails are sent again", {});
    isFailing = false;
    counts.sent++;
    delivered.add(claimed.id);
    await database.write([deleteMails([claimed.id])]);
    delivered.delete(claimed.id);
    return true;
  }

  function keep({ claimed, link, message }: WrittenMail): void {
    const { to, subject, text, html, date } = message;
    kept.push({ id: claimed.id, to, subject, text, html, link, sentAt: date });
    if (kept.length > developmentMailsMax) kept.shift();
    log.info("a mail, not sent as SMTP_URL is not set", { to, subject, text });
  }

  async function postpone(claimed: ClaimedMail, error: unknown): Promise<void> {
    const { id: mailId, kind, attempts, createdAt } = claimed;
    const reason = error instanceof Error ? error.message : String(error);
    const giveUpAt = createdAt + mailGiveUpMs;
    if (error instanceof MailError && error.kind === "refused" || clock() >= giveUpAt) {
      log.warn("a mail cannot be sent and is given up", { mailId, kind, attempts, reason });
      counts.given_up++;
      await database.write([deleteMails([mailId])]);
      return;
    }
    counts.postponed++;
    if (!isFailing && error instanceof MailError && error.kind === "server" && !stopped.signal.aborted) {
      isFailing = true;
      log.warn("the mail server takes no mails; they are tried again", { reason });
    }
    const waitMs = Math.min(mailRetryMaxMs, mailRetryMinMs * 2 ** (attempts - 1));
    // The last attempt is when its time is over.
    await database.write([updateMailDue(claimed, Math.min(clock() + waitMs, giveUpAt))]);
  }

  /** Every hour, and when the clock was set by as much. */
  async function tidyUp(): Promise<void> {
    await database.write([
      hastenMails({ now: clock(), waitMaxMs: mailRetryMaxMs }),
      deleteEndedLinks(clock()),
      deleteEndedMailBudgets(clock()),
      // What nobody will ever send must not gather.
      ...(mode === "none" ? [deleteOldMails(clock() - mailGiveUpMs)] : []),
    ]);
  }

  async function run(signal: AbortSignal): Promise<void> {
    let grace: ReturnType<typeof setTimeout> | undefined;
    signal.addEventListener("abort", () => {
      grace = setTimeout(() => stopped.abort(), mailShutdownGraceMs);
    }, { once: true });
    let tidiedAt = -Infinity;
    while (!signal.aborted) {
      let restMs = mailPollIntervalMs;
      try {
        if (Math.abs(clock() - tidiedAt) >= endedLinksIntervalMs) {
          tidiedAt = clock();
          await tidyUp();
        }
        const { nextDueAt } = await deliverDue();
        if (nextDueAt !== null) restMs = Math.max(0, Math.min(restMs, nextDueAt - clock()));
      } catch (error) {
        log.warn("looking after the outbox failed; it is tried again", { error });
      }
      await bell.wait(restMs, signal);
    }
    clearTimeout(grace);
  }

  return {
    mode,
    counts,
    requireMail() {
      if (mode === "none") throw mailUnavailableError();
    },
    outgoing: (mail, written) => mode === "none" ? [] : insertMail(mail, written),
    wake: bell.ring,
    deliverDue,
    run,
    developmentMails: () => [...kept],
  };
}

function smtp({ smtpUrl, mailFrom, baseUrl }: Config): MailTransport {
  // Both or neither: the settings are checked.
  return smtpTransport({ smtpUrl: smtpUrl ?? "", mailFrom: mailFrom ?? "", baseUrl });
}

const linkPaths: Readonly<Record<LinkPurpose, string>> = {
  verify_email: "/verify-email",
  change_email: "/verify-email",
  reset_password: "/reset-password",
  invitation: "/invitations/accept",
  turn_off_two_step: "/turn-off-two-step",
};

/** @returns The address of the page that takes a link's token. */
export function linkAddress(
  { baseUrl }: Config,
  { purpose, token }: { purpose: LinkPurpose; token: string },
): string {
  const url = new URL(linkPaths[purpose], baseUrl);
  url.searchParams.set("token", token);
  return url.href;
}

/** @returns A wait that a ring ends. A ring while nobody waits ends the next wait at once. */
function createBell(): { ring: () => void; wait: (ms: number, signal: AbortSignal) => Promise<void> } {
  let isRung = false;
  let wakeUp: (() => void) | null = null;
  return {
    ring() {
      isRung = true;
      wakeUp?.();
    },
    async wait(ms, signal) {
      if (!isRung && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const end = () => {
            clearTimeout(timer);
            signal.removeEventListener("abort", end);
            wakeUp = null;
            resolve();
          };
          const timer = setTimeout(end, ms);
          signal.addEventListener("abort", end);
          wakeUp = end;
        });
      }
      isRung = false;
    },
  };
}
