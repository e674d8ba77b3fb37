// Denied attempts of signed-in people, as recorded in the audit log.
import assert from "node:assert/strict";
import { sql } from "../../db/engine/database.ts";
import { auditLookUpsMax } from "../../domain/limits.ts";
import { assertError, createTestKey, testApp } from "../support/app/app.ts";
import { auditPath as path, listAudit, waitForAudit } from "../support/app/audit.ts";
import { ask } from "../support/network/forward.ts";
import { joinedPerson } from "../support/people/people.ts";
import { assertRows, fetchJson, type Row } from "../support/app/rows.ts";

const keysPath = "/api/portal/api-keys";

testApp("records a denied attempt once a minute by person and route, without the query", async (test) => {
  const ada = await test.signUp("Ada");
  const eve = await joinedPerson(test, ada, "MEMBER");
  // The entry belongs to the organization of the attempt, not to the person's active organization.
  const own = await fetchJson(test, eve, "POST /api/portal/organizations", { name: "Eve’s own" });
  const switchTo = (organizationId: string): Row => ["POST /api/auth/organization", { organizationId }, 200];
  const rename = (name: string): Row => [
    `PATCH /api/portal/organizations/${ada.organizationId}`,
    { name },
    "403 forbidden",
  ];
  const { answer: first } = await assertRows(test, eve, [switchTo(own.organization.id), rename("a")]);
  await assertRows(test, eve, ["b", "c", "d"].map(rename));
  const [denied] = await waitForAudit(test, ada.cookie, "?action=access.denied");
  assert.equal(denied?.actor.id, eve.userId);
  assert.equal(denied?.requestId, first.headers.get("x-request-id"));
  const route = { method: "PATCH", path: "/api/portal/organizations/:id", reason: "forbidden" };
  assert.deepEqual(denied?.details, route);
  assert.deepEqual((await listAudit(test, eve.cookie, "?action=access.denied")).events, []);
  await assertRows(test, eve, [
    switchTo(ada.organizationId),
    [`GET ${path}?actorId=canary`, null, "403 forbidden"],
  ]);
  test.advance(60_000);
  await assertRows(test, eve, [rename("e")]);
  const events = await waitForAudit(test, ada.cookie, "?action=refusals", 3);
  assert.deepEqual(events.map(({ details }) => details["path"]), [route.path, path, route.path]);
  assert.doesNotMatch(JSON.stringify(events), /canary/);
});

testApp("records a cross-site request only if it came with one person's valid session", async (test) => {
  const ada = await test.signUp();
  const eve = await test.signUp();
  const headers = { origin: "https://evil.example.com" };
  const attack = (cookie: string) =>
    assertRows(test, { cookie, headers }, [[`POST ${keysPath}?x=canary`, { name: "x" }, "403 cross_site"]]);
  for (const cookie of ["", "access_token=planted", `access_token=${"A".repeat(43)}`]) await attack(cookie);
  // With the cookies of two people, the attempt can't be attributed.
  await attack(`${ada.cookie}; ${eve.cookie}`);
  const { answer } = await attack(ada.cookie);
  await attack(ada.cookie);
  const [event] = await waitForAudit(test, ada.cookie, "?action=access.denied");
  assert.equal(event?.actor.id, ada.userId);
  assert.equal(event?.requestId, answer.headers.get("x-request-id"));
  assert.deepEqual(event?.details, { method: "POST", path: keysPath, reason: "cross_site" });
  const all = await test.opened.database.read(sql`SELECT 1 FROM audit_events WHERE action = 'access.denied'`);
  assert.equal(all.length, 1);
});

testApp("doesn't blame a key's denied request on the person whose cookie was sent along", async (test) => {
  const ada = await test.signUp();
  const { fullKey } = await createTestKey(test, ada);
  const query = "?accept=session,key&organization=org_0199d3c1a2b47c6e8f00112233445566";
  await assertError(await ask(test, query, { apiKey: fullKey, cookie: ada.cookie }), 403, "forbidden");
  // An entry for the key's request would have been written before this one.
  test.advance(60_000);
  const own = await ask(test, query, { cookie: ada.cookie });
  await assertError(own.clone(), 403, "forbidden");
  const [denied] = await waitForAudit(test, ada.cookie, "?action=access.denied");
  assert.equal(denied?.requestId, own.headers.get("x-request-id"));
});

testApp("an attempt can't be kept out of the log by flooding it", async (test) => {
  const ada = await test.signUp();
  const eve = await joinedPerson(test, ada, "MEMBER");
  const evil = { origin: "https://evil.example.com" };
  for (let n = 0; n <= auditLookUpsMax; n++) {
    const cookie = `access_token=${String(n).padStart(43, "A")}`;
    await test.send(keysPath, { cookie, json: { name: "x" }, headers: evil });
  }
  await assertError(await test.send(path, { cookie: eve.cookie }), 403, "forbidden");
  const [denied] = await waitForAudit(test, ada.cookie, "?action=access.denied");
  assert.equal(denied?.actor.id, eve.userId);
  // Cookies from the flooding address aren't looked up again until a minute has passed.
  await test.send(keysPath, { cookie: eve.cookie, json: { name: "x" }, headers: evil });
  test.advance(60_000);
  await test.send(keysPath, { cookie: eve.cookie, json: { name: "x" }, headers: evil });
  const events = await waitForAudit(test, ada.cookie, "?action=access.denied", 2);
  assert.equal(events[0]?.at, new Date(test.now()).toISOString());
});
