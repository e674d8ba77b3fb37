// Tests the settings for email: the mail server and the sender.
import assert from "node:assert/strict";
import { settings } from "../config.ts";
import { accepted, assertInvalid, faultsOf } from "./config_assert.ts";

Deno.test("SMTP_URL must be smtp:// or smtps:// with a host", () => {
  const from = "auth@example.com";
  for (
    const url of ["smtp://mail.example.com", "smtps://user:p%40ss@mail.example.com:465", "smtp://[::1]:25"]
  ) {
    assert.equal(accepted({ SMTP_URL: url, MAIL_FROM: from }).smtpUrl, url);
  }
  for (
    const url of [
      "smtp://",
      "smtp:mail.example.com",
      "mail.example.com:25",
      "https://mail.example.com",
      "smtp://a:99999",
      "smtp://mail.example.com/path",
      "smtp://mail.example.com?tls.rejectUnauthorized=false",
      "smtp://mail.example.com#ignoreTLS",
      "smtp://:password@mail.example.com",
      "smtp://user:100%@mail.example.com",
    ]
  ) {
    assertInvalid("SMTP_URL", url, { MAIL_FROM: from });
  }
});

Deno.test("MAIL_FROM is one address, optionally with a name, and can't inject headers", () => {
  const url = "smtp://mail.example.com";
  for (
    const text of [
      "auth@example.com",
      "Acme Auth <auth@example.com>",
      '"Acme, Inc." <auth@example.com>',
      "<auth@example.com>",
    ]
  ) {
    assert.equal(accepted({ MAIL_FROM: text, SMTP_URL: url }).mailFrom, text);
  }
  for (
    const text of [
      "auth",
      "@example.com",
      "auth@",
      "a@b@c",
      "Acme <auth>",
      "Acme <a@b> <c@d>",
      "a@b c",
      "Acme\r\nBcc: x@y <a@b>",
    ]
  ) {
    assertInvalid("MAIL_FROM", text, { SMTP_URL: url });
  }
});

Deno.test("SMTP_URL and MAIL_FROM require each other, and the error names the missing one", () => {
  const mailFrom = faultsOf({ SMTP_URL: "smtp://user:canary@mail.example.com" });
  assert.deepEqual(mailFrom, [
    `MAIL_FROM: expected ${settings.MAIL_FROM.expected}, got nothing (required with SMTP_URL)`,
  ]);
  const smtpUrl = faultsOf({ MAIL_FROM: "auth@example.com" });
  assert.equal(smtpUrl.length, 1);
  assert.match(smtpUrl[0] ?? "", /^SMTP_URL: expected .*, got nothing \(required with MAIL_FROM\)$/);
});
