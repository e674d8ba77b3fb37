// The plain text and HTML of each kind of email. Names never become headers, markup or links.
import assert from "node:assert/strict";
import { linkPurpose, type MailFields, type MailKind } from "../../../domain/outbox/mail.ts";
import { emailTextsOf } from "../../../views/outbox/mails.tsx";

const home = "https://auth.example.com";
const link = `${home}/verify-email?token=canary&x=1`;

/** An email with the same text in every field. */
function mailOf(kind: MailKind, text: string) {
  const names = [
    "name",
    "from",
    "to",
    "organization",
    "inviter",
    "left",
    "passkey",
    "provider",
    "identity",
    "wrongCodes",
    "productSlug",
    "metric",
    "webhook",
    "key",
    "keyPrefix",
    "url",
  ];
  const fields = {
    ...Object.fromEntries(names.map((name) => [name, text])),
    role: "ADMIN",
    change: "enforced",
    quantity: "10,000",
    per: "month",
    mode: "hard",
    organizationId: "org_1",
    webhookId: "whk_1",
    reason: "failing",
    keyId: "key_1",
    source: "GitHub",
    response: "revoked",
    at: "1795269791250",
    timezone: "UTC",
    count: "12",
    names: [text, text],
    keys: [{ name: text, prefix: text, organization: text, expiresAt: "1795269791250", timezone: "UTC" }],
  } as unknown as MailFields[typeof kind];
  return emailTextsOf({ name: "Gatehouse", color: null }).render(kind, fields, {
    home,
    link,
    linkLifetimeMs: 3_600_000,
  });
}

Deno.test("emails about alerts link to alerts, those about limits to usage", () => {
  const fields = { organization: "Ada", quantity: "10", per: "month", mode: "soft", percent: "80" };
  for (const [alert, path] of [["alert", "alerts"], [undefined, "usage"]] as const) {
    const given = { ...fields, ...(alert && { alert }) } as unknown as MailFields["limit_near"];
    const { text } = emailTextsOf({ name: "Gatehouse", color: null }).render("limit_near", given, {
      home,
      link,
      linkLifetimeMs: 3_600_000,
    });
    assert.ok(text.includes(`${home}/portal/${path}`), text);
  }
});

for (const kind of emailTextsOf({ name: "Gatehouse", color: null }).kinds) {
  Deno.test(`${kind}: has the same content as text and as HTML, with the sender and what to do if it wasn't you`, () => {
    const { subject, text, html: marked } = mailOf(kind, "Ada");
    const html = marked.replaceAll(/<\/?a\b[^>]*>/g, "");
    assert.match(subject, /^[A-Z\d][^\n]{8,}$/);
    for (const part of text.split(/\n\n/).filter((part) => !part.includes(":\n") && !part.startsWith("--"))) {
      assert(
        html.includes(`>${part.trim().replaceAll("'", "&#39;")}</p>`) || html.includes(part.trim()),
        part,
      );
    }
    assert.match(text, /auth\.example\.com/);
    assert.match(text, /If (this wasn't|you don't)/);
    assert.doesNotMatch(text + subject, /undefined|\[object/);
  });

  Deno.test(`${kind}: has a link only if it needs one, as text and as HTML, and states its lifetime`, () => {
    const { text, html } = mailOf(kind, "Ada");
    const isLinked = linkPurpose(kind) !== null;
    assert.equal(text.includes(`:\n${link}\n`), isLinked);
    const escaped = link.replaceAll("&", "&amp;");
    assert.equal(html.split(`href="${escaped}"`).length - 1, isLinked ? 2 : 0);
    assert.equal(html.includes(`>${escaped}</a>`), isLinked);
    assert.equal(text.includes("works for 1 hour."), isLinked);
    for (const address of text.replace(link, "").match(/https:\S+/g) ?? []) {
      assert.match(
        address,
        /^https:\/\/auth\.example\.com\/(portal\/(account(\/security)?|organization\/single-sign-on|usage|webhooks\/whk_1|api-keys[/?](key_1|status=expiring|sort=used))|forgot-password|operator\/organizations\/org_1)$/,
      );
      assert(html.includes(`href="${address}"`), address);
    }
  });

  Deno.test(`${kind}: keeps names on one line, without markup, links or text direction overrides`, () => {
    const evil = `<img src=x>"'&\r\nBcc: x@evil.example\u0000\u2028\u202e`;
    const { subject, text, html } = mailOf(kind, evil);
    assert.doesNotMatch(subject, /[\p{Cc}\p{Zl}\p{Zp}\u202e]/u);
    assert.doesNotMatch(text, /^Bcc|[\u2028\u202e\0]/m);
    assert.doesNotMatch(html, /<img|[\u202e\0]/);
    const shape = (page: string) => page.match(/<\/?[a-z][a-z0-9]*/gi)?.join(" ");
    assert.equal(shape(html), shape(mailOf(kind, "Ada").html));
    const linked = mailOf(kind, "Win at https://evil.example/x or www.evil.example or a@evil.example").text;
    assert.doesNotMatch(linked, /https?:\/\/evil|[\w]\.evil|evil\.example|@evil/);
    const plain = mailOf(kind, "J. R. R. Tolkien, 3.5 Ltd.");
    assert.doesNotMatch(plain.text + plain.subject, /\u2060/);
  });

  Deno.test(`${kind}: loads no resources and runs no scripts`, () => {
    assert.doesNotMatch(
      mailOf(kind, "Ada").html,
      /<(img|script|link|iframe|object)|\ssrc=|url\(|@import|\son\w+=/i,
    );
  });
}

Deno.test("truncates a long name in the subject at a whole character, but not in the text", () => {
  const name = "𝒜".repeat(100);
  const { subject, text } = mailOf("invitation", name);
  assert.equal(subject, `${"𝒜".repeat(60)}… invited you to ${"𝒜".repeat(60)}…`);
  assert(text.includes(name));
});

Deno.test("states the lifetime of a link in hours or days", () => {
  const lifetime = (hours: number) => {
    const site = { home, link, linkLifetimeMs: hours * 3_600_000 };
    return /works for (.*)\./.exec(
      emailTextsOf({ name: "Gatehouse", color: null }).render("reset_password", { name: "Ada" }, site).text,
    )?.[1];
  };
  assert.deepEqual([1, 24, 168].map(lifetime), ["1 hour", "24 hours", "7 days"]);
});

Deno.test("names link nothing in any language", () => {
  for (const name of ["evil.की", "evil.ไทย", "दुष्ट.भारत", "evil.рф"]) {
    const { subject, text, html } = mailOf("invitation", name);
    assert.ok(!(subject + text + html).includes(name), name);
    assert.ok(text.includes(name.replace(".", ".\u2060")), name);
  }
});
