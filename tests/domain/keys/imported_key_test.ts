// Imported keys: what is looked up, and the forms of a hash.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { hash, randomBytes } from "node:crypto";
import { generateApiKey } from "../../../domain/keys/api_key.ts";
import { keyLookup, parseSha256 } from "../../../domain/keys/imported_key.ts";
import { generateOperatorToken } from "../../../domain/access/operator_token.ts";
import fc from "../../support/runner/fast_check.ts";
import { holds } from "../properties.ts";

const sha256 = (key: string) => hash("sha256", key, "hex");
const mistyped = (key: string) => key.replace(/.$/, (last) => last === "0" ? "1" : "0");

Deno.test("keyLookup() looks up own keys with a checksum, and any other text that can be a key among imported ones", () => {
  const { fullKey } = generateApiKey();
  const { fullToken } = generateOperatorToken();
  assert.deepEqual(keyLookup(fullKey), { keyHash: sha256(fullKey), isForeign: false });
  const foreign = [
    "3ZaBcDeFgHiJkLmNoPqRs",
    "acme_live_3ZaBcDeFgHiJkLmNoPqRsT",
    "0b1e3f52-6c8d-4d8e-9a54-0c7cb7a4e5d1",
    "!".repeat(16),
    "~".repeat(255),
    // As an issuer with the same prefix would make them.
    fullKey.slice(0, -1),
    `${fullKey}0`,
  ];
  for (const key of foreign) assert.deepEqual(keyLookup(key), { keyHash: sha256(key), isForeign: true }, key);
  const none = [
    "",
    "a".repeat(15),
    "a".repeat(256),
    `${"a".repeat(20)} b`,
    `${"a".repeat(20)}é`,
    `${"a".repeat(20)}\n`,
  ];
  for (const key of [...none, mistyped(fullKey), fullToken, mistyped(fullToken)]) {
    assert.equal(keyLookup(key), null, key);
  }
});

Deno.test("parseSha256() reads every form of 32 bytes, and nothing else", () => {
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((array) => Buffer.from(array));
  holds(bytes, (bytes) => {
    const hex = bytes.toString("hex");
    const [base64, base64url] = [bytes.toString("base64"), bytes.toString("base64url")];
    for (const text of [hex, hex.toUpperCase(), base64, base64.slice(0, -1), base64url, `${base64url}=`]) {
      assert.equal(parseSha256(text), hex, text);
    }
  });
  const hex = sha256("key");
  const base64 = Buffer.from(hex, "hex").toString("base64");
  const wrong = [
    "",
    "abc",
    hex.slice(1),
    `${hex}0`,
    ` ${hex}`,
    hex.replace(/^./, "g"),
    `${base64}=`,
    base64.slice(1),
  ];
  for (const length of [31, 33]) wrong.push(randomBytes(length).toString("base64"));
  // The same bytes in two texts would make a batch that repeats a hash look as if it didn't.
  const ambiguous = `${base64.slice(0, 42)}${String.fromCharCode(base64.charCodeAt(42) + 1)}=`;
  for (const text of [...wrong, ambiguous]) assert.equal(parseSha256(text), null, text);
});
