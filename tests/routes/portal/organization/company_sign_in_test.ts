// The pages of an organization's single sign-on, in a browser without scripts; and what operators see and can stop.
import assert from "node:assert/strict";
import { assertRows } from "../../../support/app/rows.ts";
import {
  companyTest,
  providerOf,
  requireProvider,
  ssoOf,
} from "../../../support/identity_providers/company.ts";
import { newVisitor } from "../../../support/identity_providers/visitor.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { joinedPerson, reauthenticate, verifiedPerson } from "../../../support/people/people.ts";

const path = "/portal/organization/single-sign-on";

companyTest("an owner sets up, proves, tests, requires and removes a provider on pages", async (scene) => {
  const { test, dns, issuer } = scene;
  const owner = await verifiedPerson(test);
  const member = await joinedPerson(test, owner, "MEMBER");
  const button = "Continue with single sign-on";
  await assertRows(test, {}, [["GET /sign-in", null, 200, { hides: [button] }]]);
  await assertRows(test, member, [[`GET ${path}`, null, 403], [`GET ${path}/edit`, null, 403]]);
  await assertRows(test, owner, [
    ["GET /portal/organization", null, 200, { shows: [`href="${path}"`, "Set up"] }],
    [`GET ${path}`, null, 200, { shows: ["/callback", "No domains yet"] }],
    [
      `POST ${path}/edit`,
      { issuer: "ftp://x", clientId: "", role: "OWNER", sessionMaxDays: "x" },
      "422 issuer clientId clientSecret role sessionMaxDays",
    ],
    [`POST ${path}/edit`, { issuer: issuer.url, clientId: "c", role: "MEMBER" }, "422 clientSecret"],
    [
      `POST ${path}/edit`,
      { ...providerOf(issuer), enforced: "", sessionMaxDays: "" },
      `303 ${path}?done=saved`,
    ],
    [`GET ${path}?done=saved`, null, 200, { shows: ["Not tested"], hides: [issuer.clientSecret] }],
    [`POST ${path}/domains/new`, { domain: "Example.COM" }, `303 ${path}/domains/example.com/verify`],
    [`POST ${path}/domains/example.com/verify`, {}, 409, { shows: ["TXT"], hides: ["Something went wrong"] }],
  ]);
  await assertRows(test, {}, [["GET /sign-in", null, 200, { shows: [button] }]]);
  const { html } = await assertRows(test, owner, [[`GET ${path}/domains/example.com/verify`, null, 200]]);
  dns.texts.set("_gatehouse.example.com", [/gatehouse-domain=[\w-]+/.exec(html)?.[0] ?? ""]);
  await assertRows(test, owner, [[
    `POST ${path}/domains/example.com/verify`,
    {},
    `303 ${path}?done=verified`,
  ]]);
  // Nothing is required before a test, not even by someone who knows the address.
  await assertRows(test, owner, [[`POST ${path}/require`, {}, 409]]);
  issuer.person = { sub: "ada", email: owner.email, name: "<b>Ada</b>" };
  const visitor = newVisitor(test);
  await visitor.take(owner.cookie);
  const asked = await visitor.open(`${path}/test`, { form: {} });
  const href =
    /http-equiv="refresh" content="0; url=([^"]+)"/.exec(asked.html)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const shown = await visitor.open(href);
  assert.match(shown.html, /Single sign-on works/);
  assert.match(shown.html, /&lt;b&gt;Ada&lt;\/b&gt;/);
  await assertRows(test, owner, [
    [`GET ${path}/require`, null, 200, { shows: ["passkey"] }],
    [`POST ${path}/require`, {}, `303 ${path}?done=require`],
    [`GET ${path}?done=require`, null, 200, { shows: ["Required", "Stop requiring"] }],
  ]);
  await assertRows(test, member, [["GET /portal/organization", null, 200, {
    shows: ["Required for example.com"],
    hides: [path],
  }]]);
  await assertRows(test, owner, [
    [`POST ${path}/stop`, {}, `303 ${path}?done=stop`],
    [`POST ${path}/domains/example.com/remove`, {}, `303 ${path}?done=domain-removed`],
    [`POST ${path}/remove`, {}, `303 ${path}?done=remove`],
    [`GET ${path}`, null, 200, { shows: ["No domains yet", "Set up provider"] }],
  ]);
  // Without recent authentication, nothing changes.
  test.advance(11 * 60_000);
  await assertRows(test, owner, [[`POST ${path}/domains/new`, { domain: "other.example" }, 303]]);
  await assertRows(test, owner, [[`GET ${path}`, null, 200, { shows: ["No domains yet"] }]]);
}, { kinds: ["embedded"] });

companyTest(
  "operators see an organization's single sign-on without its secret, and can stop requiring it",
  async (scene) => {
    const { test } = scene;
    const owner = await verifiedPerson(test);
    const operator = await newOperator(test);
    await requireProvider(scene, owner);
    const console = `/operator/organizations/${owner.organizationId}`;
    const api = `/api/operator/organizations/${owner.organizationId}/sso`;
    const hides = [scene.issuer.clientSecret];
    await assertRows(test, operator, [
      [`GET ${console}`, null, 200, { shows: ["Single sign-on", "Required", "example.com"], hides }],
      [`GET ${console}/single-sign-on`, null, 200, { hides }],
      [`POST ${console}/single-sign-on`, {}, `303 ${console}?done=sso-stopped`],
      [`GET ${api}`, null, 200, { shows: ['"enforced":false'], hides }],
      [`PATCH ${api}`, { enforced: true }, "422 validation_failed enforced"],
      [`PUT ${ssoOf(owner)}`, providerOf(scene.issuer), "404 not_found"],
    ]);
    await reauthenticate(test, owner.cookie);
    await assertRows(test, owner, [
      [`PUT ${ssoOf(owner)}`, providerOf(scene.issuer, { enforced: true }), 200],
      ["GET /api/portal/audit", null, 200, { shows: ["sso.enforcement_ended", '"type":"operator"'] }],
    ]);
    const { fullToken } = await newOperatorToken(test);
    const sent = await test.send(api, { method: "PATCH", apiKey: fullToken, json: { enforced: false } });
    assert.equal((await sent.json()).sso.provider.enforced, false);
    const told = (await test.mails()).filter(({ to, subject }) =>
      to === owner.email && subject.endsWith("no longer required")
    );
    assert.equal(told.length, 2);
  },
  { kinds: ["embedded"] },
);

companyTest("the audit log says what an owner changed of a provider, without its secret", async (scene) => {
  const { test, issuer } = scene;
  const owner = await verifiedPerson(test);
  const put = (more: object) => [`PUT ${ssoOf(owner)}`, providerOf(issuer, { ...more }), 200] as const;
  await assertRows(test, owner, [
    put({}),
    put({ clientId: "second", role: "ADMIN", sessionMaxDays: 7 }),
    put({ clientId: "second", clientSecret: "another secret" }),
  ]);
  const { html } = await assertRows(test, owner, [["GET /portal/audit?action=sso.changed", null, 200, {
    hides: [issuer.clientSecret, "another secret"],
  }]]);
  const text = html.replaceAll(/<[^>]*>/g, "").replaceAll(/\s+/g, " ");
  const first = `client ID from ${issuer.clientId} to second; role from Member to Admin; ` +
    "days until sessions end from default to 7";
  const second = "client secret; role from Admin to Member; days until sessions end from 7 to default";
  for (const change of [first, second]) {
    assert.ok(text.includes(`Changed single sign-on: ${change}`), text);
  }
}, { kinds: ["embedded"] });
