// The order of many due emails: first those that someone is waiting for, and eventually all.
import assert from "node:assert/strict";
import { mailsAtOnceMax, mailsLookedAtMax } from "../../../domain/outbox/mail_places.ts";
import type { NewMail } from "../../../domain/outbox/mail.ts";
import { startTestApp, type TestApp } from "../../support/app/app.ts";
import { databaseKinds } from "../../support/database/database.ts";
import { putMails } from "../../support/people/mails.ts";

const settings = {
  BASE_URL: "https://auth.example.com",
  SMTP_URL: "smtp://mail.example.com",
  MAIL_FROM: "Acme <auth@example.com>",
};

/** Creates an email to `<name>@example.com`. */
const makers = {
  reset: (name: string): NewMail => ({ ...to(name), kind: "reset_password", fields: { name: "Ada" } }),
  verification: (name: string): NewMail => ({ ...to(name), kind: "verify_email", fields: { name: "Ada" } }),
  invitation: (name: string): NewMail => ({
    ...to(name),
    kind: "invitation",
    fields: { organization: "Acme", inviter: "Ada", role: "MEMBER" },
  }),
  notice: (name: string): NewMail => ({
    kind: "password_changed",
    to: `${name}@example.com`,
    fields: { name: "Ada" },
  }),
};

function to(name: string) {
  return { to: `${name}@example.com`, subject: `usr_${name}` };
}

/** Puts emails of one kind into the outbox, one second apart. */
async function put(test: TestApp, kind: keyof typeof makers, numbers: readonly number[]): Promise<void> {
  for (const number of numbers) {
    await putMails(test.opened.database, [makers[kind](`${kind}${number}`)], test.now());
    test.advance(1000);
  }
}

for (const { name, ignore, open } of databaseKinds) {
  const promise = (text: string, run: (test: TestApp, round: () => Promise<string[]>) => Promise<void>) =>
    Deno.test({
      name: `${name}: ${text}`,
      ignore,
      async fn() {
        let sent: string[] = [];
        const test = await startTestApp(settings, {
          open,
          // deno-lint-ignore require-await -- a transport is asynchronous
          mailTransport: async (message) => {
            sent.push(message.to.replace("@example.com", ""));
          },
        });
        try {
          await run(test, async () => {
            sent = [];
            await test.parts.mailWorker.deliverDue();
            return sent.sort();
          });
        } finally {
          await test.dispose();
        }
      },
    });

  promise(
    "sends links to the recipient's own account before invitations and notices, newest first, and the oldest email in each round",
    async (test, round) => {
      assert.equal(mailsAtOnceMax, 5);
      await put(test, "notice", [1]);
      await put(test, "reset", [1, 2, 3]);
      await put(test, "invitation", [1, 2, 3]);
      await put(test, "verification", [1, 2, 3]);
      await put(test, "notice", [2, 3, 4, 5, 6, 7, 8]);
      const rounds = [];
      for (let left = 17; left > 0; left -= 5) rounds.push(await round());
      assert.deepEqual(rounds, [
        ["notice1", "reset3", "verification1", "verification2", "verification3"],
        ["invitation1", "invitation2", "invitation3", "reset1", "reset2"],
        ["notice2", "notice5", "notice6", "notice7", "notice8"],
        ["notice3", "notice4"],
      ]);
    },
  );

  promise("a reset that was asked for just now is not behind any number of notices", async (test, round) => {
    const many = Array.from({ length: mailsLookedAtMax + 10 }, (_, number) => makers.notice(`old${number}`));
    await putMails(test.opened.database, many, test.now());
    await put(test, "reset", [1]);
    const first = await round();
    assert.equal(first.length, 5);
    assert.ok(first.includes("reset1"), first.join());
  });
}
