// Attacks on signing in: concurrent guesses, planted cookies, a clock that jumps, overload.
import assert from "node:assert/strict";
import { unavailableError } from "../../../../domain/errors.ts";
import { Credentials } from "../../../../services/sign_in/credentials.ts";
import { PasswordHasher } from "../../../../services/sign_in/password_hasher.ts";
import { assertError, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";

const email = "ada@example.com";
let addresses = 0;
const attempt = (test: TestApp, password: string) =>
  test.send("/api/auth/sign-in", {
    json: { email, password },
    peerAddress: `10.3.${addresses >> 8}.${addresses++ & 255}`,
  });
const signUp = (test: TestApp) =>
  test.send("/api/auth/sign-up", { json: { name: "Ada", email, password: testPassword } });

testApp("of thirty concurrent guesses after a delay, one is checked", async (test) => {
  await signUp(test);
  for (let n = 0; n < 5; n++) assert.equal((await attempt(test, "wrong password")).status, 401);
  test.advance(1_000);
  const responses = await Promise.all(Array.from({ length: 30 }, () => attempt(test, "wrong password")));
  assert.deepEqual(responses.map(({ status }) => status).sort(), [401, ...Array(29).fill(429)]);
});

testApp("a clock that is set back by a day doesn't lock an account for a day", async (test) => {
  await signUp(test);
  for (let n = 0; n < 5; n++) await attempt(test, "wrong password");
  assert.equal((await attempt(test, testPassword)).status, 429);
  test.advance(-24 * 3_600_000);
  assert.equal((await attempt(test, testPassword)).status, 200);
});

testApp(
  "planted cookies sign nobody out, and sign-out still ends the session",
  async (test) => {
    const ada = await test.signUp();
    const planted = Array.from({ length: 12 }, (_, n) => `access_token=${String(n).padStart(43, "p")}`);
    const cookie = [...planted, ada.cookie].join("; ");
    const me = async () => (await (await test.send("/api/auth/me", { cookie })).json()).user?.id;
    assert.equal(await me(), ada.userId);
    await test.send("/api/auth/sign-out", { method: "POST", cookie });
    assert.equal(await me(), undefined);
  },
);

Deno.test("the hasher rejects too many waiting requests, and hashes for unknown users too", async () => {
  const hasher = new PasswordHasher(1);
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, () => hasher.verify(undefined, testPassword)),
  );
  const rejected = results.filter((result) => result.status === "rejected");
  assert(rejected.length > 0 && rejected.length < 40);
  assert(rejected.every(({ reason }) => reason.code === "unavailable"));
  assert.equal(await hasher.verify(undefined, testPassword), false);
  const phc = await hasher.hash(testPassword);
  assert.equal(await hasher.verify(phc, testPassword), true);
  assert.equal(await hasher.verify(phc, `${testPassword}!`), false);
  hasher.close();
});

testApp("unknown methods and paths are reported as such, even from other sites", async (test) => {
  const post = (path: string) => test.app.request(`http://localhost:8000${path}`, { method: "POST" });
  await assertError(await post("/health/live"), 405, "method_not_allowed");
  await assertError(await post("/api/nowhere"), 404, "not_found");
  await assertError(await post("/api/auth/sign-out"), 403, "cross_site");
});

testApp("guesses rejected during an overload are not counted", async (test) => {
  const ada = await test.signUp();
  const full = () => Promise.reject(unavailableError("Too many people are signing in at this moment."));
  const { config, now: clock } = test;
  const base = { config, database: test.opened.database, clock };
  const credentials = new Credentials(base, {
    ...test.parts,
    hasher: { hash: full, verify: full },
    onBackgroundError: () => {},
  });
  const client = { address: "10.8.1.1", userAgent: "", requestId: null };
  for (let n = 0; n < 12; n++) {
    const guess = credentials.guess({
      subject: ada.email,
      actor: { type: "anonymous", client },
      failureAction: "session.refused",
      about: () => ({}),
    }, () => credentials.isPassword(undefined, "a wrong but long one"));
    await assert.rejects(guess, { code: "unavailable" });
  }
  const statuses: number[] = [];
  while (statuses.at(-1) !== 429 && statuses.length < 20) {
    const json = { email: ada.email, password: "a wrong but long one" };
    const response = await test.send("/api/auth/sign-in", { json, peerAddress: "10.8.1.1" });
    statuses.push(response.status);
  }
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429]);
});
