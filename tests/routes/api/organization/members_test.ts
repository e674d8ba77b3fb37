// Members and their roles. An organization keeps an owner, even if changes are made at the same time.
import assert from "node:assert/strict";
import {
  assertError,
  createTestKey,
  startTestApp,
  type TestApp,
  testApp,
  type TestPerson,
} from "../../../support/app/app.ts";
import { recentAuthenticationMs } from "../../../../domain/limits.ts";
import { remoteTestDatabase } from "../../../support/database/database.ts";
import { joinedPerson, me, reauthenticate } from "../../../support/people/people.ts";
import { sqldMissing } from "../../../support/database/sqld.ts";

const at = (owner: TestPerson, userId = "") =>
  `/api/portal/organizations/${owner.organizationId}/members${userId === "" ? "" : `/${userId}`}`;

function changeRole(
  test: TestApp,
  actor: TestPerson,
  who: { owner: TestPerson; userId: string; role: string },
) {
  const { owner, userId, role } = who;
  return test.send(at(owner, userId), { cookie: actor.cookie, method: "PATCH", json: { role } });
}

function remove(
  test: TestApp,
  actor: TestPerson,
  who: { owner: TestPerson; userId: string; query?: string },
) {
  const { owner, userId, query = "" } = who;
  return test.send(at(owner, userId) + query, { cookie: actor.cookie, method: "DELETE" });
}

testApp("every member can list the members, page by page", async (test) => {
  const owner = await test.signUp();
  const people = [owner];
  for (const role of ["ADMIN", "MEMBER", "MEMBER"] as const) {
    people.push(await joinedPerson(test, owner, role));
  }
  const seen: string[] = [];
  let cursor = "";
  do {
    const response = await test.send(`${at(owner)}?limit=3${cursor}`, { cookie: people[3]?.cookie ?? "" });
    const { members, nextCursor } = await response.json();
    seen.push(...members.map(({ user }: { user: { email: string } }) => user.email));
    cursor = nextCursor === null ? "" : `&cursor=${nextCursor}`;
  } while (cursor !== "");
  assert.deepEqual(seen, people.map(({ email }) => email));
  const { members: [first] } = await (await test.send(at(owner), { cookie: owner.cookie })).json();
  assert.deepEqual(Object.keys(first).sort(), ["activeApiKeys", "joinedAt", "role", "twoStep", "user"]);
  await assertError(
    await test.send(`${at(owner)}?cursor=x`, { cookie: owner.cookie }),
    422,
    "validation_failed",
  );
});

testApp("only admins, owners and the member themselves see whether two-step sign-in is on", async (test) => {
  const owner = await test.signUp();
  const admin = await joinedPerson(test, owner, "ADMIN");
  const member = await joinedPerson(test, owner, "MEMBER");
  const readBy = async ({ cookie }: TestPerson) => {
    const { members } = await (await test.send(at(owner), { cookie })).json();
    return members.map(({ twoStep }: { twoStep: boolean | null }) => twoStep);
  };
  assert.deepEqual(await readBy(owner), [false, false, false]);
  assert.deepEqual(await readBy(admin), [false, false, false]);
  assert.deepEqual(await readBy(member), [null, null, false]);
  const page = await (await test.send("/portal/members", { cookie: member.cookie })).text();
  assert.equal(page.match(/Not shown/g)?.length, 2);
});

testApp("an admin or a member can't make themselves an owner", async (test) => {
  const owner = await test.signUp();
  for (const role of ["ADMIN", "MEMBER"] as const) {
    const person = await joinedPerson(test, owner, role);
    const own = { owner, userId: person.userId, role: "OWNER" };
    await assertError(await changeRole(test, person, own), 403, "forbidden");
    assert.equal((await me(test, person.cookie)).role, role);
  }
});

testApp("an owner changes roles", async (test) => {
  const owner = await test.signUp();
  const member = await joinedPerson(test, owner, "MEMBER");
  const response = await changeRole(test, owner, { owner, userId: member.userId, role: "ADMIN" });
  assert.equal(response.status, 200);
  assert.equal((await response.json()).member.role, "ADMIN");
  assert.equal((await me(test, member.cookie)).role, "ADMIN");
  await assertError(
    await changeRole(test, owner, { owner, userId: member.userId, role: "BOSS" }),
    422,
    "validation_failed",
  );
  await assertError(
    await changeRole(test, owner, { owner, userId: `usr_${"0".repeat(32)}`, role: "ADMIN" }),
    404,
    "not_found",
  );
});

testApp("making someone an owner requires recent authentication; other role changes don't", async (test) => {
  const owner = await test.signUp();
  const second = await joinedPerson(test, owner, "OWNER");
  const member = await joinedPerson(test, owner, "MEMBER");
  const own = { owner, userId: member.userId };
  test.advance(recentAuthenticationMs);
  for (const role of ["ADMIN", "MEMBER"]) {
    assert.equal((await changeRole(test, owner, { ...own, role })).status, 200);
  }
  await assertError(await changeRole(test, owner, { ...own, role: "OWNER" }), 403, "proof_required");
  // Missing permission is reported first. A change to the current role requires nothing.
  await assertError(await changeRole(test, member, { ...own, role: "OWNER" }), 403, "forbidden");
  assert.equal((await changeRole(test, owner, { owner, userId: second.userId, role: "OWNER" })).status, 200);
  assert.equal((await changeRole(test, owner, { owner, userId: second.userId, role: "ADMIN" })).status, 200);
  assert.equal((await me(test, member.cookie)).role, "MEMBER");
  await reauthenticate(test, owner.cookie);
  assert.equal((await changeRole(test, owner, { ...own, role: "OWNER" })).status, 200);
});

testApp("the last owner can't step down or leave", async (test) => {
  const owner = await test.signUp();
  await joinedPerson(test, owner, "ADMIN");
  const own = { owner, userId: owner.userId };
  await assertError(await changeRole(test, owner, { ...own, role: "ADMIN" }), 409, "last_owner");
  await assertError(await remove(test, owner, own), 409, "last_owner");
  assert.equal((await me(test, owner.cookie)).role, "OWNER");
});

async function twoOwnersAtOnce(test: TestApp): Promise<void> {
  const ada = await test.signUp();
  for (let round = 0; round < 5; round++) {
    const bob = await joinedPerson(test, ada, "OWNER");
    const acts = [
      [
        () => changeRole(test, ada, { owner: ada, userId: bob.userId, role: "MEMBER" }),
        () => changeRole(test, bob, { owner: ada, userId: ada.userId, role: "MEMBER" }),
      ],
      [
        () => changeRole(test, ada, { owner: ada, userId: ada.userId, role: "MEMBER" }),
        () => changeRole(test, bob, { owner: ada, userId: bob.userId, role: "MEMBER" }),
      ],
      [
        () => remove(test, ada, { owner: ada, userId: bob.userId }),
        () => remove(test, bob, { owner: ada, userId: ada.userId }),
      ],
    ][round % 3] ?? [];
    const responses = await Promise.all(acts.map((act) => act()));
    assert.equal(responses.filter(({ status }) => status < 300).length, 1, `round ${round}`);
    const owners = await test.opened.database.read<{ userId: string }>({
      sql: "SELECT user_id AS userId FROM memberships WHERE organization_id = ? AND role = 'OWNER'",
      args: [ada.organizationId],
    });
    assert.equal(owners.length, 1);
    // The remaining owner restores the roles for the next round.
    const left = owners[0]?.userId === ada.userId ? ada : bob;
    if (left === ada) {
      await remove(test, ada, { owner: ada, userId: bob.userId });
      continue;
    }
    const { memberships } = await me(test, ada.cookie);
    if (memberships.length === 0) return;
    await changeRole(test, bob, { owner: ada, userId: ada.userId, role: "OWNER" });
    await remove(test, bob, { owner: ada, userId: bob.userId });
  }
}

testApp("one owner remains when two demote or remove each other at the same time", twoOwnersAtOnce);

Deno.test({
  name: "two owners who end each other's ownership at the same moment leave one owner, on a remote database",
  ignore: sqldMissing() !== null,
  fn: async () => {
    const test = await startTestApp({}, { open: remoteTestDatabase });
    try {
      await twoOwnersAtOnce(test);
    } finally {
      await test.dispose();
    }
  },
});

testApp("rejects a removed member on the next request", async (test) => {
  const owner = await test.signUp();
  const bob = await joinedPerson(test, owner, "ADMIN");
  const { fullKey, id } = await createTestKey(test, bob);
  assert.equal((await remove(test, owner, { owner, userId: bob.userId })).status, 204);
  const gone = await me(test, bob.cookie);
  assert.equal(gone.authenticated, true);
  assert.deepEqual([gone.organizationId, gone.role, gone.memberships], [null, null, []]);
  await assertError(await test.send(at(owner), { cookie: bob.cookie }), 404, "not_found");
  await assertError(await test.send("/api/portal/usage", { cookie: bob.cookie }), 403, "forbidden");
  await assertError(
    await test.send("/api/v1/usage", {
      apiKey: fullKey,
      json: { productSlug: "p", metric: "m", quantity: 1 },
    }),
    401,
    "invalid_api_key",
  );
  const { apiKeys } = await (await test.send("/api/portal/api-keys", { cookie: owner.cookie })).json();
  assert.equal(apiKeys.find((key: { id: string }) => key.id === id).status, "revoked");
  await assertError(await remove(test, owner, { owner, userId: bob.userId }), 404, "not_found");
});

testApp("removing a member can transfer their keys instead of revoking them", async (test) => {
  const owner = await test.signUp();
  const bob = await joinedPerson(test, owner, "MEMBER");
  const { fullKey, id } = await createTestKey(test, bob);
  const { id: revoked } = await createTestKey(test, bob);
  await test.send(`/api/portal/api-keys/${revoked}`, { method: "DELETE", cookie: bob.cookie });
  await assertError(
    await remove(test, bob, { owner, userId: bob.userId, query: "?keys=keep" }),
    422,
    "validation_failed",
  );
  await assertError(
    await remove(test, owner, { owner, userId: bob.userId, query: "?keys=all" }),
    422,
    "validation_failed",
  );
  assert.equal((await remove(test, owner, { owner, userId: bob.userId, query: "?keys=keep" })).status, 204);
  const used = await test.send("/api/v1/usage", {
    apiKey: fullKey,
    json: { productSlug: "p", metric: "m", quantity: 1 },
  });
  assert.equal(used.status, 201);
  const { apiKeys } = await (await test.send("/api/portal/api-keys", { cookie: owner.cookie })).json();
  const maker = (id: string) => apiKeys.find((key: { id: string }) => key.id === id).createdBy.id;
  assert.equal(maker(id), owner.userId);
  assert.equal(maker(revoked), bob.userId, "a key that is over stays whose it was");
});

testApp("admins remove members and admins but not owners; members remove only themselves", async (test) => {
  const owner = await test.signUp();
  const second = await joinedPerson(test, owner, "OWNER");
  const [admin, other] = [await joinedPerson(test, owner, "ADMIN"), await joinedPerson(test, owner, "ADMIN")];
  const [member, last] = [
    await joinedPerson(test, owner, "MEMBER"),
    await joinedPerson(test, owner, "MEMBER"),
  ];
  await assertError(await remove(test, member, { owner, userId: last.userId }), 403, "forbidden");
  await assertError(await remove(test, admin, { owner, userId: second.userId }), 403, "forbidden");
  for (const { userId } of [other, last]) {
    assert.equal((await remove(test, admin, { owner, userId })).status, 204);
  }
  assert.equal((await remove(test, member, { owner, userId: member.userId })).status, 204);
  assert.equal((await remove(test, second, { owner, userId: second.userId })).status, 204);
  const { members } = await (await test.send(at(owner), { cookie: owner.cookie })).json();
  assert.deepEqual(members.map(({ role }: { role: string }) => role), ["OWNER", "ADMIN"]);
});

testApp("of three owners, only one of two who demote each other loses the role", async (test) => {
  const ada = await test.signUp();
  const [bob] = [await joinedPerson(test, ada, "OWNER"), await joinedPerson(test, ada, "OWNER")];
  const responses = await Promise.all([
    changeRole(test, ada, { owner: ada, userId: bob.userId, role: "MEMBER" }),
    changeRole(test, bob, { owner: ada, userId: ada.userId, role: "MEMBER" }),
  ]);
  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 403]);
});
