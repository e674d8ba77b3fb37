// Whether the mail server would take mails. Nothing is sent.
import type { Config } from "../../config.ts";
import type { Finding } from "../../domain/check_result.ts";
import { mailMode } from "../../services/mail/mail.ts";
import { MailError, verifySmtp } from "../../services/mail/mail_transport.ts";
import { inTime, reasonOf } from "./time.ts";

/** @returns Whether the mail server answers, speaks TLS as asked, and lets the user in. */
export async function mailFinding(config: Config): Promise<Finding> {
  const about = "Mail";
  const { smtpUrl, mailFrom } = config;
  const mode = mailMode(config);
  if (mode === "development") {
    return {
      about,
      verdict: "ok",
      saw: `SMTP_URL is not set: mails are shown at ${config.baseUrl.origin}/dev/mail.`,
    };
  }
  if (smtpUrl === undefined || mailFrom === undefined) {
    return {
      about,
      verdict: "warning",
      saw: "SMTP_URL is not set: nobody can confirm an address, reset a password or be invited.",
      advice: "Set SMTP_URL and MAIL_FROM.",
    };
  }
  const { host, protocol, username } = new URL(smtpUrl);
  try {
    await inTime(verifySmtp({ smtpUrl, mailFrom, baseUrl: config.baseUrl }));
    const user = username === "" ? "" : ", and lets the user in";
    return { about, verdict: "ok", saw: `${protocol}//${host} answers${user}.` };
  } catch (error) {
    const reason = error instanceof MailError ? error.message : reasonOf(error);
    return {
      about,
      verdict: "wrong",
      saw: `${protocol}//${host} does not take mails: ${reason}`,
      advice:
        "Look at SMTP_URL: host, port, smtp:// or smtps://, user and password. Mails wait for a day meanwhile.",
    };
  }
}
