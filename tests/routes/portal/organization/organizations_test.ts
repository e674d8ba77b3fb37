// The pages of organizations over plain forms: create, switch, rename, delete.
import assert from "node:assert/strict";
import { membershipsPerUserMax, recentAuthenticationMs } from "../../../../domain/limits.ts";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import {
  activeOrganization,
  joinBy,
  noticesOf,
  page,
  submit,
} from "../../../support/people/portal_people.ts";
import { organizationWords as words } from "../../../support/portal/words/organization.ts";
import { inPage } from "../../../support/portal/words/sign_in.ts";
import { enterName } from "../../../../routes/schemas/messages.ts";

const all = "/portal/organizations";
const path = "/portal/organization";
const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };

testApp("a new organization becomes the active one, and a rejected form keeps the input", async (test) => {
  const person = await test.signUp("Ada");
  const made = await submit(test, all, { form: { name: " Second " }, person });
  assert.equal(made.location, "/portal/members?done=created");
  assert.equal(activeOrganization((await page(test, made.location ?? "", person)).html), "Second");
  const list = (await page(test, all, person)).html;
  assert.match(list, /<bdi>Ada’s organization<\/bdi>/);
  assert.equal(list.match(/<span class="badge on">Active<\/span>/g)?.length, 1);
  const long = await submit(test, all, { form: { name: "x".repeat(101) }, person });
  assert.equal(long.status, 422);
  assert.match(long.html, new RegExp(`id="name-error".*${enterName}`));
  assert.ok(long.html.includes(`value="${"x".repeat(101)}"`));
  for (let count = 2; count < membershipsPerUserMax; count++) {
    assert.equal((await submit(test, all, { form: { name: `Nr ${count}` }, person })).status, 303);
  }
  const one = await submit(test, all, { form: { name: "Too much" }, person });
  assert.equal(one.status, 409);
  assert.match(noticesOf(one.html).join(), inPage(words.organizationLimit));
  assert.ok(one.html.includes(`value="Too much"`));
});

testApp(
  "switching returns to the same page in the other organization, and to no other address",
  async (test) => {
    const owner = await test.signUp("Olive Owner");
    const person = await test.signUp("Ada");
    const member = await joinBy(test, owner, { name: "Mia" });
    await submit(test, all, { form: { name: "Mia’s own" }, person: member });
    const own = (await (await test.send("/api/auth/me", { cookie: member.cookie })).json()).organizationId;
    const go = async (organizationId: string, return_to: string) =>
      await submit(test, "/portal/switch", { form: { organizationId, return_to }, person: member });
    const { html } = await page(test, "/portal/members", member);
    assert.match(html, /<input type="hidden" name="return_to" value="\/portal\/members"/);
    assert.match(
      html,
      /<button type="submit" class="menu-item" aria-current="true">.*?<bdi class="cut">Mia’s own</,
    );
    assert.equal((await go(owner.organizationId, "/portal/members")).location, "/portal/members");
    assert.equal(
      activeOrganization((await page(test, "/portal/members", member)).html),
      "Olive Owner’s organization",
    );
    // A page that the role there does not allow.
    assert.equal((await go(owner.organizationId, "/portal/audit")).location, "/portal");
    assert.equal((await go(own, "/portal/audit")).location, "/portal/audit");
    for (
      const trick of [
        "//evil.example",
        "https://evil.example/portal/members",
        "/portal/../x",
        "/sign-out",
        "",
      ]
    ) {
      assert.equal((await go(own, trick)).location, "/portal", trick);
    }
    for (const id of [person.organizationId, "org_0", ""]) assert.equal((await go(id, "")).status, 404, id);
    assert.equal(activeOrganization((await page(test, "/portal/members", member)).html), "Mia’s own");
    const boosted = await test.send("/portal/switch", {
      cookie: member.cookie,
      form: { organizationId: own, return_to: "/portal/usage" },
      headers: { "hx-request": "true" },
    });
    assert.equal(boosted.headers.get("hx-redirect"), "/portal/usage");
    assert.equal((await page(test, "/portal/switch", member)).location, "/portal");
  },
);

testApp("people without an organization are redirected to where they can create one", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const member = await joinBy(test, owner, { name: "Mia" });
  await submit(test, "/portal/members/leave", { person: member });
  for (
    const one of ["/portal", "/portal/api-keys", "/portal/usage", "/portal/members", path, `${path}/delete`]
  ) {
    assert.equal((await page(test, one, member)).location, all, one);
  }
  assert.equal(
    (await submit(test, "/portal/api-keys/new", { form: { name: "x" }, person: member })).location,
    all,
  );
  const { html } = await page(test, all, member);
  assert.match(html, inPage(words.noOrganizations));
  assert.ok(html.includes(`an invitation to ${member.email}`));
  assert.match(html, /action="\/portal\/organizations"/);
  assert.doesNotMatch(html, /href="\/portal\/(api-keys|usage|members|organization|audit)"/);
  await submit(test, all, { form: { name: "Mia’s own" }, person: member });
  assert.equal(activeOrganization((await page(test, "/portal/api-keys", member)).html), "Mia’s own");
});

testApp("owners rename the organization, and others see no way to change it", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const admin = await joinBy(test, owner, { name: "Abel", role: "ADMIN" });
  const renamed = await submit(test, path, { form: { name: "Northwind" }, person: owner });
  assert.equal(renamed.location, `${path}?done=renamed`);
  const { html } = await page(test, `${path}?done=renamed`, owner);
  assert.deepEqual(noticesOf(html), ["Renamed to “Northwind”."]);
  assert.match(html, /name="name" value="Northwind"/);
  assert.match(html, new RegExp(`<code class="pick">${owner.organizationId}</code>`));
  assert.match(html, inPage(words.onlyOwner));
  const empty = await submit(test, path, { form: { name: "  " }, person: owner });
  assert.equal(empty.status, 422);
  assert.match(empty.html, /<bdi>Northwind<\/bdi>/);
  const seen = (await page(test, path, admin)).html;
  assert.match(seen, /value="Northwind"[^>]* readonly/);
  assert.match(seen, /href="\/portal\/members\/leave"/);
  assert.doesNotMatch(seen, /action="\/portal\/organization"|organization\/(delete|transfer)/);
});

testApp(
  "deleting requires recent authentication and the name, and ends the keys immediately",
  async (test) => {
    const owner = await test.signUp("Olive Owner");
    const member = await joinBy(test, owner, { name: "Mia" });
    await submit(test, path, { form: { name: "Olive’s maps" }, person: owner });
    const { fullKey } = await createTestKey(test, owner);
    const address = `${path}/delete`;
    test.advance(recentAuthenticationMs);
    const confirm = `/portal/confirm-password?return_to=${encodeURIComponent(address)}`;
    assert.equal((await page(test, address, owner)).location, confirm);
    const form = { name: "Olive’s maps" };
    assert.equal((await submit(test, address, { form, person: owner })).location, confirm);
    test.advance(-recentAuthenticationMs);
    const asked = (await page(test, address, owner)).html;
    assert.match(asked, /<dt>Members<\/dt><dd>2<\/dd>/);
    assert.match(asked, /<dt>Active keys<\/dt><dd>1<\/dd>/);
    const wrong = await submit(test, address, { form: { name: "olive’s maps" }, person: owner });
    assert.equal(wrong.status, 422);
    assert.match(wrong.html, /id="name-error"/);
    assert.ok(wrong.html.includes(`value="olive’s maps"`));
    assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey, json: usage })).status, 201);
    // Typed with a plain apostrophe.
    const done = await submit(test, address, { form: { name: " Olive's maps " }, person: owner });
    assert.equal(done.location, `${all}?done=deleted`);
    assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey, json: usage })).status, 401);
    assert.match(
      noticesOf((await page(test, done.location ?? "", owner)).html).join(),
      inPage(words.deleted),
    );
    assert.equal((await page(test, "/portal/members", member)).location, all);
  },
);

testApp("leaving twice leaves only the organization that the page was about", async (test) => {
  const owner = await test.signUp();
  const member = await joinBy(test, owner, { name: "Member" });
  const made = await test.send("/api/portal/organizations", {
    cookie: member.cookie,
    json: { name: "Other" },
  });
  const { organization } = await made.json();
  // It has another owner, so leaving it by mistake would be possible.
  await test.opened.database.write([{
    sql: "INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (?, ?, 'OWNER', 0)",
    args: [owner.userId, organization.id],
  }]);
  const { html } = await page(test, "/portal/members/leave", member);
  const organizationId =
    /action="\/portal\/members\/leave"[^>]*><input type="hidden" name="organizationId" value="(org_[0-9a-f]+)"/
      .exec(html)?.[1] ?? "";
  assert.equal(organizationId, owner.organizationId);
  for (let press = 0; press < 2; press++) {
    const { location } = await submit(test, "/portal/members/leave", {
      person: member,
      form: { organizationId },
    });
    assert.equal(location, "/portal/organizations?done=left");
  }
  const response = await test.send("/api/auth/me", { cookie: member.cookie });
  const { memberships } = await response.json();
  assert.deepEqual(memberships.map(({ name }: { name: string }) => name), ["Other"]);
});

testApp("a form is rejected after switching to another organization than its page showed", async (test) => {
  const ada = await test.signUp();
  const { cookie } = ada;
  const made = await test.send("/api/portal/organizations", { cookie, json: { name: "Second" } });
  const { organization } = await made.json();
  const hidden = `name="organizationId" value="${ada.organizationId}"`;
  for (const path of ["/portal/members", "/portal/organization", "/portal/api-keys"]) {
    const { html } = await page(test, path, ada);
    assert.ok(html.split("<main")[1]?.includes(hidden), path);
  }
  await test.send("/api/auth/organization", { cookie, json: { organizationId: organization.id } });
  const about = { organizationId: ada.organizationId };
  const forms: Record<string, Record<string, string>> = {
    "/portal/members": { ...about, email: "x@example.com", role: "MEMBER" },
    "/portal/organization": { ...about, name: "Renamed" },
    "/portal/api-keys/new": { ...about, name: "Key", expires: "never" },
    "/portal/organization/transfer": { ...about, userId: "usr_1" },
    "/portal/organization/delete": { ...about, name: "Second" },
  };
  for (const [path, form] of Object.entries(forms)) {
    const { status, html } = await submit(test, path, { form, person: ada });
    assert.equal(status, 409, path);
    assert.match(html, /switched to Second/);
  }
  const organizations = await (await test.send("/api/portal/organizations", { cookie })).json();
  assert.ok(!JSON.stringify(organizations).includes("Renamed"));
  assert.equal((await (await test.send("/api/portal/api-keys", { cookie })).json()).apiKeys.length, 0);
  assert.equal((await test.mails()).filter(({ to }) => to === "x@example.com").length, 0);
});
