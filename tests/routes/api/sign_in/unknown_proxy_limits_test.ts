// Limits by client address behind a proxy that is missing from TRUSTED_PROXIES: one client must not use up what others have.
import assert from "node:assert/strict";
import {
  addressFailuresMax,
  addressLinkRequestsMax,
  addressSignUpsMax,
  passkeyChallengesMax,
  rejectedApiKeysPerMinuteMax,
  signInFailuresFree,
  unknownProxyClientsMax,
} from "../../../../domain/limits.ts";
import { generateApiKey } from "../../../../domain/api_key.ts";
import { assertError, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";

const stranger = "203.0.113.66";
const wrong = "a wrong but long one";

/** Sends requests of clients through a proxy. */
const through =
  (test: TestApp, peerAddress: string) => (client: string | null, path: string, json: unknown) =>
    test.send(path, {
      json,
      peerAddress,
      headers: client === null ? {} : { "x-forwarded-for": client },
    });

type Send = ReturnType<typeof through>;

const signIn = (send: Send, client: string | null, email: string, password = testPassword) =>
  send(client, "/api/auth/sign-in", { email, password });

/** Makes a stranger fail as often as an address may. */
async function failOften(send: Send, client: string | null = stranger): Promise<void> {
  for (let n = 0; n < addressFailuresMax; n++) {
    assert.equal((await signIn(send, client, `nobody${n}@example.com`, wrong)).status, 401);
  }
}

for (const address of ["127.0.0.1", "10.0.0.7", "192.168.1.2", "100.64.0.9", "::1", "fd12::7", "fe80::7"]) {
  testApp(
    `a stranger's wrong passwords through an unknown proxy at ${address} lock no one out`,
    async (test) => {
      const ada = await test.signUp();
      const send = through(test, address);
      await failOften(send);
      assert.equal((await signIn(send, "203.0.113.9", ada.email)).status, 200);
      assert.equal((await signIn(send, stranger, ada.email)).status, 200);
      // Without the header, the request may be the proxy's own.
      await failOften(send, null);
      await assertError(await signIn(send, null, ada.email), 429, "rate_limited");
      assert.equal((await signIn(send, "203.0.113.9", ada.email)).status, 200);
      assert.match(
        test.logged(),
        /ignoring X-Forwarded-For.*wrong passwords aren't limited by client address/,
      );
    },
  );
}

for (const address of ["203.0.113.66", "8.8.8.8", "2001:db8::7", "2a00:1450:4001::8a"]) {
  testApp(`the public address ${address} can't switch off its limit with a header`, async (test) => {
    const ada = await test.signUp();
    const send = through(test, address);
    await failOften(send);
    await assertError(await signIn(send, "203.0.113.9", ada.email), 429, "rate_limited");
    await assertError(await signIn(send, "10.0.0.1", ada.email), 429, "rate_limited");
  });
}

testApp("through a trusted proxy, each client has its own limit", async (test) => {
  const ada = await test.signUp();
  const send = through(test, "10.0.0.7");
  await failOften(send);
  await assertError(await signIn(send, stranger, ada.email), 429, "rate_limited");
  assert.equal((await signIn(send, "203.0.113.9", ada.email)).status, 200);
}, { TRUSTED_PROXIES: "10.0.0.7" });

testApp("limits by account stay behind an unknown proxy", async (test) => {
  const ada = await test.signUp();
  const send = through(test, "10.0.0.7");
  for (let n = 0; n < signInFailuresFree; n++) {
    assert.equal((await signIn(send, stranger, ada.email, wrong)).status, 401);
  }
  await assertError(await signIn(send, "203.0.113.9", ada.email), 429, "rate_limited");
});

testApp("an unknown proxy's clients wait for each other's passwords to be checked", async (test) => {
  const send = through(test, "10.0.0.7");
  const responses = await Promise.all(
    Array.from(
      { length: 3 * addressFailuresMax },
      (_, n) => signIn(send, stranger, `person${n}@example.com`, wrong),
    ),
  );
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([401]));
});

/** Requests that an address may repeat a number of times, and the status before and after. */
const limited = {
  "sign-ups": {
    times: addressSignUpsMax,
    path: "/api/auth/sign-up",
    json: (n: number) => ({ name: "Ada", email: `new${n}@example.com`, password: testPassword }),
    status: 201,
  },
  "reset links": {
    times: addressLinkRequestsMax,
    path: "/api/auth/password/forgot",
    json: (n: number) => ({ email: `nobody${n}@example.com` }),
    status: 202,
  },
  "passkey challenges": {
    times: passkeyChallengesMax,
    path: "/api/auth/sign-in/passkey/options",
    json: () => ({}),
    status: 200,
  },
};

for (const [name, { times, path, json, status }] of Object.entries(limited)) {
  testApp(`the limit of ${name} by client address is wider for an unknown proxy`, async (test) => {
    const [proxy, office] = [through(test, "10.0.0.7"), through(test, "10.0.0.8")];
    for (let n = 0; n < times; n++) {
      for (const [send, client] of [[proxy, stranger], [office, null]] as const) {
        const response = await send(client, path, json(2 * n + (client === null ? 1 : 0)));
        assert.equal(response.status, status, `${n}: ${await response.text()}`);
      }
    }
    assert.equal((await proxy("203.0.113.9", path, json(2 * times))).status, status);
    assert.equal((await office(null, path, json(2 * times + 1))).status, 429);
  });
}

testApp("an unknown proxy may request as many reset links as several clients, and no more", async (test) => {
  const send = through(test, "10.0.0.7");
  const { path, json } = limited["reset links"];
  for (let n = 0; n < addressLinkRequestsMax * unknownProxyClientsMax; n++) {
    assert.equal((await send(stranger, path, json(n))).status, 202);
  }
  assert.equal((await send("203.0.113.9", path, json(-1))).status, 429);
});

testApp("an unknown proxy's invalid API keys are rejected as such, however many there were", async (test) => {
  const record = (headers: Record<string, string>) =>
    test.send("/api/v1/usage", {
      apiKey: generateApiKey().fullKey,
      json: { productSlug: "p", metric: "m", quantity: 1 },
      peerAddress: "10.0.0.7",
      headers,
    });
  for (let n = 0; n <= rejectedApiKeysPerMinuteMax; n++) {
    await assertError(await record({ "x-forwarded-for": stranger }), 401, "invalid_api_key");
  }
  for (let n = 0; n < rejectedApiKeysPerMinuteMax; n++) await record({});
  await assertError(await record({}), 429, "rate_limited");
});
