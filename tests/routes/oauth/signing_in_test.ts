// How people sign in for an application: hints, other accounts, second steps, and proof that they are still there.
import assert from "node:assert/strict";
import { cookieOf, startTestApp, testPassword, type TestPerson } from "../../support/app/app.ts";
import {
  addClient,
  answerOf,
  authorizeAddress,
  consentForm,
  consentTo,
  exchange,
  userinfo,
} from "../../support/oauth/scene.ts";
import { makeOperator } from "../../support/operators/operators.ts";
import { mailedToken, reauthenticate, signInAgain, verifiedPerson } from "../../support/people/people.ts";
import {
  addPasskey,
  codeOf,
  firstStep,
  proofOptions,
  secondStep,
  signInOptions,
  turnOnTwoStep,
} from "../../support/people/second_step.ts";
import { run } from "../../support/people/scene.ts";

const test = await startTestApp();
const own = await addClient(test, { consent: false });
const asking = await addClient(test);

const codeFor = async (person: Pick<TestPerson, "cookie">, changes: Record<string, string> = {}) =>
  (await answerOf(test, person, authorizeAddress(own, changes))).get("code") ?? "";

/** The claims of the ID token that an application gets. */
async function claimsOf(person: Pick<TestPerson, "cookie">): Promise<Record<string, unknown>> {
  const { body } = await exchange(test, own, await codeFor(person));
  return JSON.parse(atob(body.id_token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
}

const locationOf = (response: Response) =>
  new URL(response.headers.get("location") ?? "about:blank", test.config.baseUrl);

Deno.test("fills in the hinted address, as text and of bounded length", async () => {
  const hint = `ada"><b>${"a".repeat(300)}@example.com`;
  const location = locationOf(await test.send(authorizeAddress(own, { login_hint: hint })));
  assert.equal(location.pathname, "/sign-in");
  const html = await (await test.send(location.pathname + location.search)).text();
  const [, value = ""] = /name="email"[^>]*value="([^"]*)"|value="([^"]*)"[^>]*name="email"/.exec(html) ?? [];
  assert.equal(value, hint.slice(0, 254).replace('">', "&quot;&gt;").replace("<b>", "&lt;b&gt;"), html);
});

for (const [name, state] of [["a request", "s1"], ["a long request", "s".repeat(4_000)]] as const) {
  Deno.test(`continues ${name} for another account, and keeps the session until then`, async () => {
    const [ada, grace] = [await verifiedPerson(test), await verifiedPerson(test)];
    const { form, cookie, html } = await consentForm(
      test,
      ada,
      authorizeAddress(asking, { state, prompt: "select_account" }),
    );
    assert.ok(html.includes(ada.email));
    const browser = cookie.split("; ").at(-1);
    const switched = await test.send("/authorize/decision", {
      form: { ...form, decision: "switch" },
      cookie,
    });
    const location = locationOf(switched);
    assert.equal(location.pathname, "/sign-in");
    assert.equal((await test.send(location.pathname + location.search, { cookie })).status, 200);
    assert.equal((await (await test.send("/api/auth/me", { cookie })).json()).user.id, ada.userId);
    const next = { cookie: `${await signInAgain(test, grace.email)}; ${browser}`, email: "", userId: "" };
    const target = location.searchParams.get("return_to") ?? "";
    const answer = await consentTo(test, { ...grace, ...next }, target);
    assert.equal(answer.get("state"), state);
    const { body } = await exchange(test, asking, answer.get("code") ?? "");
    assert.equal((await userinfo(test, body.access_token)).body.sub, grace.userId);
  });
}

Deno.test("clears the cookies of two people, and asks who it is", async () => {
  const [ada, eve] = [await verifiedPerson(test), await verifiedPerson(test)];
  const response = await test.send(authorizeAddress(own), { cookie: `${ada.cookie}; ${eve.cookie}` });
  const location = locationOf(response);
  assert.deepEqual([location.pathname, location.searchParams.get("conflict")], ["/sign-in", "1"]);
  assert.match(response.headers.getSetCookie().join("\n"), /^access_token=; Max-Age=0/m);
  const page = await test.send(location.pathname + location.search);
  assert.match(await page.text(), /two accounts/);
});

Deno.test("names the methods of the session: password, code, recovery code and passkey", async () => {
  const person = await verifiedPerson(test);
  assert.deepEqual((await claimsOf(person))["amr"], ["pwd"]);
  const { passkey } = await addPasskey(test, person.cookie);
  const { secret, recoveryCodes: [recovery = ""] } = await turnOnTwoStep(test, person.cookie);
  const amrAfter = async (code: string) => {
    const token = await firstStep(test, person.email);
    const response = await secondStep(test, { token, code });
    assert.equal(response.status, 200);
    return (await claimsOf({ cookie: cookieOf(response) }))["amr"];
  };
  assert.deepEqual(await amrAfter(codeOf(secret, test.now())), ["pwd", "otp", "mfa"]);
  assert.deepEqual(await amrAfter(recovery), ["pwd", "otp", "mfa"]);
  const withPasskey = async (token?: string) => {
    passkey.counter++;
    const json = {
      ...(token === undefined ? {} : { token }),
      response: passkey.signIn(await signInOptions(test, token)),
    };
    const response = await test.send("/api/auth/sign-in/passkey", { json });
    assert.equal(response.status, 200, await response.clone().text());
    return (await claimsOf({ cookie: cookieOf(response) }))["amr"];
  };
  assert.deepEqual(await withPasskey(), ["pop"]);
  assert.deepEqual(await withPasskey(await firstStep(test, person.email)), ["pwd", "pop", "mfa"]);
});

Deno.test("names the method of a later proof, and guesses none for older sessions", async () => {
  const person = await verifiedPerson(test);
  const { passkey } = await addPasskey(test, person.cookie);
  await run(test, "UPDATE sessions SET amr = NULL, entered_at = NULL WHERE user_id = ?", person.userId);
  const before = await claimsOf(person);
  assert.equal("amr" in before, false);
  test.advance(5_000);
  passkey.counter++;
  const json = { response: passkey.signIn(await proofOptions(test, person.cookie)) };
  const proof = await test.send("/api/portal/account/proof/passkey", { cookie: person.cookie, json });
  assert.equal(proof.status, 204, await proof.text());
  const after = await claimsOf(person);
  assert.deepEqual(after["amr"], ["pop"]);
  assert.equal(Number(after["auth_time"]) - Number(before["auth_time"]), 5);
});

Deno.test("names no stronger method than the last proof", async () => {
  const person = await verifiedPerson(test);
  const { passkey } = await addPasskey(test, person.cookie);
  const amrAfterPasskey = async () => {
    passkey.counter++;
    const json = { response: passkey.signIn(await proofOptions(test, person.cookie)) };
    const proof = await test.send("/api/portal/account/proof/passkey", { cookie: person.cookie, json });
    assert.equal(proof.status, 204, await proof.text());
    return (await claimsOf(person))["amr"];
  };
  assert.deepEqual(await amrAfterPasskey(), ["pop"]);
  await reauthenticate(test, person.cookie);
  assert.deepEqual((await claimsOf(person))["amr"], ["pwd"]);
  assert.deepEqual(await amrAfterPasskey(), ["pop"]);
  const changed = await test.send("/api/auth/password/change", {
    cookie: person.cookie,
    json: { currentPassword: testPassword, newPassword: "seven blue lanterns" },
  });
  assert.equal(changed.status, 204, await changed.clone().text());
  assert.deepEqual((await claimsOf({ cookie: cookieOf(changed) }))["amr"], ["pwd"]);
});

Deno.test("keeps the methods of a second step when the password changes", async () => {
  const person = await verifiedPerson(test);
  const { secret } = await turnOnTwoStep(test, person.cookie);
  const step = { token: await firstStep(test, person.email), code: codeOf(secret, test.now()) };
  const cookie = cookieOf(await secondStep(test, step));
  const changed = await test.send("/api/auth/password/change", {
    cookie,
    json: { currentPassword: testPassword, newPassword: "seven blue lanterns" },
  });
  assert.equal(changed.status, 204, await changed.clone().text());
  assert.deepEqual((await claimsOf({ cookie: cookieOf(changed) }))["amr"], ["pwd", "otp", "mfa"]);
});

Deno.test("gives no code before the second step", async () => {
  const person = await verifiedPerson(test);
  await turnOnTwoStep(test, person.cookie);
  const token = await firstStep(test, person.email);
  for (const cookie of [`sign_in_step=${token}`, `access_token=${token}`]) {
    const answer = await answerOf(test, { cookie }, authorizeAddress(own, { prompt: "none" }));
    assert.equal(answer.get("error"), "login_required");
    assert.equal(locationOf(await test.send(authorizeAddress(own), { cookie })).pathname, "/sign-in");
  }
});

Deno.test("gives no code before the address is confirmed", async () => {
  const person = await test.signUp();
  const page = await test.send(authorizeAddress(own), { cookie: person.cookie });
  assert.equal(page.status, 403);
  assert.ok((await page.text()).includes(person.email));
  const json = { token: await mailedToken(test, person.email) };
  assert.equal((await test.send("/api/auth/email/verify", { cookie: person.cookie, json })).status, 200);
  assert.notEqual(await codeFor(person), "");
});

Deno.test("puts operators into their group only after a second step", async () => {
  const person = await verifiedPerson(test);
  const groups = async () => (await claimsOf(person))["groups"];
  const organization = [person.organizationId, `${person.organizationId}:OWNER`];
  await makeOperator(test, person, { secondFactorAt: null });
  assert.deepEqual(await groups(), organization);
  await makeOperator(test, person).catch(() => {});
  await run(test, "UPDATE sessions SET second_factor_at = ? WHERE user_id = ?", test.now(), person.userId);
  assert.deepEqual(await groups(), [...organization, "operator"]);
});

Deno.test("accepts a password for max_age, however long the session lasts", async () => {
  const person = await verifiedPerson(test);
  assert.notEqual(await codeFor(person, { max_age: "300" }), "");
  test.advance(301_000);
  const old = await test.send(authorizeAddress(own, { max_age: "300" }), { cookie: person.cookie });
  assert.equal(locationOf(old).pathname, "/portal/confirm-password");
  const none = { max_age: "300", prompt: "none" };
  assert.equal(
    (await answerOf(test, person, authorizeAddress(own, none))).get("error"),
    "login_required",
  );
  await reauthenticate(test, person.cookie);
  assert.notEqual(await codeFor(person, { max_age: "300" }), "");
});
