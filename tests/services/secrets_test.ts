// Stored secrets: encrypted for one row, under the newest key, and readable as long as their key is set.
import assert from "node:assert/strict";
import { Secrets, SecretsError } from "../../services/secrets.ts";

const key = (byte: number) => new Uint8Array(32).fill(byte);
const secret = "whsec_Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY2FuYXJ5LWM=";
const id = "whk_1";

/** Asserts that opening fails without printing the secret. */
function assertClosed(secrets: Secrets, [row, stored]: readonly [string, string], message: RegExp): void {
  assert.throws(() => secrets.open(row, stored), (error) => {
    assert.ok(error instanceof SecretsError, String(error));
    assert.match(error.message, message);
    assert.ok(!`${error.stack}${error.cause}`.includes(secret.slice(6, 20)));
    return true;
  });
}

Deno.test("a secret is encrypted differently each time, and opens for its row alone", () => {
  const secrets = new Secrets([key(1)]);
  const [stored, again] = [secrets.seal(id, secret), secrets.seal(id, secret)];
  assert.match(stored, /^v1-[0-9a-f]{16}:[A-Za-z0-9+/]+=*$/);
  assert.notEqual(stored, again);
  assert.equal(stored.split(":")[0], again.split(":")[0]);
  assert.deepEqual([secrets.open(id, stored), secrets.open(id, again)], [secret, secret]);
  assert.ok(!atob(stored.split(":")[1] ?? "").includes(secret.slice(6)));
  assertClosed(
    secrets,
    ["whk_2", stored],
    /^the stored secret of whk_2 was changed, or belongs to another row/,
  );
});

Deno.test("a stored secret that was changed or cut doesn't open", () => {
  const secrets = new Secrets([key(1)]);
  const stored = secrets.seal(id, secret);
  const [form = "", text = ""] = stored.split(":");
  const bytes = Uint8Array.fromBase64(text);
  for (const at of [0, 11, 12, 40, bytes.length - 16, bytes.length - 1]) {
    const changed = bytes.with(at, bytes[at]! ^ 1).toBase64();
    assertClosed(secrets, [id, `${form}:${changed}`], /was changed/);
  }
  // Also a tag that is too short, which OpenSSL would accept by default.
  for (const length of [0, 5, 12, 20, 28, bytes.length - 12]) {
    assertClosed(secrets, [id, `${form}:${bytes.subarray(0, length).toBase64()}`], /was changed/);
  }
  for (const other of ["", ":", secret, `v2:${text}`, text]) {
    assertClosed(secrets, [id, other], /^SECRETS_KEY doesn't contain the key/);
  }
});

Deno.test("keys rotate: the newest encrypts, the others still decrypt, and a missing one is named", () => {
  const [old, both, next] = [[key(1)], [key(2), key(1)], [key(2)]].map((keys) => new Secrets(keys)) as [
    Secrets,
    Secrets,
    Secrets,
  ];
  const stored = old.seal(id, secret);
  assert.deepEqual([old, both, next].map((one) => [one.isCurrent(stored), one.canOpen(stored)]), [
    [true, true],
    [false, true],
    [false, false],
  ]);
  assert.equal(both.open(id, stored), secret);
  assertClosed(
    next,
    [id, stored],
    /^SECRETS_KEY doesn't contain the key that encrypted the secret of whk_1$/,
  );
  const resealed = both.seal(id, both.open(id, stored));
  assert.ok(both.isCurrent(resealed) && next.isCurrent(resealed));
  assert.equal(next.open(id, resealed), secret);
});

Deno.test("without a key secrets are stored as they are, and still open after one is set", () => {
  const [none, some] = [new Secrets([]), new Secrets([key(1)])];
  const stored = none.seal(id, secret);
  assert.equal(stored, `plain:${secret}`);
  assert.deepEqual([none.open(id, stored), some.open(id, stored)], [secret, secret]);
  assert.deepEqual([none.isCurrent(stored), some.isCurrent(stored)], [true, false]);
  const sealed = some.seal(id, secret);
  assert.deepEqual([none.isCurrent(sealed), none.canOpen(sealed)], [false, false]);
  assertClosed(none, [id, sealed], /^SECRETS_KEY doesn't contain/);
});
