// The pages of organizations over plain forms: create, switch, rename, delete.
import assert from "node:assert/strict";
import { membershipsPerUserMax, recentAuthenticationMs } from "../../../../domain/limits.ts";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { assertRows, fetchJson, type Row, sendRow } from "../../../support/app/rows.ts";
import { activeOrganization, joinBy, noticesOf, page } from "../../../support/people/portal_people.ts";
import { me } from "../../../support/people/people.ts";
import { run } from "../../../support/people/scene.ts";
import { organizationWords as words } from "../../../support/portal/words/organization.ts";
import { inPage } from "../../../support/portal/words/sign_in.ts";
import { enterName } from "../../../../routes/schemas/messages.ts";

const all = "/portal/organizations";
const path = "/portal/organization";
const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };

/** The organization that a person's pages show. */
const activeOf = async (test: TestApp, person: TestPerson) =>
  activeOrganization((await page(test, "/portal/api-keys", person)).html);

testApp("a new organization becomes the active one, and a rejected form keeps the input", async (test) => {
  const person = await test.signUp("Ada");
  const long = "x".repeat(101);
  await assertRows(test, person, [
    [`POST ${all}`, { name: " Second " }, "303 /portal/members?done=created"],
    [`POST ${all}`, { name: long }, "422 name", {
      shows: [new RegExp(`id="name-error".*${enterName}`), `value="${long}"`],
    }],
  ]);
  assert.equal(await activeOf(test, person), "Second");
  const { html } = await assertRows(test, person, [
    [`GET ${all}`, null, 200, { shows: ["<bdi>Ada’s organization</bdi>"] }],
  ]);
  assert.equal(html.match(/<span class="badge on">Active<\/span>/g)?.length, 1);
  const more = Array.from({ length: membershipsPerUserMax - 2 }, (_, index) => `Nr ${index + 2}`);
  for (const name of more) {
    test.advance(6 * 60_000);
    await assertRows(test, person, [[`POST ${all}`, { name }, 303]]);
  }
  test.advance(6 * 60_000);
  const { html: full } = await assertRows(test, person, [
    [`POST ${all}`, { name: "Too much" }, 409, { shows: ['value="Too much"'] }],
  ]);
  assert.match(noticesOf(full).join(), inPage(words.organizationLimit));
});

testApp("switching returns to the same page in the other organization, and nowhere else", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const person = await test.signUp("Ada");
  const member = await joinBy(test, owner, { name: "Mia" });
  await sendRow(test, member, `POST ${all}`, { name: "Mia’s own" });
  const own = (await (await test.send("/api/auth/me", { cookie: member.cookie })).json()).organizationId;
  const go = (organizationId: string, return_to: string, outcome: string | number): Row => [
    "POST /portal/switch",
    { organizationId, return_to },
    outcome,
  ];
  await assertRows(test, member, [
    ["GET /portal/members", null, 200, {
      shows: [
        '<input type="hidden" name="return_to" value="/portal/members"',
        /<button type="submit" class="menu-item" aria-current="true">.*?<bdi class="cut">Mia’s own</,
      ],
    }],
    go(owner.organizationId, "/portal/members", "303 /portal/members"),
  ]);
  assert.equal(await activeOf(test, member), "Olive Owner’s organization");
  const tricks = ["//evil.example", "https://evil.example/portal/members", "/portal/../x", "/sign-out", ""];
  await assertRows(test, member, [
    // A page that the role there does not allow.
    go(owner.organizationId, "/portal/audit", "303 /portal"),
    go(own, "/portal/audit", "303 /portal/audit"),
    ...tricks.map((trick) => go(own, trick, "303 /portal")),
    ...[person.organizationId, "org_0", ""].map((id) => go(id, "", 404)),
    ["GET /portal/switch", null, "303 /portal"],
  ]);
  assert.equal(await activeOf(test, member), "Mia’s own");
  const boosted = await test.send("/portal/switch", {
    cookie: member.cookie,
    form: { organizationId: own, return_to: "/portal/usage" },
    headers: { "hx-request": "true" },
  });
  assert.equal(boosted.headers.get("hx-redirect"), "/portal/usage");
});

testApp("people without an organization are redirected to where they can create one", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const member = await joinBy(test, owner, { name: "Mia" });
  await sendRow(test, member, "POST /portal/members/leave");
  const places = ["/portal", "/portal/api-keys", "/portal/usage", "/portal/members", path, `${path}/delete`];
  await assertRows(test, member, [
    ...places.map((place): Row => [`GET ${place}`, null, `303 ${all}`]),
    ["POST /portal/api-keys/new", { name: "x" }, `303 ${all}`],
    [`GET ${all}`, null, 200, {
      shows: [words.noOrganizations, `an invitation to ${member.email}`, `action="${all}"`],
      hides: [/href="\/portal\/(api-keys|usage|members|organization|audit)"/],
    }],
    [`POST ${all}`, { name: "Mia’s own" }, 303],
  ]);
  assert.equal(await activeOf(test, member), "Mia’s own");
});

testApp("owners rename the organization, and others see no way to change it", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const admin = await joinBy(test, owner, { name: "Abel", role: "ADMIN" });
  await assertRows(test, owner, [
    [`POST ${path}`, { name: "Northwind" }, `303 ${path}?done=renamed`],
    [`GET ${path}?done=renamed`, null, 200, {
      notices: ["Renamed to “Northwind”."],
      shows: [
        'name="name" value="Northwind"',
        `<code class="pick">${owner.organizationId}</code>`,
        words.onlyOwner,
      ],
    }],
    [`POST ${path}`, { name: "  " }, 422, { shows: ["<bdi>Northwind</bdi>"] }],
  ]);
  await assertRows(test, admin, [[`GET ${path}`, null, 200, {
    shows: [/value="Northwind"[^>]* readonly/, 'href="/portal/members/leave"'],
    hides: [/action="\/portal\/organization"|organization\/(delete|transfer)/],
  }]]);
});

testApp("deleting requires recent authentication and the name, and ends keys immediately", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const member = await joinBy(test, owner, { name: "Mia" });
  await sendRow(test, owner, `POST ${path}`, { name: "Olive’s maps" });
  const { fullKey } = await createTestKey(test, owner);
  const use = async () => (await test.send("/api/v1/usage", { apiKey: fullKey, json: usage })).status;
  const address = `${path}/delete`;
  test.advance(recentAuthenticationMs);
  const confirm = `303 /portal/confirm-password?return_to=${encodeURIComponent(address)}`;
  await assertRows(test, owner, [
    [`GET ${address}`, null, confirm],
    [`POST ${address}`, { name: "Olive’s maps" }, confirm],
  ]);
  test.advance(-recentAuthenticationMs);
  await assertRows(test, owner, [
    [`GET ${address}`, null, 200, {
      shows: ["<dt>Members</dt><dd>2</dd>", "<dt>Active keys</dt><dd>1</dd>"],
    }],
    [`POST ${address}`, { name: "olive’s maps" }, "422 name", { shows: ['value="olive’s maps"'] }],
  ]);
  assert.equal(await use(), 201);
  await assertRows(test, owner, [
    // Typed with a plain apostrophe.
    [`POST ${address}`, { name: " Olive's maps " }, `303 ${all}?done=deleted`],
    [`GET ${all}?done=deleted`, null, 200, { shows: [new RegExp(`class="note done".*${words.deleted}`)] }],
  ]);
  assert.equal(await use(), 401);
  await assertRows(test, member, [["GET /portal/members", null, `303 ${all}`]]);
});

testApp("leaving twice leaves only the organization that the page was about", async (test) => {
  const owner = await test.signUp();
  const member = await joinBy(test, owner, { name: "Member" });
  const { organization } = await fetchJson(test, member, "POST /api/portal/organizations", { name: "Other" });
  // It has another owner, so leaving it by mistake would be possible.
  const join =
    "INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (?, ?, 'OWNER', 0)";
  await run(test, join, owner.userId, organization.id);
  const { organizationId } = owner;
  const field = `><input type="hidden" name="organizationId" value="${organizationId}"`;
  const leave: Row = [
    "POST /portal/members/leave",
    { organizationId },
    "303 /portal/organizations?done=left",
  ];
  await assertRows(test, member, [
    ["GET /portal/members/leave", null, 200, {
      shows: [new RegExp(`action="/portal/members/leave"[^>]*${field}`)],
    }],
    leave,
    leave,
  ]);
  assert.deepEqual((await me(test, member.cookie)).memberships.map(({ name }) => name), ["Other"]);
});

testApp("a form is rejected after switching to another organization than its page showed", async (test) => {
  const ada = await test.signUp();
  const { organization } = await fetchJson(test, ada, "POST /api/portal/organizations", { name: "Second" });
  const hidden = new RegExp(`<main[^]*name="organizationId" value="${ada.organizationId}"`);
  await assertRows(test, ada, [
    ...["/portal/members", "/portal/organization", "/portal/api-keys"].map((path): Row => [
      `GET ${path}`,
      null,
      200,
      { shows: [hidden] },
    ]),
    ["POST /api/auth/organization", { organizationId: organization.id }, 200],
    ...Object.entries({
      "/portal/members": { email: "x@example.com", role: "MEMBER" },
      "/portal/organization": { name: "Renamed" },
      "/portal/api-keys/new": { name: "Key", expires: "never" },
      "/portal/organization/transfer": { userId: "usr_1" },
      "/portal/organization/delete": { name: "Second" },
    }).map(([path, form]): Row => [
      `POST ${path}`,
      { ...form, organizationId: ada.organizationId },
      409,
      { shows: ["switched to Second"] },
    ]),
    ["GET /api/portal/organizations", null, 200, { shows: ["Second"], hides: ["Renamed"] }],
    ["GET /api/portal/api-keys", null, 200, { shows: ['"apiKeys":[]'] }],
  ]);
  assert.equal((await test.mails()).filter(({ to }) => to === "x@example.com").length, 0);
});
