// The API of passkeys: adding them, signing in with one, using one as the second step, and forged responses of every kind.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { sql } from "../../../../db/engine/database.ts";
import { passkeyChallengesMax, passkeysPerUserMax } from "../../../../domain/limits.ts";
import { assertError, cookieOf, type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { lastMail, me } from "../../../support/people/people.ts";
import {
  addPasskey,
  codeOf,
  firstStep,
  type Forgery,
  passkeyOptions,
  secondStep,
  signInOptions,
  TestPasskey,
  twoStepPerson,
} from "../../../support/people/second_step.ts";

const minuteMs = 60_000;
const account = "/api/portal/account";
let address = 0;
// Each from another IP address, so that no limit applies.
const signIn = (test: TestApp, json: Record<string, unknown>) =>
  test.send("/api/auth/sign-in/passkey", {
    json,
    peerAddress: `10.4.${++address >> 8}.${address & 255}`,
  });
const lastEntry = async (test: TestApp, action: string) =>
  (await test.opened.database.read(
    sql`SELECT * FROM audit_events WHERE action = ${action} ORDER BY id DESC LIMIT 1`,
  ))[0];

testApp(
  "a passkey is bound to this service, sends an email, and signs in without a password",
  async (test) => {
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
      assert.equal((await signIn(test, { response: passkey.signIn(await signInOptions(test)) })).status, 200);
    }
    passkey.counter = 7;
    const response = await signIn(test, { response: passkey.signIn(asked) });
    assert.equal(response.status, 200, await response.clone().text());
    assert.equal((await me(test, cookieOf(response))).user?.id, ada.userId);
    const entry = await lastEntry(test, "session.created");
    assert.deepEqual(JSON.parse(String(entry?.["details"])), { method: "passkey" });
    const list = await (await test.send(`${account}/passkeys`, { cookie: cookieOf(response) })).json();
    const at = new Date(test.now()).toISOString();
    assert.deepEqual(list.passkeys, [{ id, name: "Laptop", createdAt: at, lastUsedAt: at }]);
    // It counts as a recent authentication.
    assert.equal(
      (await test.send(`${account}/two-step/totp`, { method: "POST", cookie: cookieOf(response) })).status,
      200,
    );
    // The password alone still signs in: adding a passkey doesn't turn on two-step sign-in.
    const password = await test.send("/api/auth/sign-in", {
      json: { email: ada.email, password: "correct horse 9 battery" },
    });
    assert.equal((await password.json()).authenticated, true);
  },
);

testApp("a passkey completes a sign-in of its own user, once", async (test) => {
  const ada = await twoStepPerson(test);
  const eve = await twoStepPerson(test, "Eve");
  const { passkey } = await addPasskey(test, ada.cookie);
  const { passkey: hers } = await addPasskey(test, eve.cookie);
  const token = await firstStep(test, ada.email);
  const options = await signInOptions(test, token);
  assert.deepEqual(options.allowCredentials.map(({ id }: { id: string }) => id), [passkey.credentialId]);
  await assertError(
    await signIn(test, { token, response: hers.signIn(options) }),
    401,
    "invalid_credentials",
  );
  const rejected = await lastEntry(test, "session.second_step_refused");
  assert.equal(rejected?.["target_id"], ada.userId);

  // A challenge for the second step doesn't work for signing in alone, or the other way round.
  const second = await signInOptions(test, token);
  await assertError(await signIn(test, { response: passkey.signIn(second) }), 401, "invalid_credentials");
  const alone = await signInOptions(test);
  await assertError(
    await signIn(test, { token, response: passkey.signIn(alone) }),
    401,
    "invalid_credentials",
  );

  const asked = await Promise.all([signInOptions(test, token), signInOptions(test, token)]);
  const responses = await Promise.all(
    asked.map((options) => signIn(test, { token, response: passkey.signIn(options) })),
  );
  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 409]);
  const entry = await lastEntry(test, "session.created");
  assert.deepEqual(JSON.parse(String(entry?.["details"])), { method: "password and passkey" });
  await assertError(
    await test.send("/api/auth/sign-in/passkey/options", { json: { token } }),
    409,
    "two_step_state",
  );
  await assertError(
    await secondStep(test, { token, code: codeOf(ada.secret, test.now()) }),
    409,
    "two_step_state",
  );
});

testApp(
  "a passkey can't complete a sign-in once two-step sign-in is off, the user is disabled, or it has expired",
  async (test) => {
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
      await assertError(await signIn(test, json), 409, "two_step_state");
      await database.write([
        sql`UPDATE totp SET confirmed_at = 1 WHERE user_id = ${ada.userId}`,
        sql`UPDATE users SET disabled_at = NULL WHERE id = ${ada.userId}`,
      ]);
    }
    assert.equal((await signIn(test, await begin())).status, 200);
  },
);

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

for (const [name, forgery] of Object.entries(forgeries)) {
  testApp(`a response ${name} signs nobody in, and its challenge is used up`, async (test) => {
    const ada = await test.signUp();
    const { passkey } = await addPasskey(test, ada.cookie);
    passkey.counter = 5;
    assert.equal((await signIn(test, { response: passkey.signIn(await signInOptions(test)) })).status, 200);
    passkey.counter = 6;
    const options = await signInOptions(test);
    const response = passkey.signIn(options, forgery);
    const answer = await signIn(test, { response });
    assert.deepEqual(answer.headers.getSetCookie(), []);
    await assertError(answer, 401, "invalid_credentials");
    assert.equal((await lastEntry(test, "session.refused"))?.["actor_type"], "anonymous");
    await assertError(await signIn(test, { response: passkey.signIn(options) }), 401, "invalid_credentials");
    // The passkey itself still works.
    assert.equal((await signIn(test, { response: passkey.signIn(await signInOptions(test)) })).status, 200);
  });
}

testApp("a challenge accepts only one of two concurrent responses, within five minutes", async (test) => {
  const ada = await test.signUp();
  const { passkey } = await addPasskey(test, ada.cookie);
  const response = passkey.signIn(await signInOptions(test));
  const both = await Promise.all([signIn(test, { response }), signIn(test, { response })]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 401]);
  await assertError(await signIn(test, { response }), 401, "invalid_credentials");
  const late = passkey.signIn(await signInOptions(test));
  test.advance(5 * minuteMs);
  await assertError(await signIn(test, { response: late }), 401, "invalid_credentials");
  const own = passkey.signIn({ challenge: "A".repeat(43) });
  await assertError(await signIn(test, { response: own }), 401, "invalid_credentials");
  await signInOptions(test);
  const rows = await test.opened.database.read(sql`SELECT 1 FROM passkey_challenges`);
  assert.equal(rows.length, 1, "expired challenges are deleted");
});

testApp("rejects removed passkeys, and those of disabled users", async (test) => {
  const ada = await test.signUp();
  const { passkey, id } = await addPasskey(test, ada.cookie);
  const { passkey: other } = await addPasskey(test, ada.cookie, "Phone");
  const removed = await test.send(`${account}/passkeys/${id}`, { method: "DELETE", cookie: ada.cookie });
  assert.equal(removed.status, 204);
  const mail = await lastMail(test, ada.email);
  assert.match(mail.subject, /passkey/i);
  assert.match(mail.text, /Laptop/);
  const tryIt = async (one: TestPasskey) =>
    await signIn(test, { response: one.signIn(await signInOptions(test)) });
  await assertError(await tryIt(passkey), 401, "invalid_credentials");
  assert.equal((await tryIt(other)).status, 200);
  await test.opened.database.write([sql`UPDATE users SET disabled_at = 1 WHERE id = ${ada.userId}`]);
  await assertError(await tryIt(other), 401, "invalid_credentials");
});

testApp("only their owner can rename and remove passkeys", async (test) => {
  const ada = await test.signUp();
  const eve = await test.signUp("Eve");
  const { id } = await addPasskey(test, ada.cookie);
  const path = `${account}/passkeys/${id}`;
  for (const method of ["PATCH", "DELETE"]) {
    const json = method === "PATCH" ? { json: { name: "Mine" } } : {};
    await assertError(await test.send(path, { method, cookie: eve.cookie, ...json }), 404, "not_found");
    await assertError(
      await test.send(`${account}/passkeys/x`, { method, cookie: ada.cookie, ...json }),
      404,
      "not_found",
    );
  }
  const renamed = await test.send(path, { method: "PATCH", cookie: ada.cookie, json: { name: "  Desk  " } });
  assert.equal((await renamed.json()).passkey.name, "Desk");
  const entry = await lastEntry(test, "passkey.renamed");
  assert.deepEqual(JSON.parse(String(entry?.["details"])), { from: "Laptop", to: "Desk" });
  await assertError(
    await test.send(path, { method: "PATCH", cookie: ada.cookie, json: { name: "" } }),
    422,
    "validation_failed",
  );
});

async function register(test: TestApp, person: TestPerson, forgery: Forgery = {}): Promise<Response> {
  const passkey = new TestPasskey(test.config.baseUrl.origin);
  const response = passkey.register(await passkeyOptions(test, person.cookie), forgery);
  return await test.send(`${account}/passkeys`, { cookie: person.cookie, json: { name: "X", response } });
}

testApp("rejects a registration that is forged, late, repeated, or of another user", async (test) => {
  const ada = await test.signUp();
  const eve = await test.signUp("Eve");
  const { passkey } = await addPasskey(test, ada.cookie);
  for (
    const forgery of [
      { origin: "https://evil.example" },
      { rpId: "evil.example" },
      { crossOrigin: true },
      { type: "webauthn.get" },
      { unverified: true },
    ]
  ) await assertError(await register(test, ada, forgery), 422, "validation_failed");
  const add = (person: TestPerson, response: unknown) =>
    test.send(`${account}/passkeys`, { cookie: person.cookie, json: { name: "X", response } });
  const options = await passkeyOptions(test, ada.cookie);
  const response = new TestPasskey(test.config.baseUrl.origin).register(options);
  await assertError(await add(eve, response), 422, "validation_failed");
  assert.equal((await add(ada, response)).status, 201);
  await assertError(await add(ada, response), 422, "validation_failed");
  const late = new TestPasskey(test.config.baseUrl.origin).register(await passkeyOptions(test, ada.cookie));
  test.advance(5 * minuteMs);
  await assertError(await add(ada, late), 422, "validation_failed");
  // A credential of another account can't be added.
  const taken = await register(test, eve, { credentialId: passkey.credentialId });
  await assertError(taken, 409, "two_step_state");
  const lists = await Promise.all(
    [ada, eve].map(async ({ cookie }) =>
      (await (await test.send(`${account}/passkeys`, { cookie })).json()).passkeys.length
    ),
  );
  assert.deepEqual(lists, [2, 0]);
});

testApp("an account has at most twenty passkeys, even if two are added concurrently", async (test) => {
  const ada = await test.signUp();
  for (let n = 1; n < passkeysPerUserMax; n++) await addPasskey(test, ada.cookie, `Key ${n}`);
  const responses = await Promise.all([register(test, ada), register(test, ada)]);
  assert.deepEqual(responses.map(({ status }) => status).sort(), [201, 409]);
  await assertError(
    await test.send(`${account}/passkeys/options`, { method: "POST", cookie: ada.cookie }),
    409,
    "limit_reached",
  );
});

testApp("limits passkey sign-ins and failures by IP address", async (test) => {
  const options = (peerAddress: string) =>
    test.send("/api/auth/sign-in/passkey/options", { method: "POST", peerAddress });
  for (let n = 0; n < passkeyChallengesMax; n++) assert.equal((await options("10.3.0.1")).status, 200);
  await assertError(await options("10.3.0.1"), 429, "rate_limited");
  assert.equal((await options("10.3.0.2")).status, 200);
  const response = new TestPasskey(test.config.baseUrl.origin).signIn({ challenge: "AAAA" });
  const fail = () => test.send("/api/auth/sign-in/passkey", { json: { response }, peerAddress: "10.3.0.3" });
  for (let n = 0; n < 10; n++) await assertError(await fail(), 401, "invalid_credentials");
  await assertError(await fail(), 429, "rate_limited");
});

testApp("rejects malformed responses, naming the field if it can", async (test) => {
  const { challenge } = await signInOptions(test);
  const good = new TestPasskey(test.config.baseUrl.origin).signIn({ challenge });
  const bad = { ...good, response: { ...good.response, signature: "not base64url!" } };
  const { error } = await assertError(await signIn(test, { response: bad }), 422, "validation_failed");
  assert.deepEqual(error.details?.map(({ path }) => path), ["response.response.signature"]);
  for (const clientDataJSON of ["", "AAAA", "bnVsbA", "W10", "eyJjaGFsbGVuZ2UiOjF9"]) {
    const odd = { ...good, response: { ...good.response, clientDataJSON } };
    await assertError(await signIn(test, { response: odd }), 401, "invalid_credentials");
  }
  assert.equal(test.logged(), "");
});
