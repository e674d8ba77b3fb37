// Signing keys: made once by several servers, published before they sign, and unreadable without SECRETS_KEY.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { startTestApp } from "../../support/app/app.ts";
import { Secrets } from "../../../services/secrets.ts";
import { SigningKeys } from "../../../services/oauth/signing_keys.ts";

const test = await startTestApp();
const secrets = new Secrets([randomBytes(32)]);
const server = (own = secrets) =>
  new SigningKeys({ config: test.config, database: test.opened.database, clock: test.now }, { secrets: own });
const header = { alg: "RS256", typ: "JWT" } as const;
const kidOf = (token: string) => JSON.parse(atob(token.split(".")[0] ?? "")).kid;
const published = async () => (await server().publicKeys()).keys.map(({ kid }) => kid);

Deno.test("several servers make one first key", async () => {
  const keys = await Promise.all([server(), server(), server()].map((one) => one.publicKeys()));
  assert.equal(keys[0]?.keys.length, 2);
  assert.deepEqual(keys[1], keys[0]);
  assert.deepEqual(keys[2], keys[0]);
});

Deno.test("signs with the first key while the clock runs, also if that of the server that made it is ahead", async () => {
  const own = await startTestApp();
  let at = own.now();
  const { config, opened: { database } } = own;
  const ahead = new SigningKeys({ config, database, clock: () => at++ + 60_000 }, { secrets });
  const made = kidOf(await ahead.sign({}, header));
  const behind = new SigningKeys({ config, database, clock: () => at++ }, { secrets });
  assert.equal(kidOf(await behind.sign({}, header)), made);
  await own.dispose();
});

Deno.test("publishes a key for a day before it signs, and keeps the last one", async () => {
  const one = server();
  const first = kidOf(await one.sign({}, header));
  test.advance(89 * 24 * 3_600_000);
  const next = (await published()).find((kid) => kid !== first);
  assert.equal((await published()).length, 4);
  assert.equal(kidOf(await one.sign({}, header)), first);
  test.advance(24 * 3_600_000 + 60_000);
  const second = kidOf(await one.sign({}, header));
  assert.notEqual(second, first);
  assert.notEqual(next, undefined);
  assert.ok((await published()).includes(first));
});

Deno.test("responds that it is unavailable when SECRETS_KEY is unknown", async () => {
  const other = server(new Secrets([randomBytes(32)]));
  await assert.rejects(other.sign({}, header), { code: "temporarily_unavailable", message: /SECRETS_KEY/ });
});

Deno.test("rejects signatures beyond those that may wait", async () => {
  const one = server();
  await one.sign({}, header);
  const results = await Promise.allSettled(Array.from({ length: 100 }, () => one.sign({}, header)));
  assert.equal(results.filter(({ status }) => status === "rejected").length, 34);
});
