// Suspended organizations: their keys are refused, members can read and change their own accounts, and no one joins.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { createTestKey, type TestApp, testApp, testPassword } from "../../support/app/app.ts";
import { testMeanwhile } from "../../support/app/meanwhile.ts";
import { assertRows, fetchJson, type Row, sendRow } from "../../support/app/rows.ts";
import { onEveryDatabase, recordOne } from "../../support/meter/usage.ts";
import { newPerson, newScene, run } from "../../support/people/scene.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };

const suspend = (test: TestApp, organizationId: string) =>
  run(test, "UPDATE organizations SET suspended_at = ? WHERE id = ?", test.now(), organizationId);
const resume = (test: TestApp, organizationId: string) =>
  run(test, "UPDATE organizations SET suspended_at = NULL WHERE id = ?", organizationId);

/** An organization that someone with an account and someone without one are invited to. */
async function joining(test: TestApp) {
  const scene = await newScene(test, "owner");
  const person = await newPerson(test, null);
  const { token } = await scene.newInvitation("MEMBER", { email: person.email });
  const { token: invitationToken } = await scene.newInvitation();
  const json = { name: "Bob", password: testPassword, invitationToken };
  return {
    organizationId: scene.organizationId,
    accept: (outcome: string) =>
      assertRows(test, person, [["POST /api/portal/invitations/accept", { token }, outcome]]),
    signUp: (outcome: string) => assertRows(test, {}, [["POST /api/auth/sign-up", json, outcome]]),
  };
}

onEveryDatabase("every use of a suspended organization's key is denied until it resumes", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const { id } = await recordOne(test, apiKey);
  const long = { ...usage, properties: { text: "x".repeat(100) } };
  const uses: readonly (readonly [request: string, json: Row[1]])[] = [
    ["POST /api/v1/usage", usage],
    ["POST /api/v1/usage/batch", { records: [usage] }],
    ["GET /api/v1/usage", null],
    ["GET /api/v1/usage.csv", null],
    ["GET /api/v1/usage/records", null],
    [`GET /api/v1/usage/records/${id}`, null],
    ["GET /api/auth/forward?accept=key", null],
    ["GET /api/auth/forward?accept=key&meter=tiles/requests", null],
  ];
  const denied = "403 organization_suspended";
  await suspend(test, person.organizationId);
  await assertRows(test, { apiKey }, [
    ...uses.map(([request, json]): Row => [request, json, denied]),
    // Denied before anything else is said about the request.
    ["POST /api/v1/usage", { nothing: true }, denied],
    [`POST /api/v1/usage/records/${id}/void`, {}, denied],
    ["GET /api/v1/usage?window=never", null, denied],
    ["POST /api/v1/usage/batch", { records: Array(999).fill(long) }, denied],
  ]);
  await resume(test, person.organizationId);
  for (const [request, json] of uses) {
    const { status } = await sendRow(test, { apiKey }, request, json);
    assert(status < 300, `${request}: ${status}`);
  }
  const { data } = await fetchJson(test, { apiKey }, "GET /api/v1/usage?window=total");
  assert.equal(data[0].count, 4);
});

testApp("members of a suspended organization read, export and switch, and pages say why", async (test) => {
  const { me, organizationId } = await newScene(test, "owner");
  const before = await fetchJson(test, me, "GET /api/auth/me");
  await suspend(test, organizationId);
  assert.deepEqual(await fetchJson(test, me, "GET /api/auth/me"), before);
  const reads = [
    "usage",
    "usage.csv",
    "api-keys",
    "audit",
    "audit.csv",
    `organizations/${organizationId}/members`,
  ];
  const pages = ["api-keys", "usage", "members", "audit", "organization", "organizations", "account"];
  const notice = /is suspended\.<\/strong>/;
  await assertRows(test, me, [
    ...reads.map((path): Row => [`GET /api/portal/${path}`, null, 200]),
    ["GET /api/auth/forward", null, 200],
    ...pages.map((page): Row => [`GET /portal/${page}`, null, 200, { shows: [notice] }]),
  ]);
  const { organization } = await fetchJson(test, me, "POST /api/portal/organizations", { name: "Other" });
  const switchTo = (organizationId: string): Row => ["POST /api/auth/organization", { organizationId }, 200];
  const member = `/api/portal/organizations/${organizationId}/members/${me.userId}`;
  await assertRows(test, me, [
    switchTo(organization.id),
    ["GET /portal/api-keys", null, 200, { hides: [notice] }],
    switchTo(organizationId),
    ["POST /portal/api-keys/new", { name: "Key" }, 403, { shows: ["This organization is suspended."] }],
    [`DELETE ${member}`, null, "403 organization_suspended"],
  ]);
  await resume(test, organizationId);
  await assertRows(test, me, [["GET /portal/api-keys", null, 200, { hides: [notice] }]]);
});

onEveryDatabase("no one joins a suspended organization", async (test) => {
  const { organizationId, accept, signUp } = await joining(test);
  await suspend(test, organizationId);
  await accept("403 organization_suspended");
  await signUp("403 organization_suspended");
  await resume(test, organizationId);
  await accept("200");
  await signUp("201");
});

testApp("no account is deleted together with a suspended organization", async (test) => {
  const scene = await newScene(test, "owner");
  const alone = await test.signUp();
  const member = await scene.newMember("MEMBER");
  await suspend(test, scene.organizationId);
  await suspend(test, alone.organizationId);
  const remove = "DELETE /api/portal/account";
  await assertRows(test, member, [[remove, null, 204]]);
  const reason = { shows: [/"message":".+ is suspended, so it can't be deleted/] };
  await assertRows(test, alone, [[remove, null, "403 organization_suspended", reason]]);
  await resume(test, alone.organizationId);
  await assertRows(test, alone, [[remove, null, 204]]);
});

testMeanwhile("no one joins an organization suspended during the request", async (test, meanwhile) => {
  const { organizationId, accept, signUp } = await joining(test);
  for (const join of [accept, signUp]) {
    await resume(test, organizationId);
    meanwhile(/UPDATE invitations AS i SET accepted_at/, () => suspend(test, organizationId));
    await join("403 organization_suspended");
  }
  const members = await test.opened.database.read(
    sql`SELECT 1 FROM memberships WHERE organization_id = ${organizationId}`,
  );
  assert.equal(members.length, 2);
});

testMeanwhile("no account is deleted with an organization suspended meanwhile", async (test, meanwhile) => {
  const person = await test.signUp();
  meanwhile(/UPDATE users SET disabled_at/, () => suspend(test, person.organizationId));
  await assertRows(test, person, [
    ["DELETE /api/portal/account", null, "403 organization_suspended"],
    ["GET /api/portal/organizations", null, 200],
  ]);
});
