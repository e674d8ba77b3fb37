// The pages that show emails in development, on this machine only.
import assert from "node:assert/strict";
import type { SendOptions, TestApp } from "../../support/app/app.ts";
import { testApp } from "../../support/app/app.ts";
import { putMails, verifyMail } from "../../support/people/mails.ts";
import { subjectOf } from "../../support/portal/words/mail.ts";

async function withoutAddress(response: Response): Promise<string> {
  const id = response.headers.get("x-request-id") ?? "";
  const headers = [...response.headers].filter(([name]) => name !== "x-request-id");
  const text = (await response.text()).replaceAll(id, "").replace(/return_to=[^"]*/, "");
  return JSON.stringify([response.status, headers, text]);
}

/** Asserts that a response is identical to that of an unknown page. */
async function assertUnknown(test: TestApp, path: string, options: SendOptions = {}): Promise<void> {
  const unknown = await withoutAddress(await test.send("/unknown", options));
  assert.match(unknown, /^\[404,/);
  assert.equal(await withoutAddress(await test.send(path, options)), unknown, path);
}

async function paths(test: TestApp): Promise<string[]> {
  await putMails(test.opened.database, [verifyMail(1)], test.now());
  await test.mails();
  const id = (await test.services.mail.developmentMails())[0]?.id ?? "mail_1";
  return ["/dev/mail", `/dev/mail/${id}`, `/dev/mail/${id}/html`];
}

testApp("lists emails newest first, and shows each with its link", async (test) => {
  await putMails(test.opened.database, [verifyMail(1)], test.now());
  test.advance(60_000);
  await putMails(test.opened.database, [verifyMail(2)], test.now());
  const [first, second] = await test.mails();
  const list = await (await test.send("/dev/mail")).text();
  assert(list.indexOf("person2@example.com") < list.indexOf("person1@example.com"));
  assert(list.includes(`<a href="/dev/mail/${second?.id}">${subjectOf("verify_email")}</a>`));
  assert(!list.includes("token="));
  const page = await (await test.send(`/dev/mail/${first?.id}`)).text();
  assert(page.includes(`<a href="${first?.link}">${first?.link}</a>`));
  assert(page.includes(`src="/dev/mail/${first?.id}/html" sandbox="allow-popups"`));
});

testApp("shows an email's HTML without scripts, and only in a frame of its own page", async (test) => {
  const [, page = "", html = ""] = await paths(test);
  const policy = async (path: string) => (await test.send(path)).headers.get("content-security-policy") ?? "";
  const policies = { page: await policy(page), html: await policy(html), list: await policy("/dev/mail") };
  assert.match(policies.page, /frame-src 'self'/);
  assert.doesNotMatch(policies.page, /unsafe/);
  assert.match(
    policies.html,
    /^default-src 'none'; style-src 'unsafe-inline';.*frame-ancestors 'self'; sandbox allow-popups$/,
  );
  assert.doesNotMatch(policies.html, /script/);
  assert.doesNotMatch(policies.list, /frame-src|unsafe/);
  const text = await (await test.send(html)).text();
  assert.equal(text, (await test.services.mail.developmentMails())[0]?.html);
});

testApp("responds with 404 to other machines, through a proxy, and under another name", async (test) => {
  for (const path of await paths(test)) {
    for (const peerAddress of ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"]) {
      assert.equal((await test.send(path, { peerAddress })).status, 200, peerAddress);
    }
    for (const peerAddress of ["10.0.0.1", "203.0.113.9", "fe80::1", "::ffff:10.0.0.1"]) {
      await assertUnknown(test, path, { peerAddress });
      await assertUnknown(test, path, { peerAddress, headers: { "X-Forwarded-For": "127.0.0.1" } });
    }
    await assertUnknown(test, path, { headers: { "X-Forwarded-For": "127.0.0.1" } });
    await assertUnknown(test, path, { headers: { Forwarded: "for=127.0.0.1" } });
    const rebound = new Request(`http://rebound.example.net:8000${path}`);
    const response = await test.app.fetch(rebound, { remoteAddr: { hostname: "127.0.0.1" } });
    assert.equal(response.status, 404);
    await response.body?.cancel();
  }
  await assertUnknown(test, "/dev/mail/mail_0");
  await assertUnknown(test, "/dev/mail/mail_0/html");
}, { TRUSTED_PROXIES: "10.0.0.1" });

for (
  const [name, settings] of [
    ["a mail server", { SMTP_URL: "smtp://localhost", MAIL_FROM: "auth@example.com" }],
    ["https", { BASE_URL: "https://auth.example.com" }],
  ] as const
) {
  testApp(`responds with 404 to every method with ${name}`, async (test) => {
    for (const path of ["/dev/mail", "/dev/mail/mail_0", "/dev/mail/mail_0/html"]) {
      await assertUnknown(test, path);
      await assertUnknown(test, path, { method: "POST" });
    }
  }, settings);
}

testApp("keeps the last 100 emails", async (test) => {
  const numbers = Array.from({ length: 103 }, (_, number) => number);
  await putMails(test.opened.database, numbers.map(verifyMail), test.now());
  const first = await test.mails();
  assert.equal(first.length, 100);
  await putMails(test.opened.database, [verifyMail("last")], test.now());
  assert.deepEqual(
    (await test.mails()).map(({ to }) => to),
    [...first.slice(1).map(({ to }) => to), "personlast@example.com"],
  );
});
