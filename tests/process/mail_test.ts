// Sends emails through a real mail server: encrypted where required, and at least once despite kills and outages.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { mailLeaseMs } from "../../domain/limits.ts";
import { MailWorker } from "../../services/outbox/mail_worker.ts";
import { MailError, type MailMessage, smtpTransport } from "../../services/outbox/mail_transport.ts";
import { emailTextsOf } from "../../views/outbox/mails.tsx";
import { mailLog } from "../support/portal/words/mail.ts";
import { startTestApp, type TestApp } from "../support/app/app.ts";
import { shortenWaits, writeConfig } from "../support/process/config.ts";
import { putIntoFile, putMails, verifyMail, waitingMails } from "../support/people/mails.ts";
import { poll } from "../support/runner/poll.ts";
import { runHere } from "../support/process/here.ts";
import type { Program } from "../support/process/program.ts";
import { inScene, type Scene, stop } from "../support/process/scene.ts";
import { faultRandom, faultsTimeoutMs } from "../support/runner/random.ts";
import { headerOf, linksOf, type ReceivedMail, startSmtp } from "../support/network/smtp.ts";
import { type SmtpTls, smtpTlsMissing, startSmtpTls, testAuthority } from "../support/network/smtp_tls.ts";
import { freePort } from "../support/database/sqld.ts";

const credentials = { user: "gate@house", pass: "p@ss:wörd/%" };
const signIn = `${encodeURIComponent(credentials.user)}:${encodeURIComponent(credentials.pass)}@`;
const baseUrl = new URL("https://auth.example.com");
const mailFrom = "Acme, Inc. <auth@example.com>";
const message: MailMessage = {
  messageId: "<mail_1@auth.example.com>",
  to: "ada@example.com",
  subject: "Grüße",
  text: "Hello\n",
  html: "<p>Hello</p>",
  date: Date.UTC(2026, 10, 21, 14, 3, 11),
};

/** Sends the message. @returns "sent", or the reason for a failure. */
async function send(smtpUrl: string, authority?: string): Promise<string> {
  try {
    await smtpTransport({ smtpUrl, mailFrom, baseUrl }, { authority })(message, new AbortController().signal);
    return "sent";
  } catch (error) {
    assert(error instanceof MailError);
    assert(!error.message.includes(credentials.pass));
    return error.kind;
  }
}

Deno.test({
  name:
    "sends over smtps and STARTTLS, but not with a wrong certificate, a wrong password or without encryption",
  ignore: smtpTlsMissing(),
  async fn() {
    const authority = await testAuthority();
    const right = await authority.certify("localhost");
    const wrong = await authority.certify("other.example.com");
    const withSmtp = async (
      options: Omit<Parameters<typeof startSmtpTls>[0], "credentials">,
      act: (server: SmtpTls, address: string) => Promise<void>,
    ) => {
      const server = await startSmtpTls({ ...options, credentials });
      try {
        await act(server, `localhost:${server.port}`);
      } finally {
        await server.stop();
      }
    };
    for (const [scheme, encryption] of [["smtps", "smtps"], ["smtp", "starttls"]] as const) {
      await withSmtp({ encryption, certificate: right }, async (server, address) => {
        const at = (address: string, auth = signIn) => `${scheme}://${auth}${address}`;
        assert.equal(await send(at(address)), "server", "an unknown authority");
        const wrongPassword = at(address, signIn.replace("p", "q"));
        assert.equal(await send(wrongPassword, authority.cert), "server", "a wrong password");
        const otherName = at(`127.0.0.1:${server.port}`);
        assert.equal(await send(otherName, authority.cert), "server", "another name of the host");
        assert.equal(server.received.length, 0);
        assert.equal(await send(at(address), authority.cert), "sent");
        await poll(() => server.received.length > 0);
        const [mail] = server.received;
        assert.deepEqual([mail?.wasEncrypted, mail?.user], [true, credentials.user]);
        assert.deepEqual([mail?.from, mail?.to], ["auth@example.com", ["ada@example.com"]]);
      });
      await withSmtp({ encryption, certificate: wrong }, async (server, address) => {
        const sent = await send(`${scheme}://${signIn}${address}`, authority.cert);
        assert.deepEqual([sent, server.received], ["server", []], "the name of another host");
      });
    }
    // A password is never sent unencrypted.
    await withSmtp({ encryption: "plain", certificate: right }, async (server, address) => {
      const sent = await send(`smtp://${signIn}${address}`, authority.cert);
      assert.deepEqual([sent, server.received], ["server", []]);
    });
    await authority.dispose();
  },
});

/** A worker that sends to a server on this machine. @param write Gets what it logs. */
function workerFor(test: TestApp, port: number, write: (text: string, values: object) => void): MailWorker {
  return new MailWorker({
    database: test.opened.database,
    clock: test.now,
    config: { ...test.config, baseUrl, smtpUrl: `smtp://127.0.0.1:${port}`, mailFrom },
  }, { log: { info: write, warn: write }, texts: emailTextsOf({ name: "Gatehouse", color: null }) });
}

Deno.test("sends one sender, one recipient, text and HTML, and headers that a name can't inject into", async () => {
  const server = await startSmtp();
  const test = await startTestApp();
  const mail = workerFor(test, server.port, assert.fail);
  const inviter = "Eve\r\nBcc: mallory@example.com\r\n\r\nHello";
  const fields = { organization: `${"Ä".repeat(99)}\n`, inviter, role: "ADMIN" };
  await putMails(test.opened.database, [{
    kind: "invitation",
    to: "ada@example.com",
    subject: "inv_1",
    fields,
  }], test.now());
  assert.equal((await mail.deliverDue()).sent, 1);
  const [received] = server.received;
  assert(received !== undefined);
  const { raw } = received;
  assert.deepEqual([received.from, received.to], ["auth@example.com", ["ada@example.com"]]);
  assert.equal(headerOf(raw, "From"), `"Acme, Inc." <auth@example.com>`);
  assert.equal(headerOf(raw, "To"), "ada@example.com");
  assert.equal(headerOf(raw, "Bcc"), null);
  assert.equal(headerOf(raw, "Auto-Submitted"), "auto-generated");
  assert.equal(Date.parse(headerOf(raw, "Date") ?? ""), Math.floor(test.now() / 1000) * 1000);
  assert.match(received.messageId, /^<mail_[0-9a-f]{32}@auth\.example\.com>$/);
  assert.match(raw, /Content-Type: multipart\/alternative/);
  assert.match(raw, /Content-Type: text\/plain; charset=utf-8/);
  assert.match(raw, /Content-Type: text\/html; charset=utf-8/);
  const links = linksOf(raw);
  assert.equal(links.length, 1);
  assert.match(links[0] ?? "", /^https:\/\/auth\.example\.com\/invitations\/accept\?token=[\w-]{43}$/);
  await test.dispose();
  await server.stop();
});

Deno.test("drops an email after a permanent error, retries it after others, and never logs the server's words", async () => {
  const responses: Record<string, string> = {
    "unknown@example.com": "550 5.1.1 unknown@example.com is unknown",
    "full@example.com": "452 4.2.2 full",
    "closing@example.com": "421 4.3.2 closing",
  };
  const rejections: Record<string, string> = {
    "spam@example.com": "554 5.7.1",
    "slow@example.com": "451 4.7.1",
  };
  const server = await startSmtp({
    onRecipient: (address) => responses[address] ?? null,
    onMail: ({ raw, to: [to = ""] }) => to in rejections ? `${rejections[to]} ${linksOf(raw)[0]}` : null,
  });
  const lines: string[] = [];
  const test = await startTestApp();
  const mail = workerFor(
    test,
    server.port,
    (text, values) => void lines.push(`${text} ${JSON.stringify(values)}`),
  );
  const names = ["unknown", "full", "closing", "spam", "slow", "ok"];
  const mails = names.map((name) => ({ ...verifyMail(name), to: `${name}@example.com` }));
  await putMails(test.opened.database, mails, test.now());
  for (let round = 0; round < 2; round++) await mail.deliverDue();
  const waiting = await waitingMails(test.opened.database);
  assert.deepEqual(waiting.map(({ recipient }) => recipient.split("@")[0]), ["full", "closing", "slow"]);
  assert.deepEqual(server.received.map(({ to }) => to[0]), ["ok@example.com"]);
  const reasons = lines.filter((line) => line.includes(mailLog.gaveUp)).map((line) =>
    /"reason":"(.*)"/.exec(line)?.[1]
  );
  assert.deepEqual(reasons.sort(), ["DATA: 554 5.7.1", "RCPT TO: 550 5.1.1"]);
  assert.doesNotMatch(lines.join(), /token=|@example/);
  await test.dispose();
  await server.stop();
});

/** Ends the leases of emails that a killed program was sending, so that the test doesn't have to wait for them. */
function endLeases(folder: string): void {
  const connection = new Connection(`${folder}/data/gatehouse.db`, { readOnly: false });
  connection.run({ sql: "UPDATE outbox SET due_at = 0", args: [] });
  connection.close();
}

/** @returns The number of queued emails that are due before a time. */
function countWaiting(folder: string, dueBefore = Number.MAX_SAFE_INTEGER): number {
  const connection = new Connection(`${folder}/data/gatehouse.db`, { readOnly: true });
  const sql = "SELECT count(*) AS count FROM outbox WHERE due_at < ?";
  const row = connection.first({ sql, args: [dueBefore] }) as { count: number };
  connection.close();
  return row.count;
}

/** Runs a test with a new data file. @param env Settings of its programs. */
function withFile(
  env: Readonly<Record<string, string>>,
  test: (scene: Scene) => Promise<void>,
): Promise<void> {
  return inScene({ env: { MAIL_FROM: mailFrom, ...env } }, async (scene) => {
    await Deno.mkdir(`${scene.folder}/data`);
    assert.equal((await runHere({ folder: scene.folder }, "migrate")).status, 0);
    await test(scene);
  });
}

// The server's own timers outlive its connections.
const withTimersLeft = { sanitizeOps: false, sanitizeResources: false };

Deno.test({
  ...withTimersLeft,
  name:
    "delivers every email with a single Message-ID despite kills, even between acceptance and our own record of it",
  timeout: faultsTimeoutMs,
  fn: () =>
    withFile({ BASE_URL: baseUrl.origin, LOG_LEVEL: "warning" }, async ({ folder, begin }) => {
      const random = faultRandom("mail_test.ts");
      let program: Program | undefined;
      let killAfter = 0;
      const seen: ReceivedMail[] = [];
      const server = await startSmtp({
        onMail(mail) {
          seen.push(mail);
          // The server accepts the email, but the program is killed before it learns that.
          if (--killAfter === 0) program?.kill("SIGKILL");
          return null;
        },
      });
      const addresses = putIntoFile(folder, 40);
      let kills = 0;
      while (countWaiting(folder) > 0) {
        killAfter = kills < 5 ? random.between(1, 7) : 0;
        program = begin({ env: { SMTP_URL: `smtp://127.0.0.1:${server.port}` } });
        if (killAfter > 0) {
          await program.ended();
          kills++;
          endLeases(folder);
        } else {
          await poll(() => countWaiting(folder) === 0, 120_000);
          await stop(program);
        }
        assert.equal(program.output(), "");
      }
      assert.equal(kills, 5);
      assert.deepEqual([...new Set(seen.flatMap(({ to }) => to))].sort(), [...addresses].sort());
      assert(seen.length > addresses.length, "no kill came between acceptance and our record of it");
      const idsByAddress = Map.groupBy(seen, ({ to: [address = ""] }) => address);
      for (const [address, mails] of idsByAddress) {
        assert.equal(new Set(mails.map(({ messageId }) => messageId)).size, 1, address);
      }
      assert.equal(new Set(seen.map(({ messageId }) => messageId)).size, addresses.length);
      await server.stop();
    }),
});

Deno.test({
  ...withTimersLeft,
  name: "delivers emails once the mail server is up, and doesn't wait at shutdown for one that hangs",
  fn: () => {
    const port = freePort();
    return withFile({ SMTP_URL: `smtp://127.0.0.1:${port}` }, async ({ folder, start }) => {
      putIntoFile(folder, 4);
      const program = await start({
        config: await writeConfig(folder, shortenWaits("services/outbox/mail_worker.ts")),
      });
      await poll(() => program.output().includes(mailLog.serverFails));
      const hung = Promise.withResolvers<null>();
      let isHanging = false;
      const server = await startSmtp({
        port,
        onMail({ to }) {
          if (to[0] !== "person3@example.com") return null;
          isHanging = true;
          return hung.promise;
        },
      });
      await poll(() => isHanging && countWaiting(folder) === 1);
      await poll(() => program.output().includes(mailLog.serverWorks));
      await stop(program);
      // The attempt was canceled and recorded, so the email doesn't wait for its lease to end.
      assert.equal(countWaiting(folder, Date.now() + mailLeaseMs / 2), 1);
      assert.equal(server.received.length, 3);
      hung.resolve(null);
      await server.stop();
    });
  },
});

Deno.test({
  ...withTimersLeft,
  name: "sends over smtps to a server with a configured certificate authority, and doesn't log links",
  ignore: smtpTlsMissing(),
  fn: () =>
    withFile({ LOG_LEVEL: "debug" }, async ({ folder, begin }) => {
      const authority = await testAuthority();
      const certificate = await authority.certify("localhost");
      const server = await startSmtpTls({ encryption: "smtps", certificate, credentials });
      try {
        const [address] = putIntoFile(folder, 1);
        const SMTP_URL = `smtps://${signIn}localhost:${server.port}`;
        const program = begin({ env: { SMTP_URL, DENO_CERT: authority.certPath } });
        await poll(() => server.received.length > 0 && countWaiting(folder) === 0);
        const [mail] = server.received;
        assert.deepEqual([mail?.to, mail?.wasEncrypted], [[address], true]);
        await stop(program);
        assert.doesNotMatch(program.output(), /token=|person0/);
      } finally {
        await server.stop();
        await authority.dispose();
      }
    }),
});
