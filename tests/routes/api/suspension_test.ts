// Suspended organizations: their keys are refused, members can read and change their own accounts, and no one joins.
import assert from "node:assert/strict";
import { assertError, createTestKey, type TestApp, testApp, testPassword } from "../../support/app/app.ts";
import { testMeanwhile } from "../../support/app/meanwhile.ts";
import { onEveryDatabase, recordOne } from "../../support/meter/usage.ts";
import { newPerson, newScene, run } from "../../support/people/scene.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };

const suspend = (test: TestApp, organizationId: string) =>
  run(test, "UPDATE organizations SET suspended_at = ? WHERE id = ?", test.now(), organizationId);
const resume = (test: TestApp, organizationId: string) =>
  run(test, "UPDATE organizations SET suspended_at = NULL WHERE id = ?", organizationId);

onEveryDatabase("every use of a suspended organization's key is denied until it resumes", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const { id } = await recordOne(test, apiKey);
  const requests = [
    ["/api/v1/usage", usage],
    ["/api/v1/usage/batch", { records: [usage] }],
    ["/api/v1/usage"],
    ["/api/v1/usage.csv"],
    ["/api/v1/usage/records"],
    [`/api/v1/usage/records/${id}`],
    ["/api/auth/forward?accept=key"],
    ["/api/auth/forward?accept=key&meter=tiles/requests"],
    // Refused before anything else is said about the request.
    ["/api/v1/usage", { nothing: true }],
    [`/api/v1/usage/records/${id}/void`, {}],
    ["/api/v1/usage?window=never"],
    ["/api/v1/usage/batch", {
      records: Array(999).fill({ ...usage, properties: { text: "x".repeat(100) } }),
    }],
  ] as const;
  const send = ([path, json]: (typeof requests)[number]) =>
    test.send(path, { apiKey, ...(json === undefined ? {} : { json }) });
  await suspend(test, person.organizationId);
  for (const request of requests) await assertError(await send(request), 403, "organization_suspended");
  await resume(test, person.organizationId);
  for (const request of requests.slice(0, 8)) {
    const { status } = await send(request);
    assert(status < 300, `${request[0]}: ${status}`);
  }
  const { data } = await (await test.send("/api/v1/usage?window=total", { apiKey })).json();
  assert.equal(data[0].count, 4);
});

testApp("members of a suspended organization read, export and switch, and pages say why", async (test) => {
  const scene = await newScene(test, "owner");
  const { me: { cookie, userId }, organizationId } = scene;
  const read = (path: string) => test.send(path, { cookie });
  const before = await (await read("/api/auth/me")).json();
  await suspend(test, organizationId);
  assert.deepEqual(await (await read("/api/auth/me")).json(), before);
  for (
    const path of [
      "usage",
      "usage.csv",
      "api-keys",
      "audit",
      "audit.csv",
      `organizations/${organizationId}/members`,
    ]
  ) {
    assert.equal((await read(`/api/portal/${path}`)).status, 200, path);
  }
  assert.equal((await read("/api/auth/forward")).status, 200);
  const pages = ["api-keys", "usage", "members", "audit", "organization", "organizations", "account"];
  const notice = /is suspended\.<\/strong>/;
  for (const page of pages) assert.match(await (await read(`/portal/${page}`)).text(), notice, page);
  const other = await test.send("/api/portal/organizations", { cookie, json: { name: "Other" } });
  assert.equal(other.status, 201);
  const { organization } = await other.json();
  const switchTo = (organizationId: string) =>
    test.send("/api/auth/organization", { cookie, json: { organizationId } });
  assert.equal((await switchTo(organization.id)).status, 200);
  assert.doesNotMatch(await (await read("/portal/api-keys")).text(), notice);
  assert.equal((await switchTo(organizationId)).status, 200);
  const form = await test.send("/portal/api-keys/new", { cookie, form: { name: "Key" } });
  assert.equal(form.status, 403);
  assert.match(await form.text(), /This organization is suspended\./);
  const leave = await test.send(`/api/portal/organizations/${organizationId}/members/${userId}`, {
    method: "DELETE",
    cookie,
  });
  await assertError(leave, 403, "organization_suspended");
  await resume(test, organizationId);
  assert.doesNotMatch(await (await read("/portal/api-keys")).text(), notice);
});

onEveryDatabase("no one joins a suspended organization", async (test) => {
  const scene = await newScene(test, "owner");
  const member = await newPerson(test, null);
  const { token } = await scene.newInvitation("MEMBER", { email: member.email });
  const invited = await scene.newInvitation();
  const accept = () =>
    test.send("/api/portal/invitations/accept", { cookie: member.cookie, json: { token } });
  const signUp = () =>
    test.send("/api/auth/sign-up", {
      json: { name: "Bob", password: testPassword, invitationToken: invited.token },
    });
  await suspend(test, scene.organizationId);
  await assertError(await accept(), 403, "organization_suspended");
  await assertError(await signUp(), 403, "organization_suspended");
  await resume(test, scene.organizationId);
  assert.equal((await accept()).status, 200);
  assert.equal((await signUp()).status, 201);
});

testApp("no account is deleted together with a suspended organization", async (test) => {
  const scene = await newScene(test, "owner");
  const alone = await test.signUp();
  const member = await scene.newMember("MEMBER");
  await suspend(test, scene.organizationId);
  await suspend(test, alone.organizationId);
  const remove = (cookie: string) => test.send("/api/portal/account", { method: "DELETE", cookie });
  assert.equal((await remove(member.cookie)).status, 204);
  const { error } = await assertError(await remove(alone.cookie), 403, "organization_suspended");
  assert.match(error.message, /^.+ is suspended, so it can't be deleted/);
  await resume(test, alone.organizationId);
  assert.equal((await remove(alone.cookie)).status, 204);
});

testMeanwhile("no one joins an organization suspended during the request", async (test, meanwhile) => {
  const scene = await newScene(test, "owner");
  const member = await newPerson(test, null);
  const { token } = await scene.newInvitation("MEMBER", { email: member.email });
  const invited = await scene.newInvitation();
  const suspendMeanwhile = () =>
    meanwhile(/UPDATE invitations AS i SET accepted_at/, () => suspend(test, scene.organizationId));
  suspendMeanwhile();
  await assertError(
    await test.send("/api/portal/invitations/accept", { cookie: member.cookie, json: { token } }),
    403,
    "organization_suspended",
  );
  await resume(test, scene.organizationId);
  suspendMeanwhile();
  const json = { name: "Bob", password: testPassword, invitationToken: invited.token };
  await assertError(await test.send("/api/auth/sign-up", { json }), 403, "organization_suspended");
  const members = await test.opened.database.read({
    sql: "SELECT 1 FROM memberships WHERE organization_id = ?",
    args: [scene.organizationId],
  });
  assert.equal(members.length, 2);
});

testMeanwhile("no account is deleted with an organization suspended meanwhile", async (test, meanwhile) => {
  const { cookie, organizationId } = await test.signUp();
  meanwhile(/UPDATE users SET disabled_at/, () => suspend(test, organizationId));
  const deleted = await test.send("/api/portal/account", { method: "DELETE", cookie });
  await assertError(deleted, 403, "organization_suspended");
  assert.equal((await test.send("/api/portal/organizations", { cookie })).status, 200);
});
