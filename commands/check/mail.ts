// Checks whether the mail server would accept emails. Sends nothing.
import type { Config } from "../../config.ts";
import { type CheckResult, resultsOf } from "../../domain/check_result.ts";
import { MailError, mailMode, verifySmtp } from "../../services/outbox/mod.ts";
import { inTime, reasonOf } from "./time.ts";

/** Checks whether the mail server responds, speaks TLS as configured, and accepts the user. */
export async function checkMail(config: Config): Promise<CheckResult> {
  const result = resultsOf("Mail");
  const { smtpUrl, mailFrom, baseUrl } = config;
  if (mailMode(config) === "development") {
    return result.ok(`SMTP_URL is not set: emails are shown at ${baseUrl.origin}/dev/mail.`);
  }
  if (smtpUrl === undefined || mailFrom === undefined) {
    return result.warning(
      "SMTP_URL is not set: email confirmation, password reset and invitations do not work.",
      "Set SMTP_URL and MAIL_FROM.",
    );
  }
  const { host, protocol, username } = new URL(smtpUrl);
  try {
    await inTime(verifySmtp({ smtpUrl, mailFrom, baseUrl }));
    return result.ok(`${protocol}//${host} responds${username === "" ? "" : " and accepts the user"}.`);
  } catch (error) {
    const reason = error instanceof MailError ? error.message : reasonOf(error);
    return result.wrong(
      `${protocol}//${host} does not accept emails: ${reason}`,
      "Check SMTP_URL: host, port, smtp:// or smtps://, user and password. Emails are retried for a day.",
    );
  }
}
