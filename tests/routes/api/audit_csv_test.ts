// The audit log as CSV: all matching entries, safe to open in a spreadsheet, and no secrets in any entry.
import assert from "node:assert/strict";
import { insertAuditEvent } from "../../../db/access/audit.ts";
import { sql } from "../../../db/engine/database.ts";
import { auditStepEventsMax } from "../../../domain/limits.ts";
import { cookieOf, createTestKey, testApp, testPassword } from "../../support/app/app.ts";
import { auditPath } from "../../support/app/audit.ts";
import { assertRows, sendRow } from "../../support/app/rows.ts";
import { recordOne } from "../../support/meter/usage.ts";
import { operatorOf } from "../../support/operators/operator_api.ts";
import { joinedPerson, mailedToken, signInAgain } from "../../support/people/people.ts";

const path = `${auditPath}.csv`;
const keysPath = "/api/portal/api-keys";
const columns = "at,action,actor,actorId,target,targetId,details,address,userAgent,requestId";

testApp("prefixes cells that a spreadsheet would evaluate, and doubles quotes", async (test) => {
  const names = ["=1+1", "+1", "-1", "@x", "＝1", "＋1", "－1", "＠x", "a;=1+1", 'a "b", c', "plain"];
  const ada = await test.signUp('=HYPERLINK("https://evil.example.com")');
  const ids: [id: string, requestId: string | null][] = [];
  for (const name of names) {
    const headers = { "user-agent": "@agent, 1" };
    const response = await test.send(keysPath, { cookie: ada.cookie, json: { name }, headers });
    ids.push([(await response.json()).apiKey.id, response.headers.get("x-request-id")]);
  }
  const answer = await test.send(`${path}?action=api_key.created`, { cookie: ada.cookie });
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/csv; ?charset=utf-8\b/);
  assert.equal(answer.headers.get("content-disposition"), 'attachment; filename="audit-2026-11-21.csv"');
  assert.match(answer.headers.get("cache-control") ?? "", /\bno-store\b/);
  const plain = ["'=1+1", "'+1", "'-1", "'@x", "'＝1", "'＋1", "'－1", "'＠x"];
  const safe = [...plain, `"a;'=1+1"`, '"a ""b"", c"', "plain"];
  const details = '"{""permissions"":""usage:read, usage:write""}"';
  const lines = safe.map((name, n) => {
    const actor = `"'=HYPERLINK(""https://evil.example.com"")"`;
    const [id, request] = ids[n] ?? [];
    return `2026-11-21T14:03:11.250Z,api_key.created,${actor},${ada.userId},${name},${id},${details},127.0.0.1,"'@agent, 1",${request}`;
  });
  assert.equal(await answer.text(), [columns, ...lines.reverse(), ""].join("\r\n"));
});

testApp("details are JSON, and an anonymous actor has no id", async (test) => {
  const ada = await test.signUp();
  await test.send("/api/auth/sign-in", { json: { email: ada.email, password: "wrong" } });
  await joinedPerson(test, ada, "MEMBER");
  const text = await (await test.send(path, { cookie: ada.cookie })).text();
  assert.match(text, new RegExp(`,session.refused,anonymous,,${ada.email},${ada.userId},,127.0.0.1,`));
  assert.match(
    text,
    /,member.joined,Joined \d+,usr_\w+,joined\d+@example.com,usr_\w+,"\{""role"":""MEMBER""\}",/,
  );
});

testApp("exports all matching entries, and stops when the client disconnects", async (test) => {
  const ada = await test.signUp();
  const actor = { type: "system", client: { address: "", userAgent: "", requestId: null } } as const;
  const many = 3 * auditStepEventsMax + 1;
  await test.opened.database.write(
    Array.from({ length: many }, (_, n) =>
      insertAuditEvent(actor, {
        action: n % 2 === 0 ? "account.disabled" : "account.enabled",
        organizationId: ada.organizationId,
        target: { id: null, name: `n${n}` },
        // Many entries share a timestamp, so that a batch ends in the middle of them.
      }, { now: test.now() + Math.floor(n / 150), always: true }).statement),
  );
  const named = async (query: string) => {
    const text = await (await test.send(`${path}${query}`, { cookie: ada.cookie })).text();
    return text.split("\r\n").map((line) => line.split(",")[4]).filter((name) => /^n\d/.test(name ?? ""));
  };
  const all = Array.from({ length: many }, (_, n) => `n${n}`).reverse();
  assert.deepEqual(await named(""), all);
  assert.deepEqual(await named("?action=accounts"), all);
  assert.deepEqual(await named("?action=account.enabled"), all.filter((_, n) => n % 2 === 1));
  const response = await test.send(path, { cookie: ada.cookie });
  const reader = response.body?.getReader();
  await reader?.read();
  assert.deepEqual(test.services.reports.counts, { running: 0, waiting: 1 });
  await reader?.cancel();
  assert.deepEqual(test.services.reports.counts, { running: 0, waiting: 0 });
});

testApp("no entry and no event contains a password, token, cookie, key or property", async (test) => {
  const ada = await test.signUp();
  const secrets = [
    testPassword,
    cookieOf(
      await test.send("/api/auth/sign-in", {
        json: { email: ada.email, password: testPassword },
      }),
    ).split("=")[1] ?? "",
  ];
  const wrong = "canary password 77";
  await test.send("/api/auth/sign-in", { json: { email: ada.email, password: wrong } });
  const { fullKey, id } = await createTestKey(test, ada);
  const property = "canary7f3a";
  await recordOne(test, fullKey, { properties: { region: property } });
  await assertRows(test, ada, [["POST /api/portal/account/email", { email: "canary@example.com" }, 202]]);
  const rotated = await test.send(`${keysPath}/${id}/rotate`, { cookie: ada.cookie, method: "POST" });
  await joinedPerson(test, ada, "MEMBER");
  await test.send("/api/auth/password/forgot", { json: { email: ada.email } });
  const token = await mailedToken(test, ada.email);
  const password = "another canary 9 battery";
  await test.send("/api/auth/password/reset", { json: { token, password } });
  secrets.push(
    wrong,
    fullKey,
    fullKey.slice(-12),
    (await rotated.json()).fullKey,
    token,
    password,
    ada.cookie.slice(13),
    property,
  );
  const rows = await test.opened.database.read(sql`SELECT * FROM audit_events`);
  assert.ok(rows.length > 8);
  const text = JSON.stringify(rows);
  for (const secret of secrets) {
    assert.ok(secret.length > 8);
    assert.ok(!text.includes(secret), secret);
  }
  const again = { cookie: await signInAgain(test, ada.email, password) };
  const own = await sendRow(test, again, "GET /api/portal/events");
  const events = own.html + JSON.stringify((await (await operatorOf(test))("GET /events")).body);
  assert.match(events, /api_key\.rotated/);
  for (const secret of [...secrets, ada.email, "canary"]) assert.ok(!events.includes(secret), secret);
});
