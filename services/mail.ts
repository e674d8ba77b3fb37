// Stand-in until the mail service is merged.
import type { Statement } from "../db/database.ts";
import { insertMail } from "../db/outbox.ts";
import type { NewMail } from "../domain/mail.ts";
/** Sends what is in the outbox. */
export interface MailService {
  /** How mails leave: not at all where an https address has no mail server. */
  readonly mode: "smtp" | "development" | "none";
  /** @throws {AppError} `mail_unavailable` in mode none. */
  requireMail(): void;
  /** @returns The statement that puts a mail into the outbox; none in mode none. */
  outgoing(mail: NewMail, options: { now: number; audited: string }): Statement[];
  /** Says that there is something to send. */
  wake(): void;
}
/** Stand-in. */
export function createMailService(): MailService {
  return { mode: "development", requireMail() {}, outgoing: (m, o) => [insertMail(m, o)], wake() {} };
}
