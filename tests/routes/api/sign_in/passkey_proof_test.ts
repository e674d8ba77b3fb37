// Confirming one's identity with a passkey, with the API and on the portal's page, and what counts as a second factor.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { recentAuthenticationMs, totpPeriodMs } from "../../../../domain/limits.ts";
import { assertError, cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
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

const proof = "/api/portal/account/proof";
const options = `${proof}/passkey/options`;
const renamed = { json: { name: "Renamed" }, method: "PATCH" };

/** @returns When the person's newest session used a second factor, in milliseconds since 1970, or null. */
async function secondFactorAt(test: TestApp, userId: string): Promise<number | null | undefined> {
  const [row] = await test.opened.database.read<{ at: number | null }>(
    sql`SELECT second_factor_at AS at FROM sessions WHERE user_id = ${userId} ORDER BY id DESC LIMIT 1`,
  );
  return row?.at;
}

testApp("a passkey confirms a person's identity, alone and once per challenge", async (test) => {
  const { cookie, userId } = await test.signUp();
  const { passkey, id } = await addPasskey(test, cookie);
  test.advance(recentAuthenticationMs);
  const rename = () => test.send(`/api/portal/account/passkeys/${id}`, { cookie, ...renamed });
  await assertError(await rename(), 403, "proof_required");
  const asked = await proofOptions(test, cookie);
  assert.deepEqual(asked.allowCredentials.map((allowed: { id: string }) => allowed.id), [
    passkey.credentialId,
  ]);
  const json = { response: passkey.signIn(asked) };
  assert.equal((await test.send(`${proof}/passkey`, { cookie, json })).status, 204);
  assert.equal(await secondFactorAt(test, userId), test.now());
  assert.equal((await rename()).status, 200);
  await assertError(await test.send(`${proof}/passkey`, { cookie, json }), 401, "invalid_credentials");
  const [entry] = await test.opened.database.read(
    sql`SELECT action, details FROM audit_events WHERE action LIKE 'session.pro%' ORDER BY id`,
  );
  assert.deepEqual(entry, { action: "session.proved", details: '{"method":"passkey"}' });
});

testApp("another person's passkey, or a forged answer, confirms nothing", async (test) => {
  const [ada, eve] = [await test.signUp(), await test.signUp()];
  const { passkey } = await addPasskey(test, ada.cookie);
  const other = await addPasskey(test, eve.cookie);
  test.advance(recentAuthenticationMs);
  const answers = [
    (asked: { challenge: string }) => other.passkey.signIn(asked),
    (asked: { challenge: string }) => passkey.signIn(asked, { unverified: true }),
    (asked: { challenge: string }) => passkey.signIn(asked, { origin: "https://evil.example" }),
    (asked: { challenge: string }) => passkey.signIn({ ...asked, challenge: "AAAA" }),
  ];
  for (const answer of answers) {
    const json = { response: answer(await proofOptions(test, ada.cookie)) };
    const response = await test.send(`${proof}/passkey`, { cookie: ada.cookie, json });
    await assertError(response, 401, "invalid_credentials");
    // The delay after wrong guesses.
    test.advance(60_000);
  }
  // A challenge belongs to the person who asked for it.
  const stolen = { response: passkey.signIn(await proofOptions(test, eve.cookie)) };
  const response = await test.send(`${proof}/passkey`, { cookie: ada.cookie, json: stolen });
  await assertError(response, 401, "invalid_credentials");
  assert.equal(await secondFactorAt(test, ada.userId), null);
  const register = await test.send("/api/portal/account/passkeys/options", {
    cookie: ada.cookie,
    method: "POST",
  });
  await assertError(register, 403, "proof_required");
});

testApp("without a passkey there are no options", async (test) => {
  const { cookie } = await test.signUp();
  await assertError(await test.send(options, { cookie, method: "POST" }), 409, "two_step_state");
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

testApp("the page that asks for the password offers the passkey, and goes on", async (test) => {
  const { cookie } = await test.signUp();
  const page = "/portal/confirm-password?return_to=/portal/account/delete";
  const html = async (path = page) => await (await test.send(path, { cookie })).text();
  test.advance(recentAuthenticationMs);
  assert.doesNotMatch(await html(), /data-passkey/);
  await test.send(proof, { cookie, json: { password: testPassword } });
  const { passkey } = await addPasskey(test, cookie);
  test.advance(recentAuthenticationMs);
  const offered = await html();
  assert.match(offered, /type="password"/);
  assert.match(offered, /action="\/portal\/confirm-password\/passkey"/);
  assert.match(offered, new RegExp(`data-options="${options}"`));
  const form = { response: JSON.stringify(passkey.signIn(await proofOptions(test, cookie))) };
  const send = () =>
    test.send("/portal/confirm-password/passkey", {
      cookie,
      form: { ...form, return_to: "/portal/account/delete" },
    });
  const sent = await send();
  assert.equal(sent.headers.get("location"), "/portal/account/delete");
  const again = await send();
  assert.equal(again.status, 401);
  assert.match(await again.text(), /This passkey was rejected/);
});

testApp("for the console, a password alone is not enough", async (test) => {
  const { cookie, userId } = await test.signUp();
  const page = "/portal/confirm-password?return_to=/operator/tokens";
  const open = () => test.send(page, { cookie });
  await addPasskey(test, cookie);
  const passkeyOnly = await (await open()).text();
  assert.doesNotMatch(passkeyOnly, /type="password"/);
  assert.match(passkeyOnly, /data-passkey/);
  await turnOnTwoStep(test, cookie);
  assert.match(await (await open()).text(), /name="code"/);
  await run(test, "UPDATE sessions SET second_factor_at = ? WHERE user_id = ?", test.now(), userId);
  assert.equal((await open()).headers.get("location"), "/operator/tokens");
});

testApp(
  "with a password alone, nobody changes the second factors of an operator who has one",
  async (test) => {
    const mara = await test.signUp();
    const { passkey, id } = await addPasskey(test, mara.cookie);
    await makeOperator(test, mara);
    const cookie = await signInAgain(test, mara, { password: testPassword });
    const account = "/api/portal/account";
    const changes: [method: string, path: string, json?: unknown][] = [
      ["POST", "passkeys/options"],
      ["POST", "passkeys", {
        name: "Mine",
        response: passkey.register(await passkeyOptions(test, mara.cookie)),
      }],
      ["DELETE", `passkeys/${id}`],
      ["POST", "two-step/totp"],
      ["POST", "two-step/totp/confirm", { code: "000000" }],
      ["DELETE", "two-step/totp"],
      ["POST", "two-step/recovery-codes"],
    ];
    for (const [method, path, json] of changes) {
      const response = await test.send(`${account}/${path}`, { method, cookie, json });
      await assertError(response, 403, "second_factor_required");
    }
    const page = await test.send(`/portal/account/passkeys/${id}/remove`, { cookie, form: {} });
    assert.equal(page.status, 403);
    // It shows the secret of a setup that was begun in another session.
    assert.equal((await test.send("/portal/account/two-step/set-up", { cookie })).status, 403);
    const json = { response: passkey.signIn(await proofOptions(test, cookie)) };
    assert.equal((await test.send(`${proof}/passkey`, { cookie, json })).status, 204);
    await addPasskey(test, cookie, "Phone");
  },
);

testApp(
  "operators add the first second factor with their password, the next one with the first",
  async (test) => {
    const { cookie } = await test.signUp();
    await run(test, "UPDATE users SET operator_since = ?", test.now());
    const { passkey } = await addPasskey(test, cookie);
    const begin = () => test.send("/api/portal/account/two-step/totp", { cookie, method: "POST" });
    await assertError(await begin(), 403, "second_factor_required");
    const json = { response: passkey.signIn(await proofOptions(test, cookie)) };
    assert.equal((await test.send(`${proof}/passkey`, { cookie, json })).status, 204);
    await turnOnTwoStep(test, cookie);
  },
);
