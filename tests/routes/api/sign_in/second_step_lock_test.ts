// After a hundred wrong codes in a row, over any time, an authenticator app's codes are locked. Guessing requires the password, so
// strangers can't lock anyone out.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { countSecondStepAttempt } from "../../../../db/people/pending_sign_ins.ts";
import { countTotpGuess } from "../../../../db/people/totp.ts";
import { totpWrongCodesMax } from "../../../../domain/limits.ts";
import { hashToken } from "../../../../services/access/session_tokens.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { assertError, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { assertOutcome, assertRows, fetchJson } from "../../../support/app/rows.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import {
  addPasskey,
  codeOf,
  firstStep,
  secondStep,
  signInOptions,
  type TwoStepPerson,
  twoStepPerson,
  wrongCode,
} from "../../../support/people/second_step.ts";
import { signInWords } from "../../../support/portal/words/sign_in.ts";
import { subjectOf } from "../../../support/portal/words/mail.ts";

const dayMs = 24 * 3_600_000;
let address = 0;

/** Sets the number of earlier wrong codes: entering them would take a day. */
async function setWrongCodes(test: TestApp, { userId }: TwoStepPerson, count: number): Promise<void> {
  await test.opened.database.write([sql`UPDATE totp SET wrong_codes = ${count} WHERE user_id = ${userId}`]);
}

async function wrongCodes(test: TestApp, { userId }: TwoStepPerson): Promise<number | undefined> {
  const row = await test.opened.database.readFirst<{ n: number }>(
    sql`SELECT wrong_codes AS n FROM totp WHERE user_id = ${userId}`,
  );
  return row?.n;
}

/** Sends the password and then a code, each time from another address. */
async function guess(test: TestApp, { email }: TwoStepPerson, code: string): Promise<Response> {
  const token = await firstStep(test, email);
  return await secondStep(test, { token, code }, `10.8.${address >> 8}.${address++ & 255}`);
}

function rightCode(test: TestApp, { secret }: TwoStepPerson): string {
  return codeOf(secret, test.now());
}

/** A user whose codes are locked. */
async function lockedPerson(test: TestApp): Promise<TwoStepPerson> {
  const ada = await twoStepPerson(test);
  await setWrongCodes(test, ada, totpWrongCodesMax - 1);
  await assertError(await guess(test, ada, wrongCode(ada.secret, test.now())), 401, "invalid_code");
  await assertError(await guess(test, ada, rightCode(test, ada)), 403, "codes_locked");
  return ada;
}

async function lockMails(test: TestApp) {
  return (await test.mails()).filter(({ subject }) => subject === subjectOf("two_step_locked"));
}

onEveryDatabase("rejects the right code after 100 wrong ones, and notifies the owner once", async (test) => {
  const ada = await twoStepPerson(test);
  await setWrongCodes(test, ada, totpWrongCodesMax - 3);
  for (let n = 0; n < 3; n++) {
    // Unlike the delays, the count is not forgotten after a day.
    test.advance(dayMs + 1);
    assert.deepEqual(await lockMails(test), []);
    await assertOutcome(guess(test, ada, wrongCode(ada.secret, test.now())), "401 invalid_code code");
  }
  const lockedAt = new Date(test.now()).toISOString();
  assert.equal((await lockMails(test)).length, 1);
  for (let n = 0; n < 2; n++) {
    test.advance(60_000);
    await assertOutcome(guess(test, ada, rightCode(test, ada)), "403 codes_locked");
  }
  const [mail, ...more] = await lockMails(test);
  assert.deepEqual([mail?.to, more], [ada.email, []]);
  assert.match(mail?.text ?? "", /100 wrong codes in a row.*\/forgot-password/s);
  assert.equal((await listAudit(test, ada.cookie, "?action=two_step.locked")).events.length, 1);
  // The person stays signed in and sees it.
  await assertRows(test, ada, [["GET /portal/account/two-step", null, 200, { shows: [signInWords.locked] }]]);
  const { totp } = await fetchJson(test, ada, "GET /api/portal/account/two-step");
  assert.deepEqual([totp.enabled, totp.lockedAt], [true, lockedAt]);
});

testApp("recovery codes and passkeys work while codes are locked, and keep them locked", async (test) => {
  const ada = await lockedPerson(test);
  const { passkey } = await addPasskey(test, ada.cookie);
  assert.equal((await guess(test, ada, ada.recoveryCodes[0] ?? "")).status, 200);
  const token = await firstStep(test, ada.email);
  const response = passkey.signIn(await signInOptions(test, token));
  assert.equal((await test.send("/api/auth/sign-in/passkey", { json: { token, response } })).status, 200);
  await assertError(await guess(test, ada, rightCode(test, ada)), 403, "codes_locked");
});

testApp(
  "codes of another form don't count, and a right one resets the count, even the last",
  async (test) => {
    const ada = await twoStepPerson(test);
    await setWrongCodes(test, ada, totpWrongCodesMax - 1);
    for (const code of ["12345", "hello", "AAAA-AAAA-AAAA-AAAA"]) {
      await assertError(await guess(test, ada, code), 401, "invalid_code");
    }
    const code = rightCode(test, ada);
    assert.equal((await guess(test, ada, code)).status, 200);
    assert.equal(await wrongCodes(test, ada), 0);
    // A repeated code counts as wrong.
    assert.equal((await guess(test, ada, code)).status, 401);
    assert.equal(await wrongCodes(test, ada), 1);
    assert.deepEqual(await lockMails(test), []);
  },
);

testApp("concurrent wrong codes use up no more than the attempts left, and send one email", async (test) => {
  const ada = await twoStepPerson(test);
  await setWrongCodes(test, ada, totpWrongCodesMax - 2);
  const wrong = wrongCode(ada.secret, test.now());
  const responses = await Promise.all(Array.from({ length: 4 }, () => guess(test, ada, wrong)));
  assert.deepEqual(responses.map(({ status }) => status).sort(), [401, 401, 403, 403]);
  assert.equal(await wrongCodes(test, ada), totpWrongCodesMax);
  assert.equal((await lockMails(test)).length, 1);
  // The sixth code of a sign-in is not checked and not counted.
  const eve = await twoStepPerson(test, "Eve");
  const tokenHash = hashToken(await firstStep(test, eve.email));
  const step = { tokenHash, userId: eve.userId, now: test.now() };
  for (let n = 0; n < 6; n++) {
    await test.opened.database.write([countSecondStepAttempt(step), countTotpGuess(eve.userId)]);
  }
  assert.equal(await wrongCodes(test, eve), 5);
});

testApp("nothing is counted without the right password", async (test) => {
  const ada = await twoStepPerson(test);
  const code = wrongCode(ada.secret, test.now());
  for (let n = 0; n < 8; n++) {
    await secondStep(test, { token: "A".repeat(43), code }, `10.9.1.${n}`);
    const json = { email: ada.email, password: `${testPassword}${n}` };
    await test.send("/api/auth/sign-in", { json, peerAddress: `10.9.1.${n}` });
  }
  assert.equal(await wrongCodes(test, ada), 0);
});

testApp("the second step shows the lock, with a link to use a recovery code", async (test) => {
  const ada = await lockedPerson(test);
  const signIn = await test.send("/sign-in", { form: { email: ada.email, password: testPassword } });
  const cookie = (signIn.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
  await assertRows(test, { cookie, peerAddress: "10.9.0.2" }, [
    ["POST /sign-in/second-step", { code: rightCode(test, ada) }, 403, {
      shows: [signInWords.codesLocked, "Use a recovery code</a>"],
    }],
  ]);
});
