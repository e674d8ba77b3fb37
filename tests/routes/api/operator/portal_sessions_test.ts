// The operators' API of portal sessions: what it takes, how many there can be, and how they end.
import assert from "node:assert/strict";
import {
  portalSessionKeptMs,
  portalSessionsLiveMax,
  portalSessionsPerMinuteMax,
} from "../../../../domain/keys/portal_session_limits.ts";
import { deleteOldPortalSessions } from "../../../../services/keys/portal_sessions.ts";
import { testApp } from "../../../support/app/app.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { asOperator, assertSent, operatorOf } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { openPortalSession } from "../../../support/operators/portal_sessions.ts";
import { run } from "../../../support/people/scene.ts";
import { assertRows } from "../../../support/app/rows.ts";

const settings = {
  BASE_URL: "https://auth.example.test",
  ALLOWED_ORIGINS: "https://*.example.test",
  EMBED_ORIGINS: "https://app.example.test:8443",
};

testApp("a session has valid fields, and an organization that exists", async (test) => {
  const { organizationId } = await test.signUp();
  await run(test, "UPDATE organizations SET external_id = 'c/1' WHERE id = ?", organizationId);
  const send = await operatorOf(test, ["portal_sessions:write"]);
  const create = "POST /portal-sessions";
  const good = { organizationId, pages: ["usage", "keys", "usage"] };
  const made = await send(create, good);
  assert.equal(made.status, 201);
  assert.deepEqual(Object.keys(made.body), ["id", "url", "expiresAt"]);
  assert.match(made.body.id, /^pse_/);
  assert.match(made.body.url, /^https:\/\/auth\.example\.test\/embed\/enter\?token=[\w-]{43}$/);
  assert.equal(Date.parse(made.body.expiresAt), test.now() + 3_600_000);

  const user = { externalId: "u", name: "Ada" };
  const valid = [
    { minutes: 1 },
    { minutes: 60, readOnly: true },
    { user },
    { returnUrl: "https://app.example.test:8443/a?b#c" },
    { returnUrl: "https://docs.example.test" },
  ];
  const foreign = [
    "https://evil.test/",
    "https://app.example.test:8444/",
    "http://docs.example.test/",
    "https://user@docs.example.test/",
    "javascript:alert(1)//https://docs.example.test/",
    "/portal",
    "https://auth.example.test/portal",
  ];
  const faults: readonly (readonly [object, string])[] = [
    [{ externalId: "c/1" }, ""],
    [{ organizationId: undefined }, ""],
    [{ pages: [] }, "pages"],
    [{ pages: ["billing"] }, "pages[0]"],
    [{ pages: undefined }, "pages"],
    ...[0, 61, 1.5].map((minutes) => [{ minutes }, "minutes"] as const),
    [{ user: { name: "Ada" } }, "user.externalId"],
    [{ user: { ...user, name: "a\u200e".slice(1) } }, "user.name"],
    ...foreign.map((returnUrl) => [{ returnUrl }, "returnUrl"] as const),
    [{ surprise: 1 }, "surprise"],
  ];
  await assertSent(send, [
    ...valid.map((more) => [create, { ...good, ...more }, "201"] as const),
    [create, { externalId: "c/1", pages: ["limits"] }, "201"],
    ...faults.map(([more, path]) => [create, { ...good, ...more }, `422 validation_failed ${path}`] as const),
    ...["org_1", `org_${"0".repeat(32)}`, "external:nobody"].map((unknown) =>
      [create, { ...good, organizationId: unknown }, "404 not_found"] as const
    ),
  ]);
  await run(test, "UPDATE organizations SET suspended_at = 1 WHERE id = ?", organizationId);
  await assertSent(send, [[create, good, "201"]]);
  await run(test, "UPDATE organizations SET deleted_at = 1 WHERE id = ?", organizationId);
  await assertSent(send, [[create, good, "404 not_found"]]);
}, settings);

testApp("an organization's live sessions and a token's new ones per minute are limited", async (test) => {
  const { organizationId } = await test.signUp();
  const { id, fullToken } = await newOperatorToken(test);
  const json = { organizationId, pages: ["keys"] };
  const send = asOperator(test, fullToken);
  const assertCreated = (outcome: string, by = send) =>
    assertSent(by, [["POST /portal-sessions", json, outcome]]);
  const { body: { id: first } } = await send("POST /portal-sessions", json);
  const copy = `INSERT INTO portal_sessions SELECT 'pse_' || value, organization_id, operator_token_id, value,
    entry_expires_at, 'h', pages, read_only, NULL, NULL, NULL, created_at, expires_at, NULL
    FROM portal_sessions, (WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n
      WHERE value < ?) SELECT value FROM n)`;
  await run(test, copy, portalSessionsLiveMax - 1);
  await assertCreated("409 limit_reached");
  // Ended, expired, and never opened.
  await run(test, "UPDATE portal_sessions SET ended_at = 1 WHERE id = 'pse_1'");
  await assertCreated("201");
  await assertCreated("409 limit_reached");
  await run(test, "UPDATE portal_sessions SET expires_at = ? WHERE id = 'pse_2'", test.now());
  await assertCreated("201");
  await run(test, "UPDATE portal_sessions SET entry_expires_at = ? WHERE id = ?", test.now(), first);
  await assertCreated("201");
  await assertCreated("409 limit_reached");

  const { portalSessions } = test.services.rateLimits;
  for (let n = 0; n < portalSessionsPerMinuteMax; n++) portalSessions.take(id);
  await assertCreated("429 rate_limited");
  const other = await operatorOf(test);
  await assertCreated("409 limit_reached", other);
  await run(test, "UPDATE operator_tokens SET revoked_at = 1 WHERE id = ?", id);
  await assertCreated("201", other);
});

onEveryDatabase("a session ends on the next request, and is deleted a day after its end", async (test) => {
  const { organizationId } = await test.signUp();
  const send = await operatorOf(test);
  const one = await openPortalSession(test, organizationId, { minutes: 10 });
  const other = await openPortalSession(test, organizationId);
  const assertOpen = ({ base, cookie }: { base: string; cookie: string }, isOpen: boolean) =>
    assertRows(test, { cookie }, [[`GET ${base}/usage`, null, isOpen ? 200 : 401]]);
  const end = `DELETE /portal-sessions/${one.id}`;
  await assertOpen(one, true);
  await assertSent(send, [[end, undefined, "204"]]);
  await assertOpen(one, false);
  await assertSent(send, [[end, undefined, "204"], [
    "DELETE /portal-sessions/pse_1",
    undefined,
    "404 not_found",
  ]]);

  test.advance(3_600_000 - 1);
  await assertOpen(other, true);
  test.advance(1);
  await assertOpen(other, false);
  for (const [ms, left] of [[portalSessionKeptMs, 1], [1, 0]] as const) {
    test.advance(ms);
    assert.equal(await deleteOldPortalSessions(test.services), false);
    const rows = await test.opened.database.read({ sql: "SELECT 1 FROM portal_sessions", args: [] });
    assert.equal(rows.length, left);
  }
});
