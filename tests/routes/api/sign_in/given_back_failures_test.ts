// Failures of an account that signs in are given back to the client's address, and no others.
import { addressFailuresMax, addressWindowMs, signInFailuresFree } from "../../../../domain/limits.ts";
import { type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
import { lastMail } from "../../../support/people/people.ts";
import {
  addPasskey,
  codeOf,
  firstStep,
  signInOptions,
  twoStepPerson,
  wrongCode,
} from "../../../support/people/second_step.ts";

const path = "POST /api/auth/sign-in";
const secondStepPath = `${path}/second-step`;
const passkeyPath = `${path}/passkey`;
const office = { peerAddress: "10.41.0.1" };
const limited = "429 rate_limited";
const right = (email: string): Row => [path, { email, password: testPassword }, 200];
const wrong = (email: string): Row => [
  path,
  { email, password: "a wrong but long one" },
  "401 invalid_credentials",
];
let strangers = 0;
const failures = (count: number) =>
  Array.from({ length: count }, () => wrong(`nobody${++strangers}@example.com`));

/** Fails until the address is limited. */
async function assertFailuresLeft(test: TestApp, count: number): Promise<void> {
  const [path, body] = wrong("nobody@example.com");
  await assertRows(test, office, [...failures(count), [path, body, limited]]);
}

async function emailsOf(test: TestApp, count: number): Promise<string[]> {
  const people = await Promise.all(Array.from({ length: count }, () => test.signUp()));
  return people.map(({ email }) => email);
}

testApp("ten colleagues who each mistype once and then sign in don't block the eleventh", async (test) => {
  const emails = await emailsOf(test, addressFailuresMax + 1);
  await assertRows(test, office, emails.flatMap((email) => [wrong(email), right(email)]));
  await assertFailuresLeft(test, addressFailuresMax);
});

testApp("a sign-in gives back only the failures of its own account, from its own address", async (test) => {
  const [ada = "", bob = ""] = await emailsOf(test, 2);
  await assertRows(test, office, [...failures(4), wrong(bob), wrong(ada), wrong(ada)]);
  await assertRows(test, { peerAddress: "10.41.0.2" }, [wrong(ada), right(ada)]);
  await assertRows(test, office, [right(ada), right(ada)]);
  await assertFailuresLeft(test, addressFailuresMax - 5);
});

testApp("simultaneous sign-ins of an account give each of its failures back once", async (test) => {
  const [ada = ""] = await emailsOf(test, 1);
  await assertRows(test, office, [...failures(5), wrong(ada), wrong(ada)]);
  await Promise.all(Array.from({ length: 3 }, () => assertRows(test, office, [right(ada)])));
  await assertFailuresLeft(test, addressFailuresMax - 5);
});

testApp("a sign-in gives back no failures of an earlier window", async (test) => {
  const [ada = ""] = await emailsOf(test, 1);
  await assertRows(test, office, failures(1));
  test.advance(addressWindowMs - 1);
  await assertRows(test, office, Array.from({ length: signInFailuresFree - 2 }, () => wrong(ada)));
  test.advance(1);
  await assertRows(test, office, [...failures(6), wrong(ada), right(ada)]);
  await assertFailuresLeft(test, addressFailuresMax - 6);
});

testApp("the second step gives back wrong passwords and codes, the password alone nothing", async (test) => {
  const ada = await twoStepPerson(test);
  await assertRows(test, office, [wrong(ada.email)]);
  const token = await firstStep(test, ada.email);
  const withCode = (code: string, outcome: Row[2]): Row => [secondStepPath, { token, code }, outcome];
  const code = wrongCode(ada.secret, test.now());
  await assertRows(test, office, [
    withCode(code, "401 invalid_code code"),
    withCode(code, "401 invalid_code code"),
    right(ada.email),
    ...failures(addressFailuresMax - 4),
    withCode(codeOf(ada.secret, test.now()), 200),
  ]);
  await assertFailuresLeft(test, 4);
});

testApp("a passkey gives back its account's rejected passkeys and wrong passwords", async (test) => {
  const ada = await test.signUp();
  const { passkey } = await addPasskey(test, ada.cookie);
  const options = await signInOptions(test);
  const used: Row = [passkeyPath, { response: passkey.signIn(options) }, 200];
  await assertRows(test, { peerAddress: "10.41.0.3" }, [used]);
  const response = passkey.signIn(await signInOptions(test));
  await assertRows(test, office, [
    ...failures(addressFailuresMax - 3),
    [passkeyPath, used[1], "401 invalid_credentials"],
    wrong(ada.email),
    [passkeyPath, { response }, 200],
  ]);
  await assertFailuresLeft(test, 3);
});

testApp("a password reset gives back the wrong passwords, but no wrong codes and links", async (test) => {
  const { email: ada, secret } = await twoStepPerson(test);
  const reset = (token: string, outcome: Row[2]): Row => [
    "POST /api/auth/password/reset",
    { token, password: "another 7 fine battery" },
    outcome,
  ];
  await assertRows(test, office, [
    wrong(ada),
    wrong(ada),
    reset("wrong", "404 invalid_token"),
    [secondStepPath, {
      token: await firstStep(test, ada),
      code: wrongCode(secret, test.now()),
    }, "401 invalid_code code"],
    ["POST /api/auth/password/forgot", { email: ada }, 202],
  ]);
  const token = /token=([\w-]+)/.exec((await lastMail(test, ada)).text)?.[1] ?? "";
  await assertRows(test, office, [reset(token, 204)]);
  await assertFailuresLeft(test, addressFailuresMax - 2);
});

testApp(
  "someone who signs up with an address that has an account, and then signs in, gets it back",
  async (test) => {
    const [ada = ""] = await emailsOf(test, 1);
    const taken = { name: "Ada", email: ada, password: testPassword };
    await assertRows(test, office, [["POST /api/auth/sign-up", taken, "409 email_taken"], right(ada)]);
    await assertFailuresLeft(test, addressFailuresMax);
  },
);

testApp(
  "failures of accounts that don't sign in stay counted, however often another one does",
  async (test) => {
    const [eve = "", ada = ""] = await emailsOf(test, 2);
    const rounds = Array.from({ length: addressFailuresMax / 2 }, (): Row[] => [
      ...failures(2),
      wrong(eve),
      right(eve),
    ]);
    // Her last failure would find nothing left.
    await assertRows(test, office, rounds.flat().slice(0, -2));
    await assertRows(test, office, [[path, right(ada)[1], limited]]);
  },
);
