// Organizations: create, rename, transfer, switch and delete, and who can do it.
import assert from "node:assert/strict";
import { assertError, createTestKey, testApp } from "../../../support/app/app.ts";
import { joinedPerson, me, signInAgain } from "../../../support/people/people.ts";

const path = "/api/portal/organizations";
const tenMinutes = 10 * 60_000;

testApp("creates an organization that the person owns, and keeps the active one", async (test) => {
  const ada = await test.signUp();
  const response = await test.send(path, { cookie: ada.cookie, json: { name: "  Analytical Engines " } });
  assert.equal(response.status, 201);
  const { organization } = await response.json();
  assert.equal(organization.name, "Analytical Engines");
  assert.equal(organization.role, "OWNER");
  assert.equal(organization.memberCount, 1);
  const { organizationId, memberships } = await me(test, ada.cookie);
  assert.equal(organizationId, ada.organizationId);
  assert.equal(memberships.length, 2);
  const list = await (await test.send(path, { cookie: ada.cookie })).json();
  assert.deepEqual(
    list.organizations.map(({ name }: { name: string }) => name),
    [
      "Ada Lovelace’s organization",
      "Analytical Engines",
    ].sort(),
  );
});

testApp("rejects invalid names, and more than fifty organizations of one person", async (test) => {
  const ada = await test.signUp();
  for (
    const name of [
      "",
      "   ",
      "x".repeat(101),
      "a\u0000b",
      "\u200b\u2060",
      "\u3164",
      "\u2800 \u0301",
      "a\u202eb",
      "\u2067a",
    ]
  ) {
    const body = await assertError(
      await test.send(path, { cookie: ada.cookie, json: { name } }),
      422,
      "validation_failed",
    );
    assert.equal(body.error.details?.[0]?.path, "name");
  }
  const made = await Promise.all(
    Array.from({ length: 60 }, (_, i) => test.send(path, { cookie: ada.cookie, json: { name: `O${i}` } })),
  );
  assert.equal(made.filter(({ status }) => status === 201).length, 49);
  assert.equal(made.filter(({ status }) => status === 409).length, 11);
  assert.equal((await me(test, ada.cookie)).memberships.length, 50);
});

testApp("deletes an organization by its name in plain instead of typographic characters", async (test) => {
  const astronauts = "👩".repeat(100);
  const ada = await test.signUp(astronauts);
  const [{ name: own } = { name: "" }] = (await me(test, ada.cookie)).memberships;
  assert.match(own, /^(👩){84}…’s organization$/u);
  const send = (to: string, json: unknown, method = "POST") =>
    test.send(to, { method, cookie: ada.cookie, json });
  assert.equal((await send(`${path}/${ada.organizationId}`, { name: own }, "DELETE")).status, 204);
  const { organization: { id } } = await (await send(path, { name: "Cafe\u0301  \u200bNord" })).json();
  const wrong = await send(`${path}/${id}`, { name: "Cafe Nord" }, "DELETE");
  await assertError(wrong, 422, "validation_failed");
  assert.equal((await send(`${path}/${id}`, { name: "Café Nord" }, "DELETE")).status, 204);
});

testApp("switching applies to this session and the next sign-in", async (test) => {
  const ada = await test.signUp();
  const { organization } = await (await test.send(path, { cookie: ada.cookie, json: { name: "Second" } }))
    .json();
  const other = await signInAgain(test, ada.email);
  const response = await test.send("/api/auth/organization", {
    cookie: ada.cookie,
    json: { organizationId: organization.id },
  });
  assert.equal(response.status, 200);
  assert.equal((await response.json()).organizationId, organization.id);
  assert.equal((await me(test, ada.cookie)).organizationId, organization.id);
  assert.equal(
    (await me(test, other)).organizationId,
    ada.organizationId,
    "another session keeps its organization",
  );
  assert.equal((await me(test, await signInAgain(test, ada.email))).organizationId, organization.id);
});

testApp("renames an organization", async (test) => {
  const ada = await test.signUp();
  const one = `${path}/${ada.organizationId}`;
  const response = await test.send(one, { cookie: ada.cookie, method: "PATCH", json: { name: "Engines" } });
  assert.equal(response.status, 200);
  assert.equal((await response.json()).organization.name, "Engines");
  assert.equal((await me(test, ada.cookie)).memberships[0]?.name, "Engines");
});

testApp("a transfer requires recent authentication, and makes a new owner and an admin", async (test) => {
  const ada = await test.signUp();
  const bob = await joinedPerson(test, ada, "MEMBER");
  const transfer = (cookie: string, userId: string) =>
    test.send(`${path}/${ada.organizationId}/transfer`, { cookie, json: { userId } });
  await assertError(await transfer(bob.cookie, bob.userId), 403, "forbidden");
  await assertError(await transfer(ada.cookie, ada.userId), 422, "validation_failed");
  await assertError(await transfer(ada.cookie, `usr_${"0".repeat(32)}`), 422, "validation_failed");
  test.advance(tenMinutes + 1);
  await assertError(await transfer(ada.cookie, bob.userId), 403, "proof_required");
  await test.send("/api/portal/account/proof", {
    cookie: ada.cookie,
    json: { password: "correct horse 9 battery" },
  });
  assert.equal((await transfer(ada.cookie, bob.userId)).status, 200);
  assert.equal((await me(test, ada.cookie)).role, "ADMIN");
  assert.equal((await me(test, bob.cookie)).role, "OWNER");
});

testApp("deleting an organization immediately ends its keys, members and invitations", async (test) => {
  const ada = await test.signUp();
  const bob = await joinedPerson(test, ada, "ADMIN");
  const { fullKey } = await createTestKey(test, bob);
  const use = () =>
    test.send("/api/v1/usage", {
      apiKey: fullKey,
      json: { productSlug: "p", metric: "m", quantity: 1 },
      headers: { origin: "" },
    });
  assert.equal((await use()).status, 201);
  await test.send(`${path}/${ada.organizationId}/invitations`, {
    cookie: ada.cookie,
    json: { email: "late@example.com", role: "MEMBER" },
  });
  const link = (await test.mails()).at(-1)?.link ?? "";
  const remove = (cookie: string, name: string) =>
    test.send(`${path}/${ada.organizationId}`, { cookie, method: "DELETE", json: { name } });
  await assertError(await remove(bob.cookie, "Ada Lovelace’s organization"), 403, "forbidden");
  const wrong = await assertError(await remove(ada.cookie, "Something else"), 422, "validation_failed");
  assert.equal(wrong.error.details?.[0]?.path, "name");
  test.advance(tenMinutes + 1);
  await assertError(await remove(ada.cookie, "Ada Lovelace’s organization"), 403, "proof_required");
  const fresh = await signInAgain(test, ada.email);
  assert.equal((await remove(fresh, "Ada Lovelace’s organization")).status, 204);

  await assertError(await use(), 401, "invalid_api_key");
  for (const cookie of [fresh, ada.cookie, bob.cookie]) {
    const { organizationId, memberships, role } = await me(test, cookie);
    assert.deepEqual({ organizationId, memberships, role }, {
      organizationId: null,
      memberships: [],
      role: null,
    });
  }
  await assertError(await test.send("/api/portal/api-keys", { cookie: fresh }), 403, "forbidden");
  const invitationToken = new URL(link).searchParams.get("token");
  await assertError(
    await test.send("/api/auth/sign-up", {
      json: { name: "Late", password: "correct horse 9 battery", invitationToken },
      peerAddress: "10.3.0.1",
    }),
    404,
    "invalid_token",
  );
  await assertError(await remove(fresh, "Ada Lovelace’s organization"), 404, "not_found");
});
