// What ends with a password, however it is replaced.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { totpWrongCodesMax } from "../../../domain/limits.ts";
import { resetUserPassword } from "../../../services/console/passwords.ts";
import { assertError, type TestApp, testApp, testPassword } from "../../support/app/app.ts";
import { commandLineActor } from "../../support/operators/operators.ts";
import { linkToken } from "../../support/people/links.ts";
import { me } from "../../support/people/people.ts";
import {
  codeOf,
  firstStep,
  secondStep,
  type TwoStepPerson,
  twoStepPerson,
} from "../../support/people/second_step.ts";
import { subjectOf } from "../../support/portal/words/mail.ts";

const newPassword = "another 7 fine battery";

const replacements: Record<string, (test: TestApp, ada: TwoStepPerson) => Promise<unknown>> = {
  "the owner changes it": (test, { cookie }) =>
    test.send("/api/auth/password/change", {
      cookie,
      json: { currentPassword: testPassword, newPassword },
    }),
  "it is reset with an emailed link": async (test, ada) => {
    const token = await linkToken(test, ada, { purpose: "reset_password" });
    await test.send("/api/auth/password/reset", { json: { token, password: newPassword } });
  },
  "the operator sets it": (test, { email }) => {
    const input = { email, password: newPassword, turnOffTwoStep: false };
    return resetUserPassword(test.services, commandLineActor, input);
  },
};

for (const [what, renew] of Object.entries(replacements)) {
  testApp(
    `ends links, other sessions, unfinished sign-ins and delays, accepts codes again and sends a notice when ${what}`,
    async (test) => {
      const ada = await twoStepPerson(test);
      // With an unconfirmed address, a reset would remove all other access.
      await test.opened.database.write([sql`UPDATE users SET email_verified_at = 1`]);
      const first = await firstStep(test, ada.email);
      const other = await secondStep(test, { token: first, code: ada.recoveryCodes[0] ?? "" });
      const otherCookie = (other.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
      assert.equal((await me(test, otherCookie)).authenticated, true);
      const half = await firstStep(test, ada.email);
      const links = [
        await linkToken(test, ada, { purpose: "change_email", email: "new@example.com" }),
        await linkToken(test, ada, { purpose: "reset_password" }),
      ];
      await test.opened.database.write([
        sql`UPDATE totp SET wrong_codes = ${totpWrongCodesMax}, locked_at = 1`,
      ]);
      await test.send("/api/auth/sign-in", { json: { email: ada.email, password: "a wrong password" } });
      await renew(test, ada);

      assert.deepEqual(await test.opened.database.read(sql`SELECT * FROM sign_in_failures`), []);
      assert.equal((await me(test, otherCookie)).authenticated, false);
      const code = codeOf(ada.secret, test.now());
      await assertError(await secondStep(test, { token: half, code }), 409, "two_step_state");
      const left = await test.opened.database.read(sql`SELECT purpose FROM link_tokens`);
      assert.deepEqual(left.filter(({ purpose }) => purpose !== "verify_email"), [], links.join());
      const told = (await test.mails()).filter(({ subject }) => subject === subjectOf("password_changed"));
      assert.deepEqual(told.map(({ to }) => to), [ada.email]);

      const json = { email: ada.email, password: newPassword };
      const { secondStep: { token } } = await (await test.send("/api/auth/sign-in", { json })).json();
      assert.equal((await secondStep(test, { token, code }, "10.9.0.1")).status, 200);
    },
  );
}
