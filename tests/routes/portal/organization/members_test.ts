// The pages of members over plain forms: what each role is offered, and that everything else is denied.
import assert from "node:assert/strict";
import { recentAuthenticationMs } from "../../../../domain/limits.ts";
import {
  createTestKey,
  type TestApp,
  testApp,
  testPassword,
  type TestPerson,
} from "../../../support/app/app.ts";
import { sql } from "../../../../db/engine/database.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
import { actionsOf, joinBy, noticesOf, page } from "../../../support/people/portal_people.ts";
import { organizationWords as words } from "../../../support/portal/words/organization.ts";
import { inPage } from "../../../support/portal/words/sign_in.ts";
import { roleSentences } from "../../../../views/text/role.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const path = "/portal/members";
const transfer = "/portal/organization/transfer";
const confirmHref = (back: string) => `/portal/confirm-password?return_to=${encodeURIComponent(back)}`;

async function team(test: TestApp) {
  const owner = await test.signUp("Olive Owner");
  const admin = await joinBy(test, owner, { name: "Abel Admin", role: "ADMIN" });
  const other = await joinBy(test, owner, { name: "Anna Admin", role: "ADMIN" });
  const member = await joinBy(test, owner, { name: "Mia Member" });
  return { owner, admin, other, member };
}

/** Reads the members and their roles over the API. */
async function rolesOf(test: TestApp, person: TestPerson): Promise<Record<string, string>> {
  const response = await test.send(`/api/portal/organizations/${person.organizationId}/members`, {
    cookie: person.cookie,
  });
  const { members } = await response.json();
  return Object.fromEntries(
    members.map((one: { user: { name: string }; role: string }) => [one.user.name, one.role]),
  );
}

testApp("everyone sees the members, and each role is offered what it allows", async (test) => {
  const { owner, admin, member } = await team(test);
  const seen = {
    owner: (await page(test, path, owner)).html,
    admin: (await page(test, path, admin)).html,
    member: (await page(test, path, member)).html,
  };
  const offered = (html: string) =>
    ["Olive Owner", "Abel Admin", "Anna Admin", "Mia Member"].map((name) => actionsOf(html, name));
  const managed = ["role", "remove"];
  assert.deepEqual(offered(seen.owner), [[], managed, managed, managed]);
  assert.deepEqual(offered(seen.admin), [[], ["leave"], ["remove"], ["remove"]]);
  assert.deepEqual(offered(seen.member), [[], [], [], ["leave"]]);
  assert.match(seen.member, /1 owner · 2 admins · 1 member/);
  assert.match(seen.member, /<bdi>Mia Member<\/bdi><span class="muted you">you<\/span>/);
  for (const html of [seen.owner, seen.admin]) assert.match(html, /action="\/portal\/members"/);
  assert.doesNotMatch(seen.member, /action="\/portal\/members"|id="invitations"/);
  assert.match(seen.owner, /<option value="OWNER"/);
  assert.doesNotMatch(seen.admin, /<option value="OWNER"/);
  assert.match(seen.admin, /href="\/portal\/audit"/);
  assert.doesNotMatch(seen.member, /href="\/portal\/audit"/);
});

testApp("the page that changes a role explains every role, and the change is immediate", async (test) => {
  const { owner, member } = await team(test);
  const address = `${path}/${member.userId}/role`;
  const done = `${path}?done=role&id=${member.userId}`;
  await assertRows(test, owner, [
    [`GET ${address}`, null, 200, {
      shows: ['value="MEMBER" checked', ...Object.values(roleSentences), "There will be 2 owners"],
    }],
    [`POST ${address}`, { role: "KING" }, "422 role"],
    [`POST ${address}`, {}, "422 role"],
    [`POST ${address}`, { role: "ADMIN" }, `303 ${done}`],
    [`GET ${done}`, null, 200, { notices: ["Mia Member is now an admin."] }],
    [`POST ${address}`, { role: "ADMIN" }, `303 ${path}`],
  ]);
  await assertRows(test, member, [[`GET ${path}`, null, 200, { shows: [words.invite] }]]);
});

testApp(
  "making someone an owner requires recent authentication, and keeps the chosen role meanwhile",
  async (test) => {
    const { owner, member } = await team(test);
    const address = `${path}/${member.userId}/role`;
    const chosen = `${address}?role=OWNER`;
    test.advance(recentAuthenticationMs);
    await assertRows(test, owner, [[`POST ${address}`, { role: "OWNER" }, `303 ${confirmHref(chosen)}`]]);
    assert.equal((await rolesOf(test, owner))["Mia Member"], "MEMBER");
    await assertRows(test, owner, [
      ["POST /portal/confirm-password", { password: testPassword, return_to: chosen }, `303 ${chosen}`],
      [`GET ${chosen}`, null, 200, { shows: ['value="OWNER" checked'] }],
      [`POST ${address}`, { role: "OWNER" }, `303 ${path}?done=role&id=${member.userId}`],
      [`GET ${address}`, null, 200, { hides: ["There will be"] }],
    ]);
    assert.equal((await rolesOf(test, owner))["Mia Member"], "OWNER");
  },
);

testApp("the only owner can't change their role or leave, and the page says why", async (test) => {
  const { owner } = await team(test);
  const inNotice = (text: string) => new RegExp(`class="note error".*${inPage(text).source}`);
  const needsOwner = inNotice("An organization needs an owner.");
  await assertRows(test, owner, [
    [`POST ${path}/${owner.userId}/role`, { role: "MEMBER" }, 409, {
      shows: [needsOwner, 'value="MEMBER" checked'],
    }],
    [`GET ${path}/leave`, null, 200, {
      shows: [inNotice(words.onlyOwner)],
      hides: [`action="${path}/leave"`],
    }],
    [`POST ${path}/leave`, null, 409, { shows: [needsOwner] }],
  ]);
  assert.equal((await rolesOf(test, owner))["Olive Owner"], "OWNER");
});

for (const keys of ["revoke", "keep"] as const) {
  testApp(`removing a member asks what to do with their keys: ${keys}`, async (test) => {
    const { owner, member } = await team(test);
    const { fullKey } = await createTestKey(test, member);
    const address = `${path}/${member.userId}/remove`;
    const done = `${path}?done=removed&id=${member.userId}`;
    await assertRows(test, owner, [
      [`GET ${address}`, null, 200, {
        shows: ["What should happen to their 1 active key?", 'value="revoke" checked'],
      }],
      [`POST ${address}`, { keys: "" }, "422 keys"],
    ]);
    await assertRows(test, member, [[`GET ${path}`, null, 200]]);
    const { html } = await assertRows(test, owner, [
      [`POST ${address}`, { keys }, `303 ${done}`],
      [`GET ${done}`, null, 200],
    ]);
    assert.match(noticesOf(html)[0] ?? "", /^Mia Member has been removed from/);
    const used = await test.send("/api/v1/usage", { apiKey: fullKey, json: usage });
    assert.equal(used.status, keys === "keep" ? 201 : 401);
    await assertRows(test, owner, [
      [`GET ${path}`, null, 200, { hides: ["Mia Member"] }],
      [`GET ${address}`, null, 404],
    ]);
    // The removed member's next request, on any page: they belong to no organization.
    const places = [path, "/portal/api-keys", "/portal/usage", "/portal/organization", address];
    const nowhere = "303 /portal/organizations";
    await assertRows(test, member, places.map((place): Row => [`GET ${place}`, null, nowhere]));
  });
}

testApp("leaving asks for confirmation, and continues with the remaining organizations", async (test) => {
  const { owner, member } = await team(test);
  const { fullKey } = await createTestKey(test, member);
  const done = "/portal/organizations?done=left";
  await assertRows(test, member, [
    [`GET ${path}/${member.userId}/remove`, null, `303 ${path}/leave`],
    [`GET ${path}/leave`, null, 200, { shows: ["Your 1 active key will be revoked."] }],
    [`POST ${path}/leave`, null, `303 ${done}`],
    [`GET ${done}`, null, 200, { notices: ["You left the organization."], shows: [words.noOrganizations] }],
  ]);
  assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey, json: usage })).status, 401);
  assert.equal((await rolesOf(test, owner))["Mia Member"], undefined);
});

testApp("transferring ownership requires recent authentication, and swaps the roles", async (test) => {
  const { owner, member } = await team(test);
  test.advance(recentAuthenticationMs);
  const form = { userId: member.userId };
  const stranger = await test.signUp("Sam Stranger");
  await assertRows(test, stranger, [
    [`GET ${transfer}`, null, 200, { shows: [words.alone], hides: [`action="${transfer}"`] }],
  ]);
  const done = `/portal/organization?done=transferred&id=${member.userId}`;
  const { html } = await assertRows(test, owner, [
    [`GET ${transfer}`, null, `303 ${confirmHref(transfer)}`],
    [`POST ${transfer}`, form, `303 ${confirmHref(transfer)}`],
    [`GET ${confirmHref(transfer)}`, null, 200],
  ]);
  assert.equal((await rolesOf(test, owner))["Mia Member"], "MEMBER");
  const return_to = /name="return_to" value="([^"]+)"/.exec(html)?.[1] ?? "";
  await assertRows(test, owner, [
    ["POST /portal/confirm-password", { password: testPassword, return_to }, `303 ${transfer}`],
    [`GET ${transfer}`, null, 200, {
      shows: [`value="${member.userId}"`, "You become an admin"],
      hides: [`value="${owner.userId}"`],
    }],
    [`POST ${transfer}`, { userId: "" }, "422 userId"],
    [`POST ${transfer}`, form, `303 ${done}`],
    [`GET ${done}`, null, 200, { notices: ["Mia Member is now an owner, and you are an admin."] }],
    [`GET ${transfer}`, null, 403],
  ]);
  const after = await rolesOf(test, owner);
  assert.deepEqual([after["Mia Member"], after["Olive Owner"]], ["OWNER", "ADMIN"]);
});

testApp("a message about someone whom the viewer can't see says nothing", async (test) => {
  const { owner, member } = await team(test);
  const stranger = await test.signUp("Sam Stranger");
  for (const done of ["role", "removed", "invited", "resent", "revoked"]) {
    for (const [person, id] of [[owner, stranger.userId], [member, owner.userId], [owner, "x"]] as const) {
      const { html } = await assertRows(test, person, [[`GET ${path}?done=${done}&id=${id}`, null, 200]]);
      const isMember = done === "role" && person === member;
      assert.equal(noticesOf(html).length, isMember ? 1 : 0, `${done} ${id}`);
    }
  }
});

testApp("members are listed once each, over several pages", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const ids = Array.from({ length: 70 }, (_, index) => `usr_${index.toString(16).padStart(32, "0")}`);
  await test.opened.database.write(ids.flatMap((id) => [
    sql`INSERT INTO users (id, email, name, password_hash, created_at) VALUES (${id}, ${`${id}@example.com`}, ${`Guest ${id}`}, '', 0)`,
    sql`INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (${id}, ${owner.organizationId}, 'MEMBER', 0)`,
  ]));
  const first = (await page(test, path, owner)).html;
  const next = /href="(\/portal\/members\?cursor=[^"]+)"/.exec(first)?.[1] ?? "";
  const second = (await page(test, next, owner)).html;
  assert.doesNotMatch(second, inPage("More members"));
  const shown = [first, second].flatMap((html) =>
    [...html.matchAll(/<bdi>Guest (usr_\w+)/g)].map(([, id]) => id)
  );
  assert.deepEqual(shown, ids);
  assert.match(first, /1 owner · 70 members/);
  await assertRows(test, owner, [
    [`GET ${path}?cursor=nonsense`, null, `303 ${path}?changed=1`],
    [`GET ${path}?changed=1`, null, 200, { shows: ["This list has changed."] }],
  ]);
});
