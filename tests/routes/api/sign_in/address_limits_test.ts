// Limits by client address: they count failures, not successes, don't affect people who are signed in, and are wider for a
// proxy that is missing from TRUSTED_PROXIES, so that one client doesn't use up what others have.
import assert from "node:assert/strict";
import {
  addressFailuresMax,
  addressLinkRequestsMax,
  addressSignUpsMax,
  addressSignUpWindowMs,
  passkeyChallengesMax,
  passwordHashesWaitingMax,
  rejectedApiKeysPerMinuteMax,
  signInFailuresFree,
  unknownProxyClientsMax,
} from "../../../../domain/limits.ts";
import { unavailableError } from "../../../../domain/errors.ts";
import { generateApiKey } from "../../../../domain/keys/api_key.ts";
import { Credentials } from "../../../../services/access/credentials.ts";
import { cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
import { me } from "../../../support/people/people.ts";

/** Where a request comes from: its peer, and the client that the peer names. */
interface Sender {
  readonly peerAddress: string;
  readonly client?: string;
}

/** A request. Its number is unique within a scenario. */
type Act = (test: TestApp, from: Sender, number: number) => Promise<Response>;
/** How often a request is sent, by whom, and the status of each; or how many milliseconds pass. */
type Step = readonly [times: number, from: Sender, act: Act, gives: number] | number;

const ipv6 = (peerAddress: string): Sender => ({ peerAddress });
const office = { peerAddress: "10.40.0.1" };
const stranger = "203.0.113.66";
const wrong = "a wrong but long one";
/** Everyone's account, created before each scenario. */
const ada = "person1@example.com";
const codes: Readonly<Record<number, RegExp>> = {
  401: /^invalid_credentials$|^invalid_api_key$/,
  409: /^email_taken$/,
  429: /^rate_limited$/,
};

const post =
  (path: string, json: (number: number) => unknown): Act => (test, { peerAddress, client }, number) =>
    test.send(path, {
      json: json(number),
      peerAddress,
      headers: client === undefined ? {} : { "x-forwarded-for": client },
    });
const signIn = (email: string, password = testPassword) =>
  post("/api/auth/sign-in", () => ({ email, password }));
const failure = post("/api/auth/sign-in", (n) => ({ email: `nobody${n}@example.com`, password: wrong }));
const signUp = (email?: string) =>
  post(
    "/api/auth/sign-up",
    (n) => ({ name: "Ada", email: email ?? `new${n}@example.com`, password: testPassword }),
  );
const resetLink = post("/api/auth/password/forgot", (n) => ({ email: `nobody${n}@example.com` }));
const challenge = post("/api/auth/sign-in/passkey/options", () => ({}));
const invalidKey: Act = (test, { peerAddress, client }) =>
  test.send("/api/v1/usage", {
    apiKey: generateApiKey().fullKey,
    json: { productSlug: "p", metric: "m", quantity: 1 },
    peerAddress,
    headers: client === undefined ? {} : { "x-forwarded-for": client },
  });

/** Two clients of a proxy, and requests without a client, which may be the proxy's own. */
const through = (peerAddress: string) => ({
  bad: { peerAddress, client: stranger },
  good: { peerAddress, client: "203.0.113.9" },
  own: { peerAddress },
});
const { bad, good, own } = through("10.0.0.7");

const scenarios: Readonly<Record<string, readonly Step[]>> = {
  "many colleagues behind one address sign up and sign in": [
    [15, office, signUp(), 201],
    [15, office, signIn(ada), 200],
  ],
  "probing for accounts by sign-up counts as failures": [
    [addressFailuresMax, office, signUp(ada), 409],
    [1, office, signUp(ada), 429],
    [1, office, signUp(), 429],
  ],
  "an IPv6 address is limited with its neighbors": [
    ...Array.from(
      { length: addressFailuresMax },
      (_, n): Step => [1, ipv6(`2001:db8:1:2::${n + 1}`), failure, 401],
    ),
    [1, ipv6("2001:db8:1:2:ffff::9"), failure, 429],
    [1, ipv6("2001:db8:1:3::1"), failure, 401],
  ],
  "successes don't reset failures": [
    ...Array.from({ length: addressFailuresMax }, (_, n): Step[] => [
      [1, office, failure, 401],
      [1, office, signIn(ada), n === addressFailuresMax - 1 ? 429 : 200],
    ]).flat(),
    [1, office, failure, 429],
  ],
  "one address creates a number of accounts per hour, and can still sign in": [
    [addressSignUpsMax, office, signUp(), 201],
    [1, office, signUp(), 429],
    [1, office, signIn(ada), 200],
    addressSignUpWindowMs,
    [1, office, signUp(), 201],
  ],
  ...Object.fromEntries(
    ["127.0.0.1", "10.0.0.7", "192.168.1.2", "100.64.0.9", "::1", "fd12::7", "fe80::7"].map((address) => {
      const { bad, good, own } = through(address);
      return [`a stranger's wrong passwords through an unknown proxy at ${address} lock no one out`, [
        [addressFailuresMax, bad, failure, 401],
        [1, good, signIn(ada), 200],
        [1, bad, signIn(ada), 200],
        [addressFailuresMax, own, failure, 401],
        [1, own, signIn(ada), 429],
        [1, good, signIn(ada), 200],
      ]];
    }),
  ),
  ...Object.fromEntries(
    ["203.0.113.66", "8.8.8.8", "2001:db8::7", "2a00:1450:4001::8a"].map((address) => {
      const { bad, good } = through(address);
      return [`the public address ${address} can't switch off its limit with a header`, [
        [addressFailuresMax, bad, failure, 401],
        [1, good, signIn(ada), 429],
        [1, { ...good, client: "10.0.0.1" }, signIn(ada), 429],
      ]];
    }),
  ),
  "limits by account stay behind an unknown proxy": [
    [signInFailuresFree, bad, signIn(ada, wrong), 401],
    [1, good, signIn(ada), 429],
  ],
  ...Object.fromEntries(
    ([
      ["sign-ups", addressSignUpsMax, signUp(), 201],
      ["reset links", addressLinkRequestsMax, resetLink, 202],
      ["passkey challenges", passkeyChallengesMax, challenge, 200],
    ] as const).map(([name, times, act, gives]) => [
      `the limit of ${name} by client address is wider for an unknown proxy`,
      [[times, bad, act, gives], [1, good, act, gives], [times, office, act, gives], [1, office, act, 429]],
    ]),
  ),
  "an unknown proxy may request as many reset links as several clients, and no more": [
    [addressLinkRequestsMax * unknownProxyClientsMax, bad, resetLink, 202],
    [1, good, resetLink, 429],
  ],
  "an unknown proxy's invalid API keys are rejected as such, however many there were": [
    [rejectedApiKeysPerMinuteMax + 1, bad, invalidKey, 401],
    [rejectedApiKeysPerMinuteMax, own, invalidKey, 401],
    [1, own, invalidKey, 429],
  ],
};

async function run(test: TestApp, steps: readonly Step[]): Promise<void> {
  await test.signUp();
  let number = 0;
  for (const [index, step] of steps.entries()) {
    if (typeof step === "number") {
      test.advance(step);
      continue;
    }
    const [times, from, act, gives] = step;
    for (let time = 1; time <= times; time++) {
      const response = await act(test, from, ++number);
      const text = await response.text();
      assert.equal(response.status, gives, `step ${index + 1}, time ${time}: ${text}`);
      if (gives >= 400) assert.match(JSON.parse(text).error.code, codes[gives] ?? /^$/);
      if (gives === 429) assert.ok(Number(response.headers.get("retry-after")) > 0);
    }
  }
}

for (const [name, steps] of Object.entries(scenarios)) {
  testApp(name, async (test) => {
    await run(test, steps);
    const isUnknownProxy = name.includes("lock no one out");
    const warning = /ignoring X-Forwarded-For.*wrong passwords aren't limited by client address/;
    if (isUnknownProxy) assert.match(test.logged(), warning);
  });
}

testApp("through a trusted proxy, each client has its own limit", (test) =>
  run(test, [
    [addressFailuresMax, bad, failure, 401],
    [1, bad, signIn(ada), 429],
    [1, good, signIn(ada), 200],
  ]), { TRUSTED_PROXIES: "10.0.0.7" });

testApp("of simultaneous wrong guesses, ten per address are checked, and all of a proxy's", async (test) => {
  const guesses = async (from: Sender) => {
    const sent = Array.from({ length: 3 * addressFailuresMax }, (_, n) => failure(test, from, n));
    return (await Promise.all(sent)).map(({ status }) => status).sort();
  };
  const [checked, rejected] = [
    Array(addressFailuresMax).fill(401),
    Array(2 * addressFailuresMax).fill(429),
  ];
  assert.deepEqual(await guesses(office), [...checked, ...rejected]);
  assert.deepEqual(await guesses(bad), [...checked, ...checked, ...checked]);
});

testApp("colleagues behind one address sign in simultaneously", async (test) => {
  const emails = Array.from({ length: 15 }, (_, n) => `colleague${n}@example.com`);
  for (const email of emails) assert.equal((await signUp(email)(test, office, 0)).status, 201);
  const together = await Promise.all(emails.map((email) => signIn(email)(test, office, 0)));
  assert.deepEqual(new Set(together.map(({ status }) => status)), new Set([200]));
});

testApp("concurrent password checks of one client's sessions leave room for others", async (test) => {
  const [{ email }, bob] = [await test.signUp(), await test.signUp()];
  const sessions: string[] = [];
  for (let n = 0; n < 14; n++) sessions.push(cookieOf(await signIn(email)(test, office, n)));
  const prove = (cookie: string) =>
    test.send("/api/portal/account/proof", { cookie, json: { password: testPassword }, ...office });
  const confirmations = sessions.flatMap((cookie) =>
    Array.from({ length: signInFailuresFree - 1 }, () => prove(cookie))
  );
  assert(confirmations.length > passwordHashesWaitingMax);
  assert.equal((await signIn(bob.email)(test, { peerAddress: "10.40.0.2" }, 0)).status, 200);
  for (const { status } of await Promise.all(confirmations)) assert.equal(status, 204);
});

const prove = "POST /api/portal/account/proof";
const change = "POST /api/auth/password/change";
const newPassword = { currentPassword: testPassword, newPassword: "another 7 fine battery" };

testApp("a stranger's failed sign-ins don't keep a signed-in person from confirming", async (test) => {
  const { cookie, email } = await test.signUp();
  for (let n = 0; n < signInFailuresFree; n++) await signIn(email, wrong)(test, office, n);
  for (let n = signInFailuresFree; n < addressFailuresMax; n++) await failure(test, office, n);
  const limited = await signIn(email)(test, office, 0);
  assert.equal(limited.status, 429, "the account and the address are limited");
  const { answer } = await assertRows(test, { cookie, ...office }, [
    [prove, { password: testPassword }, 204],
    [change, newPassword, 204],
  ]);
  assert.equal((await me(test, cookieOf(answer))).authenticated, true);
});

testApp("a session that guesses the password is delayed, despite successes elsewhere", async (test) => {
  const ada = await test.signUp();
  await assertRows(test, ada, [
    ...Array<Row>(signInFailuresFree).fill([prove, { password: wrong }, "401 invalid_credentials"]),
    [prove, { password: testPassword }, "429 rate_limited"],
    [change, newPassword, "429 rate_limited"],
  ]);
  assert.equal((await signIn(ada.email)(test, office, 0)).status, 200, "signing in is not affected");
  await assertRows(test, ada, [[prove, { password: testPassword }, "429 rate_limited"]]);
  test.advance(1_000);
  await assertRows(test, ada, [[prove, { password: testPassword }, 204]]);
});

testApp("guesses rejected during an overload are not counted", async (test) => {
  const ada = await test.signUp();
  const full = () => Promise.reject(unavailableError("Too many people are signing in at this moment."));
  const { config, now: clock } = test;
  const base = { config, database: test.opened.database, clock };
  const credentials = new Credentials(base, {
    ...test.parts,
    hasher: { hash: full, verify: full, fault: full },
    onBackgroundError: () => {},
  });
  const client = { address: "10.8.1.1", userAgent: "", requestId: null };
  for (let n = 0; n < 12; n++) {
    const guess = credentials.guess({
      subject: ada.email,
      actor: { type: "anonymous", client },
      failureAction: "session.refused",
      about: () => ({}),
    }, () => credentials.isPassword(undefined, wrong));
    await assert.rejects(guess, { code: "unavailable" });
  }
  const peer = { peerAddress: client.address };
  const guesses = signIn(ada.email, wrong);
  for (let n = 0; n < signInFailuresFree; n++) assert.equal((await guesses(test, peer, n)).status, 401);
  assert.equal((await guesses(test, peer, 0)).status, 429);
});
