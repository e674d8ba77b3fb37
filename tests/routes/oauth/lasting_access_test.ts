// Access that outlives the session (`offline_access`): what ends it, and what doesn't.
import assert from "node:assert/strict";
import { hash } from "@node-rs/argon2";
import { startTestApp, type TestApp, testPassword, type TestPerson } from "../../support/app/app.ts";
import { addProvider } from "../../support/identity_providers/providers.ts";
import { addClient, authorizeAddress, consentTo, exchange, post } from "../../support/oauth/scene.ts";
import { operatorOf } from "../../support/operators/operator_api.ts";
import { mailedToken, signInAgain, verifiedPerson } from "../../support/people/people.ts";
import { run } from "../../support/people/scene.ts";

const test = await startTestApp();
const operator = await operatorOf(test, ["users:write"]);

interface Connected {
  readonly person: TestPerson;
  /** Refreshes the access that outlives the session. @returns "ok", or the error. */
  lasting(): Promise<string>;
  /** Does the same for the access that ends with the session. */
  ofSession(): Promise<string>;
  /** The back-channel logouts that wait. */
  logouts(): Promise<number>;
}

async function connected(test: TestApp): Promise<Connected> {
  const person = await verifiedPerson(test);
  const app = await addClient(test, { backchannelLogoutUri: "https://app.example.com/logout" });
  const refresherOf = async (scope: string) => {
    const answer = await consentTo(test, person, authorizeAddress(app, { scope, prompt: "consent" }));
    let { refresh_token: token } = (await exchange(test, app, answer.get("code") ?? "")).body;
    return async () => {
      const { body } = await post(test, "/oauth/token", {
        grant_type: "refresh_token",
        refresh_token: token,
      }, app);
      token = body.refresh_token ?? token;
      return body.error ?? "ok";
    };
  };
  return {
    person,
    lasting: await refresherOf("openid offline_access"),
    ofSession: await refresherOf("openid"),
    async logouts() {
      const [row] = await test.opened.database.read({
        sql: "SELECT count(*) AS n FROM oauth_logouts WHERE client_id = ?",
        args: [app.id],
      });
      return Number(row?.["n"]);
    },
  };
}

const json = async (path: string, options: Parameters<typeof test.send>[1], status: number) => {
  const response = await test.send(path, options);
  assert.equal(response.status, status, await response.text());
};

/** Ways to end it, and what they leave of the access of the session in which they happen. */
const ends: Readonly<Record<string, [act: (person: TestPerson) => Promise<unknown>, ofSession: string]>> = {
  "signing out everywhere else": [
    ({ cookie }) => json("/api/auth/sessions", { method: "DELETE", cookie }, 204),
    "ok",
  ],
  "a changed password": [
    ({ cookie }) =>
      json("/api/auth/password/change", {
        cookie,
        json: { currentPassword: testPassword, newPassword: "seven blue lanterns" },
      }, 204),
    "ok",
  ],
  "a reset password": [async ({ email }) => {
    await json("/api/auth/password/forgot", { json: { email } }, 202);
    const token = await mailedToken(test, email);
    await json("/api/auth/password/reset", { json: { token, password: "seven blue lanterns" } }, 204);
  }, "invalid_grant"],
  "an operator who ends all sessions": [
    ({ userId }) => operator(`DELETE /users/${userId}/sessions`),
    "invalid_grant",
  ],
  "an operator who disables the person and enables them again": [async ({ userId }) => {
    await operator(`PATCH /users/${userId}`, { disabled: true });
    await operator(`PATCH /users/${userId}`, { disabled: false });
  }, "invalid_grant"],
};

for (const [name, [act, ofSession]] of Object.entries(ends)) {
  Deno.test(`ends lasting access with ${name}, and tells the application`, async () => {
    const one = await connected(test);
    const other = await connected(test);
    await act(one.person);
    assert.deepEqual([await one.lasting(), await one.ofSession()], ["invalid_grant", ofSession]);
    assert.equal(await one.logouts(), 1);
    assert.deepEqual([await other.lasting(), await other.ofSession(), await other.logouts()], [
      "ok",
      "ok",
      0,
    ]);
  });
}

Deno.test("ends lasting access after the last session is gone, too", async () => {
  const { person, lasting } = await connected(test);
  await json("/api/auth/sign-out", { method: "POST", cookie: person.cookie }, 204);
  assert.equal(await lasting(), "ok");
  await operator(`DELETE /users/${person.userId}/sessions`);
  assert.equal(await lasting(), "invalid_grant");
});

Deno.test("ends lasting access with the session once the person's domain requires its provider", async () => {
  const own = await startTestApp();
  try {
    const [one, other] = [await connected(own), await connected(own)];
    const peer = { url: "https://idp.example", clientId: "c", clientSecret: "s" };
    const provider = await addProvider(own, peer, {
      company: { organizationId: one.person.organizationId, domains: ["north.example"] },
    });
    await run(own, "UPDATE users SET email = 'ada@north.example' WHERE id = ?", one.person.userId);
    for (const { cookie } of [one.person, other.person]) {
      await (await own.send("/api/auth/sign-out", { method: "POST", cookie })).body?.cancel();
    }
    assert.equal(await one.lasting(), "ok", "the provider isn't required yet");
    const still = await connected(own);
    await run(own, "UPDATE users SET email = 'bob@north.example' WHERE id = ?", still.person.userId);
    await run(own, "UPDATE identity_providers SET enforced = 1 WHERE id = ?", provider);
    assert.deepEqual([await one.lasting(), await still.lasting(), await other.lasting()], [
      "invalid_grant",
      "ok",
      "ok",
    ]);
  } finally {
    await own.dispose();
  }
});

Deno.test("keeps lasting access when a sign-in stores the password with new hash parameters", async () => {
  const { person, lasting, ofSession } = await connected(test);
  const weaker = await hash(testPassword, { memoryCost: 8192, timeCost: 1, parallelism: 1 });
  await run(test, "UPDATE users SET password_hash = ? WHERE id = ?", weaker, person.userId);
  await signInAgain(test, person.email);
  const [row] = await test.opened.database.read({
    sql: "SELECT password_hash AS hash FROM users WHERE id = ?",
    args: [person.userId],
  });
  assert.match(String(row?.["hash"]), /m=19456,t=2/);
  assert.deepEqual([await lasting(), await ofSession()], ["ok", "ok"]);
});
