// A second step can't be guessed, is not accepted late, and ends when the account changes.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { assertError, testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
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
const path = "POST /api/auth/sign-in/second-step";
const over = "409 two_step_state";

testApp("a sign-in ends after five wrong codes, even concurrent ones", async (test) => {
  const ada = await twoStepPerson(test);
  const token = await firstStep(test, ada.email);
  const wrong = wrongCode(ada.secret, test.now());
  await assertRows(test, {}, [
    ...Array<Row>(4).fill([path, { token, code: wrong }, "401 invalid_code code"]),
    [path, { token, code: "no code" }, "401 invalid_code code"],
  ]);
  test.advance(5_000);
  await assertRows(test, {}, [[path, { token, code: codeOf(ada.secret, test.now()) }, over]]);

  const eve = await twoStepPerson(test, "Eve");
  const hers = await firstStep(test, eve.email);
  const responses = await Promise.all(
    Array.from({ length: 12 }, (_, n) => secondStep(test, { token: hers, code: wrong }, `10.6.0.${n}`)),
  );
  assert.ok(responses.filter(({ status }) => status === 401).length <= 5);
  assert.ok(!responses.some(({ status }) => status === 200));
});

testApp("starting over with the password gives no more guesses", async (test) => {
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
});

testApp("the second step expires after ten minutes, and accepts only its own user's codes", async (test) => {
  const ada = await twoStepPerson(test);
  const eve = await twoStepPerson(test, "Eve");
  const token = await firstStep(test, ada.email);
  test.advance(10 * minuteMs - 1);
  const other = await firstStep(test, ada.email);
  test.advance(1);
  const code = codeOf(ada.secret, test.now());
  await assertRows(test, {}, [
    [path, { token, code }, over],
    [path, { token: other, code: codeOf(eve.secret, test.now()) }, "401 invalid_code code"],
    [path, { token: other, code }, 200],
    ...["", "x", token, "A".repeat(43)].map((token): Row => [path, { token, code }, over]),
  ]);
});

testApp("a sign-in ends when the user is disabled, or changes two-step sign-in or password", async (test) => {
  const disabled = await twoStepPerson(test);
  const ada = await twoStepPerson(test);
  const begin = async ({ email }: { email: string }) => await firstStep(test, email);
  const assertOver = async (token: string, secret: string) =>
    await assertRows(test, {}, [[path, { token, code: codeOf(secret, test.now()) }, over]]);

  const first = await begin(disabled);
  await test.opened.database.write([sql`UPDATE users SET disabled_at = 1 WHERE id = ${disabled.userId}`]);
  await assertOver(first, disabled.secret);

  const second = await begin(ada);
  await reauthenticateWithCode(test, ada);
  await assertRows(test, ada, [[`DELETE ${account}/two-step/totp`, null, 204]]);
  assert.match((await lastMail(test, ada.email)).subject, /two-step/i);
  await assertOver(second, ada.secret);
  // Turned on again: the earlier sign-in is still over.
  const { secret } = await turnOnTwoStep(test, ada.cookie);
  await assertOver(second, secret);

  const third = await begin(ada);
  const change = { currentPassword: testPassword, newPassword: "another 7 fine battery" };
  await assertRows(test, ada, [["POST /api/auth/password/change", change, 204]]);
  await assertOver(third, secret);
});
