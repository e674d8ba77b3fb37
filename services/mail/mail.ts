// Writing emails to the outbox, in any thread. `mail_worker.ts` sends them.
import type { Config } from "../../config.ts";
import type { Audited } from "../../db/audit.ts";
import type { Statement } from "../../db/engine/database.ts";
import { insertMail } from "../../db/mail/outbox.ts";
import { mailUnavailableError } from "../../domain/errors.ts";
import type { EmailContent, LinkPurpose, NewMail } from "../../domain/mail/mail.ts";

/** Where emails go: to a mail server; to the log and `/dev/mail`; nowhere. */
export type MailMode = "smtp" | "development" | "none";

/** An email that was kept instead of sent. */
export interface DevelopmentMail extends EmailContent {
  readonly id: string;
  readonly to: string;
  /** The target of its button. */
  readonly link: string | null;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
}

/** The process's mail worker, from any thread. */
export interface MailAccess {
  /** Makes it send what was just written, immediately. */
  wake(): void;
  /** @returns The latest emails that were kept in development, newest last. */
  developmentMails(): Promise<readonly DevelopmentMail[]>;
}

/** Writes emails to the outbox. */
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

  /** @returns Statements that write an email about a change to the outbox; none where emails go nowhere. */
  outgoing(mail: NewMail, audited: Audited): Statement[] {
    return this.mode === "none" ? [] : insertMail(mail, audited);
  }

  /** See {@linkcode MailAccess.wake}. */
  wake(): void {
    this.#worker.wake();
  }

  /** See {@linkcode MailAccess.developmentMails}. */
  developmentMails(): Promise<readonly DevelopmentMail[]> {
    return this.#worker.developmentMails();
  }
}

/** @returns Where emails go with these settings. */
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

/** @returns The address of the page that takes a link's token. */
export function linkAddress(
  { baseUrl }: Config,
  { purpose, token }: { purpose: LinkPurpose; token: string },
): string {
  const url = new URL(linkPaths[purpose], baseUrl);
  url.searchParams.set("token", token);
  return url.href;
}
