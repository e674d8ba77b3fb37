// A second step can't be guessed, is not accepted late, and ends when the account changes.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { assertError, testApp } from "../../../support/app/app.ts";
import { lastMail, me } from "../../../support/people/people.ts";
import {
  codeOf,
  firstStep,
  reauthenticateWithCode,
  secondStep,
  turnOnTwoStep,
  twoStepPerson,
  wrongCode,
} from "../../../support/people/second_step.ts";

const minuteMs = 60_000;
const account = "/api/portal/account";

testApp(
  "a sign-in ends after five wrong codes, even concurrent ones",
  async (test) => {
    const ada = await twoStepPerson(test);
    const token = await firstStep(test, ada.email);
    const wrong = wrongCode(ada.secret, test.now());
    for (let n = 0; n < 4; n++) {
      await assertError(await secondStep(test, { token, code: wrong }), 401, "invalid_code");
    }
    await assertError(await secondStep(test, { token, code: "no code" }), 401, "invalid_code");
    test.advance(5_000);
    const code = codeOf(ada.secret, test.now());
    await assertError(await secondStep(test, { token, code }), 409, "two_step_state");

    const eve = await twoStepPerson(test, "Eve");
    const hers = await firstStep(test, eve.email);
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, n) => secondStep(test, { token: hers, code: wrong }, `10.6.0.${n}`)),
    );
    assert.ok(responses.filter(({ status }) => status === 401).length <= 5);
    assert.ok(!responses.some(({ status }) => status === 200));
  },
);

testApp(
  "starting over with the password gives no more guesses",
  async (test) => {
    const ada = await twoStepPerson(test);
    let address = 0;
    const guess = async (code: string) => {
      const token = await firstStep(test, ada.email);
      return await secondStep(test, { token, code }, `10.6.1.${++address}`);
    };
    const wrong = wrongCode(ada.secret, test.now());
    for (let n = 0; n < 5; n++) assert.equal((await guess(wrong)).status, 401);
    for (const seconds of [1, 2, 4, 8]) {
      const rejected = await guess(codeOf(ada.secret, test.now()));
      await assertError(rejected, 429, "rate_limited");
      assert.equal(rejected.headers.get("retry-after"), String(seconds));
      test.advance(seconds * 1000);
      assert.equal((await guess(wrongCode(ada.secret, test.now()))).status, 401);
    }
    assert.equal((await me(test, ada.cookie)).authenticated, true);
    test.advance(15 * minuteMs);
    const code = codeOf(ada.secret, test.now());
    assert.equal((await guess(code)).status, 200);
    // A success ends the delays; repeating its code doesn't.
    for (let n = 0; n < 5; n++) assert.equal((await guess(code)).status, 401);
    await assertError(await guess(code), 429, "rate_limited");
  },
);

testApp("the second step expires after ten minutes", async (test) => {
  const ada = await twoStepPerson(test);
  const token = await firstStep(test, ada.email);
  test.advance(10 * minuteMs - 1);
  const other = await firstStep(test, ada.email);
  test.advance(1);
  const code = codeOf(ada.secret, test.now());
  await assertError(await secondStep(test, { token, code }), 409, "two_step_state");
  assert.equal((await secondStep(test, { token: other, code })).status, 200);
  for (const unknown of ["", "x", token, "A".repeat(43)]) {
    await assertError(await secondStep(test, { token: unknown, code }), 409, "two_step_state");
  }
});

testApp("a token accepts only its own user's codes", async (test) => {
  const ada = await twoStepPerson(test);
  const eve = await twoStepPerson(test, "Eve");
  const token = await firstStep(test, ada.email);
  const code = codeOf(eve.secret, test.now());
  await assertError(await secondStep(test, { token, code }), 401, "invalid_code");
});

testApp(
  "a sign-in ends when the user is disabled, two-step sign-in is turned off or set up again, or the password changes",
  async (test) => {
    const { database } = test.opened;
    const over = async (token: string, secret: string) =>
      await assertError(
        await secondStep(test, { token, code: codeOf(secret, test.now()) }),
        409,
        "two_step_state",
      );
    const disabled = await twoStepPerson(test);
    const first = await firstStep(test, disabled.email);
    await database.write([sql`UPDATE users SET disabled_at = 1 WHERE id = ${disabled.userId}`]);
    await over(first, disabled.secret);

    const ada = await twoStepPerson(test);
    const second = await firstStep(test, ada.email);
    await reauthenticateWithCode(test, ada);
    const off = await test.send(`${account}/two-step/totp`, { method: "DELETE", cookie: ada.cookie });
    assert.equal(off.status, 204);
    assert.match((await lastMail(test, ada.email)).subject, /two-step/i);
    await over(second, ada.secret);
    // Turned on again: the earlier sign-in is still over.
    const { secret } = await turnOnTwoStep(test, ada.cookie);
    await over(second, secret);

    const third = await firstStep(test, ada.email);
    const changed = await test.send("/api/auth/password/change", {
      cookie: ada.cookie,
      json: { currentPassword: "correct horse 9 battery", newPassword: "another 7 fine battery" },
    });
    assert.ok(changed.ok, await changed.clone().text());
    await over(third, secret);
  },
);
