// The search of the portal and of the console: what it finds for whom, and that it never repeats a key.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { newOperator } from "../../support/operators/console.ts";
import { joinedPerson } from "../../support/people/people.ts";
import { sql } from "../../../db/engine/database.ts";
import { addEndpoint, addEvents } from "../../support/webhooks/endpoints.ts";
import { openPage } from "../../support/portal/pages.ts";
import { usagePage } from "../../support/portal/usage_page.ts";
import { recordWith } from "../../support/meter/usage.ts";

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
  assert.deepEqual(await find("stat"), {
    Pages: ["Statements"],
    Documentation: ["Bill by statements"],
  });
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
  assert.deepEqual(await find(bob, "ada"), { Organizations: ["Ada’s organization"], Members: ["Ada"] });
  assert.deepEqual(await find(ada, "invite"), { Actions: ["Invite a member"] });
  assert.deepEqual(await find(bob, "invite"), {});
  await openPage(test, "/portal/api-keys/revoke", { person: ada, form: { [key.id]: "on" } });
  assert.deepEqual(await find(ada, prefixOf(key.fullKey)), { "API keys": ["Renderer_1"] });
  assert.equal((await openPage(test, "/operator/search?q=a", { person: ada })).status, 404);
});

testApp(
  "members find members, webhooks, events and requests as far as their role reads them",
  async (test) => {
    const ada = await test.signUp("Ada");
    const bob = await joinedPerson(test, ada, "MEMBER");
    const grace = await test.signUp("Grace");
    const mara = await newOperator(test, "Mara");
    const find = (person: TestPerson, text: string) => found(test, person, text, "/portal/search");
    const { organizationId } = ada;
    const { id: webhookId } = await addEndpoint(test, { organizationId, url: "https://billing.test/events" });
    const [eventId = ""] = await addEvents(test, organizationId);
    await test.opened.database.write([sql`
    INSERT INTO webhook_deliveries (id, webhook, event, type, status, due_at, created_at)
    SELECT 'dlv_1', w.number, e.seq, e.type, 'delivered', 0, 0 FROM webhooks w, events e
    WHERE w.id = ${webhookId} AND e.id = ${eventId}`]);
    const created = await test.send("/api/portal/api-keys", { cookie: ada.cookie, json: { name: "CI" } });
    const requestId = created.headers.get("x-request-id") ?? "";

    assert.deepEqual(Object.keys(await find(ada, bob.email)), ["Members"]);
    assert.deepEqual(await find(bob, ada.email), { Members: ["Ada"] });
    assert.deepEqual(await find(ada, "billing.t"), { Webhooks: ["billing.test"] });
    assert.deepEqual(await find(ada, webhookId), { Webhooks: ["billing.test"] });
    assert.deepEqual(await find(ada, eventId), { Deliveries: ["organization.resumed"] });
    assert.deepEqual(await find(ada, requestId), { "Audit log": ["API key created"] });
    // Neither the role nor the organization of these reads them.
    for (const text of ["billing.t", webhookId, eventId, requestId]) {
      assert.deepEqual(await find(bob, text), {}, text);
      assert.deepEqual(await find(grace, text), {}, text);
    }
    for (const text of [ada.email, bob.email]) assert.deepEqual(await find(grace, text), {}, text);
    for (
      const [text, group] of [[webhookId, "Webhooks"], [eventId, "Deliveries"], [
        requestId,
        "Audit log",
      ]] as const
    ) {
      assert.deepEqual(Object.keys(await found(test, mara, text)), [group]);
      const { html } = await openPage(test, `/operator/search?q=${text}`, { person: mara });
      assert.ok(html.split('id="found"')[1]?.includes(organizationId), text);
    }
    // An entry's day is a filter of the log.
    const { html } = await openPage(test, `/portal/search?q=${requestId}`, { person: ada });
    const href = /href="(\/portal\/audit\?[^"]+)"/.exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const log = await openPage(test, href, { person: ada });
    assert.ok(log.html.includes(requestId));
  },
);

testApp("what is found can be acted on, and pages have the words that people use for them", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada, { name: "Production" });
  const { html } = await openPage(test, "/portal/search?q=production", { person: ada });
  for (const act of ["rotate", "revoke"]) {
    const href = `/portal/api-keys/${id}/${act}`;
    assert.ok(html.includes(`href="${href}"`));
    assert.equal((await openPage(test, href, { person: ada })).status, 200);
  }
  const pages = async (text: string) => (await found(test, ada, text, "/portal/search"))["Pages"];
  assert.deepEqual(await pages("invoice"), ["Billing"]);
  assert.deepEqual(await pages("rotate"), ["API keys"]);
  assert.deepEqual(await pages("alert"), ["Alerts"]);
  assert.deepEqual(await pages("limit"), ["Billing", "Alerts"]);
  for (const text of ["429", "rejected", "why"]) {
    assert.deepEqual(await pages(text), ["Rejected requests"], text);
  }
  const guides = (await found(test, ada, "webhook", "/portal/search"))["Documentation"] ?? [];
  assert.ok(guides.some((title) => /webhook/i.test(title ?? "")));
});

testApp("a search for 429 leads to what was rejected of a key or an organization", async (test) => {
  const ada = await test.signUp("Ada");
  const mara = await newOperator(test, "Mara");
  const { id, fullKey } = await createTestKey(test, ada, { name: "Production" });
  await recordWith(test, fullKey, { quantity: 1 });
  await recordWith(test, fullKey, { quantity: -1 });
  await test.services.requestOutcomes.flush();
  const rejections = "stack=outcome&amp;outcome=rejected";
  const follow = async (person: TestPerson, path: string, href: string) => {
    const { html } = await openPage(test, path, { person });
    assert.ok(html.includes(`href="${href}"`), path);
    const shown = await usagePage(test, person, href.replaceAll("&amp;", "&"));
    assert.deepEqual(shown.outcomes.map(([name, count]) => [name, count]), [["Invalid request", "1"]], href);
  };
  await follow(ada, "/portal/search?q=429", `/portal/usage?${rejections}`);
  const { organizationId } = ada;
  const ofKey = `api-keys/${id}?${rejections}`;
  for (const text of ["429 Production", "why Production", "Production"]) {
    await follow(ada, `/portal/search?q=${encodeURIComponent(text)}`, `/portal/${ofKey}`);
  }
  await follow(mara, `/operator/search?q=${id}`, `/operator/organizations/${organizationId}/${ofKey}`);
  await follow(
    mara,
    "/operator/search?q=rejected+ada",
    `/operator/usage?${rejections}&amp;organizationId=${organizationId}`,
  );
  const { Pages: pages } = await found(test, mara, "429");
  assert.deepEqual(pages, ["Organizations with rejected requests"]);
});
