// The API of the user's own account: sessions, name and deletion.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { sessionsPerUserMax } from "../../../../domain/limits.ts";
import { assertError, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { joinedPerson, lastMail, me, signInAgain } from "../../../support/people/people.ts";
import { cleanUpSignIns } from "../../../../services/sign_in/sign_in.ts";

const sessions = "/api/auth/sessions";
const account = "/api/portal/account";

async function list(test: TestApp, cookie: string) {
  const response = await test.send(sessions, { cookie });
  assert.equal(response.status, 200);
  return (await response.json()).sessions as {
    id: string;
    current: boolean;
    address: string;
    userAgent: string;
  }[];
}

testApp("lists sessions with device, address and last use, and ends them one by one", async (test) => {
  const ada = await test.signUp();
  test.advance(60_000);
  const phone = await test.send("/api/auth/sign-in", {
    json: { email: ada.email, password: "correct horse 9 battery" },
    headers: { "user-agent": "Phone/1.0" },
    peerAddress: "203.0.113.9",
  });
  const cookie = phone.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const shown = await list(test, ada.cookie);
  assert.deepEqual(shown.map(({ current }) => current), [false, true]);
  assert.equal(shown[0]?.userAgent, "Phone/1.0");
  assert.equal(shown[0]?.address, "203.0.113.9");
  assert.ok(!JSON.stringify(shown).includes("oken"));
  const end = () => test.send(`${sessions}/${shown[0]?.id}`, { cookie: ada.cookie, method: "DELETE" });
  assert.equal((await end()).status, 204);
  assert.equal((await me(test, cookie)).authenticated, false, "the session must end immediately");
  await assertError(await end(), 404, "not_found");
});

testApp("ends all other sessions immediately, but none of another user", async (test) => {
  const [ada, eve] = [await test.signUp(), await test.signUp("Eve")];
  const others = [await signInAgain(test, ada.email), await signInAgain(test, ada.email)];
  const [own] = await list(test, ada.cookie);
  await assertError(
    await test.send(`${sessions}/${own?.id}`, { cookie: eve.cookie, method: "DELETE" }),
    404,
    "not_found",
  );
  assert.equal((await test.send(sessions, { cookie: ada.cookie, method: "DELETE" })).status, 204);
  for (const cookie of others) assert.equal((await me(test, cookie)).authenticated, false);
  assert.equal((await list(test, ada.cookie)).length, 1);
  assert.equal((await me(test, eve.cookie)).authenticated, true);
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
  const listed = await list(test, ada.cookie);
  const ids = listed.map(({ id }) => id);
  assert.deepEqual(
    ids.slice(0, -1),
    Array.from({ length: sessionsPerUserMax - 1 }, (_, n) => `ses_${count - 1 - n}`),
  );
  assert.equal(listed.at(-1)?.current, true);
});

testApp("changes a name", async (test) => {
  const ada = await test.signUp();
  const response = await test.send(account, {
    cookie: ada.cookie,
    method: "PATCH",
    json: { name: " Ada King " },
  });
  assert.equal((await response.json()).user.name, "Ada King");
  await assertError(
    await test.send(account, { cookie: ada.cookie, method: "PATCH", json: { name: "" } }),
    422,
    "validation_failed",
  );
});

testApp(
  "deletes an account with its sessions, keys and organizations without other members",
  async (test) => {
    const owner = await test.signUp();
    const bob = await joinedPerson(test, owner, "MEMBER");
    await test.send("/api/portal/organizations", { cookie: bob.cookie, json: { name: "Bob alone" } });
    const { fullKey } = await createTestKey(test, bob);
    const response = await test.send(account, { cookie: bob.cookie, method: "DELETE" });
    assert.equal(response.status, 204);
    assert.match(response.headers.get("set-cookie") ?? "", /Max-Age=0/);
    assert.equal((await me(test, bob.cookie)).authenticated, false);
    await assertError(
      await test.send("/api/v1/usage", {
        apiKey: fullKey,
        json: { productSlug: "p", metric: "m", quantity: 1 },
      }),
      401,
      "invalid_api_key",
    );
    await assertError(
      await test.send("/api/auth/sign-in", {
        json: { email: bob.email, password: "correct horse 9 battery" },
      }),
      401,
      "invalid_credentials",
    );
    const left = await test.opened.database.read({
      sql: "SELECT name FROM organizations WHERE deleted_at IS NULL",
      args: [],
    });
    assert.equal(left.length, 1);
    const members = await test.send(`/api/portal/organizations/${owner.organizationId}/members`, {
      cookie: owner.cookie,
    });
    assert.equal((await members.json()).members.length, 1);
    const { apiKeys } = await (await test.send("/api/portal/api-keys", { cookie: owner.cookie })).json();
    assert.deepEqual([apiKeys[0].status, apiKeys[0].createdBy], ["revoked", null]);
    assert.match((await lastMail(test, bob.email)).subject, /deleted/i);
  },
);

testApp("adds an audit entry to each organization that a deleted account leaves", async (test) => {
  const [first, second] = [await test.signUp("First"), await test.signUp("Second")];
  const bob = await joinedPerson(test, first, "ADMIN");
  const { database } = test.opened;
  await database.write([{
    sql: "INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (?, ?, 'MEMBER', 0)",
    args: [bob.userId, second.organizationId],
  }]);
  assert.equal((await test.send(account, { cookie: bob.cookie, method: "DELETE" })).status, 204);
  for (const [owner, role] of [[first, "ADMIN"], [second, "MEMBER"]] as const) {
    const { events } = await listAudit(test, owner.cookie, "?action=member.left");
    assert.deepEqual(events.map(({ actor, details }) => [actor.id, details]), [
      [bob.userId, { role, keys: "revoked" }],
    ]);
  }
});

testApp(
  "rejects deleting the account of the only OWNER of an organization with other members",
  async (test) => {
    const ada = await test.signUp();
    const bob = await joinedPerson(test, ada, "ADMIN");
    await test.send("/api/portal/organizations", { cookie: ada.cookie, json: { name: "Ada alone" } });
    const remove = () => test.send(account, { cookie: ada.cookie, method: "DELETE" });
    await assertError(await remove(), 409, "last_owner");
    const { authenticated, memberships } = await me(test, ada.cookie);
    assert.deepEqual([authenticated, memberships.length], [true, 2]);
    await test.send(`/api/portal/organizations/${ada.organizationId}/members/${bob.userId}`, {
      cookie: ada.cookie,
      method: "PATCH",
      json: { role: "OWNER" },
    });
    test.advance(10 * 60_000 + 1);
    await assertError(await remove(), 403, "proof_required");
    const fresh = await signInAgain(test, ada.email);
    assert.equal((await test.send(account, { cookie: fresh, method: "DELETE" })).status, 204);
    assert.equal((await me(test, bob.cookie)).memberships[0]?.role, "OWNER");
  },
);

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
  const rows = await test.opened.database.read({ sql: "SELECT id FROM sessions", args: [] });
  assert.equal(rows.length, 1);
  assert.equal((await me(test, fresh)).authenticated, true);
});
