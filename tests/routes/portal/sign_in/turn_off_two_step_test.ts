// Turning off two-step sign-in takes more than a stolen session and the password: a code, a passkey, or an emailed link.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { recentAuthenticationMs, totpPeriodMs } from "../../../../domain/limits.ts";
import { assertError, cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { lastMail, mailedToken } from "../../../support/people/people.ts";
import {
  addPasskey,
  codeOf,
  firstStep,
  secondStep,
  signInOptions,
  twoStepPerson,
} from "../../../support/people/second_step.ts";
import { run } from "../../../support/people/scene.ts";

const account = "/api/portal/account";
const off = (test: TestApp, cookie: string) =>
  test.send(`${account}/two-step/totp`, { method: "DELETE", cookie });
const isOn = async (test: TestApp, cookie: string) =>
  (await (await test.send(`${account}/two-step`, { cookie })).json()).totp.enabled;

testApp("the password alone never turns off two-step sign-in", async (test) => {
  const ada = await twoStepPerson(test);
  await assertError(await off(test, ada.cookie), 403, "proof_required");
  const prove = (json: unknown) => test.send(`${account}/proof`, { cookie: ada.cookie, json });
  const { error } = await assertError(await prove({ password: testPassword }), 422, "validation_failed");
  assert.deepEqual(error.details?.map(({ path }) => path), ["code"]);
  await assertError(await off(test, ada.cookie), 403, "proof_required");
  test.advance(recentAuthenticationMs);
  const changed = await test.send("/api/auth/password/change", {
    cookie: ada.cookie,
    json: { currentPassword: testPassword, newPassword: "another 7 fine battery" },
  });
  assert.equal(changed.status, 204);
  const cookie = cookieOf(changed);
  const acts = [["DELETE", "/two-step/totp"], ["POST", "/two-step/recovery-codes"], [
    "POST",
    "/passkeys/options",
  ]];
  for (const [method = "", path = ""] of acts) {
    await assertError(await test.send(account + path, { method, cookie }), 403, "proof_required");
  }
  const email = { cookie, json: { email: "elsewhere@example.com" } };
  await assertError(await test.send(`${account}/email`, email), 403, "proof_required");
  assert.equal(await isOn(test, cookie), true);
});

testApp("a code with the password turns it off, but not a wrong one", async (test) => {
  const ada = await twoStepPerson(test);
  const code = codeOf(ada.secret, test.now());
  const prove = (json: unknown) => test.send(`${account}/proof`, { cookie: ada.cookie, json });
  await assertError(await prove({ password: "a wrong but long one", code }), 401, "invalid_credentials");
  await assertError(await prove({ password: testPassword, code: "000 001" }), 401, "invalid_code");
  assert.equal((await prove({ password: testPassword, code })).status, 204);
  await assertError(await prove({ password: testPassword, code }), 401, "invalid_code");
  assert.equal((await off(test, ada.cookie)).status, 204);
  assert.equal(await isOn(test, ada.cookie), false);
});

testApp("a recovery code counts, is used up, and sends an email", async (test) => {
  const ada = await twoStepPerson(test);
  const [code = ""] = ada.recoveryCodes;
  const json = { password: testPassword, code };
  assert.equal((await test.send(`${account}/proof`, { cookie: ada.cookie, json })).status, 204);
  assert.match((await lastMail(test, ada.email)).subject, /recovery code/i);
  await assertError(
    await test.send(`${account}/proof`, { cookie: ada.cookie, json }),
    401,
    "invalid_code",
  );
  assert.equal((await off(test, ada.cookie)).status, 204);
});

testApp("signing in with a code or a passkey counts for ten minutes", async (test) => {
  for (const way of ["code", "passkey"] as const) {
    const ada = await twoStepPerson(test);
    const { passkey } = await addPasskey(test, ada.cookie);
    const signIn = async () => {
      if (way === "passkey") {
        const response = passkey.signIn(await signInOptions(test));
        return await test.send("/api/auth/sign-in/passkey", { json: { response } });
      }
      const token = await firstStep(test, ada.email);
      return await secondStep(test, { token, code: codeOf(ada.secret, test.now()) });
    };
    const old = cookieOf(await signIn());
    test.advance(recentAuthenticationMs + totpPeriodMs);
    await assertError(await off(test, old), 403, "proof_required");
    assert.equal((await off(test, cookieOf(await signIn()))).status, 204, way);
  }
});

testApp("a session's guesses at codes are delayed", async (test) => {
  const ada = await twoStepPerson(test);
  const statuses: number[] = [];
  for (let n = 0; n < 7; n++) {
    const json = { password: testPassword, code: "000001" };
    statuses.push((await test.send(`${account}/proof`, { cookie: ada.cookie, json })).status);
  }
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429]);
});

testApp("a person who lost their device and codes turns it off with an emailed link", async (test) => {
  const ada = await twoStepPerson(test);
  const { cookie } = ada;
  const ask = (password: string) =>
    test.send(`${account}/two-step/turn-off-link`, { cookie, json: { password } });
  await assertError(await ask("a wrong but long one"), 401, "invalid_credentials");
  const path = "/portal/account/two-step/turn-off-link";
  assert.match(await (await test.send(path, { cookie })).text(), /Lost your device/);
  const wrong = await test.send(path, { cookie, form: { password: "a wrong but long one" } });
  assert.equal(wrong.status, 401);
  assert.match(await wrong.text(), /id="password-error"/);
  const sent = await test.send(path, { cookie, form: { password: testPassword } });
  assert.equal(sent.headers.get("location"), "/portal/account/two-step?done=link-sent");
  const token = await mailedToken(test, ada.email);
  const opened = await (await test.send(`/turn-off-two-step?token=${token}`)).text();
  assert.match(opened, /Open this link where you are signed in/);
  const page = await (await test.send(`/turn-off-two-step?token=${token}`, { cookie })).text();
  assert.match(page, /Turn off two-step sign-in\?/);
  assert.equal(await isOn(test, cookie), true, "opening the page doesn't use the link");
  const done = await test.send("/turn-off-two-step", { cookie, form: { token } });
  assert.equal(done.headers.get("location"), "/portal/account/two-step?done=off");
  assert.equal(await isOn(test, cookie), false);
  assert.match((await lastMail(test, ada.email)).subject, /two-step sign-in is off/i);
  assert.deepEqual(await test.opened.database.read(sql`SELECT * FROM recovery_codes`), []);
  await assertError(await ask(testPassword), 409, "two_step_state");
});

testApp("a new password cancels the link", async (test) => {
  const { cookie, email } = await twoStepPerson(test);
  await test.send(`${account}/two-step/turn-off-link`, { cookie, json: { password: testPassword } });
  const stolen = await mailedToken(test, email);
  const changed = await test.send("/api/auth/password/change", {
    cookie,
    json: { currentPassword: testPassword, newPassword: "another 7 fine battery" },
  });
  const page = await test.send(`/turn-off-two-step?token=${stolen}`, { cookie: cookieOf(changed) });
  assert.equal(page.status, 404);
});

testApp("an emailed link never turns off an operator's, unless they used it lately", async (test) => {
  const { cookie, email } = await twoStepPerson(test);
  const request = () =>
    test.send(`${account}/two-step/turn-off-link`, { cookie, json: { password: testPassword } });
  assert.equal((await request()).status, 202);
  const token = await mailedToken(test, email);
  await run(test, "UPDATE users SET operator_since = ?", test.now());
  await assertError(await request(), 403, "second_factor_required");
  const byLink = () => test.send(`${account}/two-step/turn-off`, { cookie, json: { token } });
  await assertError(await byLink(), 403, "second_factor_required");
  assert.equal(await isOn(test, cookie), true);
  await run(test, "UPDATE sessions SET second_factor_at = ?", test.now());
  assert.equal((await byLink()).status, 204);
});
