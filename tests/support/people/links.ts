// Creates tokens of emailed links without sending an email.
import { insertLinkToken } from "../../../db/outbox/link_tokens.ts";
import { linkLifetimesMs, type LinkPurpose } from "../../../domain/outbox/mail.ts";
import { hashToken, newToken } from "../../../services/access/session_tokens.ts";
import type { TestApp, TestPerson } from "../app/app.ts";

/** Creates a link token. @param options `email`: the address it verifies. Default: the person's own. @returns The token. */
export async function linkToken(
  test: TestApp,
  person: TestPerson,
  options: { purpose: Exclude<LinkPurpose, "invitation">; email?: string },
): Promise<string> {
  const { purpose, email = person.email } = options;
  const token = newToken();
  const now = test.now();
  const expiresAt = now + linkLifetimesMs[purpose];
  await test.opened.database.write([
    insertLinkToken({ tokenHash: hashToken(token), purpose, subject: person.userId, email, now, expiresAt }),
  ]);
  return token;
}
