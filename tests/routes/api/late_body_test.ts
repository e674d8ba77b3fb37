// A client has ten seconds to send its body after its session was checked. If the session ends in between, the request must
// not take effect, so that a signed-out intruder can't leave anything behind.
import assert from "node:assert/strict";
import { assertError, cookieOf, type TestApp, testApp, testPassword } from "../../support/app/app.ts";
import { joinedPerson, mailedToken, me, signInAgain, verifiedPerson } from "../../support/people/people.ts";
import { codeOf, passkeyOptions, TestPasskey } from "../../support/people/second_step.ts";

const account = "/api/portal/account";
const newPassword = "an entirely different 7 phrase";

/** Sends a request, calls a function when the body is read, and only then sends the body. */
function sendLate(
  test: TestApp,
  path: string,
  request: { method?: string | undefined; cookie: string; json: unknown; meanwhile: () => Promise<void> },
): Promise<Response> {
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await request.meanwhile();
      controller.enqueue(new TextEncoder().encode(JSON.stringify(request.json)));
      controller.close();
    },
  }, { highWaterMark: 0 });
  return test.send(path, {
    method: request.method ?? "POST",
    cookie: request.cookie,
    body,
    headers: { "content-type": "application/json" },
  });
}

/** Resets the password by email. */
async function reset(test: TestApp, email: string): Promise<void> {
  const requested = await test.send("/api/auth/password/forgot", { json: { email } });
  assert.equal(requested.status, 202);
  const token = await mailedToken(test, email);
  const done = await test.send("/api/auth/password/reset", { json: { token, password: newPassword } });
  assert.equal(done.status, 204, await done.text());
}

testApp("a session ended by a password reset can't add a passkey", async (test) => {
  const squatter = await test.signUp();
  const passkey = new TestPasskey(test.config.baseUrl.origin);
  const response = passkey.register(await passkeyOptions(test, squatter.cookie));
  const answer = await sendLate(test, `${account}/passkeys`, {
    cookie: squatter.cookie,
    json: { name: "Back door", response },
    meanwhile: () => reset(test, squatter.email),
  });
  await assertError(answer, 401, "unauthenticated");
  const owner = await signInAgain(test, squatter.email, newPassword);
  assert.deepEqual((await (await test.send(`${account}/passkeys`, { cookie: owner })).json()).passkeys, []);
});

testApp("a session ended from another session can't add a passkey", async (test) => {
  const ada = await test.signUp();
  const stolen = await signInAgain(test, ada.email);
  const passkey = new TestPasskey(test.config.baseUrl.origin);
  const response = passkey.register(await passkeyOptions(test, stolen));
  const answer = await sendLate(test, `${account}/passkeys`, {
    cookie: stolen,
    json: { name: "Back door", response },
    meanwhile: async () => {
      const ended = await test.send("/api/auth/sessions", { method: "DELETE", cookie: ada.cookie });
      assert.equal(ended.status, 204);
    },
  });
  await assertError(answer, 401, "unauthenticated");
  const { passkeys } = await (await test.send(`${account}/passkeys`, { cookie: ada.cookie })).json();
  assert.deepEqual(passkeys, []);
});

testApp("an ended session can't turn on two-step sign-in", async (test) => {
  const ada = await test.signUp();
  const stolen = await signInAgain(test, ada.email);
  const begun = await test.send(`${account}/two-step/totp`, { method: "POST", cookie: stolen });
  const { secret } = await begun.json();
  const response = await sendLate(test, `${account}/two-step/totp/confirm`, {
    cookie: stolen,
    json: { code: codeOf(secret, test.now()) },
    meanwhile: async () => {
      const ended = await test.send("/api/auth/sessions", { method: "DELETE", cookie: ada.cookie });
      assert.equal(ended.status, 204);
    },
  });
  await assertError(response, 401, "unauthenticated");
  assert.match(await signInAgain(test, ada.email), /access_token/, "the password alone still signs in");
});

testApp("a session ended by a password reset can't create a key", async (test) => {
  const squatter = await test.signUp();
  const response = await sendLate(test, "/api/portal/api-keys", {
    cookie: squatter.cookie,
    json: { name: "Back door" },
    meanwhile: () => reset(test, squatter.email),
  });
  await assertError(response, 401, "unauthenticated");
  const owner = await signInAgain(test, squatter.email, newPassword);
  assert.deepEqual((await (await test.send("/api/portal/api-keys", { cookie: owner })).json()).apiKeys, []);
});

testApp("an ended session can't change the email address", async (test) => {
  const ada = await verifiedPerson(test);
  const stolen = await signInAgain(test, ada.email);
  const requested = await test.send(`${account}/email`, {
    cookie: stolen,
    json: { email: "eve@example.com" },
  });
  assert.equal(requested.status, 202);
  const response = await sendLate(test, "/api/auth/email/verify", {
    cookie: stolen,
    json: { token: await mailedToken(test, "eve@example.com") },
    meanwhile: async () => {
      const ended = await test.send("/api/auth/sessions", { method: "DELETE", cookie: ada.cookie });
      assert.equal(ended.status, 204);
    },
  });
  await assertError(response, 401, "unauthenticated");
  assert.equal((await me(test, ada.cookie)).user?.email, ada.email);
});

testApp("a new password cancels a pending email change", async (test) => {
  for (const way of ["reset", "change"]) {
    const ada = await verifiedPerson(test);
    const eve = `eve-${way}@example.com`;
    const requested = await test.send(`${account}/email`, { cookie: ada.cookie, json: { email: eve } });
    assert.equal(requested.status, 202);
    const token = await mailedToken(test, eve);
    let cookie = ada.cookie;
    if (way === "reset") {
      await reset(test, ada.email);
      cookie = await signInAgain(test, ada.email, newPassword);
    } else {
      const changed = await test.send("/api/auth/password/change", {
        cookie,
        json: { currentPassword: testPassword, newPassword },
      });
      assert.equal(changed.status, 204);
      cookie = cookieOf(changed);
    }
    await assertError(
      await test.send("/api/auth/email/verify", { cookie, json: { token } }),
      404,
      "invalid_token",
    );
  }
});

/** Sends a request with a stolen session that the owner ends before the body arrives, and checks that it is rejected. */
async function sendEnded(
  test: TestApp,
  owner: { email: string; cookie: string },
  request: { method?: string; path: string; json: unknown },
): Promise<void> {
  const response = await sendLate(test, request.path, {
    method: request.method,
    cookie: await signInAgain(test, owner.email),
    json: request.json,
    meanwhile: async () => {
      const ended = await test.send("/api/auth/sessions", { method: "DELETE", cookie: owner.cookie });
      assert.equal(ended.status, 204);
    },
  });
  await assertError(response, 401, "unauthenticated");
}

testApp(
  "an ended session can't invite anyone, make someone an owner or transfer the organization",
  async (test) => {
    const ada = await verifiedPerson(test);
    const bob = await joinedPerson(test, ada, "MEMBER");
    const organization = `/api/portal/organizations/${ada.organizationId}`;
    const json = { email: "eve@example.com", role: "OWNER" };
    await sendEnded(test, ada, { path: `${organization}/invitations`, json });
    const invitations = await test.send(`${organization}/invitations?limit=1`, { cookie: ada.cookie });
    assert.equal((await invitations.json()).invitations[0].email, bob.email);
    await sendEnded(test, ada, {
      method: "PATCH",
      path: `${organization}/members/${bob.userId}`,
      json: { role: "OWNER" },
    });
    await sendEnded(test, ada, { path: `${organization}/transfer`, json: { userId: bob.userId } });
    assert.equal((await me(test, bob.cookie)).role, "MEMBER");
    assert.equal((await me(test, ada.cookie)).role, "OWNER");
  },
);

testApp("an ended session can't delete an organization or change the password", async (test) => {
  const ada = await verifiedPerson(test);
  const [{ name } = { name: "" }] = (await me(test, ada.cookie)).memberships;
  const path = `/api/portal/organizations/${ada.organizationId}`;
  await sendEnded(test, ada, { method: "DELETE", path, json: { name } });
  await sendEnded(test, ada, {
    path: "/api/auth/password/change",
    json: { currentPassword: testPassword, newPassword },
  });
  assert.equal((await me(test, ada.cookie)).organizationId, ada.organizationId);
  await signInAgain(test, ada.email);
});
