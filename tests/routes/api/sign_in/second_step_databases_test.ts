// The second step and passkeys on each kind of database: the SQL conditions work on both.
import assert from "node:assert/strict";
import { totpPeriodMs } from "../../../../domain/limits.ts";
import { cookieOf } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { me } from "../../../support/people/people.ts";
import {
  addPasskey,
  codeOf,
  firstStep,
  reauthenticateWithCode,
  secondStep,
  signInOptions,
  twoStepPerson,
} from "../../../support/people/second_step.ts";
import { onBothDatabases } from "../../../support/meter/usage.ts";

onBothDatabases("codes, recovery codes and passkey responses work once", async (test) => {
  const ada = await twoStepPerson(test);
  const { passkey, id } = await addPasskey(test, ada.cookie);
  for (const code of [codeOf(ada.secret, test.now()), ada.recoveryCodes[0] ?? ""]) {
    const tokens = [await firstStep(test, ada.email), await firstStep(test, ada.email)];
    const responses = await Promise.all(
      tokens.map((token, n) => secondStep(test, { token, code }, `10.7.1.${n}`)),
    );
    const [signedIn, ...more] = responses.filter(({ status }) => status === 200);
    assert.ok(signedIn);
    assert.deepEqual(more, []);
    assert.equal((await me(test, cookieOf(signedIn))).user?.id, ada.userId);
  }
  const token = await firstStep(test, ada.email);
  const second = passkey.signIn(await signInOptions(test, token));
  await assertRows(test, {}, [["POST /api/auth/sign-in/passkey", { token, response: second }, 200]]);
  passkey.counter = 9;
  const response = passkey.signIn(await signInOptions(test));
  await assertRows(test, {}, [
    ["POST /api/auth/sign-in/passkey", { response }, 200],
    ["POST /api/auth/sign-in/passkey", { response }, "401 invalid_credentials"],
  ]);

  const account = "/api/portal/account";
  const { html } = await assertRows(test, ada, [
    [`PATCH ${account}/passkeys/${id}`, { name: "Desk" }, 200],
    [`POST ${account}/two-step/recovery-codes`, null, 200],
  ]);
  assert.equal(JSON.parse(html).recoveryCodes.length, 10);
  test.advance(totpPeriodMs);
  await reauthenticateWithCode(test, ada);
  const { html: left } = await assertRows(test, ada, [
    [`DELETE ${account}/passkeys/${id}`, null, 204],
    [`DELETE ${account}/two-step/totp`, null, 204],
    [`GET ${account}/two-step`, null, 200],
  ]);
  assert.deepEqual(JSON.parse(left), {
    totp: { enabled: false, confirmedAt: null, lockedAt: null },
    recoveryCodesLeft: 0,
    passkeys: [],
  });
});
