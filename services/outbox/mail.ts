// Writing emails to the outbox, in any thread. `mail_worker.ts` sends them.
import type { Config } from "../../config.ts";
import type { Audited } from "../../db/access/mod.ts";
import type { Statement } from "../../db/engine/database.ts";
import { insertMail } from "../../db/outbox/mails.ts";
import { mailUnavailableError } from "../../domain/errors.ts";
import type { EmailContent, LinkPurpose, NewMail } from "../../domain/outbox/mail.ts";

/** Emails go to a mail server, to the log and `/dev/mail`, or nowhere. */
export type MailMode = "smtp" | "development" | "none";

/** An email that was kept instead of sent. `link`: the target of its button. `sentAt`: milliseconds since 1970. */
export interface DevelopmentMail extends EmailContent {
  readonly id: string;
  readonly to: string;
  readonly link: string | null;
  readonly sentAt: number;
}

/** Reaches the process's mail worker from any thread. */
export interface MailAccess {
  /** Makes the worker send new emails immediately. */
  wake(): void;
  /** Returns the latest emails that were kept in development, newest last. */
  developmentMails(): Promise<readonly DevelopmentMail[]>;
}

export class Mail {
  readonly mode: MailMode;
  readonly #worker: MailAccess;

  constructor(config: Config, worker: MailAccess) {
    this.mode = mailMode(config);
    this.#worker = worker;
  }

  /** @throws {AppError} `mail_unavailable` where emails go nowhere. */
  requireMail(): void {
    if (this.mode === "none") throw mailUnavailableError();
  }

  /** Writes an email about a change to the outbox. Returns no statements where emails go nowhere. */
  outgoing(mail: NewMail, audited: Audited): Statement[] {
    return this.mode === "none" ? [] : insertMail(mail, audited);
  }

  wake(): void {
    this.#worker.wake();
  }

  developmentMails(): Promise<readonly DevelopmentMail[]> {
    return this.#worker.developmentMails();
  }
}

export function mailMode({ smtpUrl, secure }: Pick<Config, "smtpUrl" | "secure">): MailMode {
  if (smtpUrl !== undefined) return "smtp";
  return secure ? "none" : "development";
}

const linkPaths: Readonly<Record<LinkPurpose, string>> = {
  verify_email: "/verify-email",
  change_email: "/verify-email",
  reset_password: "/reset-password",
  invitation: "/invitations/accept",
  turn_off_two_step: "/turn-off-two-step",
};

/** Returns the address of the page that takes a link's token. */
export function linkAddress(
  { baseUrl }: Config,
  { purpose, token }: { purpose: LinkPurpose; token: string },
): string {
  const url = new URL(linkPaths[purpose], baseUrl);
  url.searchParams.set("token", token);
  return url.href;
}
