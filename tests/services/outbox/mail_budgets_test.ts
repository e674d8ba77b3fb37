// Emails to one inbox, with two servers on one database. Strangers can't flood it, and its owner still gets what they need.
import assert from "node:assert/strict";
import {
  accountLinkMailsToRecipientPerHourMax,
  emailChangeMailsToRecipientPerDayMax,
  invitationMailsToRecipientPerDayMax,
  mailsToUnconfirmedRecipientPerDayMax,
  noticesToUnconfirmedRecipientPerDayMax,
  otherMailsToUnconfirmedRecipientPerDayMax,
  unverifiedInvitationMailsToRecipientPerDayMax,
  verificationMailsToRecipientPerDayMax,
} from "../../../domain/outbox/mail_budget.ts";
import type { MailMessage } from "../../../services/outbox/mail_transport.ts";
import { cookieOf, startTestApp, type TestApp, testPassword } from "../../support/app/app.ts";
import { databaseKinds } from "../../support/database/database.ts";
import { subjectOf } from "../../support/portal/words/mail.ts";

const victim = "victim@example.com";

interface Scene {
  readonly apps: readonly [TestApp, TestApp];
  readonly received: readonly MailMessage[];
}

/** Defines a test on a new database of some kinds. */
function testScene(
  name: string,
  act: (scene: Scene) => Promise<void>,
  kinds: typeof databaseKinds = databaseKinds.slice(0, 1),
): void {
  for (const { name: kind, ignore, open } of kinds) {
    Deno.test({
      name: `${kind} database: ${name}`,
      ignore,
      async fn() {
        const received: MailMessage[] = [];
        const opened = await open();
        const settings = { SMTP_URL: "smtp://mail.example.com", MAIL_FROM: "auth@example.com" };
        const shared = {
          open: () => Promise.resolve({ ...opened, dispose: () => Promise.resolve() }),
          mailTransport: (message: MailMessage) => Promise.resolve(void received.push(message)),
        };
        const apps = [await startTestApp(settings, shared), await startTestApp(settings, shared)] as const;
        try {
          await act({ apps, received });
        } finally {
          for (const app of apps) await app.dispose();
          await opened.dispose();
        }
      },
    });
  }
}

/** Sends all due emails. @returns The subjects of the emails to an address, oldest first. */
async function inbox({ apps, received }: Scene, address = victim): Promise<string[]> {
  await apps[0].mails();
  return received.filter(({ to }) => to === address).map(({ subject }) => subject);
}

const tokenOf = (mail: MailMessage | undefined) => /\?token=([\w-]{43})$/m.exec(mail?.text ?? "")?.[1];

let peers = 0;
async function account(test: TestApp, email: string): Promise<{ cookie: string; organizationId: string }> {
  const made = await test.send("/api/auth/sign-up", {
    json: { name: "Eve", email, password: testPassword },
    peerAddress: `10.20.0.${++peers & 255}`,
  });
  assert.equal(made.status, 201, await made.clone().text());
  return { cookie: cookieOf(made), organizationId: (await made.json()).organizationId };
}

/** Confirms the address with the newest link for it. */
async function confirm(scene: Scene, { email, cookie }: { email: string; cookie: string }): Promise<void> {
  await inbox(scene);
  const token = tokenOf(
    scene.received.findLast(({ to, text }) => to === email && text.includes("/verify-email?")),
  );
  const response = await scene.apps[0].send("/api/auth/email/verify", { cookie, json: { token } });
  assert.equal(response.status, 200, await response.text());
}

/** Creates an account whose address is confirmed. */
async function confirmedAccount(scene: Scene, email: string) {
  const owner = await account(scene.apps[1], email);
  await confirm(scene, { email, cookie: owner.cookie });
  return owner;
}

function invite(test: TestApp, from: { cookie: string; organizationId: string }, email = victim) {
  const path = `/api/portal/organizations/${from.organizationId}/invitations`;
  return test.send(path, { cookie: from.cookie, json: { email, role: "MEMBER" } });
}

const forgot = (test: TestApp, email: string) =>
  test.send("/api/auth/password/forgot", { json: { email }, peerAddress: `10.21.0.${++peers & 255}` });

testScene("limits emails of ten throwaway accounts to one inbox", async (scene) => {
  const { apps } = scene;
  const throwaways = await Promise.all(
    Array.from({ length: 10 }, (_, n) => account(apps[n % 2 as 0 | 1], `eve${n}@example.com`)),
  );
  const statuses: number[] = [];
  for (let round = 0; round < 2; round++) {
    const results = await Promise.all(throwaways.flatMap((from, n) => [
      // An address with a tag is the same inbox.
      invite(apps[n % 2 as 0 | 1], from, `victim+${n}-${round}@example.com`),
      apps[(n + round) % 2 as 0 | 1].send("/api/portal/account/email", {
        cookie: from.cookie,
        json: { email: victim },
      }),
    ]));
    statuses.push(...results.map(({ status }) => status));
  }
  assert(statuses.every((status) => [201, 202, 429].includes(status)), statuses.join());
  assert.equal(
    statuses.filter((status) => status === 201).length,
    unverifiedInvitationMailsToRecipientPerDayMax,
    "an invitation whose email is not sent is not created",
  );
  await inbox(scene);
  const toVictim = scene.received.filter(({ to }) => /^victim(\+.*)?@/.test(to));
  assert.equal(
    toVictim.length,
    unverifiedInvitationMailsToRecipientPerDayMax + emailChangeMailsToRecipientPerDayMax,
  );
}, databaseKinds);

testScene("lets five confirmed owners invite a person on the day of a flood", async (scene) => {
  const [first, second] = scene.apps;
  for (let n = 0; n < 5; n++) await invite(first, await account(first, `eve${n}@example.com`));
  assert.equal((await inbox(scene)).length, unverifiedInvitationMailsToRecipientPerDayMax);
  for (let n = 0; n < 5; n++) {
    const owner = await confirmedAccount(scene, `owner${n}@example.com`);
    assert.equal((await invite(second, owner)).status, 201);
  }
  assert.equal((await inbox(scene)).length, unverifiedInvitationMailsToRecipientPerDayMax + 5);
});

testScene("tells an inviter when to try again, and creates no invitation", async (scene) => {
  const [test] = scene.apps;
  const owners = [];
  for (let n = 0; n <= invitationMailsToRecipientPerDayMax; n++) {
    const owner = await confirmedAccount(scene, `owner${n}@example.com`);
    owners.push(owner);
  }
  const responses = [];
  for (const owner of owners) {
    responses.push(await invite(test, owner));
    // A rejected one counts against no budget, of which the last ones leave nothing.
    if (responses.length < invitationMailsToRecipientPerDayMax) {
      assert.equal((await invite(test, owner)).status, 409);
    }
  }
  const last = responses.pop();
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([201]));
  assert.equal(last?.status, 429);
  assert.equal(Number(last?.headers.get("retry-after")), 24 * 3_600);
  assert.match((await last?.json()).error.message, /received too many emails. Try again in 24 hours/);
  test.advance(24 * 3_600_000);
  assert.equal((await invite(test, owners.at(-1) as (typeof owners)[number])).status, 201);
});

testScene("in a flood of resets, the last link works and no notice is suppressed", async (scene) => {
  const [first, second] = scene.apps;
  await confirmedAccount(scene, victim);
  const before = (await inbox(scene)).length;
  for (let n = 0; n < accountLinkMailsToRecipientPerHourMax + 3; n++) {
    assert.equal((await forgot(scene.apps[n % 2 as 0 | 1], victim)).status, 202);
    await inbox(scene);
  }
  const subjects = (await inbox(scene)).slice(before);
  assert.deepEqual(
    subjects,
    Array(accountLinkMailsToRecipientPerHourMax).fill(subjectOf("reset_password")),
  );
  const token = tokenOf(scene.received.at(-1));
  const reset = await second.send("/api/auth/password/reset", {
    json: { token, password: "another 7 fine battery" },
  });
  assert.equal(reset.status, 204);
  // Other emails to the same inbox are used up as well.
  for (let n = 0; n < 5; n++) await invite(first, await account(first, `eve${n}@example.com`));
  const signedIn = await first.send("/api/auth/sign-in", {
    json: { email: victim, password: "another 7 fine battery" },
  });
  await changePassword(first, {
    cookie: cookieOf(signedIn),
    password: "another 7 fine battery",
    times: noticesToUnconfirmedRecipientPerDayMax + 1,
  });
  const notices = (await inbox(scene)).filter((subject) => subject === subjectOf("password_changed"));
  assert.equal(notices.length, 1 + noticesToUnconfirmedRecipientPerDayMax + 1);
});

for (const address of [victim, "victim+auth@example.com"]) {
  testScene(`doesn't count resets for made-up tags against ${address}`, async (scene) => {
    const [test] = scene.apps;
    await confirmedAccount(scene, address);
    for (let n = 0; n <= accountLinkMailsToRecipientPerHourMax; n++) {
      assert.equal((await forgot(test, `victim+${n}@example.com`)).status, 202);
    }
    assert.equal((await forgot(test, address)).status, 202);
    assert.equal((await inbox(scene, address)).at(-1), subjectOf("reset_password"));
  });
}

testScene("sends the notice of a changed address during a flood of notices", async (scene) => {
  const [test] = scene.apps;
  const old = "victim+auth@example.com";
  const owner = await confirmedAccount(scene, old);
  // Another tag is the same inbox.
  const { cookie } = await account(test, "victim+eve@example.com");
  await changePassword(test, { cookie, times: noticesToUnconfirmedRecipientPerDayMax + 1 });
  await test.send("/api/portal/account/email", {
    cookie: owner.cookie,
    json: { email: "new@example.com" },
  });
  await confirm(scene, { email: "new@example.com", cookie: owner.cookie });
  assert.equal((await inbox(scene, old)).at(-1), subjectOf("email_changed"));
});

/** Changes the password of an account a number of times. Each change writes a notice. @returns The last cookie. */
async function changePassword(
  test: TestApp,
  { cookie, password = testPassword, times }: { cookie: string; password?: string; times: number },
) {
  let currentPassword = password;
  for (let n = 1; n <= times; n++) {
    const json = { currentPassword, newPassword: `yet another ${n} battery` };
    const changed = await test.send("/api/auth/password/change", { cookie, json });
    assert.equal(changed.status, 204, await changed.clone().text());
    cookie = cookieOf(changed);
    currentPassword = json.newPassword;
  }
  return cookie;
}

/** Signs up with someone else's address and deletes the account, a number of times. */
async function signUpAndDelete(scene: Scene, times: number): Promise<void> {
  const [test] = scene.apps;
  for (let n = 0; n < times; n++) {
    const { cookie } = await account(test, victim);
    // Emails of deleted accounts are dropped unless they were sent before.
    await inbox(scene);
    assert.equal((await test.send("/api/portal/account", { method: "DELETE", cookie })).status, 204);
  }
}

testScene("sends nothing about deletion to an address that was never confirmed", async (scene) => {
  await signUpAndDelete(scene, verificationMailsToRecipientPerDayMax + 2);
  assert.deepEqual(
    await inbox(scene),
    Array(verificationMailsToRecipientPerDayMax).fill(subjectOf("verify_email")),
  );
  const invited = await invite(scene.apps[0], await account(scene.apps[0], "eve@example.com"));
  assert.equal(invited.status, 201, "emails that were not sent don't count");
});

testScene("limits the notices that an account with another's address sends", async (scene) => {
  const [test] = scene.apps;
  const { cookie } = await account(test, victim);
  await changePassword(test, { cookie, times: noticesToUnconfirmedRecipientPerDayMax + 2 });
  const notices = (await inbox(scene)).filter((subject) => subject === subjectOf("password_changed"));
  assert.equal(notices.length, noticesToUnconfirmedRecipientPerDayMax);
});

testScene("limits all emails to an address that was never confirmed", async (scene) => {
  const [first, second] = scene.apps;
  await signUpAndDelete(scene, 8);
  const { cookie } = await account(second, victim);
  await changePassword(second, { cookie, times: 10 });
  assert.equal((await inbox(scene)).length, otherMailsToUnconfirmedRecipientPerDayMax);
  const eve = await account(first, "eve@example.com");
  const limited = await invite(first, eve);
  assert.equal(limited.status, 429);
  assert.match((await limited.json()).error.message, /received too many emails. Try again in 24 hours/);
  const change = () =>
    first.send("/api/portal/account/email", { cookie: eve.cookie, json: { email: victim } });
  assert.equal((await change()).status, 429);
  assert.equal((await inbox(scene)).length, otherMailsToUnconfirmedRecipientPerDayMax);
  // With a reset link, the owner takes the account back.
  for (let n = 0; n < accountLinkMailsToRecipientPerHourMax + 2; n++) {
    assert.equal((await forgot(second, victim)).status, 202);
    await inbox(scene);
  }
  const subjects = await inbox(scene);
  assert.equal(subjects.length, mailsToUnconfirmedRecipientPerDayMax);
  const resets = accountLinkMailsToRecipientPerHourMax;
  assert.deepEqual(subjects.slice(-resets), Array(resets).fill(subjectOf("reset_password")));
  first.advance(24 * 3_600_000);
  assert.equal((await invite(first, eve)).status, 201);
}, databaseKinds);

testScene("limits emails of all kinds only until the address is confirmed", async (scene) => {
  const [test] = scene.apps;
  await signUpAndDelete(scene, 4);
  const { cookie } = await account(test, victim);
  const changed = await changePassword(test, { cookie, times: 10 });
  assert.equal((await inbox(scene)).length, otherMailsToUnconfirmedRecipientPerDayMax);
  await confirm(scene, { email: victim, cookie: changed });
  assert.equal((await invite(test, await account(test, "eve@example.com"))).status, 201);
  assert.equal((await test.send("/api/portal/account", { method: "DELETE", cookie: changed })).status, 204);
  const subjects = (await inbox(scene)).slice(otherMailsToUnconfirmedRecipientPerDayMax);
  assert.match(subjects[0] ?? "", /invited/);
  assert.deepEqual(subjects.slice(1), [subjectOf("account_deleted")]);
});

testScene("reset requests for an address without an account use up nothing else", async (scene) => {
  const [test] = scene.apps;
  for (let hour = 0; hour < 4; hour++) {
    for (let n = 0; n < accountLinkMailsToRecipientPerHourMax; n++) await forgot(test, victim);
    test.advance(3_600_000);
  }
  await account(test, victim);
  assert.deepEqual(await inbox(scene), [subjectOf("verify_email")]);
});
