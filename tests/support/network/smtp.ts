// A real mail server for tests: npm's smtp-server on a loopback port, in this process and without encryption. See
// smtp_tls.ts for encryption.
import { Buffer } from "node:buffer";
// deno-lint-ignore no-import-prefix
import { SMTPServer } from "npm:smtp-server@3.21.6";

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body. */
  readonly raw: string;
  readonly messageId: string;
}

export interface SmtpOptions {
  readonly port?: number;
  /** Called for each complete email. Returns null to accept it, or a rejection such as `554 5.7.1 No`. */
  readonly onMail?: (mail: ReceivedMail) => Promise<string | null> | string | null;
  /** Called for each recipient. Returns null to accept it, or a rejection. */
  readonly onRecipient?: (address: string) => string | null;
}

export interface Smtp {
  readonly port: number;
  /** Accepted emails, oldest first. */
  readonly received: readonly ReceivedMail[];
  stop(): Promise<void>;
}

export async function startSmtp(options: SmtpOptions = {}): Promise<Smtp> {
  const received: ReceivedMail[] = [];
  const refusal = (response: string) =>
    Object.assign(new Error(response.slice(4)), { responseCode: Number(response.slice(0, 3)) });
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    authOptional: true,
    closeTimeout: 100,
    // deno-lint-ignore no-explicit-any -- the package's types are for its own streams
    onRcptTo: (address: any, _session: unknown, done: any) => {
      const response = options.onRecipient?.(address.address) ?? null;
      return response === null ? done() : done(refusal(response));
    },
    // deno-lint-ignore no-explicit-any -- as above
    onData: async (stream: any, session: any, done: any) => {
      const chunks: Uint8Array[] = [];
      try {
        for await (const chunk of stream) chunks.push(chunk);
      } catch {
        // The client disconnected before the end of the email.
        return;
      }
      const raw = Buffer.concat(chunks).toString();
      const mail: ReceivedMail = {
        from: session.envelope.mailFrom.address,
        to: session.envelope.rcptTo.map((one: { address: string }) => one.address),
        raw,
        messageId: headerOf(raw, "Message-ID") ?? "",
      };
      const response = await options.onMail?.(mail) ?? null;
      if (response !== null) return done(refusal(response));
      received.push(mail);
      done();
    },
  });
  // A killed client disconnects in the middle of a command.
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  return {
    port: (server.server.address() as { port: number }).port,
    received,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** @returns A header's value on one line, or null. */
export function headerOf(raw: string, name: string): string | null {
  const head = raw.slice(0, raw.indexOf("\r\n\r\n") + 2).replaceAll(/\r\n[ \t]+/g, " ");
  const line = head.split("\r\n").find((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`));
  return line?.slice(name.length + 1).trim() ?? null;
}

/** @returns All links with a token in an email, decoded from quoted-printable. */
export function linksOf(raw: string): string[] {
  const text = raw.replaceAll(/=\r\n/g, "").replaceAll(/=3D/g, "=");
  return [...new Set([...text.matchAll(/https?:\/\/[^\s"<>]+token=[\w-]+/g)].map(([link]) => link))];
}
