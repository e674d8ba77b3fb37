// Turning off two-step sign-in takes more than a stolen session and the password: a code, a passkey, or an emailed link.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { recentAuthenticationMs, signInFailuresFree, totpPeriodMs } from "../../../../domain/limits.ts";
import { cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows, type Row, sendRow } from "../../../support/app/rows.ts";
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
const turnOff = `DELETE ${account}/two-step/totp`;
const prove = `POST ${account}/proof`;
const link = `${account}/two-step/turn-off-link`;
const wrong = "a wrong but long one";
const newPassword = { currentPassword: testPassword, newPassword: "another 7 fine battery" };
const isOn = async (test: TestApp, by: { cookie: string }) =>
  JSON.parse((await sendRow(test, by, `GET ${account}/two-step`)).html).totp.enabled;

testApp("the password alone never turns off two-step sign-in", async (test) => {
  const ada = await twoStepPerson(test);
  await assertRows(test, ada, [
    [turnOff, null, "403 proof_required"],
    [prove, { password: testPassword }, "422 validation_failed code"],
    [turnOff, null, "403 proof_required"],
  ]);
  test.advance(recentAuthenticationMs);
  const { answer } = await assertRows(test, ada, [["POST /api/auth/password/change", newPassword, 204]]);
  const by = { cookie: cookieOf(answer) };
  await assertRows(test, by, [
    [turnOff, null, "403 proof_required"],
    [`POST ${account}/two-step/recovery-codes`, null, "403 proof_required"],
    [`POST ${account}/passkeys/options`, null, "403 proof_required"],
    [`POST ${account}/email`, { email: "elsewhere@example.com" }, "403 proof_required"],
  ]);
  assert.equal(await isOn(test, by), true);
});

testApp("a code with the password turns it off, but not a wrong one", async (test) => {
  const ada = await twoStepPerson(test);
  const code = codeOf(ada.secret, test.now());
  await assertRows(test, ada, [
    [prove, { password: wrong, code }, "401 invalid_credentials"],
    [prove, { password: testPassword, code: "000 001" }, "401 invalid_code code"],
    [prove, { password: testPassword, code }, 204],
    [prove, { password: testPassword, code }, "401 invalid_code code"],
    [turnOff, null, 204],
  ]);
  assert.equal(await isOn(test, ada), false);
});

testApp("a recovery code counts, is used up, and sends an email", async (test) => {
  const ada = await twoStepPerson(test);
  const body = { password: testPassword, code: ada.recoveryCodes[0] };
  await assertRows(test, ada, [[prove, body, 204]]);
  assert.match((await lastMail(test, ada.email)).subject, /recovery code/i);
  await assertRows(test, ada, [[prove, body, "401 invalid_code code"], [turnOff, null, 204]]);
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
    await assertRows(test, { cookie: old }, [[turnOff, null, "403 proof_required"]]);
    await assertRows(test, { cookie: cookieOf(await signIn()) }, [[turnOff, null, 204]]);
  }
});

testApp("a session's guesses at codes are delayed", async (test) => {
  const body = { password: testPassword, code: "000001" };
  await assertRows(test, await twoStepPerson(test), [
    ...Array<Row>(signInFailuresFree).fill([prove, body, "401 invalid_code code"]),
    [prove, body, "429 rate_limited"],
    [prove, body, "429 rate_limited"],
  ]);
});

testApp("a person who lost their device and codes turns it off with an emailed link", async (test) => {
  const ada = await twoStepPerson(test);
  const path = "/portal/account/two-step/turn-off-link";
  await assertRows(test, ada, [
    [`POST ${link}`, { password: wrong }, "401 invalid_credentials"],
    [`GET ${path}`, null, 200, { shows: ["Lost your device"] }],
    [`POST ${path}`, { password: wrong }, "401 password"],
    [`POST ${path}`, { password: testPassword }, "303 /portal/account/two-step?done=link-sent"],
  ]);
  const token = await mailedToken(test, ada.email);
  const open = `GET /turn-off-two-step?token=${token}`;
  await assertRows(test, {}, [[open, null, 200, { shows: ["Open this link where you are signed in"] }]]);
  await assertRows(test, ada, [[open, null, 200, { shows: ["Turn off two-step sign-in?"] }]]);
  assert.equal(await isOn(test, ada), true, "opening the page doesn't use the link");
  await assertRows(test, ada, [
    ["POST /turn-off-two-step", { token }, "303 /portal/account/two-step?done=off"],
    [`POST ${link}`, { password: testPassword }, "409 two_step_state"],
  ]);
  assert.equal(await isOn(test, ada), false);
  assert.match((await lastMail(test, ada.email)).subject, /two-step sign-in is off/i);
  assert.deepEqual(await test.opened.database.read(sql`SELECT * FROM recovery_codes`), []);
});

testApp("a new password cancels the link", async (test) => {
  const ada = await twoStepPerson(test);
  await assertRows(test, ada, [[`POST ${link}`, { password: testPassword }, 202]]);
  const stolen = await mailedToken(test, ada.email);
  const { answer } = await assertRows(test, ada, [["POST /api/auth/password/change", newPassword, 204]]);
  await assertRows(test, { cookie: cookieOf(answer) }, [
    [`GET /turn-off-two-step?token=${stolen}`, null, 404],
  ]);
});

testApp("an emailed link never turns off an operator's, unless they used it lately", async (test) => {
  const ada = await twoStepPerson(test);
  await assertRows(test, ada, [[`POST ${link}`, { password: testPassword }, 202]]);
  const token = await mailedToken(test, ada.email);
  const byLink = `POST ${account}/two-step/turn-off`;
  await run(test, "UPDATE users SET operator_since = ?", test.now());
  await assertRows(test, ada, [
    [`POST ${link}`, { password: testPassword }, "403 second_factor_required"],
    [byLink, { token }, "403 second_factor_required"],
  ]);
  assert.equal(await isOn(test, ada), true);
  await run(test, "UPDATE sessions SET second_factor_at = ?", test.now());
  await assertRows(test, ada, [[byLink, { token }, 204]]);
});
