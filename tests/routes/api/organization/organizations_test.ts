// Organizations: create, rename, transfer, switch and delete, and who can do it.
import assert from "node:assert/strict";
import { createTestKey, testApp, testPassword } from "../../../support/app/app.ts";
import { assertOutcome, assertRows, fetchJson, type Row } from "../../../support/app/rows.ts";
import { recordWith } from "../../../support/meter/usage.ts";
import { inviteTo, joinedPerson, me, signInAgain } from "../../../support/people/people.ts";

const path = "/api/portal/organizations";
const tenMinutes = 10 * 60_000;
const ownName = "Ada Lovelace’s organization";

testApp(
  "creates and renames an organization that the person owns, and keeps the active one",
  async (test) => {
    const ada = await test.signUp();
    const name = "Analytical Engines";
    const { organization } = await fetchJson(test, ada, `POST ${path}`, { name: `  ${name} ` });
    const { role, memberCount } = organization;
    assert.deepEqual([organization.name, role, memberCount], [name, "OWNER", 1]);
    const { organizationId, memberships } = await me(test, ada.cookie);
    assert.deepEqual([organizationId, memberships.length], [ada.organizationId, 2]);
    const { organizations } = await fetchJson(test, ada, `GET ${path}`);
    assert.deepEqual(organizations.map(({ name }: { name: string }) => name), [ownName, name]);
    const renamed = await fetchJson(test, ada, `PATCH ${path}/${ada.organizationId}`, { name: "Engines" });
    assert.equal(renamed.organization.name, "Engines");
    assert.ok((await me(test, ada.cookie)).memberships.some(({ name }) => name === "Engines"));
  },
);

testApp(
  "rejects invalid names, and more than ten organizations of one person in an hour and fifty in all",
  async (test) => {
    const ada = await test.signUp();
    const empty = ["", "   ", "\u200b\u2060", "\u3164", "\u2800 \u0301"];
    const invalid = [...empty, "x".repeat(101), "a\u0000b", "a\u202eb", "\u2067a"];
    await assertRows(
      test,
      ada,
      invalid.map((name): Row => [`POST ${path}`, { name }, "422 validation_failed name"]),
    );
    const bob = await test.signUp("Bob");
    const create = async (count: number) => {
      const made = await Promise.all(
        Array.from(
          { length: count },
          (_, i) => test.send(path, { cookie: ada.cookie, json: { name: `O${i}` } }),
        ),
      );
      return made.map(({ status }) => status).sort().join();
    };
    const [ten, nine] = [Array(10).fill(201).join(), Array(9).fill(201).join()];
    assert.equal(await create(12), `${ten},429,429`);
    // An hour's ten are those of the account.
    assert.equal((await test.send(path, { cookie: bob.cookie, json: { name: "Bob's" } })).status, 201);
    for (let hour = 1; hour < 4; hour++) {
      test.advance(3_600_000);
      assert.equal(await create(10), ten);
    }
    test.advance(3_600_000);
    assert.equal(await create(10), `${nine},409`);
    assert.equal((await me(test, ada.cookie)).memberships.length, 50);
  },
);

testApp("deletes an organization by its name in plain instead of typographic characters", async (test) => {
  const ada = await test.signUp("👩".repeat(100));
  const [{ name: own } = { name: "" }] = (await me(test, ada.cookie)).memberships;
  assert.match(own, /^(👩){84}…’s organization$/u);
  await assertRows(test, ada, [[`DELETE ${path}/${ada.organizationId}`, { name: own }, 204]]);
  const { organization: { id } } = await fetchJson(test, ada, `POST ${path}`, {
    name: "Cafe\u0301  \u200bNord",
  });
  await assertRows(test, ada, [
    [`DELETE ${path}/${id}`, { name: "Cafe Nord" }, "422 validation_failed name"],
    [`DELETE ${path}/${id}`, { name: "Café Nord" }, 204],
  ]);
});

testApp("switching applies to this session and the next sign-in", async (test) => {
  const ada = await test.signUp();
  const { organization: { id } } = await fetchJson(test, ada, `POST ${path}`, { name: "Second" });
  const other = await signInAgain(test, ada.email);
  const switched = await fetchJson(test, ada, "POST /api/auth/organization", { organizationId: id });
  assert.equal(switched.organizationId, id);
  const activeIn = async (cookie: string) => (await me(test, cookie)).organizationId;
  assert.equal(await activeIn(ada.cookie), id);
  assert.equal(await activeIn(other), ada.organizationId, "another session keeps its organization");
  assert.equal(await activeIn(await signInAgain(test, ada.email)), id);
});

testApp("a transfer requires recent authentication, and makes a new owner and an admin", async (test) => {
  const ada = await test.signUp();
  const bob = await joinedPerson(test, ada, "MEMBER");
  const transfer = `POST ${path}/${ada.organizationId}/transfer`;
  await assertRows(test, ada, [
    [transfer, { userId: ada.userId }, "422 validation_failed userId"],
    [transfer, { userId: `usr_${"0".repeat(32)}` }, "422 validation_failed userId"],
  ]);
  test.advance(tenMinutes + 1);
  await assertRows(test, ada, [
    [transfer, { userId: bob.userId }, "403 proof_required"],
    ["POST /api/portal/account/proof", { password: testPassword }, 204],
    [transfer, { userId: bob.userId }, 200],
  ]);
  assert.equal((await me(test, ada.cookie)).role, "ADMIN");
  assert.equal((await me(test, bob.cookie)).role, "OWNER");
});

testApp("deleting an organization immediately ends its keys, members and invitations", async (test) => {
  const ada = await test.signUp();
  const bob = await joinedPerson(test, ada, "ADMIN");
  const { fullKey } = await createTestKey(test, bob);
  await assertOutcome(recordWith(test, fullKey), 201);
  const { token: invitationToken } = await inviteTo(test, ada, { email: "late@example.com" });
  const remove = `DELETE ${path}/${ada.organizationId}`;
  await assertRows(test, ada, [[remove, { name: "Something else" }, "422 validation_failed name"]]);
  test.advance(tenMinutes + 1);
  await assertRows(test, ada, [[remove, { name: ownName }, "403 proof_required"]]);
  const fresh = { cookie: await signInAgain(test, ada.email) };
  await assertRows(test, fresh, [[remove, { name: ownName }, 204]]);

  await assertOutcome(recordWith(test, fullKey), "401 invalid_api_key");
  for (const { cookie } of [fresh, ada, bob]) {
    const { organizationId, memberships, role } = await me(test, cookie);
    assert.deepEqual([organizationId, memberships, role], [null, [], null]);
  }
  await assertRows(test, fresh, [
    ["GET /api/portal/api-keys", null, "403 forbidden"],
    [remove, { name: ownName }, "404 not_found"],
    [
      "POST /api/auth/sign-up",
      { name: "Late", password: testPassword, invitationToken },
      "404 invalid_token",
    ],
  ]);
});
