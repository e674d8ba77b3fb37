// Requests, codes and forms that are rejected, and prompts that show no page.
import assert from "node:assert/strict";
import { startTestApp } from "../../support/app/app.ts";
import {
  addClient,
  answerOf,
  authorizeAddress,
  confirmed,
  consentForm,
  consentTo,
  exchange,
  post,
  userinfo,
} from "../../support/oauth/scene.ts";
import { reauthenticate } from "../../support/people/people.ts";

const test = await startTestApp();
const person = await confirmed(test, await test.signUp());
const app = await addClient(test, { consent: false });

const errorOf = async (changes: Record<string, string | null>) =>
  (await answerOf(test, person, authorizeAddress(app, changes))).get("error");
const newCode = async () => (await answerOf(test, person, authorizeAddress(app))).get("code") ?? "";

Deno.test("shows a page for unknown clients and redirect addresses, and never redirects", async () => {
  const uris = [
    "https://app.example.com/callback/",
    "https://app.example.com:8443/callback",
    "https://app.example.com/callback?x=1",
    "https://app.example.com/%63allback",
    "https://app.example.com@evil.example/callback",
    "https://APP.example.com/callback",
    "https://app.example.com/callback#x",
    "https://app.example.com/x/../callback",
  ];
  for (const uri of uris) {
    const response = await test.send(authorizeAddress(app, { redirect_uri: uri }), { cookie: person.cookie });
    assert.equal(response.status, 400, uri);
  }
  const unknown = await test.send(authorizeAddress({ id: "cli_0", secret: "" }), { cookie: person.cookie });
  assert.equal(unknown.status, 400);
});

Deno.test("accepts any port on this machine, and asks each time", async () => {
  const native = await addClient(test, {
    isPublic: true,
    consent: false,
    redirectUris: ["http://127.0.0.1/cb"],
  });
  const address = authorizeAddress(native, { redirect_uri: "http://127.0.0.1:49152/cb" });
  assert.notEqual((await consentTo(test, person, address)).get("code"), null);
  assert.ok((await consentForm(test, person, address)).form.proof !== "");
  const other = await test.send(authorizeAddress(native, { redirect_uri: "http://127.0.0.1:1/other" }), {
    cookie: person.cookie,
  });
  assert.equal(other.status, 400);
});

Deno.test("sends other mistakes to the application, with state and issuer", async () => {
  const cases: [Record<string, string | null>, string][] = [
    [{ response_type: "token" }, "unsupported_response_type"],
    [{ response_type: null }, "invalid_request"],
    [{ code_challenge: null, code_challenge_method: null }, "invalid_request"],
    [{ code_challenge_method: "plain" }, "invalid_request"],
    [{ code_challenge_method: null }, "invalid_request"],
    [{ response_mode: "fragment" }, "invalid_request"],
    [{ request: "x" }, "request_not_supported"],
    [{ request_uri: "https://x.example" }, "request_uri_not_supported"],
    [{ scope: "unknown" }, "invalid_scope"],
    [{ scope: null }, "invalid_scope"],
    [{ resource: "https://unknown.example" }, "invalid_target"],
    [{ prompt: "none login" }, "invalid_request"],
    [{ max_age: "x" }, "invalid_request"],
    [{ prompt: "none", id_token_hint: "x" }, "login_required"],
  ];
  for (const [changes, error] of cases) assert.equal(await errorOf(changes), error, JSON.stringify(changes));
  const answer = await answerOf(test, person, authorizeAddress(app, { scope: "unknown" }));
  assert.deepEqual([answer.get("state"), answer.get("iss")], ["s1", test.config.baseUrl.origin]);
});

Deno.test("answers prompt=none without a page", async () => {
  const none = { prompt: "none" };
  assert.equal((await answerOf(test, null, authorizeAddress(app, none))).get("error"), "login_required");
  assert.notEqual((await answerOf(test, person, authorizeAddress(app, none))).get("code"), null);
  const asking = await addClient(test);
  assert.equal(
    (await answerOf(test, person, authorizeAddress(asking, none))).get("error"),
    "consent_required",
  );
  const unconfirmed = await test.signUp();
  assert.equal(
    (await answerOf(test, unconfirmed, authorizeAddress(app, none))).get("error"),
    "interaction_required",
  );
});

Deno.test("asks for the password again with prompt=login, once", async () => {
  const response = await test.send(authorizeAddress(app, { prompt: "login" }), { cookie: person.cookie });
  const location = new URL(response.headers.get("location") ?? "", test.config.baseUrl);
  assert.equal(location.pathname, "/portal/confirm-password");
  const target = location.searchParams.get("return_to") ?? "";
  const [kept = ""] = response.headers.getSetCookie().map((text) => text.split(";", 1)[0] ?? "");
  const cookie = `${person.cookie}; ${kept}`;
  assert.equal((await test.send(target, { cookie: person.cookie })).status, 400);
  assert.match(
    (await test.send(target, { cookie })).headers.get("location") ?? "",
    /^\/portal\/confirm-password/,
  );
  test.advance(1_000);
  await reauthenticate(test, person.cookie);
  assert.notEqual((await answerOf(test, { cookie }, target)).get("code"), null);
});

Deno.test("keeps a request that is too long for the sign-in page", async () => {
  const response = await test.send(authorizeAddress(app, { state: "s".repeat(4_000) }));
  const location = new URL(response.headers.get("location") ?? "", test.config.baseUrl);
  const [kept = ""] = response.headers.getSetCookie().map((text) => text.split(";", 1)[0] ?? "");
  const target = location.searchParams.get("return_to") ?? "";
  const answer = await answerOf(test, { cookie: `${person.cookie}; ${kept}` }, target);
  assert.equal(answer.get("state")?.length, 4_000);
});

Deno.test("gives no code to images, prefetches and HEAD requests", async () => {
  const address = authorizeAddress(app);
  for (
    const headers of [{ "sec-fetch-dest": "image" }, { "sec-fetch-dest": "iframe" }, {
      "sec-purpose": "prefetch",
    }]
  ) {
    assert.equal((await test.send(address, { cookie: person.cookie, headers })).status, 400);
  }
  const head = await test.send(address, { method: "HEAD", cookie: person.cookie });
  assert.equal(head.headers.get("location"), null);
});

Deno.test("turns a posted request into an address", async () => {
  const { status, headers } = await test.app.request(new URL("/oauth/authorize", test.config.baseUrl), {
    method: "POST",
    headers: { origin: "https://app.example.com", "content-type": "application/x-www-form-urlencoded" },
    body: authorizeAddress(app).split("?")[1] ?? "",
  });
  assert.equal(status, 303);
  assert.match(headers.get("location") ?? "", /^\/oauth\/authorize\?/);
});

Deno.test("redeems a code once, and ends its grant when its client repeats it", async () => {
  const code = await newCode();
  const { body } = await exchange(test, app, code);
  assert.equal((await userinfo(test, body.access_token)).status, 200);
  const other = await addClient(test);
  assert.equal((await exchange(test, other, code)).body.error, "invalid_grant");
  assert.equal(
    (await exchange(test, app, code, { code_verifier: "x".repeat(43) })).body.error,
    "invalid_grant",
  );
  assert.equal((await userinfo(test, body.access_token)).status, 200);
  assert.equal((await exchange(test, app, code)).body.error, "invalid_grant");
  assert.equal((await userinfo(test, body.access_token)).status, 401);
});

Deno.test("redeems a code for one of two parallel requests", async () => {
  const code = await newCode();
  const answers = await Promise.all([exchange(test, app, code), exchange(test, app, code)]);
  assert.ok(answers.filter(({ status }) => status === 200).length <= 1);
});

Deno.test("binds a code to its client, redirect address, verifier and session, for a minute", async () => {
  const wrong = [{ redirect_uri: "https://app.example.com/other" }, { code_verifier: "y".repeat(43) }, {
    resource: "https://mcp.example.com",
  }];
  for (const changes of wrong) {
    assert.equal((await exchange(test, app, await newCode(), changes)).status, 400);
  }
  const late = await newCode();
  test.advance(60_001);
  assert.equal((await exchange(test, app, late)).body.error, "invalid_grant");
  const other = await confirmed(test, await test.signUp());
  const code = (await answerOf(test, other, authorizeAddress(app))).get("code") ?? "";
  await test.send("/api/auth/sign-out", { method: "POST", cookie: other.cookie });
  assert.equal((await exchange(test, app, code)).body.error, "invalid_grant");
});

Deno.test("has at most 20 open codes of a session", async () => {
  const busy = await confirmed(test, await test.signUp());
  for (let i = 0; i < 20; i++) await answerOf(test, busy, authorizeAddress(app));
  assert.equal((await answerOf(test, busy, authorizeAddress(app))).get("error"), "temporarily_unavailable");
});

Deno.test("rejects a consent form of another person, browser or request", async () => {
  const asking = await addClient(test);
  const { form, cookie } = await consentForm(test, person, authorizeAddress(asking));
  const other = await confirmed(test, await test.signUp());
  const browser = cookie.split("; ").at(-1) ?? "";
  const attempts = [
    { form, cookie: person.cookie },
    { form, cookie: `${other.cookie}; ${browser}` },
    {
      form: { ...form, request: form.request.replace("scope=openid", "scope=offline_access+openid") },
      cookie,
    },
  ];
  for (const attempt of attempts) assert.equal((await test.send("/authorize/decision", attempt)).status, 400);
  const crossSite = {
    form,
    cookie,
    headers: { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
  };
  assert.equal((await test.send("/authorize/decision", crossSite)).status, 403);
  const foreign = { form: { ...form, organizationId: other.organizationId }, cookie };
  const page = await (await test.send("/authorize/decision", foreign)).text();
  assert.match(page, /error=access_denied/);
  assert.match(
    await (await test.send("/authorize/decision", { form: { ...form, decision: "deny" }, cookie })).text(),
    /error=access_denied/,
  );
});

Deno.test("rejects a consent form after ten minutes, and one with another time", async () => {
  const address = authorizeAddress(await addClient(test));
  const first = await consentForm(test, person, address);
  test.advance(10 * 60_000 - 1);
  const second = await consentForm(test, person, address);
  const decide = async ({ form, cookie }: typeof first) =>
    await (await test.send("/authorize/decision", { form, cookie })).text();
  assert.match(await decide(first), /[?&;]code=/);
  test.advance(1);
  assert.match(await decide(first), /This page is out of date/);
  const [, signature = ""] = second.form.proof.split(".");
  for (const proof of [first.form.proof.replace(/^\d+/, `${test.now()}`), `.${signature}`, signature]) {
    assert.match(await decide({ ...second, form: { ...second.form, proof } }), /This page is out of date/);
  }
  assert.match(await decide(second), /[?&;]code=/);
});

Deno.test("rejects token requests in the form of the standard", async () => {
  const code = await newCode();
  const unknown = await exchange(test, { ...app, secret: "wrong" }, code);
  assert.deepEqual([unknown.status, unknown.body.error], [401, "invalid_client"]);
  assert.match(unknown.headers.get("www-authenticate") ?? "", /^Basic /);
  for (const grant of ["password", "client_credentials", "implicit"]) {
    const none = await post(test, "/oauth/token", { grant_type: grant }, app);
    assert.deepEqual([none.status, none.body.error], [400, "unsupported_grant_type"]);
    assert.equal(none.headers.get("access-control-allow-origin"), "*");
  }
  assert.equal((await post(test, "/oauth/token", {}, app)).body.error, "invalid_request");
  assert.equal((await post(test, "/oauth/token", { grant_type: "x" })).body.error, "invalid_client");
  assert.equal((await userinfo(test, app.secret)).body.error, "invalid_token");
});
