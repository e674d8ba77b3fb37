// How a mail reaches the mail server: nodemailer, told in full what it may do, and its many errors sorted into three.
import { isLoopbackHost } from "../../domain/loopback.ts";
import type { Config } from "../../config.ts";
import {
  mailConnectTimeoutMs,
  mailGreetingTimeoutMs,
  mailSendTimeoutMs,
  mailSilenceTimeoutMs,
} from "../../domain/limits.ts";

/** A mail as the server gets it. */
export interface MailMessage {
  /** With angle brackets; the same at every attempt, so that whoever gets it twice can tell. */
  readonly messageId: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Milliseconds since 1970. */
  readonly date: number;
}

/**
 * Hands one mail over.
 *
 * @param signal Ends the attempt; the server may have the mail all the same.
 * @throws {MailError} When the server did not say that it has the mail.
 */
export type MailTransport = (message: MailMessage, signal: AbortSignal) => Promise<void>;

/** Why a mail was not taken. It never has the words of a server that has seen the mail: they may quote the link in it. */
export class MailError extends Error {
  /**
   * @param kind `refused`: this mail, for good; `later`: this mail, for now; `server`: no mail can be sent now.
   * @param reason For the log.
   */
  constructor(readonly kind: "rejected" | "later" | "server", reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = "MailError";
  }
}

/** What of the settings a connection needs. */
export interface SmtpSettings {
  readonly smtpUrl: string;
  readonly mailFrom: string;
  readonly baseUrl: Config["baseUrl"];
}

/**
 * @param settings `SMTP_URL`, `MAIL_FROM` and `BASE_URL` as checked.
 * @param options `authority`: a certificate authority (PEM) to believe instead of the usual ones.
 * @returns What sends mails by SMTP. `smtps://` is encrypted from the start. `smtp://` is encrypted when there are
 *   credentials, or the server is not on this machine and can; certificates are always checked.
 */
export function smtpTransport(
  settings: SmtpSettings,
  options: { authority?: string | undefined } = {},
): MailTransport {
  const connection = smtpConnection(settings, options);
  return async (message, signal) => {
    // Loaded with the first mail: most of the time there is none.
    const { createTransport } = await import("nodemailer");
    try {
      await createTransport(connection).sendMail({
        messageId: message.messageId,
        from: settings.mailFrom,
        // Not as a text: it is one address, whatever it looks like.
        to: { name: "", address: message.to },
        subject: message.subject,
        text: message.text,
        html: message.html,
        date: new Date(message.date),
        headers: { "Auto-Submitted": "auto-generated" },
        signal: AbortSignal.any([signal, AbortSignal.timeout(mailSendTimeoutMs)]),
      });
    } catch (error) {
      throw mailError(error);
    }
  };
}

/**
 * Connects, encrypts and signs in as for a mail, and sends none.
 *
 * @throws {MailError} When a mail would have failed there; it never has the server's words about the user.
 */
export async function verifySmtp(settings: SmtpSettings): Promise<void> {
  const { createTransport } = await import("nodemailer");
  try {
    await createTransport(smtpConnection(settings, {})).verify();
  } catch (error) {
    const { message, code, command, responseCode } = error as SmtpFailure;
    const reason = responseCode === undefined
      ? message || "no connection"
      : `${command ?? "CONN"} was answered with ${responseCode}`;
    throw new MailError("server", `${code ?? ""} ${reason}`.trim().slice(0, 300), { cause: error });
  }
}

function smtpConnection(
  { smtpUrl, baseUrl }: SmtpSettings,
  options: { authority?: string | undefined },
) {
  const url = new URL(smtpUrl);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const secure = url.protocol === "smtps:";
  const hasCredentials = url.username !== "";
  return {
    host,
    port: Number(url.port) || (secure ? 465 : hasCredentials ? 587 : 25),
    secure,
    requireTLS: !secure && hasCredentials,
    // A relay on this machine has a certificate for another name, if any, and there is no line to listen on.
    ignoreTLS: !secure && !hasCredentials && isLoopbackHost(host),
    name: baseUrl.hostname,
    connectionTimeout: mailConnectTimeoutMs,
    dnsTimeout: mailConnectTimeoutMs,
    greetingTimeout: mailGreetingTimeoutMs,
    socketTimeout: mailSilenceTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    tls: {
      rejectUnauthorized: true,
      ...(options.authority === undefined ? {} : { ca: options.authority }),
    },
    ...(hasCredentials
      ? { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }
      : {}),
  };
}

/** What nodemailer's errors have, as far as it matters. */
interface SmtpFailure {
  readonly message: string;
  readonly code?: string;
  readonly command?: string;
  readonly response?: string;
  readonly responseCode?: number;
}

function mailError(error: unknown): MailError {
  const { message, code, command, response, responseCode } = error as SmtpFailure;
  const aboutMail = command === "RCPT TO" || command === "DATA";
  if (aboutMail && responseCode !== undefined) {
    // 421 closes the connection, whatever it was about (RFC 5321, section 3.8).
    if (responseCode === 421) return new MailError("server", `${command}: 421`);
    const detail = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response ?? "")?.[1];
    const reason = `${command}: ${responseCode}${detail === undefined ? "" : ` ${detail}`}`;
    return new MailError(responseCode >= 500 ? "rejected" : "later", reason);
  }
  // An address that cannot be written in SMTP was never sent anywhere.
  if (code === "EENVELOPE" && command === "API") return new MailError("rejected", "not an address");
  return new MailError("server", `${command ?? "CONN"}: ${code ?? ""} ${message}`.slice(0, 500));
}
