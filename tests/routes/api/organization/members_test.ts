// Members and their roles. An organization keeps an owner, even if changes are made at the same time.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { recentAuthenticationMs } from "../../../../domain/limits.ts";
import { assertOutcome, assertRows, fetchJson } from "../../../support/app/rows.ts";
import { onBothDatabases, recordWith } from "../../../support/meter/usage.ts";
import { joinedPerson, me, reauthenticate } from "../../../support/people/people.ts";

const at = (owner: TestPerson, userId = "") =>
  `/api/portal/organizations/${owner.organizationId}/members${userId === "" ? "" : `/${userId}`}`;

testApp("members list all members, and see only their own two-step sign-in, unless admins", async (test) => {
  const owner = await test.signUp();
  const people = [owner];
  for (const role of ["ADMIN", "MEMBER", "MEMBER"] as const) {
    people.push(await joinedPerson(test, owner, role));
  }
  const last = people[3] ?? owner;
  const seen: string[] = [];
  let cursor = "";
  do {
    const { members, nextCursor } = await fetchJson(test, last, `GET ${at(owner)}?limit=3${cursor}`);
    seen.push(...members.map(({ user }: { user: { email: string } }) => user.email));
    cursor = nextCursor === null ? "" : `&cursor=${nextCursor}`;
  } while (cursor !== "");
  assert.deepEqual(seen, people.map(({ email }) => email));
  const { members: [first] } = await fetchJson(test, owner, `GET ${at(owner)}`);
  assert.deepEqual(Object.keys(first).sort(), ["activeApiKeys", "joinedAt", "role", "twoStep", "user"]);
  await assertRows(test, owner, [[`GET ${at(owner)}?cursor=x`, null, "422 validation_failed cursor"]]);
  for (
    const [reader, expected] of [
      [owner, [false, false, false, false]],
      [people[1] ?? owner, [false, false, false, false]],
      [last, [null, null, null, false]],
    ] as const
  ) {
    const { members } = await fetchJson(test, reader, `GET ${at(owner)}`);
    assert.deepEqual(members.map(({ twoStep }: { twoStep: boolean | null }) => twoStep), expected);
  }
  const page = await (await test.send("/portal/members", { cookie: last.cookie })).text();
  assert.equal(page.match(/Not shown/g)?.length, 3);
});

testApp("an owner changes roles, and no one else their own", async (test) => {
  const owner = await test.signUp();
  const member = await joinedPerson(test, owner, "MEMBER");
  const admin = await joinedPerson(test, owner, "ADMIN");
  for (const person of [member, admin]) {
    await assertRows(test, person, [[
      `PATCH ${at(owner, person.userId)}`,
      { role: "OWNER" },
      "403 forbidden",
    ]]);
  }
  const change = `PATCH ${at(owner, member.userId)}`;
  assert.equal((await fetchJson(test, owner, change, { role: "ADMIN" })).member.role, "ADMIN");
  assert.equal((await me(test, member.cookie)).role, "ADMIN");
  await assertRows(test, owner, [
    [change, { role: "BOSS" }, "422 validation_failed role"],
    [`PATCH ${at(owner, `usr_${"0".repeat(32)}`)}`, { role: "ADMIN" }, "404 not_found"],
  ]);
});

testApp("making someone an owner requires recent authentication; other role changes don't", async (test) => {
  const owner = await test.signUp();
  const second = await joinedPerson(test, owner, "OWNER");
  const member = await joinedPerson(test, owner, "MEMBER");
  const change = `PATCH ${at(owner, member.userId)}`;
  test.advance(recentAuthenticationMs);
  await assertRows(test, owner, [
    [change, { role: "ADMIN" }, 200],
    [change, { role: "MEMBER" }, 200],
    [change, { role: "OWNER" }, "403 proof_required"],
    // A change to the current role requires nothing.
    [`PATCH ${at(owner, second.userId)}`, { role: "OWNER" }, 200],
    [`PATCH ${at(owner, second.userId)}`, { role: "ADMIN" }, 200],
  ]);
  // Missing permission is reported first.
  await assertRows(test, member, [[change, { role: "OWNER" }, "403 forbidden"]]);
  assert.equal((await me(test, member.cookie)).role, "MEMBER");
  await reauthenticate(test, owner.cookie);
  await assertRows(test, owner, [[change, { role: "OWNER" }, 200]]);
});

testApp("the last owner can't step down or leave", async (test) => {
  const owner = await test.signUp();
  await joinedPerson(test, owner, "ADMIN");
  await assertRows(test, owner, [
    [`PATCH ${at(owner, owner.userId)}`, { role: "ADMIN" }, "409 last_owner"],
    [`DELETE ${at(owner, owner.userId)}`, null, "409 last_owner"],
  ]);
  assert.equal((await me(test, owner.cookie)).role, "OWNER");
});

/** Sends a request of each of two people at the same time. @returns Their statuses, sorted. */
async function atOnce(
  test: TestApp,
  by: readonly [TestPerson, TestPerson],
  paths: readonly string[],
  role?: string,
) {
  const responses = by.map(({ cookie }, n) =>
    test.send(
      paths[n] ?? "",
      role === undefined ? { cookie, method: "DELETE" } : { cookie, method: "PATCH", json: { role } },
    )
  );
  return (await Promise.all(responses)).map(({ status }) => status).sort();
}

for (
  const [what, isOther, role] of [
    ["demote each other", true, "MEMBER"],
    ["step down", false, "MEMBER"],
    ["remove each other", true, undefined],
  ] as const
) {
  onBothDatabases(`one owner remains when two ${what} at the same time`, async (test) => {
    const ada = await test.signUp();
    const bob = await joinedPerson(test, ada, "OWNER");
    const paths = (isOther ? [bob, ada] : [ada, bob]).map(({ userId }) => at(ada, userId));
    const [done = 0, denied = 0] = await atOnce(test, [ada, bob], paths, role);
    assert.ok(done < 300 && denied >= 400, `${done} ${denied}`);
    const owners = await test.opened.database.read({
      sql: "SELECT 1 FROM memberships WHERE organization_id = ? AND role = 'OWNER'",
      args: [ada.organizationId],
    });
    assert.equal(owners.length, 1);
  });
}

testApp("of three owners, only one of two who demote each other loses the role", async (test) => {
  const ada = await test.signUp();
  const bob = await joinedPerson(test, ada, "OWNER");
  await joinedPerson(test, ada, "OWNER");
  const paths = [at(ada, bob.userId), at(ada, ada.userId)];
  assert.deepEqual(await atOnce(test, [ada, bob], paths, "MEMBER"), [200, 403]);
});

testApp("rejects a removed member on the next request", async (test) => {
  const owner = await test.signUp();
  const bob = await joinedPerson(test, owner, "ADMIN");
  const { fullKey, id } = await createTestKey(test, bob);
  await assertRows(test, owner, [[`DELETE ${at(owner, bob.userId)}`, null, 204]]);
  const { authenticated, organizationId, role, memberships } = await me(test, bob.cookie);
  assert.deepEqual([authenticated, organizationId, role, memberships], [true, null, null, []]);
  await assertRows(test, bob, [
    [`GET ${at(owner)}`, null, "404 not_found"],
    ["GET /api/portal/usage", null, "403 forbidden"],
  ]);
  await assertOutcome(recordWith(test, fullKey), "401 invalid_api_key");
  const { apiKeys } = await fetchJson(test, owner, "GET /api/portal/api-keys");
  assert.equal(apiKeys.find((key: { id: string }) => key.id === id).status, "revoked");
  await assertRows(test, owner, [[`DELETE ${at(owner, bob.userId)}`, null, "404 not_found"]]);
});

testApp("removing a member can transfer their keys instead of revoking them", async (test) => {
  const owner = await test.signUp();
  const bob = await joinedPerson(test, owner, "MEMBER");
  const { fullKey, id } = await createTestKey(test, bob);
  const { id: revoked } = await createTestKey(test, bob);
  const remove = `DELETE ${at(owner, bob.userId)}`;
  await assertRows(test, bob, [
    [`DELETE /api/portal/api-keys/${revoked}`, null, 200],
    [`${remove}?keys=keep`, null, "422 validation_failed keys"],
  ]);
  await assertRows(test, owner, [
    [`${remove}?keys=all`, null, "422 validation_failed keys"],
    [`${remove}?keys=keep`, null, 204],
  ]);
  await assertOutcome(recordWith(test, fullKey), 201);
  const { apiKeys } = await fetchJson(test, owner, "GET /api/portal/api-keys");
  const maker = (id: string) => apiKeys.find((key: { id: string }) => key.id === id).createdBy.id;
  assert.equal(maker(id), owner.userId);
  assert.equal(maker(revoked), bob.userId, "a key that is over stays whose it was");
});

testApp("admins remove members and admins but not owners; members remove only themselves", async (test) => {
  const owner = await test.signUp();
  const join = (role: "OWNER" | "ADMIN" | "MEMBER") => joinedPerson(test, owner, role);
  const [second, admin, other] = [await join("OWNER"), await join("ADMIN"), await join("ADMIN")];
  const [member, last] = [await join("MEMBER"), await join("MEMBER")];
  const remove = ({ userId }: TestPerson) => `DELETE ${at(owner, userId)}`;
  await assertRows(test, member, [[remove(last), null, "403 forbidden"]]);
  await assertRows(test, admin, [
    [remove(second), null, "403 forbidden"],
    [remove(other), null, 204],
    [remove(last), null, 204],
  ]);
  for (const one of [member, second]) await assertRows(test, one, [[remove(one), null, 204]]);
  const { members } = await fetchJson(test, owner, `GET ${at(owner)}`);
  assert.deepEqual(members.map(({ role }: { role: string }) => role), ["OWNER", "ADMIN"]);
});
