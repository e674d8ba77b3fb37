// Sends emails to the mail server. Sets all options of nodemailer that matter, and sorts its many errors into three kinds.
import type { Config } from "../../config.ts";
import {
  mailConnectTimeoutMs,
  mailGreetingTimeoutMs,
  mailSendTimeoutMs,
  mailSilenceTimeoutMs,
} from "../../domain/limits.ts";
import { isLoopbackHost } from "../../domain/loopback.ts";
import type { EmailContent } from "../../domain/outbox/mail.ts";

/** `date`: milliseconds since 1970. */
export interface MailMessage extends EmailContent {
  /** With angle brackets; the same for every attempt, so that duplicates can be recognized. */
  readonly messageId: string;
  readonly to: string;
  readonly date: number;
}

/**
 * Sends one email.
 *
 * @param signal Aborts the attempt; the server may have accepted the email all the same.
 * @throws {MailError} Unless the server confirmed that it has accepted the email.
 */
export type MailTransport = (message: MailMessage, signal: AbortSignal) => Promise<void>;

/** Tells why an email was not sent. It never quotes a server that has seen the email, because that could contain the link. */
export class MailError extends Error {
  /** @param kind `rejected`: this email, permanently; `later`: this email, for now; `server`: no email can be sent now. */
  constructor(readonly kind: "rejected" | "later" | "server", reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = "MailError";
  }
}

interface SmtpSettings {
  readonly smtpUrl: string;
  readonly mailFrom: string;
  readonly baseUrl: Config["baseUrl"];
}

/**
 * Creates a transport that uses SMTP. `smtps://` is encrypted from the start. `smtp://` is encrypted if there are credentials,
 * or if the server is on another machine and supports it. Certificates are always checked.
 *
 * @param options `authority`: a certificate authority (PEM) to trust instead of the default ones.
 */
export function smtpTransport(
  settings: SmtpSettings,
  options: { authority?: string | undefined } = {},
): MailTransport {
  const connection = smtpConnection(settings, options);
  return async ({ messageId, to, subject, text, html, date }, signal) => {
    // Loaded with the first email, because often there is none.
    const { createTransport } = await import("nodemailer");
    try {
      await createTransport(connection).sendMail({
        messageId,
        subject,
        text,
        html,
        from: settings.mailFrom,
        // As an object, it is always one address, even if it looks like several.
        to: { name: "", address: to },
        date: new Date(date),
        headers: { "Auto-Submitted": "auto-generated" },
        signal: AbortSignal.any([signal, AbortSignal.timeout(mailSendTimeoutMs)]),
      });
    } catch (error) {
      throw toMailError(error as SmtpFailure);
    }
  };
}

/** Connects, encrypts and signs in, but sends no email. @throws {MailError} Without quoting the server about the user. */
export async function verifySmtp(settings: SmtpSettings): Promise<void> {
  const { createTransport } = await import("nodemailer");
  try {
    await createTransport(smtpConnection(settings, {})).verify();
  } catch (error) {
    const { message, code = "", command = "CONN", responseCode } = error as SmtpFailure;
    const reason = responseCode === undefined
      ? message || "no connection"
      : `the response to ${command} was ${responseCode}`;
    throw new MailError("server", `${code} ${reason}`.trim().slice(0, 300), { cause: error });
  }
}

function smtpConnection(
  { smtpUrl, baseUrl }: SmtpSettings,
  { authority }: { authority?: string | undefined },
) {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const secure = protocol === "smtps:";
  const hasCredentials = username !== "";
  return {
    host,
    port: Number(port) || (secure ? 465 : hasCredentials ? 587 : 25),
    secure,
    requireTLS: !secure && hasCredentials,
    // A relay on this machine has no certificate, or one for another name, and no one can listen in between.
    ignoreTLS: !secure && !hasCredentials && isLoopbackHost(hostname),
    name: baseUrl.hostname,
    connectionTimeout: mailConnectTimeoutMs,
    dnsTimeout: mailConnectTimeoutMs,
    greetingTimeout: mailGreetingTimeoutMs,
    socketTimeout: mailSilenceTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    tls: { rejectUnauthorized: true, ...(authority === undefined ? {} : { ca: authority }) },
    ...(hasCredentials
      ? { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }
      : {}),
  };
}

/** The properties of nodemailer's errors that matter here. */
interface SmtpFailure {
  readonly message: string;
  readonly code?: string;
  readonly command?: string;
  readonly response?: string;
  readonly responseCode?: number;
}

function toMailError({ message, code, command = "CONN", response = "", responseCode }: SmtpFailure) {
  if ((command === "RCPT TO" || command === "DATA") && responseCode !== undefined) {
    // 421 always closes the connection (RFC 5321, section 3.8).
    if (responseCode === 421) return new MailError("server", `${command}: 421`);
    const detail = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1];
    const reason = `${command}: ${responseCode}${detail === undefined ? "" : ` ${detail}`}`;
    return new MailError(responseCode >= 500 ? "rejected" : "later", reason);
  }
  // An address that SMTP can't represent was never sent anywhere.
  if (code === "EENVELOPE" && command === "API") return new MailError("rejected", "not an address");
  return new MailError("server", `${command}: ${code ?? ""} ${message}`.slice(0, 500));
}
