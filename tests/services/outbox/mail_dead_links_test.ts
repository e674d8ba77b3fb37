// Emails whose links have become invalid before they are sent. They are dropped, and all others are sent.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { mailLeaseMs } from "../../../domain/limits.ts";
import { linkLifetimesMs, type NewMail } from "../../../domain/outbox/mail.ts";
import type { Role } from "../../../domain/access/session.ts";
import { type TestApp, testApp, testPassword, type TestPerson } from "../../support/app/app.ts";
import { onBothDatabases } from "../../support/meter/usage.ts";
import { linkToken } from "../../support/people/links.ts";
import { putMails, waitingMails } from "../../support/people/mails.ts";
import { mailLog } from "../../support/portal/words/mail.ts";
import { joinedPerson, mailedToken } from "../../support/people/people.ts";

const fields = { name: "Ada" };

/** Sends all due emails. @returns Their recipients, in alphabetical order. */
async function sentTo(test: TestApp): Promise<string[]> {
  const before = (await test.services.mail.developmentMails()).length;
  const mails = await test.mails();
  // A dropped email isn't sent when its lease ends.
  test.advance(mailLeaseMs);
  assert.equal((await test.mails()).length, mails.length);
  assert.deepEqual(await waitingMails(test.opened.database), []);
  return mails.slice(before).map(({ to }) => to).sort();
}

async function invite(
  test: TestApp,
  actor: TestPerson,
  { email, role, owner = actor }: { email: string; role: Role; owner?: TestPerson },
): Promise<void> {
  const path = `/api/portal/organizations/${owner.organizationId}/invitations`;
  const response = await test.send(path, { cookie: actor.cookie, json: { email, role } });
  assert.equal(response.status, 201, await response.text());
}

const ends: Record<string, (test: TestApp, inviter: TestPerson, owner: TestPerson) => Promise<Response>> = {
  "is removed": (test, { userId }, owner) =>
    test.send(`/api/portal/organizations/${owner.organizationId}/members/${userId}`, {
      cookie: owner.cookie,
      method: "DELETE",
    }),
  "becomes a MEMBER": (test, { userId }, owner) =>
    test.send(`/api/portal/organizations/${owner.organizationId}/members/${userId}`, {
      cookie: owner.cookie,
      method: "PATCH",
      json: { role: "MEMBER" },
    }),
  "deletes their account": (test, { cookie }) =>
    test.send("/api/portal/account", { cookie, method: "DELETE", json: { password: testPassword } }),
};
for (const [what, end] of Object.entries(ends)) {
  testApp(`drops an invitation if its inviter ${what} first`, async (test) => {
    const owner = await test.signUp();
    const admin = await joinedPerson(test, owner, "ADMIN");
    await invite(test, admin, { email: "late@example.com", role: "ADMIN", owner });
    await invite(test, owner, { email: "alive@example.com", role: "ADMIN" });
    const response = await end(test, admin, owner);
    assert.ok(response.ok, await response.text());
    assert.deepEqual((await sentTo(test)).filter((to) => to !== admin.email), ["alive@example.com"]);
    assert.match(
      test.logged(),
      new RegExp(`^${mailLog.dropped} {"mailId":"mail_\\w+","kind":"invitation"}$`, "m"),
    );
    const links = await test.opened.database.read(
      sql`SELECT email FROM link_tokens WHERE purpose = 'invitation'`,
    );
    assert.deepEqual(links.map(({ email }) => email), ["alive@example.com"]);
  });
}

testApp("drops an account's invitations when the owner of its address takes it over", async (test) => {
  const squatter = await test.signUp();
  await test.mails();
  await invite(test, squatter, { email: "accomplice@example.com", role: "OWNER" });
  const token = await linkToken(test, squatter, { purpose: "reset_password" });
  const reset = await test.send("/api/auth/password/reset", {
    json: { token, password: `${testPassword} 2` },
  });
  assert.equal(reset.status, 204);
  assert.deepEqual(await sentTo(test), [squatter.email]);
});

/** What a concurrent request writes. */
type Late = (person: TestPerson) => NewMail;
const late: Record<string, Late> = {
  reset: ({ email, userId }) => ({ kind: "reset_password", to: email, subject: userId, fields }),
  verification: ({ email, userId }) => ({ kind: "verify_email", to: email, subject: userId, fields }),
  "change of address": ({ email, userId }) => ({
    kind: "change_email",
    to: "new@example.com",
    subject: userId,
    fields: { ...fields, from: email, to: "new@example.com" },
  }),
};
const over: Record<string, readonly [sql: string, drops: readonly string[]]> = {
  "the account is disabled": ["UPDATE users SET disabled_at = 1 WHERE id = ?", Object.keys(late)],
  "the account is gone": ["DELETE FROM users WHERE id = ?", Object.keys(late)],
  "the account has another address": [
    "UPDATE users SET email = 'other@example.com' WHERE id = ?",
    ["reset", "verification"],
  ],
  "the address is confirmed": ["UPDATE users SET email_verified_at = 1 WHERE id = ?", ["verification"]],
  "another account has the new address": [
    `INSERT INTO users (id, email, name, password_hash, created_at)
     SELECT 'usr_2', 'new@example.com', name, '', 0 FROM users WHERE id = ?`,
    ["change of address"],
  ],
};

onBothDatabases("drops resets, confirmations and address changes with invalid links", async (test) => {
  for (const [index, [what, [change, drops]]] of Object.entries(over).entries()) {
    const person = {
      email: `a${index}@example.com`,
      userId: `usr_a${index}`,
      cookie: "",
      organizationId: "",
    };
    const { database } = test.opened;
    for (const [which, mail] of Object.entries(late)) {
      await database.write([
        sql`DELETE FROM users`,
        sql`INSERT INTO users (id, email, name, password_hash, created_at)
          VALUES (${person.userId}, ${person.email}, 'Ada', '', 0)`,
      ]);
      const one = mail(person);
      await putMails(database, [one], test.now());
      await database.write([{ sql: change, args: [person.userId] }]);
      const sent = await sentTo(test);
      assert.deepEqual(sent, drops.includes(which) ? [] : [one.to], `${which}: ${what}`);
    }
  }
});

testApp("drops an invitation that expired before it was sent", async (test) => {
  const owner = await test.signUp();
  await test.mails();
  await invite(test, owner, { email: "grace@example.com", role: "MEMBER" });
  test.advance(linkLifetimesMs.invitation);
  assert.deepEqual(await sentTo(test), []);
});

testApp("drops a resent invitation that was accepted with its first link", async (test) => {
  const owner = await test.signUp();
  await invite(test, owner, { email: "grace@example.com", role: "MEMBER" });
  const token = await mailedToken(test, "grace@example.com");
  const [row] = await test.opened.database.read<{ subject: string }>(
    sql`SELECT subject FROM link_tokens WHERE purpose = 'invitation'`,
  );
  const join = { name: "Grace", password: testPassword, invitationToken: token };
  assert.equal((await test.send("/api/auth/sign-up", { json: join })).status, 201);
  const again = { organization: "Acme", inviter: "Ada", role: "MEMBER" };
  const mail = {
    kind: "invitation",
    to: "grace@example.com",
    subject: row?.subject ?? "",
    fields: again,
  } as const;
  await putMails(test.opened.database, [mail], test.now());
  assert.deepEqual(await sentTo(test), []);
});
