// The outbox's worker with a simulated mail server. It loses no email, sends none twice without need and none that was
// withdrawn, and it neither stores nor logs links.
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import type { Statement } from "../../../db/engine/database.ts";
import { deleteLinks, findLinkToken } from "../../../db/outbox/link_tokens.ts";
import { mailGiveUpMs, mailLeaseMs, mailRetryMaxMs, mailRetryMinMs } from "../../../domain/limits.ts";
import { linkLifetimesMs } from "../../../domain/outbox/mail.ts";
import { mailsAtOnceMax } from "../../../domain/outbox/mail_places.ts";
import { MailWorker } from "../../../services/outbox/mail_worker.ts";
import { deleteOldEvents } from "../../../services/outbox/upkeep.ts";
import { MailError, type MailMessage } from "../../../services/outbox/mail_transport.ts";
import { emailTextsOf } from "../../../views/outbox/mails.tsx";
import { startTestApp, type TestApp, testApp } from "../../support/app/app.ts";
import { bothDatabases, type TestDatabase } from "../../support/database/database.ts";
import { putMails, verifyMail, waitingMails } from "../../support/people/mails.ts";
import { mailLog } from "../../support/portal/words/mail.ts";
import { poll } from "../../support/runner/poll.ts";

const smtpSettings = {
  BASE_URL: "https://auth.example.com",
  SMTP_URL: "smtp://mail.example.com",
  MAIL_FROM: "Acme <auth@example.com>",
};

/** What the mail server does before it accepts an email. */
type OnMail = (message: MailMessage, test: TestApp) => Promise<void> | void;

/** An app, and the emails that its mail server accepted. */
async function withServer(
  run: (test: TestApp, sent: MailMessage[]) => Promise<void>,
  options: { onMail?: OnMail; open?: () => Promise<TestDatabase> } = {},
): Promise<void> {
  const sent: MailMessage[] = [];
  const test: TestApp = await startTestApp(smtpSettings, {
    ...(options.open === undefined ? {} : { open: options.open }),
    mailTransport: async (message) => {
      await options.onMail?.(message, test);
      sent.push(message);
    },
  });
  try {
    await run(test, sent);
  } finally {
    await test.dispose();
  }
}

/** Another server on the same database. `before` runs before each of its writes. */
function otherInstance(
  test: TestApp,
  options: { sent: MailMessage[]; before: (batch: readonly Statement[]) => Promise<void> },
): MailWorker {
  const { database } = test.opened;
  return new MailWorker({
    config: test.config,
    clock: test.now,
    database: {
      ...database,
      read: (statement) => database.read(statement),
      readFirst: (statement) => database.readFirst(statement),
      async write(batch) {
        await options.before(batch);
        return await database.write(batch);
      },
    },
  }, {
    log: { info: () => {}, warn: () => {} },
    texts: emailTextsOf({ name: "Gatehouse", color: null }),
    transport: (message) => {
      options.sent.push(message);
      return Promise.resolve();
    },
  });
}

/** Sends all due emails. @returns Their number. */
async function deliverAll({ parts, now }: TestApp): Promise<number> {
  let count = 0;
  for (;;) {
    const { sent, nextDueAt } = await parts.mailWorker.deliverDue();
    count += sent;
    if (nextDueAt === null || nextDueAt > now()) return count;
  }
}

function tokenOf({ text }: MailMessage): string {
  return /\?token=([\w-]{43})$/m.exec(text)?.[1] ?? assert.fail(text);
}

function findToken(test: TestApp, message: MailMessage) {
  return findLinkToken(test.opened.database, hash("sha256", tokenOf(message), "hex"), test.now());
}

for (const { name, ignore, open } of bothDatabases) {
  Deno.test({
    name: `${name}: sends each email once in concurrent rounds, and empties the outbox`,
    ignore,
    fn: () =>
      withServer(async (test, sent) => {
        const { database } = test.opened;
        const count = 4 * mailsAtOnceMax + 1;
        await putMails(
          database,
          Array.from({ length: count }, (_, number) => verifyMail(number)),
          test.now(),
        );
        await Promise.all([deliverAll(test), deliverAll(test), deliverAll(test)]);
        assert.equal(sent.length, count);
        assert.equal(new Set(sent.map(({ to }) => to)).size, count);
        assert.deepEqual(await waitingMails(database), []);
        const [first] = sent;
        assert(first !== undefined);
        assert.equal((await findToken(test, first))?.email, first.to);
      }, { open }),
  });

  Deno.test({
    name:
      `${name}: sends an email again after its lease if a server died, with the same Message-ID and a working link`,
    ignore,
    async fn() {
      const messages: MailMessage[] = [];
      let isDead = true;
      await withServer(async (test) => {
        const { database } = test.opened;
        await putMails(database, [verifyMail(1)], test.now());
        // A server that has died: this never resolves.
        test.parts.mailWorker.deliverDue();
        await poll(() => messages.length > 0);
        isDead = false;
        test.advance(mailLeaseMs - 1);
        assert.equal(await deliverAll(test), 0);
        test.advance(1);
        assert.equal(await deliverAll(test), 1);
        const [first, second] = messages;
        assert(first !== undefined && second !== undefined);
        assert.match(first.messageId, /^<mail_[0-9a-f]{32}@auth\.example\.com>$/);
        assert.equal(first.messageId, second.messageId);
        assert.notEqual(tokenOf(first), tokenOf(second));
        for (const message of messages) assert.equal((await findToken(test, message))?.subject, "usr_1");
        assert.deepEqual(await waitingMails(database), []);
      }, {
        open,
        onMail: (message) => {
          messages.push(message);
          return isDead ? new Promise<void>(() => {}) : undefined;
        },
      });
    },
  });
}

Deno.test("retries a failed email with growing delays up to an hour, and gives up after a day with one warning", async () => {
  let attempts = 0;
  await withServer(async (test) => {
    const start = test.now();
    const { database } = test.opened;
    await putMails(database, [verifyMail(1)], start);
    const waits: number[] = [];
    for (;;) {
      await test.parts.mailWorker.deliverDue();
      const [waiting] = await waitingMails(database);
      if (waiting === undefined) break;
      waits.push(waiting.dueAt - test.now());
      test.advance(waiting.dueAt - test.now() - 1);
      await test.parts.mailWorker.deliverDue();
      assert.equal(attempts, waits.length);
      test.advance(1);
    }
    const wanted = waits.map((_, index) => Math.min(mailRetryMinMs * 2 ** index, mailRetryMaxMs));
    assert.deepEqual(waits.slice(0, -1), wanted.slice(0, -1));
    assert.equal(test.now(), start + mailGiveUpMs);
    assert.equal(attempts, waits.length + 1);
    const [outage, given, ...more] = test.logged().split("\n");
    assert(outage?.startsWith(`${mailLog.serverFails} `), test.logged());
    assert(given?.startsWith(`${mailLog.gaveUp} `), given ?? "");
    assert.match(given ?? "", /"kind":"verify_email","attempts":\d+,"reason":"CONN: refused"}$/);
    assert.deepEqual(more, []);
  }, {
    onMail: () => {
      attempts++;
      throw new MailError("server", "CONN: refused");
    },
  });
});

Deno.test("drops a permanently rejected email with one warning, and sends the others", () =>
  withServer(async (test, sent) => {
    await putMails(test.opened.database, [verifyMail(1), verifyMail("bad"), verifyMail(2)], test.now());
    await deliverAll(test);
    assert.deepEqual(sent.map(({ to }) => to), ["person1@example.com", "person2@example.com"]);
    assert.deepEqual(await waitingMails(test.opened.database), []);
    assert(test.logged().startsWith(mailLog.gaveUp));
    assert.match(test.logged(), /^[^\n]*"reason":"RCPT TO: 550 5.1.1"}$/);
    assert.doesNotMatch(test.logged(), /personbad/);
  }, {
    onMail: ({ to }) => {
      if (to.startsWith("personbad")) throw new MailError("rejected", "RCPT TO: 550 5.1.1");
    },
  }));

Deno.test("sends nothing and creates no link for a replaced request, even if its email was claimed", () =>
  withServer(async (test, sent) => {
    const { database } = test.opened;
    await putMails(database, [verifyMail(1)], test.now());
    await database.write(deleteLinks("usr_1", { purposes: ["verify_email"] }));
    await putMails(database, [verifyMail(1)], test.now());
    assert.equal(await deliverAll(test), 1);
    assert.equal(sent.length, 1);

    await putMails(database, [verifyMail(2), verifyMail(3)], test.now());
    let writes = 0;
    const other = otherInstance(test, {
      sent,
      async before() {
        // The first write claims, the second creates the links.
        if (++writes === 2) await database.write(deleteLinks("usr_2", { purposes: ["verify_email"] }));
      },
    });
    assert.deepEqual(await other.deliverDue(), { sent: 1, nextDueAt: null });
    assert.deepEqual(sent.slice(1).map(({ to }) => to), ["person3@example.com"]);
    const links = await database.read({ sql: "SELECT subject FROM link_tokens ORDER BY subject", args: [] });
    assert.deepEqual(links.map(({ subject }) => subject), ["usr_1", "usr_3"]);
  }));

Deno.test("creates no link and sends nothing on a server whose lease has ended, without affecting the new one", async () => {
  const calls: PromiseWithResolvers<void>[] = [];
  await withServer(async (test, sent) => {
    const { database } = test.opened;
    const { mailWorker } = test.parts;
    await putMails(database, [verifyMail(1)], test.now());
    const first = mailWorker.deliverDue();
    await poll(() => calls.length === 1);
    test.advance(mailLeaseMs);
    let writes = 0;
    let second: Promise<unknown> | undefined;
    const other = otherInstance(test, {
      sent,
      async before() {
        if (++writes !== 2) return;
        test.advance(mailLeaseMs);
        second = mailWorker.deliverDue();
        await poll(() => calls.length === 2);
      },
    });
    await other.deliverDue();
    assert.deepEqual(sent, []);
    calls[0]?.reject(new MailError("server", "CONN: ETIMEDOUT"));
    await first;
    const [waiting] = await waitingMails(database);
    assert.deepEqual([waiting?.attempts, waiting?.dueAt], [3, test.now() + mailLeaseMs]);
    const links = await database.read({ sql: "SELECT 1 FROM link_tokens", args: [] });
    assert.equal(links.length, 2);
    calls[1]?.resolve();
    await second;
    assert.equal(sent.length, 1);
    assert.deepEqual(await waitingMails(database), []);
  }, {
    onMail: () => {
      const call = Promise.withResolvers<void>();
      calls.push(call);
      return call.promise;
    },
  });
});

Deno.test("expires a link after its lifetime, which begins when the email is sent, and deletes it", () =>
  withServer(async (test, sent) => {
    const { database } = test.opened;
    await putMails(database, [verifyMail(1)], test.now());
    test.advance(3_600_000);
    await deliverAll(test);
    const [message] = sent;
    assert(message !== undefined);
    test.advance(linkLifetimesMs.verify_email - 1);
    assert.notEqual(await findToken(test, message), undefined);
    test.advance(1);
    assert.equal(await findToken(test, message), undefined);
    const count = async () => (await database.read({ sql: "SELECT 1 FROM link_tokens", args: [] })).length;
    assert.equal(await count(), 1);
    assert.equal(await deleteOldEvents(test.services), false);
    assert.equal(await count(), 0);
  }));

Deno.test("doesn't send an email again if the database failed after it was accepted", () =>
  withServer(async (test, sent) => {
    const { database } = test.opened;
    await putMails(database, [verifyMail(1)], test.now());
    let isDown = true;
    const other = otherInstance(test, {
      sent,
      // deno-lint-ignore require-await -- a database is asynchronous
      async before([first, ...more]) {
        if (isDown && more.length === 0 && /^DELETE/.test(first?.sql ?? "")) throw new Error("no answer");
      },
    });
    await assert.rejects(other.deliverDue(), /no answer/);
    assert.equal((await waitingMails(database)).length, 1);
    isDown = false;
    test.advance(mailLeaseMs);
    assert.deepEqual(await other.deliverDue(), { sent: 0, nextDueAt: null });
    assert.equal(sent.length, 1);
  }));

Deno.test("never stores or logs a token with SMTP, for any response of the server", async () => {
  const tokens: string[] = [];
  await withServer(async (test, sent) => {
    const { database, place } = test.opened;
    await putMails(database, [verifyMail(1), verifyMail("bad"), verifyMail("later")], test.now());
    await test.parts.mailWorker.deliverDue();
    const fields = { organization: "Acme", inviter: "Ada", role: "MEMBER" };
    await putMails(
      database,
      [{ kind: "invitation", to: "bob@example.com", subject: "inv_1", fields }],
      test.now(),
    );
    await deliverAll(test);
    assert.equal(sent.length, 2);
    assert.equal(tokens.length, 4);
    const files = await Promise.all([place, `${place}-wal`].map((file) => Deno.readFile(file)));
    const bytes = files.map((file) => new TextDecoder("latin1").decode(file)).join();
    for (const token of tokens) {
      // The hash is found, so a token would be found too.
      assert(bytes.includes(hash("sha256", token, "hex")));
      assert(!bytes.includes(token));
      assert(!test.logged().includes(token));
    }
  }, {
    onMail: (message) => {
      tokens.push(tokenOf(message));
      if (message.to.startsWith("personbad")) throw new MailError("rejected", "DATA: 554");
      if (message.to.startsWith("personlater")) throw new MailError("later", "DATA: 451");
    },
  });
});

testApp("keeps and logs emails without SMTP_URL, newest last, with links under BASE_URL", async (test) => {
  const { database } = test.opened;
  await putMails(database, [verifyMail(1)], test.now());
  test.advance(1000);
  const fields = { name: "Ada" };
  await putMails(database, [{ kind: "password_changed", to: "a@example.com", fields }], test.now());
  const [first, second, ...more] = await test.mails();
  assert.deepEqual(more, []);
  assert.equal(first?.to, "person1@example.com");
  assert.match(first?.link ?? "", /^http:\/\/localhost:8000\/verify-email\?token=[\w-]{43}$/);
  assert.equal(second?.link, null);
  const link = first?.link ?? "none";
  assert(first?.text.includes(link) && first.html.includes(link) && test.logged().includes(link));
});

testApp("sends no email with https and without SMTP_URL, and drops queued ones after a day", async (test) => {
  const { mail } = test.services;
  assert.equal(mail.mode, "none");
  assert.throws(() => mail.requireMail(), { code: "mail_unavailable" });
  const { database } = test.opened;
  await putMails(database, [verifyMail(1)], test.now() - mailGiveUpMs - 1);
  await putMails(database, [verifyMail(2)], test.now());
  assert.deepEqual(await test.parts.mailWorker.deliverDue(), { sent: 0, nextDueAt: null });
  assert.equal(await deleteOldEvents(test.services), false);
  const [left, ...more] = await waitingMails(database);
  assert.deepEqual([left?.recipient, more], ["person2@example.com", []]);
}, { BASE_URL: "https://auth.example.com" });
