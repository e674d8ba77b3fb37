// The rules for passwords: their length, and the blocklist.
import assert from "node:assert/strict";
import fc from "../../support/runner/fast_check.ts";
import { passwordCharactersMax, passwordCharactersMin } from "../../../domain/limits.ts";
import {
  hasPasswordLength,
  normalizedPassword,
  type PasswordContext,
  passwordFault,
} from "../../../domain/people/password.ts";
import { holds } from "../properties.ts";

const common = new Set(["qwertyuiop123", "iloveyouforever", "correcthorsebatterystaple", "pässwörtchen"]);
const ada: PasswordContext = { email: "ada.lovelace@analytical.example", name: "Ada King Lovelace", common };

/** @returns What is wrong with a password. */
function fault(
  password: string,
  context: PasswordContext = ada,
): "length" | "common" | "few" | "known" | null {
  const text = passwordFault(password, context);
  if (text === null) return null;
  if (/^Use 12 to 128 characters\.$/.test(text)) return "length";
  if (/too common/.test(text)) return "common";
  return /different characters/.test(text) ? "few" : "known";
}

Deno.test("a password has 12 to 128 characters, counted in code points after NFKC", () => {
  // The last ones are one code point each after NFKC, and two or three before.
  const composed = ["e\u0301", "\u1112\u1161\u11ab", "u\u0308\u0304"];
  for (const character of ["x", "é", "ß", "猫", "😀", " ", ...composed]) {
    assert.equal(hasPasswordLength(character.repeat(passwordCharactersMin - 1)), false, character);
    assert.equal(hasPasswordLength(character.repeat(passwordCharactersMin)), true, character);
    assert.equal(hasPasswordLength(character.repeat(passwordCharactersMax)), true, character);
    assert.equal(hasPasswordLength(character.repeat(passwordCharactersMax + 1)), false, character);
  }
  // One code point before, eighteen after.
  const lengths = [1, 7, 8].map((count) => hasPasswordLength("\ufdfa".repeat(count)));
  assert.deepEqual(lengths, [true, true, false]);
  assert.equal(hasPasswordLength(""), false);
});

Deno.test("hasPasswordLength() agrees with a naive count for any text", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "\u0301", "\u0345", "😀", "\ufdfa", "\u1100", "\u1161"),
    maxLength: 300,
  });
  holds(text, (password) => {
    const count = Array.from(password.normalize("NFKC")).length;
    assert.equal(hasPasswordLength(password), count >= 12 && count <= 128);
  });
});

Deno.test("normalizedPassword() returns the same bytes for every keyboard", () => {
  assert.equal(normalizedPassword("cafe\u0301"), normalizedPassword("caf\u00e9"));
  assert.equal(normalizedPassword("ｐａｓｓ"), "pass");
  holds(fc.string({ unit: "binary" }), (password) => {
    const normal = normalizedPassword(password);
    assert.equal(normalizedPassword(normal), normal);
    assert.equal(normalizedPassword(password.normalize("NFD")), normal);
  });
});

Deno.test("normalizedPassword() keeps case and spaces", () => {
  assert.notEqual(normalizedPassword("Secret words here"), normalizedPassword("secret words here"));
  assert.equal(normalizedPassword(" two  spaces "), " two  spaces ");
});

Deno.test("passwordFault() requires no kinds of characters", () => {
  for (
    const password of [
      "blue giraffe umbrella",
      "tangled-kettle-orbit",
      "ключик от квартиры",
      "猫は窓の上で静かに眠っている",
      "8f3kq0zmw7xv",
      "834917265082",
      "   xkqv   zmwp   ",
      "😀🚀🎸🍕🌵🐙🎲🧩🔑🪁🎈🧊",
    ]
  ) assert.equal(fault(password), null, password);
});

Deno.test("passwordFault() checks the length first", () => {
  assert.equal(fault("short"), "length");
  assert.equal(fault("lovelace1"), "length");
  assert.equal(fault(`tangled kettle ${"x".repeat(200)}`), "length");
});

Deno.test("passwordFault() rejects common passwords in any case, width and spacing", () => {
  for (
    const password of [
      "qwertyuiop123",
      "QWERTYuiop123",
      "ｑｗｅｒｔｙｕｉｏｐ１２３",
      "I Love You Forever",
      "correct horse battery staple",
      "pa\u0308sswo\u0308rtchen",
    ]
  ) assert.equal(fault(password), "common", password);
  assert.equal(fault("correct horse battery staple", { ...ada, common: new Set() }), null);
});

Deno.test("passwordFault() rejects repetitions of a few characters", () => {
  for (const password of ["aaaaaaaaaaaa", "abababababab", "1 1 1 1 1 1 1 2 2 3", "AaAaAaAaAaAaBb"]) {
    assert.equal(fault(password), "few", password);
  }
});

Deno.test("passwordFault() rejects the name, the email address and the service", () => {
  for (
    const password of [
      "ada.lovelace@analytical.example",
      "Ada King Lovelace",
      "lovelace2026!",
      "1815-Lovelace-1852",
      "adalovelace!1",
      "LovelaceLovelace",
      "analytical.example",
      "Analytical#2026",
      "gatehouse2026!!",
      "Gate House 2026",
      "gatehouse-lovelace",
      "ＧＡＴＥＨＯＵＳＥ２０２６",
      "my lovelace 12",
    ]
  ) assert.equal(fault(password), "known", password);
});

Deno.test("passwordFault() allows a known word with enough other characters", () => {
  for (const password of ["lovelace rides a tricycle", "gatehouse umbrella kettle", "ada found my teapot"]) {
    assert.equal(fault(password), null, password);
  }
});

Deno.test("passwordFault() handles any name and email address, even empty ones", () => {
  const noWords = { email: "", name: "", common };
  assert.equal(fault("blue giraffe umbrella", noWords), null);
  assert.equal(fault("blue giraffe umbrella", { email: "a@b.co", name: "Li", common }), null);
  assert.equal(fault("blue giraffe umbrella", { email: "@", name: " \t ", common }), null);
  assert.equal(fault("gatehouse2026", noWords), "known");
  assert.equal(fault("$&$&$&.*(x)+[", { email: "$&.*@x.io", name: "(x)+[", common }), "known");
});

Deno.test("passwordFault() rejects a name or email address with added digits and punctuation", () => {
  const word = fc.stringMatching(/^[a-z]{4,12}$/).filter((text) => new Set(text).size >= 4);
  const around = fc.stringMatching(/^[0-9!#$%.-]{0,9}$/);
  holds(fc.tuple(word, word, around, around), ([first, last, before, after]) => {
    const context = { email: `${first}@${last}.example`, name: `${first} ${last}`, common };
    for (const known of [`${first}${last}`, `${last}.${first}`, `${first}@${last}.example`]) {
      const password = `${before}${known.toUpperCase()}${after}`.padEnd(12, "0");
      if (hasPasswordLength(password)) assert.equal(fault(password, context), "known", password);
    }
  });
});

Deno.test("passwordFault() never quotes the password", () => {
  holds(fc.string({ minLength: 12, maxLength: 20 }), (password) => {
    assert.ok(
      !passwordFault(password, { ...ada, common: new Set([password.toLowerCase()]) })?.includes(password),
    );
  });
});
