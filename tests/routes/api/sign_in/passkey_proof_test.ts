// Confirming one's identity with a passkey, with the API and on the portal's page, and what counts as a second factor.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { recentAuthenticationMs, totpPeriodMs } from "../../../../domain/limits.ts";
import { cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { makeOperator } from "../../../support/operators/operators.ts";
import { signInAgain } from "../../../support/portal/pages.ts";
import { run } from "../../../support/people/scene.ts";
import {
  addPasskey,
  codeOf,
  firstStep,
  passkeyOptions,
  proofOptions,
  reauthenticateWithCode,
  secondStep,
  signInOptions,
  turnOnTwoStep,
} from "../../../support/people/second_step.ts";

const account = "/api/portal/account";
const proof = `${account}/proof`;
const page = "/portal/confirm-password";

/** @returns When the person's newest session used a second factor, in milliseconds since 1970, or null. */
async function secondFactorAt(test: TestApp, userId: string): Promise<number | null | undefined> {
  const [row] = await test.opened.database.read<{ at: number | null }>(
    sql`SELECT second_factor_at AS at FROM sessions WHERE user_id = ${userId} ORDER BY id DESC LIMIT 1`,
  );
  return row?.at;
}

testApp("a passkey confirms a person's identity, alone and once per challenge", async (test) => {
  const ada = await test.signUp();
  await assertRows(test, ada, [[`POST ${proof}/passkey/options`, null, "409 two_step_state"]]);
  const { passkey, id } = await addPasskey(test, ada.cookie);
  test.advance(recentAuthenticationMs);
  const rename = `PATCH ${account}/passkeys/${id}`;
  await assertRows(test, ada, [[rename, { name: "Renamed" }, "403 proof_required"]]);
  const asked = await proofOptions(test, ada.cookie);
  assert.deepEqual(asked.allowCredentials.map(({ id }: { id: string }) => id), [passkey.credentialId]);
  const response = passkey.signIn(asked);
  await assertRows(test, ada, [
    [`POST ${proof}/passkey`, { response }, 204],
    [rename, { name: "Renamed" }, 200],
    [`POST ${proof}/passkey`, { response }, "401 invalid_credentials"],
  ]);
  assert.equal(await secondFactorAt(test, ada.userId), test.now());
  const [entry] = await test.opened.database.read(
    sql`SELECT action, details FROM audit_events WHERE action LIKE 'session.pro%' ORDER BY id`,
  );
  assert.deepEqual(entry, { action: "session.proved", details: '{"method":"passkey"}' });
});

testApp("another person's passkey, or a forged response, confirms nothing", async (test) => {
  const [ada, eve] = [await test.signUp(), await test.signUp()];
  const { passkey } = await addPasskey(test, ada.cookie);
  const other = await addPasskey(test, eve.cookie);
  test.advance(recentAuthenticationMs);
  const hers = await proofOptions(test, eve.cookie);
  const responses = [
    (asked: { challenge: string }) => other.passkey.signIn(asked),
    (asked: { challenge: string }) => passkey.signIn(asked, { unverified: true }),
    (asked: { challenge: string }) => passkey.signIn(asked, { origin: "https://evil.example" }),
    (asked: { challenge: string }) => passkey.signIn({ ...asked, challenge: "AAAA" }),
    // A challenge belongs to the person who asked for it.
    () => passkey.signIn(hers),
  ];
  for (const respond of responses) {
    const response = respond(await proofOptions(test, ada.cookie));
    await assertRows(test, ada, [[`POST ${proof}/passkey`, { response }, "401 invalid_credentials"]]);
    // The delay after wrong guesses.
    test.advance(60_000);
  }
  assert.equal(await secondFactorAt(test, ada.userId), null);
  await assertRows(test, ada, [[`POST ${account}/passkeys/options`, null, "403 proof_required"]]);
});

testApp("passkeys and codes are second factors, passwords are not", async (test) => {
  const { cookie, userId, email } = await test.signUp();
  assert.equal(await secondFactorAt(test, userId), null);
  const { passkey } = await addPasskey(test, cookie);
  const password = { cookie, json: { password: testPassword } };
  assert.equal((await test.send(proof, password)).status, 204);
  assert.equal(await secondFactorAt(test, userId), null);

  const signedIn = await test.send("/api/auth/sign-in", { json: { email, password: testPassword } });
  assert.equal(await secondFactorAt(test, userId), null);
  test.advance(1_000);
  await test.send("/api/auth/sign-in/passkey", {
    json: { response: passkey.signIn(await signInOptions(test)) },
  });
  assert.equal(await secondFactorAt(test, userId), test.now());

  const { secret } = await turnOnTwoStep(test, cookieOf(signedIn));
  const code = { token: await firstStep(test, email), code: codeOf(secret, test.now()) };
  const stepped = await secondStep(test, code);
  assert.equal(stepped.status, 200);
  assert.equal(await secondFactorAt(test, userId), test.now());

  test.advance(totpPeriodMs);
  await reauthenticateWithCode(test, { cookie: cookieOf(stepped), secret });
  assert.equal(await secondFactorAt(test, userId), test.now() - totpPeriodMs);
});

testApp("the page that asks for the password offers the passkey, and continues", async (test) => {
  const ada = await test.signUp();
  const return_to = "/portal/account/delete";
  const ask = `GET ${page}?return_to=${return_to}`;
  test.advance(recentAuthenticationMs);
  await assertRows(test, ada, [
    [ask, null, 200, { hides: ["data-passkey"] }],
    [`POST ${proof}`, { password: testPassword }, 204],
  ]);
  const { passkey } = await addPasskey(test, ada.cookie);
  test.advance(recentAuthenticationMs);
  const response = JSON.stringify(passkey.signIn(await proofOptions(test, ada.cookie)));
  await assertRows(test, ada, [
    [ask, null, 200, {
      shows: ['type="password"', `action="${page}/passkey"`, `data-options="${proof}/passkey/options"`],
    }],
    [`POST ${page}/passkey`, { response, return_to }, `303 ${return_to}`],
    [`POST ${page}/passkey`, { response, return_to }, 401, { shows: ["This passkey was rejected"] }],
  ]);
});

testApp("for the console, a password alone is not enough", async (test) => {
  const ada = await test.signUp();
  const ask = `GET ${page}?return_to=/operator/tokens`;
  await addPasskey(test, ada.cookie);
  await assertRows(test, ada, [[ask, null, 200, { shows: ["data-passkey"], hides: ['type="password"'] }]]);
  await turnOnTwoStep(test, ada.cookie);
  await assertRows(test, ada, [[ask, null, 200, { shows: ['name="code"'] }]]);
  await run(test, "UPDATE sessions SET second_factor_at = ? WHERE user_id = ?", test.now(), ada.userId);
  await assertRows(test, ada, [[ask, null, "303 /operator/tokens"]]);
});

testApp("an operator's password alone changes none of their second factors", async (test) => {
  const mara = await test.signUp();
  const { passkey, id } = await addPasskey(test, mara.cookie);
  const registration = passkey.register(await passkeyOptions(test, mara.cookie));
  await makeOperator(test, mara);
  const by = { cookie: await signInAgain(test, mara, { password: testPassword }) };
  const denied = "403 second_factor_required";
  await assertRows(test, by, [
    [`POST ${account}/passkeys/options`, null, denied],
    [`POST ${account}/passkeys`, { name: "Mine", response: registration }, denied],
    [`DELETE ${account}/passkeys/${id}`, null, denied],
    [`POST ${account}/two-step/totp`, null, denied],
    [`POST ${account}/two-step/totp/confirm`, { code: "000000" }, denied],
    [`DELETE ${account}/two-step/totp`, null, denied],
    [`POST ${account}/two-step/recovery-codes`, null, denied],
    [`POST /portal/account/passkeys/${id}/remove`, null, 403],
    // It shows the secret of a setup that was begun in another session.
    ["GET /portal/account/two-step/set-up", null, 403],
  ]);
  const response = passkey.signIn(await proofOptions(test, by.cookie));
  await assertRows(test, by, [[`POST ${proof}/passkey`, { response }, 204]]);
  await addPasskey(test, by.cookie, "Phone");
});

testApp("operators add the first second factor with their password, others with the first", async (test) => {
  const ada = await test.signUp();
  await run(test, "UPDATE users SET operator_since = ?", test.now());
  const { passkey } = await addPasskey(test, ada.cookie);
  const response = passkey.signIn(await proofOptions(test, ada.cookie));
  await assertRows(test, ada, [
    [`POST ${account}/two-step/totp`, null, "403 second_factor_required"],
    [`POST ${proof}/passkey`, { response }, 204],
  ]);
  await turnOnTwoStep(test, ada.cookie);
});
