// Tests connecting devices from outside (RFC 8628), and who could abuse it: phishing, guessing, and forms of other sites.
import assert from "node:assert/strict";
import { changeClient } from "../../../services/oauth/mod.ts";
import { type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { onBothDatabases } from "../../support/meter/usage.ts";
import {
  basic,
  deviceGrant,
  type IssuedClient,
  newClient,
  newMember,
  newResource,
  post,
} from "../../support/oauth/issued.ts";
import { commandLineActor } from "../../support/operators/operators.ts";

const settings = { SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" };
const grants = ["refresh_token", deviceGrant];

async function begin(test: TestApp, client: IssuedClient, more: Record<string, string> = {}) {
  const form = {
    scope: "openid profile",
    ...(client.secret === null ? { client_id: client.id } : {}),
    ...more,
  };
  return (await post(test, "/oauth/device", form, { ...basic(client), "user-agent": "cli/1" })).body;
}

function poll(test: TestApp, client: IssuedClient, code: string) {
  const form = { grant_type: deviceGrant, device_code: code };
  return post(
    test,
    "/oauth/token",
    client.secret === null ? { ...form, client_id: client.id } : form,
    basic(client),
  );
}

async function send(test: TestApp, { cookie }: TestPerson, path: string, form: Record<string, string>) {
  const response = await test.send(path, { cookie, form });
  return { status: response.status, html: await response.text() };
}

const enter = (test: TestApp, person: TestPerson, code: string) =>
  send(test, person, "/device", { user_code: code });
const decide = (
  test: TestApp,
  person: TestPerson,
  { code, decision = "allow" }: { code: string; decision?: string },
) =>
  send(test, person, "/device/decision", { user_code: code, decision, organization: person.organizationId });

onBothDatabases("connects a device after its code was entered and compared, once", async (test) => {
  const person = await newMember(test);
  const client = await newClient(test, { name: "Shipctl", isPublic: true, grants });
  const begun = await begin(test, client);
  assert.match(begun.user_code, /^[B-Z]{4}-[B-Z]{4}$/);
  assert.equal(begun.expires_in, 600);
  assert.equal(begun.interval, 5);
  assert.equal((await poll(test, client, begun.device_code)).body.error, "authorization_pending");
  assert.equal((await poll(test, client, begun.device_code)).body.error, "slow_down");

  const { html } = await enter(test, person, begun.user_code.toLowerCase().replace("-", " "));
  assert.match(html, new RegExp(begun.user_code));
  assert.match(html, /Shipctl/);
  assert.match(html, /203\.0\.113\.9/, "where it asks from");
  assert.match(html, /different network/, "the browser has another address");
  test.advance(5_000);
  assert.equal((await poll(test, client, begun.device_code)).body.error, "authorization_pending");
  assert.match((await decide(test, person, { code: begun.user_code })).html, /Device connected/);
  test.advance(5_000);
  const polls = await Promise.all([1, 2].map(() => poll(test, client, begun.device_code)));
  const tokens = polls.map(({ body }) => body).find((body) => body.access_token);
  assert.ok(tokens, JSON.stringify(polls.map(({ body }) => body)));
  assert.equal(polls.filter(({ status }) => status === 200).length, 1, "only one of two at the same time");
  assert.ok(tokens.refresh_token && tokens.id_token);
  test.advance(5_000);
  assert.equal((await poll(test, client, begun.device_code)).body.error, "invalid_grant");
  assert.match((await decide(test, person, { code: begun.user_code })).html, /wrong or has expired/);
}, settings);

testApp("a link with a code still has the person enter and compare it", async (test) => {
  const person = await newMember(test);
  const client = await newClient(test, { isPublic: true, grants });
  const begun = await begin(test, client);
  const link = new URL(begun.verification_uri_complete);
  const page = await test.send(link.pathname + link.search, { cookie: person.cookie });
  assert.match(await page.text(), new RegExp(`value="${begun.user_code}"`));
  const { status, html } = await decide(test, person, { code: begun.user_code });
  assert.equal(status, 422, "the code wasn't entered in this session");
  assert.match(html, /wrong or has expired/);
  assert.equal((await poll(test, client, begun.device_code)).body.error, "authorization_pending");
  const signedOut = await test.send(link.pathname + link.search);
  assert.match(signedOut.headers.get("location") ?? "", /^\/sign-in\?return_to=/);
}, settings);

testApp("only the session in which the code was entered can allow the device", async (test) => {
  const [ada, eve] = [await newMember(test), await newMember(test, "Eve")];
  const client = await newClient(test, { isPublic: true, grants });
  const begun = await begin(test, client);
  await enter(test, ada, begun.user_code);
  assert.equal((await decide(test, eve, { code: begun.user_code })).status, 422);
  assert.equal(
    (await decide(test, { ...ada, organizationId: eve.organizationId }, { code: begun.user_code })).status,
    403,
  );
  for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }]) {
    for (const path of ["/device", "/device/decision"]) {
      const form = { user_code: begun.user_code, decision: "allow", organization: ada.organizationId };
      const response = await test.send(path, { cookie: ada.cookie, form, headers });
      assert.equal(response.status, 403, path);
      await response.body?.cancel();
    }
  }
  assert.match((await decide(test, ada, { code: begun.user_code, decision: "deny" })).html, /Request denied/);
  assert.equal((await poll(test, client, begun.device_code)).body.error, "access_denied");
}, settings);

testApp("five wrong codes a minute are all that a person may enter", async (test) => {
  const person = await newMember(test);
  const client = await newClient(test, { isPublic: true, grants });
  const { user_code: code } = await begin(test, client);
  for (let tries = 0; tries < 5; tries++) assert.equal((await enter(test, person, "BBBB-BBBB")).status, 422);
  assert.equal((await enter(test, person, code)).status, 429, "also the right one");
  test.advance(60_000);
  assert.equal((await enter(test, person, code)).status, 200);
}, settings);

testApp("a code expires after ten minutes, and ends with the session that allowed it", async (test) => {
  const person = await newMember(test);
  const client = await newClient(test, { isPublic: true, grants });
  const [late, ended] = [await begin(test, client), await begin(test, client)];
  await enter(test, person, ended.user_code);
  await decide(test, person, { code: ended.user_code });
  await test.send("/api/auth/sign-out", { method: "POST", cookie: person.cookie, json: {} });
  assert.equal((await poll(test, client, ended.device_code)).body.error, "invalid_grant");
  test.advance(600_000);
  assert.equal((await poll(test, client, late.device_code)).body.error, "expired_token");
}, settings);

testApp("a device code works only for its client, and clients need the grant", async (test) => {
  const person = await newMember(test);
  const [client, other] = [await newClient(test, { grants }), await newClient(test, { grants })];
  const begun = await begin(test, client);
  await enter(test, person, begun.user_code);
  await decide(test, person, { code: begun.user_code });
  assert.equal((await poll(test, other, begun.device_code)).body.error, "invalid_grant");
  assert.equal((await poll(test, client, begun.device_code)).status, 200, "nothing ended by that");
  const without = await newClient(test);
  assert.equal((await begin(test, without)).error, "unauthorized_client");
  assert.equal((await poll(test, without, begun.device_code)).body.error, "unauthorized_client");
  assert.equal((await begin(test, client, { resource: "https://unknown.example" })).error, "invalid_target");
}, settings);

testApp(
  "removing a scope or the access also ends devices that were allowed and haven't asked",
  async (test) => {
    const person = await newMember(test);
    const other = await newMember(test);
    const client = await newClient(test, { grants });
    const allow = async (one: TestPerson, scope: string) => {
      const begun = await begin(test, client, { scope });
      await enter(test, one, begun.user_code);
      assert.match((await decide(test, one, { code: begun.user_code })).html, /Device connected/);
      return begun.device_code;
    };
    const [lost, kept] = [await allow(person, "openid email"), await allow(person, "openid")];
    await changeClient(test.services, commandLineActor, { id: client.id, scopes: ["openid", "profile"] });
    assert.equal((await poll(test, client, lost)).body.error, "invalid_grant");
    assert.equal((await poll(test, client, kept)).body.scope, "openid");

    const [removed, others] = [await allow(person, "openid"), await allow(other, "openid")];
    const path = `/portal/account/applications/${client.id}/remove`;
    assert.equal((await send(test, person, path, {})).status, 303);
    assert.equal((await poll(test, client, removed)).body.error, "invalid_grant");
    assert.equal((await poll(test, client, others)).status, 200);
  },
  settings,
);

testApp("a device gets tokens of a resource, and an address has at most ten open codes", async (test) => {
  const person = await newMember(test);
  const client = await newClient(test, { grants });
  await newResource(test);
  const begun = await begin(test, client, { scope: "tools:call", resource: "https://MCP.example.com/mcp" });
  await enter(test, person, begun.user_code);
  await decide(test, person, { code: begun.user_code });
  assert.equal((await poll(test, client, begun.device_code)).body.scope, "tools:call");
  for (let open = 0; open < 10; open++) assert.ok((await begin(test, client)).user_code);
  assert.equal((await begin(test, client)).error, "temporarily_unavailable");
}, settings);
