// What emails that a mail server takes long to accept take from others.
import assert from "node:assert/strict";
import { MailWorker } from "../../../services/outbox/mail_worker.ts";
import { emailTextsOf } from "../../../views/outbox/mails.tsx";
import { startTestApp } from "../../support/app/app.ts";
import { putMails, verifyMail } from "../../support/people/mails.ts";
import { poll } from "../../support/runner/poll.ts";

Deno.test("emails that are slow now take no place from others, up to 25", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  let [slow, quick] = [0, 0];
  const test = await startTestApp({
    BASE_URL: "https://auth.example.com",
    SMTP_URL: "smtp://mail.example.com",
    MAIL_FROM: "Acme <auth@example.com>",
  });
  const worker = new MailWorker({ config: test.config, database: test.opened.database, clock: test.now }, {
    log: { info: () => {}, warn: () => {} },
    texts: emailTextsOf({ name: "Gatehouse", color: null }),
    transport: async ({ to }) => {
      if (!to.startsWith("personslow")) quick++;
      else if (++slow > 0) await held;
    },
    slowMs: 10,
  });
  try {
    const put = (name: string, count: number) =>
      putMails(
        test.opened.database,
        Array.from({ length: count }, (_, n) => verifyMail(`${name}${n}`)),
        test.now(),
      );
    await put("slow", 20);
    const ended = new AbortController();
    const running = worker.run(ended.signal);
    await poll(() => slow === 20);
    await put("quick", 1);
    worker.wake();
    await poll(() => quick === 1);
    await put("slow", 10);
    worker.wake();
    await poll(() => slow === 25);
    release();
    await poll(() => slow === 30);
    ended.abort();
    await running;
    assert.deepEqual(await test.opened.database.read({ sql: "SELECT 1 FROM outbox", args: [] }), []);
  } finally {
    await test.dispose();
  }
});
