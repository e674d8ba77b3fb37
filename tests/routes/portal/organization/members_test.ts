// The pages of members over plain forms: what each role is offered, and that everything else is denied.
import assert from "node:assert/strict";
import { forbiddenError } from "../../../../domain/errors.ts";
import { errorTitles } from "../../../../routes/portal/errors.ts";
import { recentAuthenticationMs } from "../../../../domain/limits.ts";
import {
  createTestKey,
  type TestApp,
  testApp,
  testPassword,
  type TestPerson,
} from "../../../support/app/app.ts";
import { sql } from "../../../../db/engine/database.ts";
import { actionsOf, joinBy, noticesOf, page, submit } from "../../../support/people/portal_people.ts";
import { organizationWords as words } from "../../../support/portal/words/organization.ts";
import { inPage } from "../../../support/portal/words/sign_in.ts";
import { roleSentences } from "../../../../views/text/role.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const path = "/portal/members";
const transfer = "/portal/organization/transfer";

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

testApp(
  "the page that changes a role explains every role, and the change takes effect immediately",
  async (test) => {
    const { owner, member } = await team(test);
    const address = `${path}/${member.userId}/role`;
    const asked = await page(test, address, owner);
    assert.match(asked.html, /value="MEMBER" checked/);
    for (const sentence of Object.values(roleSentences)) assert.match(asked.html, inPage(sentence));
    assert.match(asked.html, /There will be 2 owners/);
    const odd = await submit(test, address, { form: { role: "KING" }, person: owner });
    assert.equal(odd.status, 422);
    assert.match(odd.html, /id="role-error"/);
    assert.equal((await submit(test, address, { form: {}, person: owner })).status, 422);
    const changed = await submit(test, address, { form: { role: "ADMIN" }, person: owner });
    assert.equal(changed.location, `${path}?done=role&id=${member.userId}`);
    const { html } = await page(test, changed.location ?? "", owner);
    assert.deepEqual(noticesOf(html), ["Mia Member is now an admin."]);
    assert.match((await page(test, path, member)).html, inPage(words.invite));
    assert.equal((await submit(test, address, { form: { role: "ADMIN" }, person: owner })).location, path);
  },
);

testApp(
  "making someone an owner requires recent authentication, and keeps the chosen role meanwhile",
  async (test) => {
    const { owner, member } = await team(test);
    const address = `${path}/${member.userId}/role`;
    test.advance(recentAuthenticationMs);
    const refused = await submit(test, address, { form: { role: "OWNER" }, person: owner });
    const chosen = `${address}?role=OWNER`;
    assert.equal(refused.location, `/portal/confirm-password?return_to=${encodeURIComponent(chosen)}`);
    assert.equal((await rolesOf(test, owner))["Mia Member"], "MEMBER");
    const form = { password: testPassword, return_to: chosen };
    const proved = await submit(test, "/portal/confirm-password", { form, person: owner });
    assert.equal(proved.location, chosen);
    assert.match((await page(test, chosen, owner)).html, /value="OWNER" checked/);
    assert.equal(
      (await submit(test, address, { form: { role: "OWNER" }, person: owner })).location,
      `${path}?done=role&id=${member.userId}`,
    );
    assert.equal((await rolesOf(test, owner))["Mia Member"], "OWNER");
    assert.doesNotMatch((await page(test, address, owner)).html, /There will be/);
  },
);

testApp("the only owner can't change their role or leave, and the page says why", async (test) => {
  const { owner } = await team(test);
  const role = await submit(test, `${path}/${owner.userId}/role`, {
    form: { role: "MEMBER" },
    person: owner,
  });
  assert.equal(role.status, 409);
  assert.match(noticesOf(role.html).join(), inPage(words.needsOwner));
  assert.match(role.html, /value="MEMBER" checked/);
  const asked = await page(test, `${path}/leave`, owner);
  assert.match(noticesOf(asked.html).join(), inPage(words.onlyOwner));
  assert.doesNotMatch(asked.html, /action="\/portal\/members\/leave"/);
  const left = await submit(test, `${path}/leave`, { person: owner });
  assert.equal(left.status, 409);
  assert.match(noticesOf(left.html).join(), inPage(words.needsOwner));
  assert.equal((await rolesOf(test, owner))["Olive Owner"], "OWNER");
});

for (const keys of ["revoke", "keep"] as const) {
  testApp(`removing a member asks what to do with their keys: ${keys}`, async (test) => {
    const { owner, member } = await team(test);
    const { fullKey } = await createTestKey(test, member);
    const address = `${path}/${member.userId}/remove`;
    const asked = await page(test, address, owner);
    assert.match(asked.html, inPage(words.keysChoice));
    assert.match(asked.html, /value="revoke" checked/);
    const unsaid = await submit(test, address, { form: { keys: "" }, person: owner });
    assert.equal(unsaid.status, 422);
    assert.match(unsaid.html, /id="keys-error"/);
    assert.equal((await page(test, path, member)).status, 200);
    const removed = await submit(test, address, { form: { keys }, person: owner });
    assert.equal(removed.location, `${path}?done=removed&id=${member.userId}`);
    const [said = ""] = noticesOf((await page(test, removed.location ?? "", owner)).html);
    assert.match(said, /^Mia Member has been removed from/);
    const used = await test.send("/api/v1/usage", { apiKey: fullKey, json: usage });
    assert.equal(used.status, keys === "keep" ? 201 : 401);
    assert.doesNotMatch((await page(test, path, owner)).html, /Mia Member/);
    // The removed member's next request, on any page: they belong to no organization.
    for (const place of [path, "/portal/api-keys", "/portal/usage", "/portal/organization", address]) {
      assert.equal((await page(test, place, member)).location, "/portal/organizations", place);
    }
    assert.equal((await page(test, address, owner)).status, 404);
  });
}

testApp("leaving asks for confirmation, and continues with the remaining organizations", async (test) => {
  const { owner, member } = await team(test);
  const { fullKey } = await createTestKey(test, member);
  assert.equal((await page(test, `${path}/${member.userId}/remove`, member)).location, `${path}/leave`);
  const asked = await page(test, `${path}/leave`, member);
  assert.match(asked.html, inPage(words.revokedKeys));
  const left = await submit(test, `${path}/leave`, { person: member });
  assert.equal(left.location, "/portal/organizations?done=left");
  assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey, json: usage })).status, 401);
  const html = (await page(test, left.location ?? "", member)).html;
  assert.deepEqual(noticesOf(html), [words.left]);
  assert.match(html, inPage(words.noOrganizations));
  assert.equal((await rolesOf(test, owner))["Mia Member"], undefined);
});

testApp("transferring ownership requires recent authentication, and swaps the roles", async (test) => {
  const { owner, member } = await team(test);
  test.advance(recentAuthenticationMs);
  const confirm = `/portal/confirm-password?return_to=${encodeURIComponent(transfer)}`;
  const form = { userId: member.userId };
  assert.equal((await page(test, transfer, owner)).location, confirm);
  assert.equal((await submit(test, transfer, { form, person: owner })).location, confirm);
  assert.equal((await rolesOf(test, owner))["Mia Member"], "MEMBER");
  const asked = await page(test, confirm, owner);
  const return_to = /name="return_to" value="([^"]+)"/.exec(asked.html)?.[1] ?? "";
  const proof = { password: testPassword, return_to };
  const proved = await submit(test, "/portal/confirm-password", { form: proof, person: owner });
  assert.equal(proved.location, transfer);
  const { html } = await page(test, transfer, owner);
  assert.ok(html.includes(`value="${member.userId}"`));
  assert.ok(!html.includes(`value="${owner.userId}"`));
  assert.match(html, inPage(words.becomesAdmin));
  const done = await submit(test, transfer, { form, person: owner });
  assert.equal(done.location, `/portal/organization?done=transferred&id=${member.userId}`);
  assert.deepEqual(noticesOf((await page(test, done.location ?? "", owner)).html), [words.transferred]);
  const after = await rolesOf(test, owner);
  assert.deepEqual([after["Mia Member"], after["Olive Owner"]], ["OWNER", "ADMIN"]);
  assert.equal((await page(test, transfer, owner)).status, 403);
});

testApp("ownership is transferred to someone who was chosen and is a member", async (test) => {
  const { owner, member } = await team(test);
  const stranger = await test.signUp("Sam Stranger");
  for (const userId of ["", "usr_0", stranger.userId, owner.userId]) {
    const refused = await submit(test, transfer, { form: { userId }, person: owner });
    assert.equal(refused.status, 422, userId);
    assert.match(refused.html, /id="userId-error"/);
  }
  const alone = (await page(test, transfer, stranger)).html;
  assert.match(alone, inPage(words.alone));
  assert.ok(!alone.includes(`action="${transfer}"`));
  assert.equal((await rolesOf(test, member))["Olive Owner"], "OWNER");
});

testApp("a message about someone whom the viewer can't see says nothing", async (test) => {
  const { owner, member } = await team(test);
  const stranger = await test.signUp("Sam Stranger");
  for (const done of ["role", "removed", "invited", "resent", "revoked"]) {
    for (const [person, id] of [[owner, stranger.userId], [member, owner.userId], [owner, "x"]] as const) {
      const { status, html } = await page(test, `${path}?done=${done}&id=${id}`, person);
      assert.equal(status, 200);
      const isMember = done === "role" && person === member;
      assert.equal(noticesOf(html).length, isMember ? 1 : 0, `${done} ${id}`);
    }
  }
});

testApp(
  "a form whose role was taken away since its page was opened is denied with an explanation",
  async (test) => {
    const { owner, admin, member } = await team(test);
    const address = `${path}/${member.userId}/remove`;
    assert.equal((await page(test, address, admin)).status, 200);
    const form = { role: "MEMBER" };
    await submit(test, `${path}/${admin.userId}/role`, { form, person: owner });
    const refused = await submit(test, address, { form: { keys: "revoke" }, person: admin });
    assert.equal(refused.status, 403);
    assert.match(refused.html, inPage(`<h1>${errorTitles.forbidden}</h1>`));
    assert.match(refused.html, inPage(forbiddenError().message));
    assert.equal((await rolesOf(test, owner))["Mia Member"], "MEMBER");
  },
);

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
  assert.doesNotMatch(second, inPage(words.moreMembers));
  const shown = [first, second].flatMap((html) =>
    [...html.matchAll(/<bdi>Guest (usr_\w+)/g)].map(([, id]) => id)
  );
  assert.deepEqual(shown, ids);
  assert.match(first, /1 owner · 70 members/);
  const changed = await page(test, `${path}?cursor=nonsense`, owner);
  assert.deepEqual([changed.status, changed.location], [303, `${path}?changed=1`]);
  assert.match((await page(test, `${path}?changed=1`, owner)).html, /This list has changed\./);
});
