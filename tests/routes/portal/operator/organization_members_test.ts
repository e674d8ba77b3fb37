// The page of members and invitations as an operator sees it.
import assert from "node:assert/strict";
import { recentAuthenticationMs } from "../../../../domain/limits.ts";
import { testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { inviteTo, lastMail } from "../../../support/people/people.ts";
import { actionsOf, noticesOf } from "../../../support/people/portal_people.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { organizationWords as words } from "../../../support/portal/words/organization.ts";

testApp("an operator invites by name, revokes invitations, and opens users", async (test) => {
  const mara = await newOperator(test, "Mara");
  const ada = await test.signUp("Ada");
  const base = `/operator/organizations/${ada.organizationId}`;
  const open = async (path: string) => (await openPage(test, path, { person: mara })).html;
  const send = (path: string, form: Record<string, string> = {}) =>
    openPage(test, path, { person: mara, form });
  const html = await open(`${base}/members`);
  assert.match(html, /<option value="OWNER" selected/);
  assert.ok(html.includes(`href="/operator/users/${ada.userId}"`));
  assert.doesNotMatch(html, /"\/portal\/(members|invitations)/);
  // The link to the user is not an action.
  assert.deepEqual(actionsOf(html, "Ada"), [ada.userId]);

  const form = { email: "grace@example.com", name: "Grace", role: "ADMIN" };
  const invited = await send(`${base}/members`, form);
  assert.match((await lastMail(test, "grace@example.com")).text, /^Hello Grace,/);
  const after = await open(invited.location ?? "");
  assert.deepEqual(noticesOf(after), [words.invited("grace@example.com")]);
  assert.match(after, /Invited by the operator/);
  const again = await send(`${base}/members`, { ...form, name: "" });
  assert.equal(again.status, 409);
  assert.match(again.html, new RegExp(words.alreadyInvited));

  const [revoke = ""] = /\/operator[^"]+\/invitations\/inv_\w+\/revoke/.exec(after) ?? [];
  assert.match(await open(revoke), /grace@example.com/);
  const revoked = await send(revoke);
  assert.deepEqual(noticesOf(await open(revoked.location ?? "")), [words.revoked("grace@example.com")]);
  assert.equal((await openPage(test, revoke, { person: mara })).status, 404);
});

testApp("an operator authenticates before filling in the form", async (test) => {
  const mara = await newOperator(test, "Mara");
  const ada = await test.signUp("Ada");
  const path = `/operator/organizations/${ada.organizationId}/members`;
  const confirm = `/portal/confirm-password?return_to=${encodeURIComponent(path)}`;
  test.advance(recentAuthenticationMs);
  const { html } = await openPage(test, path, { person: mara });
  assert.ok(html.includes(`href="${confirm}"`));
  assert.ok(!html.includes(`action="${path}"`));
  const form = { email: "grace@example.com", role: "ADMIN" };
  assert.equal((await openPage(test, path, { person: mara, form })).location, confirm);
});

testApp("operators can't change members or resend invitations", async (test) => {
  const mara = await newOperator(test, "Mara");
  const ada = await test.signUp("Ada");
  await inviteTo(test, ada, { email: "grace@example.com" });
  const base = `/operator/organizations/${ada.organizationId}`;
  const { html } = await openPage(test, `${base}/members`, { person: mara });
  assert.deepEqual(actionsOf(html, "grace@example.com"), ["revoke"]);
  const [, id = ""] = /\/invitations\/(inv_\w+)\/revoke/.exec(html) ?? [];
  const member = `/members/${ada.userId}`;
  for (const path of [`${member}/role`, `${member}/remove`, "/members/leave", `/invitations/${id}/resend`]) {
    for (const form of [undefined, { role: "MEMBER" }]) {
      assert.equal((await openPage(test, base + path, { person: mara, ...(form && { form }) })).status, 404);
    }
  }
});
