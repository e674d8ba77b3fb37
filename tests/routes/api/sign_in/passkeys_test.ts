// The API of passkeys: adding them, signing in with one, using one as the second step, and forged responses of every kind.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { sql } from "../../../../db/engine/database.ts";
import { addressFailuresMax, passkeysPerUserMax } from "../../../../domain/limits.ts";
import { cookieOf, type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { assertRows, outcomeOf, type Row, sendRow } from "../../../support/app/rows.ts";
import { onBothDatabases, onEveryDatabase } from "../../../support/meter/usage.ts";
import { lastMail, me, signInAgain } from "../../../support/people/people.ts";
import {
  addPasskey,
  codeOf,
  firstStep,
  type Forgery,
  passkeyOptions,
  signInOptions,
  TestPasskey,
  twoStepPerson,
} from "../../../support/people/second_step.ts";

const minuteMs = 60_000;
const account = "/api/portal/account";
const path = "POST /api/auth/sign-in/passkey";
const rejected = "401 invalid_credentials";
let address = 0;
/** Signs in with a passkey, each time from another IP address, so that no limit applies. @returns The outcome. */
const signIn = async (test: TestApp, body: Record<string, unknown>) => {
  const peerAddress = `10.4.${++address >> 8}.${address & 255}`;
  return await outcomeOf((await sendRow(test, { peerAddress }, path, body)).answer);
};
const lastEntry = async (test: TestApp, action: string) =>
  (await test.opened.database.read(
    sql`SELECT * FROM audit_events WHERE action = ${action} ORDER BY id DESC LIMIT 1`,
  ))[0];
const lastDetails = async (test: TestApp, action: string) =>
  JSON.parse(String((await lastEntry(test, action))?.["details"]));

onEveryDatabase("a passkey is bound to this service, and signs in without a password", async (test) => {
  const ada = await test.signUp();
  const options = await passkeyOptions(test, ada.cookie);
  assert.deepEqual(options.rp, { name: "Gatehouse", id: "localhost" });
  assert.equal(options.user.name, ada.email);
  assert.equal(options.attestation, "none");
  assert.equal(options.authenticatorSelection.residentKey, "required");
  assert.equal(options.authenticatorSelection.userVerification, "required");
  const { passkey, id } = await addPasskey(test, ada.cookie);
  const { subject, text } = await lastMail(test, ada.email);
  assert.match(subject, /passkey/i);
  assert.match(text, /Laptop/);
  assert.deepEqual((await passkeyOptions(test, ada.cookie)).excludeCredentials, [
    { id: passkey.credentialId, type: "public-key", transports: ["internal"] },
  ]);

  const asked = await signInOptions(test);
  assert.deepEqual({ ...asked, challenge: "" }, {
    rpId: "localhost",
    challenge: "",
    timeout: 300_000,
    userVerification: "required",
  });
  // Synced passkeys don't count: their counter stays at 0.
  for (let n = 0; n < 2; n++) {
    assert.equal(await signIn(test, { response: passkey.signIn(await signInOptions(test)) }), "200");
  }
  passkey.counter = 7;
  const { answer } = await assertRows(test, {}, [[path, { response: passkey.signIn(asked) }, 200]]);
  const by = { cookie: cookieOf(answer) };
  assert.equal((await me(test, by.cookie)).user?.id, ada.userId);
  assert.deepEqual(await lastDetails(test, "session.created"), { method: "passkey" });
  const { html: list } = await assertRows(test, by, [[`GET ${account}/passkeys`, null, 200]]);
  const at = new Date(test.now()).toISOString();
  assert.deepEqual(JSON.parse(list).passkeys, [{
    id,
    name: "Laptop",
    otherHost: null,
    createdAt: at,
    lastUsedAt: at,
  }]);
  // It counts as a recent authentication.
  await assertRows(test, by, [[`POST ${account}/two-step/totp`, null, 200]]);
  // The password alone still signs in: adding a passkey doesn't turn on two-step sign-in.
  assert.equal((await me(test, await signInAgain(test, ada.email))).authenticated, true);
});

onBothDatabases("a passkey completes a sign-in of its own user, once", async (test) => {
  const ada = await twoStepPerson(test);
  const eve = await twoStepPerson(test, "Eve");
  const { passkey } = await addPasskey(test, ada.cookie);
  const { passkey: hers } = await addPasskey(test, eve.cookie);
  const token = await firstStep(test, ada.email);
  const options = await signInOptions(test, token);
  assert.deepEqual(options.allowCredentials.map(({ id }: { id: string }) => id), [passkey.credentialId]);
  assert.equal(await signIn(test, { token, response: hers.signIn(options) }), rejected);
  assert.equal((await lastEntry(test, "session.second_step_refused"))?.["target_id"], ada.userId);

  // A challenge for the second step doesn't work for signing in alone, or the other way round.
  const second = passkey.signIn(await signInOptions(test, token));
  assert.equal(await signIn(test, { response: second }), rejected);
  const alone = passkey.signIn(await signInOptions(test));
  assert.equal(await signIn(test, { token, response: alone }), rejected);

  const asked = await Promise.all([signInOptions(test, token), signInOptions(test, token)]);
  const outcomes = await Promise.all(
    asked.map((options) => signIn(test, { token, response: passkey.signIn(options) })),
  );
  assert.deepEqual(outcomes.sort(), ["200", "409 two_step_state"]);
  assert.deepEqual(await lastDetails(test, "session.created"), { method: "password and passkey" });
  const code = codeOf(ada.secret, test.now());
  await assertRows(test, {}, [
    [`${path}/options`, { token }, "409 two_step_state"],
    ["POST /api/auth/sign-in/second-step", { token, code }, "409 two_step_state"],
  ]);
});

testApp("a passkey can't complete a sign-in that is off, of a disabled user, or expired", async (test) => {
  const ada = await twoStepPerson(test);
  const { passkey } = await addPasskey(test, ada.cookie);
  const begin = async () => {
    const token = await firstStep(test, ada.email);
    return { token, response: passkey.signIn(await signInOptions(test, token)) };
  };
  const { database } = test.opened;
  const changes: readonly (() => Promise<unknown> | void)[] = [
    () => database.write([sql`UPDATE totp SET confirmed_at = NULL WHERE user_id = ${ada.userId}`]),
    () => database.write([sql`UPDATE users SET disabled_at = 1 WHERE id = ${ada.userId}`]),
    () => test.advance(10 * minuteMs),
  ];
  for (const change of changes) {
    const json = await begin();
    await change();
    assert.equal(await signIn(test, json), "409 two_step_state");
    await database.write([
      sql`UPDATE totp SET confirmed_at = 1 WHERE user_id = ${ada.userId}`,
      sql`UPDATE users SET disabled_at = NULL WHERE id = ${ada.userId}`,
    ]);
  }
  assert.equal(await signIn(test, await begin()), "200");
});

const otherKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const forgeries: Readonly<Record<string, Forgery>> = {
  "from another origin": { origin: "https://evil.example" },
  "from another port of this host": { origin: "http://localhost:8001" },
  "from a frame in another site's page": { crossOrigin: true },
  "for another service": { rpId: "evil.example" },
  "for a registration": { type: "webauthn.create" },
  "without user verification": { unverified: true },
  "signed with another key": { key: otherKey },
  "of an unknown passkey": { credentialId: "AAAA" },
  "of another user": { userHandle: "dXNyXzA" },
  "without a user handle": { userHandle: undefined },
  "with a lower counter": { counter: 4 },
  "with the same counter": { counter: 5 },
  "with a counter of 0": { counter: 0 },
};

testApp("a forged response signs nobody in, and its challenge is used up", async (test) => {
  for (const [n, [name, forgery]] of Object.entries(forgeries).entries()) {
    const ada = await test.signUp();
    const { passkey } = await addPasskey(test, ada.cookie);
    passkey.counter = 5;
    const signsIn = async () => await signIn(test, { response: passkey.signIn(await signInOptions(test)) });
    assert.equal(await signsIn(), "200", name);
    passkey.counter = 6;
    const options = await signInOptions(test);
    const forged = { response: passkey.signIn(options, forgery) };
    const { answer } = await sendRow(test, { peerAddress: `10.5.0.${n}` }, path, forged);
    assert.deepEqual([await outcomeOf(answer), answer.headers.getSetCookie()], [rejected, []], name);
    assert.equal(await signIn(test, { response: passkey.signIn(options) }), rejected, name);
    assert.equal((await lastEntry(test, "session.refused"))?.["actor_type"], "anonymous", name);
    assert.equal(await signsIn(), "200", `the passkey itself still works after one ${name}`);
  }
});

testApp("a challenge accepts only one of two concurrent responses, within five minutes", async (test) => {
  const ada = await test.signUp();
  const { passkey } = await addPasskey(test, ada.cookie);
  const response = passkey.signIn(await signInOptions(test));
  const both = await Promise.all([signIn(test, { response }), signIn(test, { response })]);
  assert.deepEqual(both.sort(), ["200", rejected]);
  assert.equal(await signIn(test, { response }), rejected);
  const late = passkey.signIn(await signInOptions(test));
  test.advance(5 * minuteMs);
  assert.equal(await signIn(test, { response: late }), rejected);
  const own = passkey.signIn({ challenge: "A".repeat(43) });
  assert.equal(await signIn(test, { response: own }), rejected);
  await signInOptions(test);
  const rows = await test.opened.database.read(sql`SELECT 1 FROM passkey_challenges`);
  assert.equal(rows.length, 1, "expired challenges are deleted");
});

testApp(
  "renames and removes passkeys, and rejects removed ones and those of disabled users",
  async (test) => {
    const ada = await test.signUp();
    const { passkey, id } = await addPasskey(test, ada.cookie);
    const { passkey: other } = await addPasskey(test, ada.cookie, "Phone");
    const rename = `PATCH ${account}/passkeys/${id}`;
    const { html } = await assertRows(test, ada, [
      [`PATCH ${account}/passkeys/x`, { name: "Mine" }, "404 not_found"],
      [`DELETE ${account}/passkeys/x`, null, "404 not_found"],
      [rename, { name: "" }, "422 validation_failed name"],
      [rename, { name: "  Desk  " }, 200],
    ]);
    assert.equal(JSON.parse(html).passkey.name, "Desk");
    assert.deepEqual(await lastDetails(test, "passkey.renamed"), { from: "Laptop", to: "Desk" });
    await assertRows(test, ada, [[`DELETE ${account}/passkeys/${id}`, null, 204]]);
    const mail = await lastMail(test, ada.email);
    assert.match(mail.subject, /passkey/i);
    assert.match(mail.text, /Desk/);
    const tryIt = async (one: TestPasskey) =>
      await signIn(test, { response: one.signIn(await signInOptions(test)) });
    assert.equal(await tryIt(passkey), rejected);
    assert.equal(await tryIt(other), "200");
    await test.opened.database.write([sql`UPDATE users SET disabled_at = 1 WHERE id = ${ada.userId}`]);
    assert.equal(await tryIt(other), rejected);
  },
);

/** Adds a passkey to an account. @returns The outcome. */
async function register(test: TestApp, person: TestPerson, forgery: Forgery = {}): Promise<string> {
  const passkey = new TestPasskey(test.config.baseUrl.origin);
  return await add(test, person, passkey.register(await passkeyOptions(test, person.cookie), forgery));
}

async function add(test: TestApp, person: TestPerson, response: unknown): Promise<string> {
  const sent = await sendRow(test, person, `POST ${account}/passkeys`, { name: "X", response });
  return (await outcomeOf(sent.answer)).replace(/ response.*/, "");
}

testApp("rejects a registration that is forged, late, repeated, or of another user", async (test) => {
  const ada = await test.signUp();
  const eve = await test.signUp("Eve");
  const { passkey } = await addPasskey(test, ada.cookie);
  const invalid = "422 validation_failed";
  for (
    const forgery of [
      { origin: "https://evil.example" },
      { rpId: "evil.example" },
      { crossOrigin: true },
      { type: "webauthn.get" },
      { unverified: true },
    ]
  ) assert.equal(await register(test, ada, forgery), invalid, JSON.stringify(forgery));
  const registration = async () =>
    new TestPasskey(test.config.baseUrl.origin).register(await passkeyOptions(test, ada.cookie));
  const response = await registration();
  assert.equal(await add(test, eve, response), invalid);
  assert.equal(await add(test, ada, response), "201");
  assert.equal(await add(test, ada, response), invalid, "it is used up");
  const late = await registration();
  test.advance(5 * minuteMs);
  assert.equal(await add(test, ada, late), invalid);
  const taken = { credentialId: passkey.credentialId };
  assert.equal(await register(test, eve, taken), "409 two_step_state", "another account has it");
  const rows = sql`SELECT user_id AS id, count(*) AS count FROM passkeys GROUP BY 1`;
  assert.deepEqual(await test.opened.database.read(rows), [{ id: ada.userId, count: 2 }]);
});

testApp("an account has at most twenty passkeys, even if two are added concurrently", async (test) => {
  const ada = await test.signUp();
  for (let n = 1; n < passkeysPerUserMax; n++) await addPasskey(test, ada.cookie, `Key ${n}`);
  const outcomes = await Promise.all([register(test, ada), register(test, ada)]);
  assert.deepEqual(outcomes.map((outcome) => outcome.slice(0, 3)).sort(), ["201", "409"]);
  await assertRows(test, ada, [[`POST ${account}/passkeys/options`, null, "409 limit_reached"]]);
});

testApp("limits failed passkey sign-ins by IP address", async (test) => {
  const response = new TestPasskey(test.config.baseUrl.origin).signIn({ challenge: "AAAA" });
  await assertRows(test, { peerAddress: "10.3.0.3" }, [
    ...Array<Row>(addressFailuresMax).fill([path, { response }, rejected]),
    [path, { response }, "429 rate_limited"],
  ]);
});

testApp("rejects malformed responses, naming the field if it can", async (test) => {
  const { challenge } = await signInOptions(test);
  const good = new TestPasskey(test.config.baseUrl.origin).signIn({ challenge });
  const withPart = (part: Record<string, string>) => ({
    response: { ...good, response: { ...good.response, ...part } },
  });
  const unsigned = withPart({ signature: "not base64url!" });
  assert.equal(await signIn(test, unsigned), "422 validation_failed response.response.signature");
  for (const clientDataJSON of ["", "AAAA", "bnVsbA", "W10", "eyJjaGFsbGVuZ2UiOjF9"]) {
    assert.equal(await signIn(test, withPart({ clientDataJSON })), rejected, clientDataJSON);
  }
  assert.equal(test.logged(), "");
});
