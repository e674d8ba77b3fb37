// API keys: their format, checksum, hash and status.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fc from "../../support/runner/fast_check.ts";
import {
  apiKeyStatus,
  generateApiKey,
  hashApiKey,
  isWellFormedApiKey,
  withoutTag,
} from "../../../domain/keys/api_key.ts";
import { generateOperatorToken, isWellFormedOperatorToken } from "../../../domain/access/operator_token.ts";
import { holds } from "../properties.ts";

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const apiKeyTag = "service_live_";
/** A key without its checksum. */
const known = `${apiKeyTag}${"0".repeat(32)}`;

/** A bit-by-bit CRC-32 (ISO 3309) for comparison. */
function slowCrc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let i = 0; i < 8; i++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function base62Of(value: number): string {
  let text = "";
  for (let rest = BigInt(value); text.length < 6; rest /= 62n) text = `${base62[Number(rest % 62n)]}${text}`;
  return text;
}

Deno.test("generateApiKey() uses every character and never repeats a key", () => {
  const keys = Array.from({ length: 1_000 }, () => generateApiKey().fullKey);
  assert.equal(new Set(keys).size, keys.length);
  assert.ok(keys.every((key) => key.startsWith(apiKeyTag) && isWellFormedApiKey(key)));
  const randomParts = keys.map((key) => key.slice(apiKeyTag.length, -6));
  assert.deepEqual([...new Set(randomParts.join(""))].sort(), [...base62]);
  // 32 characters of an alphabet of 62 are at least 190 bits.
  assert.ok(32 * Math.log2(base62.length) >= 190);
});

Deno.test("a key's checksum is the CRC-32 of its random part in base62", () => {
  assert.ok(isWellFormedApiKey(known + base62Of(slowCrc32("0".repeat(32)))));
  holds(fc.string({ unit: fc.constantFrom(...base62), minLength: 32, maxLength: 32 }), (random) => {
    assert.ok(isWellFormedApiKey(`${apiKeyTag}${random}${base62Of(slowCrc32(random))}`), random);
  });
});

Deno.test("isWellFormedApiKey() detects every change of a single character after the tag", () => {
  const keys = [
    known + base62Of(slowCrc32("0".repeat(32))),
    ...Array.from({ length: 5 }, () => generateApiKey().fullKey),
  ];
  for (const key of keys) {
    for (let i = apiKeyTag.length; i < key.length; i++) {
      for (const character of `${base62}_-. `) {
        if (character === key[i]) continue;
        const changed = key.slice(0, i) + character + key.slice(i + 1);
        assert.ok(!isWellFormedApiKey(changed), `${key} changed to ${changed}`);
      }
    }
  }
});

Deno.test("isWellFormedApiKey() rejects a key with anything around it", () => {
  const { fullKey } = generateApiKey();
  for (
    const text of [
      ` ${fullKey}`,
      `${fullKey} `,
      `${fullKey}\n`,
      `${fullKey}\0`,
      `Bearer ${fullKey}`,
      fullKey + fullKey,
    ]
  ) {
    assert.ok(!isWellFormedApiKey(text), JSON.stringify(text));
  }
  assert.ok(!isWellFormedApiKey(fullKey.toUpperCase()));
  for (
    const tag of [
      "live_",
      "s_live_",
      "Service_live_",
      "1a_live_",
      "service_lives_",
      `${"a".repeat(17)}_test_`,
      "",
    ]
  ) {
    assert.ok(!isWellFormedApiKey(fullKey.replace(apiKeyTag, tag)), tag);
  }
});

Deno.test("keys of every prefix and environment have the documented format, and never are operator tokens", () => {
  for (const start of ["service", "acme", "a1", "operator", "z".repeat(16)]) {
    for (const environment of ["live", "test"] as const) {
      const { fullKey, keyPrefix } = generateApiKey({ start, environment });
      assert.match(fullKey, new RegExp(`^${start}_${environment}_[0-9A-Za-z]{38}$`));
      assert.ok(isWellFormedApiKey(fullKey), fullKey);
      assert.ok(!isWellFormedOperatorToken(fullKey), fullKey);
      assert.equal(keyPrefix, `${fullKey.slice(0, -30)}…`);
      assert.equal(withoutTag(keyPrefix), `${fullKey.slice(-38, -30)}…`);
    }
  }
  assert.ok(!isWellFormedApiKey(generateOperatorToken().fullToken));
  assert.ok(!isWellFormedOperatorToken(generateApiKey().fullKey));
});

Deno.test("isWellFormedApiKey() returns false for any other text and never throws", () => {
  holds(fc.oneof(fc.string({ unit: "binary" }), fc.string().map((text) => apiKeyTag + text)), (text) => {
    assert.equal(isWellFormedApiKey(text), false);
  });
});

Deno.test("hashApiKey() returns the SHA-256 of the full key in lower-case hexadecimal", () => {
  const { fullKey } = generateApiKey();
  assert.equal(hashApiKey(fullKey), createHash("sha256").update(fullKey, "utf8").digest("hex"));
  assert.equal(hashApiKey("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

Deno.test("apiKeyStatus() expires a key exactly at its expiry time, and a revoked key stays revoked", () => {
  assert.equal(apiKeyStatus({ revokedAt: null, expiresAt: null }, Number.MAX_SAFE_INTEGER), "active");
  assert.equal(apiKeyStatus({ revokedAt: null, expiresAt: 1_000 }, 999), "active");
  assert.equal(apiKeyStatus({ revokedAt: null, expiresAt: 1_000 }, 1_000), "expired");
  assert.equal(apiKeyStatus({ revokedAt: 5, expiresAt: null }, 1_000), "revoked");
  assert.equal(apiKeyStatus({ revokedAt: 5, expiresAt: 1 }, 1_000), "revoked");
  // The clock of the server that revoked it may be ahead.
  assert.equal(apiKeyStatus({ revokedAt: 2_000, expiresAt: null }, 1_000), "revoked");
  assert.equal(apiKeyStatus({ revokedAt: 0, expiresAt: null }, 1_000), "revoked");
  assert.equal(apiKeyStatus({ revokedAt: null, expiresAt: 0 }, 1_000), "expired");
});
