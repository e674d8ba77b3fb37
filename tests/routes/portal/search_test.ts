// The search of the portal and of the console: what it finds for whom, and that it never repeats a key.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { newOperator } from "../../support/operators/console.ts";
import { joinedPerson } from "../../support/people/people.ts";
import { openPage } from "../../support/portal/pages.ts";

/** Returns the names of results by the title of their group. */
async function found(test: TestApp, person: TestPerson, text: string, path = "/operator/search") {
  const { html, status } = await openPage(test, `${path}?q=${encodeURIComponent(text)}`, { person });
  assert.equal(status, 200, text);
  const groups = html.split('id="found"')[1]?.split("<h2>").slice(1) ?? [];
  return Object.fromEntries(groups.map((group) => [
    group.slice(0, group.indexOf("</h2>")),
    [...group.matchAll(/<bdi class="cut">([^<]*)<\/bdi>/g)].map(([, name]) => name),
  ]));
}

const prefixOf = (fullKey: string) => fullKey.slice(0, 21);

testApp("operators find organizations, users, keys by prefix, and pages", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada Lovelace");
  await test.signUp("100% Ada");
  await test.signUp("Zada");
  const { id, fullKey } = await createTestKey(test, ada, { name: "Production" });
  const path = `/operator/organizations/${ada.organizationId}/edit`;
  const form = { externalId: "cus_8841", name: "Ada Lovelace’s organization" };
  assert.equal((await openPage(test, path, { person: mara, form })).status, 303);
  const find = (text: string) => found(test, mara, text);
  assert.deepEqual(await find("ADA"), {
    // First those that begin with it, then the newest.
    Organizations: ["Ada Lovelace’s organization", "Zada’s organization", "100% Ada’s organization"],
    Users: ["Zada", "100% Ada", "Ada Lovelace"],
  });
  const organization = { Organizations: ["Ada Lovelace’s organization"] };
  for (const text of ["cus_88", "cus_8841", ada.organizationId]) {
    assert.deepEqual(await find(text), organization, text);
  }
  assert.deepEqual((await find("ad"))["Organizations"], organization.Organizations);
  assert.deepEqual(await find("%"), {});
  assert.deepEqual(await find("0% a"), { Organizations: ["100% Ada’s organization"], Users: ["100% Ada"] });
  for (const text of ["___", '"', "\\", "%%%", "*", "ada NOT lovelace"]) {
    assert.deepEqual(await find(text), {});
  }
  assert.deepEqual(await find(ada.userId), { Users: ["Ada Lovelace"] });
  assert.deepEqual(await find(ada.email.toUpperCase()), { ...organization, Users: ["Ada Lovelace"] });
  const shown = prefixOf(fullKey).replace("service_live_", "");
  for (const text of [id, shown, shown.slice(0, 5), `service_live_${shown}`]) {
    assert.deepEqual((await find(text))["API keys"], ["Production"], text);
  }
  assert.deepEqual((await find(fullKey.slice(13, 16)))["API keys"], undefined);
  assert.deepEqual(await find("stat"), { Pages: ["Statements"] });
  assert.deepEqual(await find("create org"), { Actions: ["Create organization"] });
  assert.match(
    (await openPage(test, "/operator/search?q=zzz", { person: mara })).html,
    /No results for/,
  );
});

testApp("a pasted key is never in the address or the log", async (test) => {
  const mara = await newOperator(test);
  const { fullKey } = await createTestKey(test, mara);
  const secret = fullKey.slice(13 + 8);
  for (const [text, cut] of [[fullKey, prefixOf(fullKey)], [fullKey.slice(13), fullKey.slice(13, 21)]]) {
    for (const path of ["/operator/search", "/portal/search"]) {
      const { location } = await openPage(test, `${path}?q=${text}`, { person: mara });
      assert.equal(location, `${path}?q=${cut}`);
      assert.equal((await openPage(test, location, { person: mara })).html.includes(secret), false);
    }
  }
  assert.equal(test.logged().includes(secret), false);
});

testApp("the names that are searched for come before longer and newer ones", async (test) => {
  const ada = await test.signUp();
  for (const name of ["Production", "Production EU", "do not use in production", "Reproduction"]) {
    await createTestKey(test, ada, { name });
  }
  const { "API keys": names } = await found(test, ada, "production", "/portal/search");
  assert.deepEqual(names, ["Production", "Production EU", "Reproduction", "do not use in production"]);
});

testApp("searches take halves of characters and NUL", async (test) => {
  const mara = await newOperator(test);
  for (
    const address of [
      `/operator/search?q=${"a".repeat(199)}😀x`,
      "/operator/search?q=abc%00",
      "/operator/usage?organization=%00abc",
      "/operator/organizations?search=%00abc",
      "/operator/users?search=%00abc",
    ]
  ) {
    const { status, location } = await openPage(test, encodeURI(decodeURI(address)), { person: mara });
    assert.ok(status === 200 || status === 303, address);
    if (location !== null) {
      assert.equal((await openPage(test, location, { person: mara })).status, 200, address);
    }
  }
});

testApp("members find their own keys, pages and organizations, and nothing else", async (test) => {
  const ada = await test.signUp("Ada");
  const bob = await joinedPerson(test, ada, "MEMBER");
  const grace = await test.signUp("Grace");
  const key = await createTestKey(test, ada, { name: "Renderer_1" });
  await createTestKey(test, bob, { name: "Renderer 2" });
  const foreign = await createTestKey(test, grace, { name: "Renderer 3" });
  const find = (person: TestPerson, text: string) => found(test, person, text, "/portal/search");
  assert.deepEqual(await find(ada, "render"), { "API keys": ["Renderer 2", "Renderer_1"] });
  assert.deepEqual(await find(ada, "r_1"), { "API keys": ["Renderer_1"] });
  assert.deepEqual(await find(ada, prefixOf(key.fullKey)), { "API keys": ["Renderer_1"] });
  assert.deepEqual(await find(bob, "render"), { "API keys": ["Renderer 2"] });
  for (const text of [foreign.id, prefixOf(foreign.fullKey), grace.email, grace.organizationId, "Grace"]) {
    assert.deepEqual(await find(ada, text), {}, text);
    assert.deepEqual(await find(bob, text), {}, text);
  }
  assert.deepEqual(await find(bob, prefixOf(key.fullKey)), {});
  assert.deepEqual(await find(bob, "ada"), { Organizations: ["Ada’s organization"] });
  assert.deepEqual(await find(ada, "invite"), { Actions: ["Invite a member"] });
  assert.deepEqual(await find(bob, "invite"), {});
  await openPage(test, "/portal/api-keys/revoke", { person: ada, form: { [key.id]: "on" } });
  assert.deepEqual(await find(ada, prefixOf(key.fullKey)), { "API keys": ["Renderer_1"] });
  assert.equal((await openPage(test, "/operator/search?q=a", { person: ada })).status, 404);
});
