// What emails say and what the program logs about them, for tests that look for it.
import type { MailFields, MailKind } from "../../../../domain/outbox/mail.ts";
import { emailTextsOf } from "../../../../views/outbox/mails.tsx";

export const mailLog = {
  dropped: "dropped an email with an invalid link",
  gaveUp: "gave up on an email",
  serverFails: "the mail server accepts no emails; retrying",
  serverWorks: "the mail server accepts emails again",
};

/** @returns The subject of a kind of email, if no name is in it. */
export function subjectOf(kind: Exclude<MailKind, "invitation">): string {
  const fields = {} as MailFields[typeof kind];
  return emailTextsOf({ name: "Gatehouse", color: null }).render(kind, fields, {
    home: "https://localhost",
    link: null,
    linkLifetimeMs: 0,
  })
    .subject;
}
