// Canonical email addresses: the same form for the same mailbox, and nothing else.
import assert from "node:assert/strict";
import fc from "../../support/runner/fast_check.ts";
import { canonicalEmail } from "../../../domain/outbox/email.ts";
import { emailCharactersMax } from "../../../domain/limits.ts";
import { holds } from "../properties.ts";

for (
  const [text, email] of [
    ["ada@example.com", "ada@example.com"],
    ["  Ada.Lovelace@Example.COM\n", "ada.lovelace@example.com"],
    ["ADA+Tag@EXAMPLE.com", "ada+tag@example.com"],
    ["o'brien!#$%&*/=?^_`{|}~-@a.b.example", "o'brien!#$%&*/=?^_`{|}~-@a.b.example"],
    ["1@2.de", "1@2.de"],
    ["ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ", "ada@example.com"],
    ["\u212Aelvin@example.com", "kelvin@example.com"],
    ["jose\u0301@example.com", "jos\u00e9@example.com"],
    ["JOSÉ@bücher.example", "josé@xn--bcher-kva.example"],
    ["ada@Bu\u0308cher.example", "ada@xn--bcher-kva.example"],
    ["ADA@XN--BCHER-KVA.example", "ada@xn--bcher-kva.example"],
    ["ada@faß.example", "ada@xn--fa-hia.example"],
    ["用户@例子.公司", "用户@xn--fsqu00a.xn--55qx5d"],
    ["ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"],
    ["\u00a0ada@example.com\u3000", "ada@example.com"],
    // Combining marks: Hindi, Thai, Tamil, and a letter that is one character in lower case only.
    ["हिन्दी@example.com", "हिन्दी@example.com"],
    ["ที่อยู่@example.com", "ที่อยู่@example.com"],
    ["தமிழ்@தமிழ்.example", `தமிழ்@${new URL("http://தமிழ்").hostname}.example`],
    ["H\u0331@example.com", "\u1e96@example.com"],
    [".ada..x.@example.com", ".ada..x.@example.com"],
    [`${"a".repeat(64)}@example.com`, `${"a".repeat(64)}@example.com`],
    [`a@${"b".repeat(63)}.com`, `a@${"b".repeat(63)}.com`],
  ] as const
) {
  Deno.test(`canonicalEmail() reads ${JSON.stringify(text)} as ${email}`, () => {
    assert.equal(canonicalEmail(text), email);
  });
}

Deno.test("canonicalEmail() rejects anything but an address, including text that could end or begin a header", () => {
  const bad = [
    ...["", " ", "ada", "@", "ada@", "@example.com", "ada@example", "ada@localhost", "a@b@example.com"],
    ...[
      "ada@.com",
      "ada@example.",
      "ada@example..com",
      "ada@-example.com",
      "ada@example-.com",
      "ada@exa_mple.com",
    ],
    ...[
      "ada @example.com",
      "ada@exam ple.com",
      "a\tb@example.com",
      "a\nb@example.com",
      "ada@example.com\r\nBcc: x@y.com",
    ],
    ...[
      "a\0b@example.com",
      "a\u001bb@example.com",
      "a\u200bb@example.com",
      "a\u202eb@example.com",
      "a\ufe0fb@example.com",
      "a\u034fb@example.com",
      "\u0947a@example.com",
      "a\ud800@example.com",
    ],
    ...[
      "Ada <ada@example.com>",
      "<ada@example.com>",
      '"ada"@example.com',
      "a,b@example.com",
      "a;b@example.com",
      "a:b@example.com",
    ],
    ...[
      "a(b)@example.com",
      "a\\b@example.com",
      "mailto:ada@example.com",
      "ada@[127.0.0.1]",
      "ada@example.com,eve@example.com",
    ],
    ...["ada@example.com/x", "ada@example.com?x", "ada@example.com:25"],
    `${"a".repeat(65)}@example.com`,
    `a@${"b".repeat(64)}.com`,
    // Domains that are too long in their DNS form, and characters that DNS doesn't allow.
    `a@${"ü".repeat(60)}.com`,
    `a@${Array(6).fill("ü".repeat(38)).join(".")}.com`,
    ...["a@xn--zz.example", "a@xn--a.example", "a@ü.1"],
  ];
  for (const text of bad) assert.equal(canonicalEmail(text), null, JSON.stringify(text));
});

Deno.test("canonicalEmail() accepts at most the longest valid address", () => {
  const domain = (length: number) =>
    `${"b".repeat(50)}.${"c".repeat(50)}.${"d".repeat(50)}.${"e".repeat(length - 153)}`;
  const longest = `${"a".repeat(64)}@${domain(emailCharactersMax - 65)}`;
  assert.equal(longest.length, emailCharactersMax);
  assert.equal(canonicalEmail(longest), longest);
  assert.equal(canonicalEmail(`  ${longest}  `), longest);
  assert.equal(canonicalEmail(`${longest}e`), null);
});

Deno.test("canonicalEmail() is idempotent for every character", () => {
  for (let point = 0; point <= 0x10ffff; point++) {
    const character = String.fromCodePoint(point);
    const email = canonicalEmail(`a${character}b@example.com`);
    if (email !== null && canonicalEmail(email) !== email) {
      assert.fail(`U+${point.toString(16)} gives ${email}`);
    }
  }
});

Deno.test("canonicalEmail() is idempotent and returns lower case without spaces", () => {
  const ordinary = fc.stringMatching(/^[A-Za-z0-9]{1,20}$/);
  const part = fc.oneof({ weight: 6, arbitrary: ordinary }, fc.string({ unit: "grapheme" }), fc.string());
  const address = fc.tuple(part, part, part).map(([local, domain, end]) => `${local}@${domain}.${end}`);
  let taken = 0;
  holds(fc.oneof(address, fc.string({ unit: "binary" })), (text) => {
    const email = canonicalEmail(text);
    if (email === null) return;
    taken++;
    assert.equal(canonicalEmail(email), email);
    assert.equal(email, email.toLowerCase().normalize("NFKC"));
    assert.doesNotMatch(email, /[\s\p{C}<>"(),:;\\[\]]/u);
    assert.equal(email.split("@").length, 2);
    for (const same of [` ${email} `, email.normalize("NFD")]) assert.equal(canonicalEmail(same), email);
  }, { runs: 3_000 });
  assert.ok(taken > 100, `only ${taken} examples were addresses`);
});

Deno.test("canonicalEmail() is fast for text that is designed to be slow", () => {
  const start = performance.now();
  for (
    const text of [
      `a@${"b-".repeat(5_000)}`,
      `a@${"b.".repeat(120)}!`,
      `${"a".repeat(100_000)}@`,
      `a@${"bb".repeat(125)}`,
    ]
  ) {
    assert.equal(canonicalEmail(text), null);
  }
  assert.ok(performance.now() - start < 1_000);
});
