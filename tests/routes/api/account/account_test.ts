// The API of the user's own account: sessions, name and deletion.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { recentAuthenticationMs, sessionsPerUserMax } from "../../../../domain/limits.ts";
import {
  assertError,
  cookieOf,
  createTestKey,
  type TestApp,
  testApp,
  testPassword,
} from "../../../support/app/app.ts";
import { assertRows, sendRow } from "../../../support/app/rows.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { joinedPerson, lastMail, me, signInAgain } from "../../../support/people/people.ts";
import { cleanUpSignIns } from "../../../../services/people/sign_in.ts";

const sessions = "/api/auth/sessions";
const account = "/api/portal/account";

interface ShownSession {
  readonly id: string;
  readonly current: boolean;
  readonly address: string;
  readonly userAgent: string;
}

async function list(test: TestApp, by: { cookie: string }): Promise<ShownSession[]> {
  const { html } = await assertRows(test, by, [[`GET ${sessions}`, null, 200, { hides: ["oken"] }]]);
  return JSON.parse(html).sessions;
}

testApp("lists sessions with device, address and last use, and ends one or all others", async (test) => {
  const ada = await test.signUp();
  test.advance(60_000);
  const phone = await test.send("/api/auth/sign-in", {
    json: { email: ada.email, password: testPassword },
    headers: { "user-agent": "Phone/1.0" },
    peerAddress: "203.0.113.9",
  });
  const [first, own] = await list(test, ada);
  assert.deepEqual([first?.userAgent, first?.address, first?.current], ["Phone/1.0", "203.0.113.9", false]);
  assert.equal(own?.current, true);
  await assertRows(test, ada, [[`DELETE ${sessions}/${first?.id}`, null, 204]]);
  assert.equal((await me(test, cookieOf(phone))).authenticated, false, "the session must end immediately");
  const eve = await test.signUp("Eve");
  const others = [await signInAgain(test, ada.email), await signInAgain(test, ada.email)];
  await assertRows(test, ada, [
    [`DELETE ${sessions}/${first?.id}`, null, "404 not_found"],
    [`DELETE ${sessions}`, null, 204],
  ]);
  for (const cookie of others) assert.equal((await me(test, cookie)).authenticated, false);
  assert.equal((await list(test, ada)).length, 1);
  assert.equal((await me(test, eve.cookie)).authenticated, true, "sessions of others go on");
});

testApp("lists the most recently used of very many sessions, and the current one", async (test) => {
  const ada = await test.signUp();
  const [start, count] = [test.now() + 1, sessionsPerUserMax + 20];
  await test.opened.database.write(
    Array.from(
      { length: count },
      (_, n) =>
        sql`INSERT INTO sessions (token_hash, id, user_id, created_at, last_seen_at, address, user_agent)
       VALUES (${`hash${n}`}, ${`ses_${n}`}, ${ada.userId}, ${start}, ${start + n}, '', '')`,
    ),
  );
  const listed = await list(test, ada);
  const ids = listed.map(({ id }) => id);
  assert.deepEqual(
    ids.slice(0, -1),
    Array.from({ length: sessionsPerUserMax - 1 }, (_, n) => `ses_${count - 1 - n}`),
  );
  assert.equal(listed.at(-1)?.current, true);
});

testApp("changes a name", async (test) => {
  const { html } = await assertRows(test, await test.signUp(), [
    [`PATCH ${account}`, { name: "" }, "422 validation_failed name"],
    [`PATCH ${account}`, { name: " Ada King " }, 200],
  ]);
  assert.equal(JSON.parse(html).user.name, "Ada King");
});

testApp("deletes an account with its sessions, keys and organizations of one member", async (test) => {
  const owner = await test.signUp();
  const second = await test.signUp("Second");
  const bob = await joinedPerson(test, owner, "MEMBER");
  const { fullKey } = await createTestKey(test, bob);
  await test.opened.database.write([
    sql`INSERT INTO memberships (user_id, organization_id, role, created_at)
      VALUES (${bob.userId}, ${second.organizationId}, 'ADMIN', 0)`,
  ]);
  const { answer } = await assertRows(test, bob, [
    ["POST /api/portal/organizations", { name: "Bob alone" }, 201],
    [`DELETE ${account}`, null, 204],
  ]);
  assert.match(answer.headers.get("set-cookie") ?? "", /Max-Age=0/);
  assert.equal((await me(test, bob.cookie)).authenticated, false);
  const json = { productSlug: "p", metric: "m", quantity: 1 };
  await assertError(await test.send("/api/v1/usage", { apiKey: fullKey, json }), 401, "invalid_api_key");
  const signIn = { email: bob.email, password: testPassword };
  await assertRows(test, {}, [["POST /api/auth/sign-in", signIn, "401 invalid_credentials"]]);
  const left = await test.opened.database.read(sql`SELECT id FROM organizations WHERE deleted_at IS NULL`);
  assert.deepEqual(left, [{ id: owner.organizationId }, { id: second.organizationId }]);
  const members = `GET /api/portal/organizations/${owner.organizationId}/members`;
  assert.equal(JSON.parse((await sendRow(test, owner, members)).html).members.length, 1);
  const { apiKeys } = JSON.parse((await sendRow(test, owner, "GET /api/portal/api-keys")).html);
  assert.deepEqual([apiKeys[0].status, apiKeys[0].createdBy], ["revoked", null]);
  assert.match((await lastMail(test, bob.email)).subject, /deleted/i);
  // Each organization that it leaves has an entry.
  for (const [reader, role] of [[owner, "MEMBER"], [second, "ADMIN"]] as const) {
    const { events } = await listAudit(test, reader.cookie, "?action=member.left");
    assert.deepEqual(events.map(({ actor, details }) => [actor.id, details]), [
      [bob.userId, { role, keys: "revoked" }],
    ]);
  }
});

testApp("rejects deleting the account of the only OWNER of an organization with members", async (test) => {
  const ada = await test.signUp();
  const bob = await joinedPerson(test, ada, "ADMIN");
  await assertRows(test, ada, [
    ["POST /api/portal/organizations", { name: "Ada alone" }, 201],
    [`DELETE ${account}`, null, "409 last_owner"],
  ]);
  const { authenticated, memberships } = await me(test, ada.cookie);
  assert.deepEqual([authenticated, memberships.length], [true, 2]);
  const member = `/api/portal/organizations/${ada.organizationId}/members/${bob.userId}`;
  await assertRows(test, ada, [[`PATCH ${member}`, { role: "OWNER" }, 200]]);
  test.advance(recentAuthenticationMs + 1);
  await assertRows(test, ada, [[`DELETE ${account}`, null, "403 proof_required"]]);
  const fresh = await signInAgain(test, ada.email);
  await assertRows(test, { cookie: fresh }, [[`DELETE ${account}`, null, 204]]);
  assert.equal((await me(test, bob.cookie)).memberships[0]?.role, "OWNER");
});

testApp("keeps one of two remaining owners who delete their accounts at the same time", async (test) => {
  const ada = await test.signUp();
  const bob = await joinedPerson(test, ada, "OWNER");
  await joinedPerson(test, ada, "MEMBER");
  const responses = await Promise.all(
    [ada, bob].map(({ cookie }) => test.send(account, { cookie, method: "DELETE" })),
  );
  assert.deepEqual(responses.map(({ status }) => status).sort(), [204, 409]);
});

testApp("deletes sessions in the background that were unused for too long", async (test) => {
  const ada = await test.signUp();
  test.advance(6 * 24 * 3_600_000);
  const fresh = await signInAgain(test, ada.email);
  test.advance(2 * 24 * 3_600_000);
  await cleanUpSignIns(test.services);
  const rows = await test.opened.database.read(sql`SELECT id FROM sessions`);
  assert.equal(rows.length, 1);
  assert.equal((await me(test, fresh)).authenticated, true);
});
