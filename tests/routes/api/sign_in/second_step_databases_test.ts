// The second step and passkeys on each kind of database: the SQL conditions work on both.
import assert from "node:assert/strict";
import { totpPeriodMs } from "../../../../domain/limits.ts";
import { assertError, cookieOf, startTestApp } from "../../../support/app/app.ts";
import { databaseKinds } from "../../../support/database/database.ts";
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

for (const { name, ignore, open } of databaseKinds) {
  Deno.test({
    name: `codes, recovery codes and passkey responses work once on the ${name} database`,
    ignore,
    async fn() {
      const test = await startTestApp({}, { open });
      try {
        const ada = await twoStepPerson(test);
        const { passkey, id } = await addPasskey(test, ada.cookie);
        const tokens = [await firstStep(test, ada.email), await firstStep(test, ada.email)];
        const once = async (code: string) => {
          const responses = await Promise.all(
            tokens.map((token, n) => secondStep(test, { token, code }, `10.7.1.${n}`)),
          );
          const [signedIn] = responses.filter(({ status }) => status === 200);
          assert.ok(signedIn);
          assert.equal(responses.filter(({ status }) => status === 200).length, 1);
          assert.equal((await me(test, cookieOf(signedIn))).user?.id, ada.userId);
          tokens.splice(0, 2, await firstStep(test, ada.email), await firstStep(test, ada.email));
        };
        await once(codeOf(ada.secret, test.now()));
        await once(ada.recoveryCodes[0] ?? "");
        const passkeySignIn = (json: Record<string, unknown>) =>
          test.send("/api/auth/sign-in/passkey", { json });
        const [token = ""] = tokens;
        const response = passkey.signIn(await signInOptions(test, token));
        assert.equal((await passkeySignIn({ token, response })).status, 200);
        passkey.counter = 9;
        const alone = passkey.signIn(await signInOptions(test));
        assert.equal((await passkeySignIn({ response: alone })).status, 200);
        await assertError(await passkeySignIn({ response: alone }), 401, "invalid_credentials");

        const account = "/api/portal/account";
        const codes = await test.send(`${account}/two-step/recovery-codes`, {
          method: "POST",
          cookie: ada.cookie,
        });
        assert.equal((await codes.json()).recoveryCodes.length, 10);
        const renamed = { method: "PATCH", cookie: ada.cookie, json: { name: "Desk" } };
        assert.equal((await test.send(`${account}/passkeys/${id}`, renamed)).status, 200);
        test.advance(totpPeriodMs);
        await reauthenticateWithCode(test, ada);
        for (const path of [`/passkeys/${id}`, "/two-step/totp"]) {
          const gone = await test.send(account + path, { method: "DELETE", cookie: ada.cookie });
          assert.equal(gone.status, 204);
        }
        const left = await (await test.send(`${account}/two-step`, { cookie: ada.cookie })).json();
        assert.deepEqual(left, {
          totp: { enabled: false, confirmedAt: null, lockedAt: null },
          recoveryCodesLeft: 0,
          passkeys: [],
        });
      } finally {
        await test.dispose();
      }
    },
  });
}
