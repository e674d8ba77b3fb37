// The page of the audit log over HTTP. Admins and owners can read it, and any address shows a page.
import assert from "node:assert/strict";
import { errorTitles } from "../../../routes/portal/errors.ts";
import { createTestKey, type TestApp, testApp } from "../../support/app/app.ts";
import { waitForAudit } from "../../support/app/audit.ts";
import { joinedPerson } from "../../support/people/people.ts";
import { openPage } from "../../support/portal/pages.ts";
import { inPage } from "../../support/portal/words/sign_in.ts";

const userAgent =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36";

async function auditPage(test: TestApp, cookie: string, query: Record<string, string> | string = {}) {
  const path = typeof query === "string" ? query : `/portal/audit?${new URLSearchParams(query)}`;
  const response = await test.send(path, { cookie });
  const html = (await response.text()).replaceAll(/ +>/g, ">");
  assert.equal(response.status, 200, `${path}: ${html.slice(0, 300)} ${test.logged()}`);
  const text = (part: string) =>
    part.replaceAll(/<[^>]*>/g, " ").replaceAll("&amp;", "&").replaceAll(/\s+/g, " ").trim();
  const rows = [...html.matchAll(/<tr role="row">(.*?)<\/tr>/gs)].slice(1).map(([, row = ""]) =>
    [...row.matchAll(/<td\b[^>]*>(.*?)<\/td>/gs)].map(([, cell = ""]) => text(cell))
  );
  const link = (words: string) =>
    new RegExp(`href="([^"]*)"[^>]*>\\s*${words}`).exec(html)?.[1]?.replaceAll("&amp;", "&");
  const errors = [...html.matchAll(/id="(\w+)-error"/g)].map(([, name]) => name);
  return {
    html,
    rows,
    whats: rows.map(([, , what]) => what?.replace(" with usage:read, usage:write", "")),
    link,
    errors,
  };
}

testApp("an entry has its time, actor, action, source and request", async (test) => {
  const ada = await test.signUp("Ada Lovelace");
  const eve = await joinedPerson(test, ada, "MEMBER");
  const response = await test.send(`/api/portal/organizations/${ada.organizationId}/members/${eve.userId}`, {
    cookie: ada.cookie,
    method: "PATCH",
    json: { role: "ADMIN" },
    headers: { "user-agent": userAgent },
    peerAddress: "198.51.100.7",
  });
  const name = (await response.json()).member.user.name;
  test.advance(3 * 60_000);
  const { html, rows } = await auditPage(test, ada.cookie);
  assert.deepEqual(rows[0], [
    "Nov 21, 14:03:11",
    "Ada Lovelace",
    `Changed ${name} &#39;s role from Member to Admin`,
    `198.51.100.7 : request Request ${response.headers.get("x-request-id")} Chrome on Linux`,
  ]);
  assert.match(html, /<time datetime="2026-11-21T14:03:11.250Z" title="Nov 21, 2026, 14:03:11 UTC">/);
  assert.match(html, /<a href="\/portal\/audit" aria-current="page">/);
});

testApp(
  "members and strangers see neither the audit log nor a link to it, and denied requests are in it",
  async (test) => {
    const ada = await test.signUp();
    const eve = await joinedPerson(test, ada, "MEMBER");
    const refused = await test.send("/portal/audit", { cookie: eve.cookie });
    const html = await refused.text();
    assert.equal(refused.status, 403);
    assert.match(html, inPage(`<h1>${errorTitles.forbidden}</h1>`));
    assert.doesNotMatch(html, /href="\/portal\/audit"|Joined the organization/);
    const [denied] = await waitForAudit(test, ada.cookie, "?action=access.denied");
    assert.equal(denied?.actor.id, eve.userId);
    assert.deepEqual(denied?.details, { method: "GET", path: "/portal/audit", reason: "forbidden" });
    const away = await test.send("/portal/audit?action=keys");
    assert.equal(away.status, 303);
    assert.equal(away.headers.get("location"), "/sign-in?return_to=%2Fportal%2Faudit%3Faction%3Dkeys");
  },
);

testApp("filters and pages are in the address, and the CSV file has the same entries", async (test) => {
  const ada = await test.signUp("Ada");
  const eve = await joinedPerson(test, ada, "ADMIN");
  for (let n = 0; n < 40; n++) await createTestKey(test, n % 2 === 0 ? ada : eve, { name: `Key ${n}` });
  test.advance(24 * 3_600_000);
  await createTestKey(test, ada, { name: "The day after" });
  const keys = await auditPage(test, ada.cookie, { action: "keys", actorId: "", from: "", to: "" });
  assert.equal(keys.whats.length, 25);
  assert.equal(keys.whats[0], "Created the key The day after");
  const older = await auditPage(test, ada.cookie, keys.link("Older entries") ?? "");
  assert.deepEqual(older.whats, Array.from({ length: 16 }, (_, n) => `Created the key Key ${15 - n}`));
  assert.equal(older.link("Older entries"), undefined);
  assert.deepEqual(
    (await auditPage(test, ada.cookie, older.link("Newest entries") ?? "")).whats,
    keys.whats,
  );

  const query = { action: "api_key.created", actorId: eve.userId, from: "2026-11-21", to: "2026-11-21" };
  const some = await auditPage(test, ada.cookie, query);
  assert.match(some.html, /<bdi>[^<]* · [^<]* · from 2026-11-21 · to 2026-11-21<\/bdi>/);
  assert.deepEqual(some.whats, Array.from({ length: 20 }, (_, n) => `Created the key Key ${39 - 2 * n}`));
  assert.match(some.html, /<option value="api_key\.created" selected/);
  assert.match(some.html, new RegExp(`<option value="${eve.userId}" selected`));
  const file = await (await test.send(some.link("Download CSV") ?? "", { cookie: ada.cookie })).text();
  assert.deepEqual(
    file.split("\r\n").slice(1, -1).map((line) => `Created the key ${line.split(",")[4]}`),
    some.whats,
  );
  const none = await auditPage(test, ada.cookie, { ...query, from: "2026-11-22", to: "" });
  assert.deepEqual([none.whats, none.link("Clear filters")], [[], "/portal/audit"]);
  assert.match(none.html, inPage("No matching entries"));
  assert.equal(some.link("Clear filters"), "/portal/audit");
  const day = await auditPage(test, ada.cookie, { from: "2026-11-22" });
  assert.deepEqual(day.whats, ["Created the key The day after"]);
  assert.equal((await auditPage(test, ada.cookie, { to: "2026-11-21" })).whats[0], "Created the key Key 39");
});

testApp("the people in the log can be chosen, including former members", async (test) => {
  const ada = await test.signUp("Ada");
  const eve = await joinedPerson(test, ada, "MEMBER");
  const stranger = await test.signUp("Stranger");
  const member = `/api/portal/organizations/${ada.organizationId}/members/${eve.userId}`;
  await test.send(member, { cookie: ada.cookie, method: "DELETE" });
  const { html } = await auditPage(test, ada.cookie);
  assert.match(html, new RegExp(`<option value="${ada.userId}">Ada<`));
  assert.match(html, new RegExp(`Former members[^>]*>\\s*<option value="${eve.userId}">`));
  assert.doesNotMatch(html, new RegExp(`${stranger.userId}|Stranger`));
});

testApp("any address shows a page, with errors for invalid filters", async (test) => {
  const { cookie } = await test.signUp();
  const cases: [Record<string, string>, string[]][] = [
    [{ action: "x" }, ["action"]],
    [{ action: "__proto__", actorId: "usr_1" }, ["action", "actorId"]],
    [{ from: "2026-02-30" }, ["from"]],
    [{ from: "x", to: "2026-11-21" }, ["from"]],
    [{ to: "0000-00-00" }, ["to"]],
    [{ from: "2026-11-22", to: "2026-11-21" }, ["to"]],
    [{ cursor: "x" }, []],
    [{ cursor: `999999999999999.aud_${"f".repeat(32)}` }, []],
    [{ action: "<script>", actorId: '"><script>', from: "<script>", cursor: "<script>" }, [
      "action",
      "actorId",
      "from",
    ]],
  ];
  for (const [query, expected] of cases) {
    const { errors, html, rows } = await auditPage(test, cookie, query);
    assert.deepEqual(errors, expected, JSON.stringify(query));
    assert.doesNotMatch(html, /<script>/);
    assert.equal(
      rows.length > 0,
      !expected.includes("from") && !expected.includes("to"),
      JSON.stringify(query),
    );
  }
});

testApp("a denied page names the owners of the member's organization, and no one else's", async (test) => {
  const [ada, eve] = [await test.signUp("Ada"), await test.signUp("Eve")];
  const admin = await joinedPerson(test, ada, "ADMIN");
  const member = await joinedPerson(test, ada, "MEMBER");
  const { status, html } = await openPage(test, "/portal/audit", { person: member });
  assert.equal(status, 403);
  assert.match(html, /Admins and owners can do it/);
  assert.match(html, new RegExp(`Ask the owner: <a href="mailto:${ada.email}"><bdi>Ada</bdi>`));
  for (const { email } of [eve, admin]) assert.ok(!html.includes(email));
  // Owners get no such page of their own organization, and strangers none.
  assert.doesNotMatch((await openPage(test, "/portal/nothing", { person: member })).html, /mailto:/);
});
