// Attacks through someone's browser: addresses that look like registered ones, planted sessions, frames, and strangers' addresses.
import assert from "node:assert/strict";
import { changeClient } from "../../../services/oauth/mod.ts";
import { startTestApp, type TestPerson } from "../../support/app/app.ts";
import { type IssuedClient, newResource } from "../../support/oauth/issued.ts";
import {
  addClient,
  answerOf,
  authorizeAddress,
  confirmed,
  consentForm,
  consentTo,
  exchange,
  redirectUri,
  userinfo,
} from "../../support/oauth/scene.ts";
import { commandLineActor, makeOperator } from "../../support/operators/operators.ts";
import { run } from "../../support/people/scene.ts";

const test = await startTestApp({ SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" });
const person = await confirmed(test, await test.signUp());
const app = await addClient(test, { consent: false });

const open = async (address: string, who: Pick<TestPerson, "cookie"> = person) => {
  const response = await test.send(address, { cookie: who.cookie });
  return {
    status: response.status,
    location: response.headers.get("location"),
    headers: response.headers,
    html: await response.text(),
  };
};
const codeFor = async (client: IssuedClient & { secret: string }, who = person, changes = {}) =>
  (await answerOf(test, who, authorizeAddress(client, changes))).get("code") ?? "";

Deno.test("accepts no address that only resembles a registered one", async () => {
  const native = await addClient(test, {
    isPublic: true,
    redirectUris: ["http://127.0.0.1/cb", "http://localhost/cb", "com.example.app:/cb"],
  });
  const cases = [
    [app, "https://app.example.com.evil.example/callback"],
    [app, "https://app.example.com/callback.evil"],
    [app, "https://app.example.com/callback?"],
    [app, "https://app.example.com/callback%00"],
    [app, "https://app.example.com/callback\u0000"],
    [app, "https://app.example.com/callback\\@evil.example"],
    [app, "https://app.example.com\\.evil.example/callback"],
    [app, "https://app.example.com./callback"],
    [app, "https://user@app.example.com/callback"],
    [app, "https://app.example.com:443/callback"],
    [app, "https://app.example.com//callback"],
    [app, "https://app.example.com/callback;x"],
    [app, " https://app.example.com/callback"],
    [app, "HTTPS://app.example.com/callback"],
    [app, "//app.example.com/callback"],
    [app, "javascript:alert(1)//https://app.example.com/callback"],
    [app, "data:text/html,https://app.example.com/callback"],
    [app, "http://app.example.com/callback"],
    [app, "http://127.0.0.1/callback"],
    [native, "http://127.0.0.1.evil.example/cb"],
    [native, "http://127.0.0.1:80@evil.example/cb"],
    [native, "http://127.0.0.1:1@evil.example/cb"],
    [native, "http://localhost:1.evil.example/cb"],
    [native, "http://127.0.0.1:99999/cb"],
    [native, "http://127.0.0.1:/cb"],
    [native, "http://127.0.0.1:1/cb#f"],
    [native, "http://127.0.0.1:1/cb/../cb"],
    [native, "http://127.0.0.1:1/cb?x=1"],
    [native, "http://127.0.0.2:1/cb"],
    [native, "http://[::1]:1/cb"],
    [native, "http://2130706433:1/cb"],
    [native, "https://127.0.0.1:1/cb"],
    [native, "com.example.app://cb"],
    [native, "com.example.app:/cb?x"],
    [native, "com.example.app.evil:/cb"],
  ] as const;
  for (const [client, uri] of cases) {
    const { status, location } = await open(authorizeAddress(client, { redirect_uri: uri }));
    assert.deepEqual([status, location], [400, null], uri);
  }
});

Deno.test("rejects a request with a parameter twice", async () => {
  for (const name of ["redirect_uri", "client_id"]) {
    const { status, location } = await open(`${authorizeAddress(app)}&${name}=https://evil.example`);
    assert.deepEqual([status, location], [400, null], name);
  }
  const twice = { scope: "openid", code_challenge: "x", prompt: "none", unknown: "y" };
  for (const [name, value] of Object.entries(twice)) {
    const address = `${authorizeAddress(app, { [name]: value })}&${name}=${value}`;
    assert.equal((await answerOf(test, person, address)).get("error"), "invalid_request", name);
  }
  const resources = `${authorizeAddress(app)}&resource=https://a.example&resource=https://b.example`;
  assert.equal((await answerOf(test, person, resources)).get("error"), "invalid_target");
});

Deno.test("an application's former address receives nothing after it was changed", async () => {
  const client = await addClient(test, { consent: false });
  const code = await codeFor(client);
  const now = "https://new.example.com/callback";
  await changeClient(test.services, commandLineActor, { id: client.id, redirectUris: [now] });
  assert.equal((await exchange(test, client, code)).body.error, "invalid_grant", "a code from before");
  assert.equal((await open(authorizeAddress(client))).status, 400);
  const later = await codeFor(client, person, { redirect_uri: now });
  assert.equal((await exchange(test, client, later, { redirect_uri: redirectUri })).status, 400);
});

Deno.test("a program on the person's machine is asked for each time, and gets nothing silently", async () => {
  for (const uri of ["http://127.0.0.1:5000/cb", "com.example.app:/cb"]) {
    const native = await addClient(test, { isPublic: true, consent: false, redirectUris: [uri] });
    const address = authorizeAddress(native, { redirect_uri: uri });
    const { form, html, cookie } = await consentForm(test, person, address);
    assert.match(html, /A program on this device/);
    await test.send("/authorize/decision", { form, cookie });
    assert.notEqual((await consentForm(test, person, address)).form.proof, "", "asked again");
    const silent = authorizeAddress(native, { redirect_uri: uri, prompt: "none" });
    const { location } = await open(silent);
    assert.match(location ?? "", /error=consent_required/);
  }
});

Deno.test("names the person whose session it is, and clears cookies of two people", async () => {
  const eve = await confirmed(test, await test.signUp("Eve"));
  const asking = await addClient(test);
  const planted = await open(authorizeAddress(asking), eve);
  assert.ok(planted.html.includes(eve.email), "a planted session shows whose it is");
  const both = { cookie: `${person.cookie}; ${eve.cookie}` };
  for (const client of [app, asking]) {
    const { location, html } = await open(authorizeAddress(client), both);
    assert.doesNotMatch(location ?? "", /code=/);
    assert.doesNotMatch(html, /name="proof"/);
  }
});

Deno.test("the consent page can't be framed, and its address leaks nowhere", async () => {
  const { headers, html } = await open(authorizeAddress(await addClient(test)));
  assert.match(headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
  assert.match(headers.get("content-security-policy") ?? "", /form-action 'self'/);
  assert.equal(headers.get("referrer-policy"), "no-referrer");
  assert.match(headers.get("cache-control") ?? "", /no-store/);
  assert.doesNotMatch(html, /<script(?! defer src="\/static\/)/);
});

Deno.test("a form sent twice gives two codes for the same request, and one decision about access", async () => {
  const asking = await addClient(test);
  const { form, cookie } = await consentForm(test, person, authorizeAddress(asking));
  const pages = await Promise.all(
    [1, 2].map(async () => await (await test.send("/authorize/decision", { form, cookie })).text()),
  );
  const codes = pages.map((html) => /[?&;]code=([^&"]+)/.exec(html)?.[1] ?? assert.fail(html));
  const results = await Promise.all(codes.map((code) => exchange(test, asking, code)));
  assert.deepEqual(results.map(({ status }) => status), [200, 200]);
  const [row] = await test.opened.database.read<{ count: number }>({
    sql: "SELECT count(*) AS count FROM oauth_consents WHERE client_id = ?",
    args: [asking.id],
  });
  assert.equal(row?.count, 1);
});

Deno.test("a narrower request doesn't hide what a person allowed before", async () => {
  const asking = await addClient(test);
  await consentTo(test, person, authorizeAddress(asking, { scope: "openid email profile" }));
  await consentTo(test, person, authorizeAddress(asking, { scope: "openid", prompt: "consent" }));
  const page = await open("/portal/account/applications");
  assert.match(page.html, /openid, email, profile/);
  const silent = authorizeAddress(asking, { scope: "email profile openid", prompt: "none" });
  assert.notEqual((await answerOf(test, person, silent)).get("code"), null);
  const wider = authorizeAddress(asking, { scope: "openid groups", prompt: "none" });
  assert.equal((await answerOf(test, person, wider)).get("error"), "consent_required");
});

Deno.test("gives no code for an address that isn't confirmed", async () => {
  const stranger = await test.signUp();
  const page = await open(authorizeAddress(app), stranger);
  assert.deepEqual([page.status, page.location], [403, null]);
  assert.match(page.html, /Confirm your email address/);
  const { form, cookie } = await consentForm(
    test,
    await confirmed(test, stranger),
    authorizeAddress(
      await addClient(test),
    ),
  );
  await run(test, "UPDATE users SET email_verified_at = NULL WHERE id = ?", stranger.userId);
  const decision = await test.send("/authorize/decision", { form, cookie });
  assert.doesNotMatch(await decision.text(), /[?&;]code=/);
});

Deno.test("shows a client only groups of the organization that the access speaks for, or that it names", async () => {
  const [ada, eve, bob] = [1, 2, 3].map(() => test.signUp());
  const [own, second, third] = await Promise.all([ada, eve, bob]) as [TestPerson, TestPerson, TestPerson];
  await confirmed(test, own);
  for (const { organizationId } of [second, third]) {
    await run(
      test,
      "INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (?, ?, 'ADMIN', 0)",
      own.userId,
      organizationId,
    );
  }
  const groupsOf = async (options: Parameters<typeof addClient>[1]) => {
    const client = await addClient(test, { consent: false, ...options });
    const { body } = await exchange(test, client, await codeFor(client, own));
    return (await userinfo(test, body.access_token)).body.groups;
  };
  assert.deepEqual(await groupsOf({}), [own.organizationId, `${own.organizationId}:OWNER`]);
  const named = [own.organizationId, second.organizationId];
  const groups = await groupsOf({ access: { organizationIds: named, minRole: "MEMBER" } });
  assert.deepEqual(
    groups.sort(),
    named.flatMap((id) => [id, `${id}:${id === own.organizationId ? "OWNER" : "ADMIN"}`]).sort(),
  );
});

Deno.test("an operator has the group only in a session with a second step", async () => {
  const operator = await confirmed(test, await test.signUp());
  await makeOperator(test, operator);
  const groups = async () => {
    const { body } = await exchange(test, app, await codeFor(app, operator));
    return (await userinfo(test, body.access_token)).body.groups;
  };
  await run(test, "UPDATE sessions SET second_factor_at = ? WHERE user_id = ?", test.now(), operator.userId);
  assert.ok((await groups()).includes("operator"));
  await run(test, "UPDATE sessions SET second_factor_at = NULL WHERE user_id = ?", operator.userId);
  assert.ok(!(await groups()).includes("operator"));
});

Deno.test("offline access isn't a way around the provider that a company requires", async () => {
  const employee = await confirmed(test, await test.signUp());
  const client = await addClient(test);
  const address = authorizeAddress(client, { scope: "openid offline_access" });
  await run(test, "UPDATE users SET email = 'ada@company.example' WHERE id = ?", employee.userId);
  await run(
    test,
    `INSERT INTO identity_providers (id, organization_id, slug, kind, name, issuer, client_id, client_secret, trust_email,
      sign_up, position, role, enforced, tested_at, created_at, updated_at)
    VALUES ('idp_1', ?, 'company', 'oidc', 'Company', 'https://company.example', 'id', 'secret', 0, 1, 0, 'MEMBER', 1, 1, 0, 0)`,
    employee.organizationId,
  );
  await run(
    test,
    "INSERT INTO organization_domains (organization_id, domain, token, created_at, verified_at) VALUES (?, 'company.example', 't', 0, 1)",
    employee.organizationId,
  );
  const { body } = await exchange(test, client, (await consentTo(test, employee, address)).get("code") ?? "");
  assert.equal(body.scope, "openid");
});

Deno.test("keeps at most 50 long requests of an address", async () => {
  const address = authorizeAddress(app, { state: "s".repeat(4_000) });
  const ask = async (peerAddress: string) => {
    const response = await test.send(address, { peerAddress });
    await response.body?.cancel();
    return response.status;
  };
  for (let i = 0; i < 50; i++) assert.equal(await ask("198.51.100.7"), 302);
  assert.equal(await ask("198.51.100.7"), 429);
  assert.equal(await ask("198.51.100.8"), 302, "others are not affected");
});

Deno.test("a resource that is open to named clients gives tokens to no other", async () => {
  const { resource: { uri } } = await newResource(test, {
    uri: "https://named.example.com",
    clients: [app.id],
  });
  const other = await addClient(test, { consent: false });
  const errorOf = async (client: typeof app) =>
    (await answerOf(test, person, authorizeAddress(client, { resource: uri, scope: "tools:call" }))).get(
      "error",
    );
  assert.deepEqual([await errorOf(app), await errorOf(other)], [null, "invalid_target"]);
});
