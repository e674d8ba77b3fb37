// Runs npm's smtp-server with encryption in a Node process, because its STARTTLS doesn't work in Deno 2.7. Also creates
// a certificate authority for tests with openssl.
import { isMissing } from "../runner/needs.ts";
import { poll } from "../runner/poll.ts";
import type { ReceivedMail } from "./smtp.ts";
import { cachedPackage } from "../database/sqld.ts";

interface ReceivedTlsMail extends ReceivedMail {
  readonly wasEncrypted: boolean;
  readonly user: string | null;
}

interface SmtpTlsOptions {
  /** `smtps`: encrypted from the start; `starttls`: offered, and required to sign in; `plain`: never. */
  readonly encryption: "smtps" | "starttls" | "plain";
  readonly certificate: Certificate;
  readonly credentials: { readonly user: string; readonly pass: string };
}

export interface SmtpTls {
  readonly port: number;
  /** Accepted emails, oldest first. */
  readonly received: readonly ReceivedTlsMail[];
  stop(): Promise<void>;
}

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** @returns Whether programs for an encrypted server are missing. @throws When they are and `CI=true`. */
export function smtpTlsMissing(): boolean {
  return isMissing("node", "openssl");
}

const script = `
import { SMTPServer } from "smtp-server";
const { encryption, certificate, credentials } = JSON.parse(process.argv[1]);
const say = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
const server = new SMTPServer({
  secure: encryption === "smtps",
  hideSTARTTLS: encryption !== "starttls",
  disabledCommands: encryption === "plain" ? ["STARTTLS"] : [],
  ...certificate,
  onAuth({ username, password }, _session, done) {
    const isRight = username === credentials.user && password === credentials.pass;
    done(isRight ? null : Object.assign(new Error("Wrong"), { responseCode: 535 }), { user: username });
  },
  async onData(stream, session, done) {
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const raw = Buffer.concat(chunks).toString();
    const { mailFrom, rcptTo } = session.envelope;
    say({
      from: mailFrom.address,
      to: rcptTo.map(({ address }) => address),
      raw,
      messageId: /^Message-ID: (.*)\\r$/im.exec(raw)?.[1] ?? "",
      wasEncrypted: session.secure,
      user: session.user ?? null,
    });
    done();
  },
});
server.on("error", () => {});
server.listen(0, "127.0.0.1", () => say({ port: server.server.address().port }));
`;

export async function startSmtpTls(options: SmtpTlsOptions): Promise<SmtpTls> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-smtp-" });
  await Deno.mkdir(`${folder}/node_modules`);
  const packages = { "smtp-server": "3.21.6", "nodemailer": "10.6.0", "punycode.js": "2.3.1" };
  for (const [name, version] of Object.entries(packages)) {
    await Deno.symlink(await cachedPackage(name, version), `${folder}/node_modules/${name}`);
  }
  const child = new Deno.Command("node", {
    args: ["--preserve-symlinks", "--input-type=module", "-e", script, JSON.stringify(options)],
    cwd: folder,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let output = "";
  const collected = (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) output += text;
  })();
  const lines = () => output.split("\n").slice(0, -1).map((line) => JSON.parse(line));
  await poll(() => lines().length > 0);
  return {
    port: lines()[0].port,
    get received() {
      return lines().slice(1);
    },
    async stop() {
      child.kill("SIGKILL");
      await child.status;
      await collected;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

export interface TestAuthority {
  /** Its own certificate in PEM, and the path of that file. */
  readonly cert: string;
  readonly certPath: string;
  /** @returns A certificate for a host name or an IPv4 address. */
  certify(name: string): Promise<Certificate>;
  dispose(): Promise<void>;
}

/** Creates an authority. */
export async function testAuthority(): Promise<TestAuthority> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-authority-" });
  const certify = async (file: string, subject: string, more: readonly string[]): Promise<Certificate> => {
    const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days", "2"];
    const files = ["-keyout", `${file}.key`, "-out", `${file}.pem`, "-subj", subject];
    const args = ["req", "-x509", ...newKey, ...files, ...more.flatMap((one) => one.split(" "))];
    const { success, stderr } = await new Deno.Command("openssl", { args, cwd: folder, stdin: "null" })
      .output();
    if (!success) throw new Error(`openssl ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
    const read = (ending: string) => Deno.readTextFile(`${folder}/${file}.${ending}`);
    return { key: await read("key"), cert: await read("pem") };
  };
  const { cert } = await certify("ca", "/CN=Test authority", ["-addext keyUsage=critical,keyCertSign"]);
  let count = 0;
  return {
    cert,
    certPath: `${folder}/ca.pem`,
    certify: (name) =>
      certify(`server${count++}`, "/CN=Mail", [
        "-CA ca.pem",
        "-CAkey ca.key",
        `-addext subjectAltName=${/^[\d.]+$/.test(name) ? "IP" : "DNS"}:${name}`,
        "-addext basicConstraints=critical,CA:FALSE",
      ]),
    dispose: () => Deno.remove(folder, { recursive: true }),
  };
}
