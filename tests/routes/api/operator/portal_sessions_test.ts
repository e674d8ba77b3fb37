// The operators' API of portal sessions: what it takes, how many there can be, and how they end.
import assert from "node:assert/strict";
import {
  portalSessionKeptMs,
  portalSessionsLiveMax,
  portalSessionsPerMinuteMax,
} from "../../../../domain/portal_session_limits.ts";
import { deleteOldPortalSessions } from "../../../../services/portal_sessions.ts";
import { testApp } from "../../../support/app/app.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { openPortalSession } from "../../../support/operators/portal_sessions.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { run } from "../../../support/people/scene.ts";

const settings = {
  BASE_URL: "https://auth.example.test",
  ALLOWED_ORIGINS: "https://*.example.test",
  EMBED_ORIGINS: "https://app.example.test:8443",
};

testApp("a session has valid fields, and an organization that exists", async (test) => {
  const { organizationId } = await test.signUp();
  await run(test, "UPDATE organizations SET external_id = 'c/1' WHERE id = ?", organizationId);
  const { fullToken } = await newOperatorToken(test, ["portal_sessions:write"]);
  const create = async (json: unknown) => await asOperator(test, fullToken)("POST /portal-sessions", json);
  const good = { organizationId, pages: ["usage", "keys", "usage"] };
  const made = await create(good);
  assert.equal(made.status, 201);
  assert.deepEqual(Object.keys(made.body), ["id", "url", "expiresAt"]);
  assert.match(made.body.id, /^pse_/);
  assert.match(made.body.url, /^https:\/\/auth\.example\.test\/embed\/enter\?token=[\w-]{43}$/);
  assert.equal(Date.parse(made.body.expiresAt), test.now() + 3_600_000);

  const user = { externalId: "u", name: "Ada" };
  for (
    const more of [
      { minutes: 1 },
      { minutes: 60, readOnly: true },
      { user },
      { returnUrl: "https://app.example.test:8443/a?b#c" },
      { returnUrl: "https://docs.example.test" },
    ]
  ) assert.equal((await create({ ...good, ...more })).status, 201, JSON.stringify(more));
  assert.equal((await create({ externalId: "c/1", pages: ["limits"] })).status, 201);

  const faults: readonly (readonly [object, string])[] = [
    [{ externalId: "c/1" }, ""],
    [{ organizationId: undefined }, ""],
    [{ pages: [] }, "pages"],
    [{ pages: ["billing"] }, "pages[0]"],
    [{ pages: undefined }, "pages"],
    [{ minutes: 0 }, "minutes"],
    [{ minutes: 61 }, "minutes"],
    [{ minutes: 1.5 }, "minutes"],
    [{ user: { name: "Ada" } }, "user.externalId"],
    [{ user: { ...user, name: "a\u200e".slice(1) } }, "user.name"],
    [{ returnUrl: "https://evil.test/" }, "returnUrl"],
    [{ returnUrl: "https://app.example.test:8444/" }, "returnUrl"],
    [{ returnUrl: "http://docs.example.test/" }, "returnUrl"],
    [{ returnUrl: "https://user@docs.example.test/" }, "returnUrl"],
    [{ returnUrl: "javascript:alert(1)//https://docs.example.test/" }, "returnUrl"],
    [{ returnUrl: "/portal" }, "returnUrl"],
    [{ returnUrl: "https://auth.example.test/portal" }, "returnUrl"],
    [{ surprise: 1 }, "surprise"],
  ];
  for (const [more, path] of faults) {
    const { status, body } = await create({ ...good, ...more });
    assert.equal(status, 422, JSON.stringify(more));
    assert.deepEqual(
      body.error.details.map((one: { path: string }) => one.path),
      [path],
      JSON.stringify(more),
    );
  }
  for (const unknown of ["org_1", `org_${"0".repeat(32)}`, "external:nobody"]) {
    assert.equal((await create({ ...good, organizationId: unknown })).status, 404, unknown);
  }
  await run(test, "UPDATE organizations SET suspended_at = 1 WHERE id = ?", organizationId);
  assert.equal((await create(good)).status, 201);
  await run(test, "UPDATE organizations SET deleted_at = 1 WHERE id = ?", organizationId);
  assert.equal((await create(good)).status, 404);
}, settings);

testApp("an organization's live sessions and a token's new ones per minute are limited", async (test) => {
  const { organizationId } = await test.signUp();
  const { id, fullToken } = await newOperatorToken(test);
  const create = () =>
    asOperator(test, fullToken)("POST /portal-sessions", { organizationId, pages: ["keys"] });
  const { body: { id: first } } = await create();
  const copy = `INSERT INTO portal_sessions SELECT 'pse_' || value, organization_id, operator_token_id, value,
  entry_expires_at, 'h', pages, read_only, NULL, NULL, NULL, created_at, expires_at, NULL
  FROM portal_sessions, (WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n
    WHERE value < ?) SELECT value FROM n)`;
  await run(test, copy, portalSessionsLiveMax - 1);
  const full = await create();
  assert.deepEqual([full.status, full.body.error.code], [409, "limit_reached"]);
  // Ended, expired, and never opened.
  await run(test, "UPDATE portal_sessions SET ended_at = 1 WHERE id = 'pse_1'");
  assert.equal((await create()).status, 201);
  assert.equal((await create()).status, 409);
  await run(test, "UPDATE portal_sessions SET expires_at = ? WHERE id = 'pse_2'", test.now());
  assert.equal((await create()).status, 201);
  await run(test, "UPDATE portal_sessions SET entry_expires_at = ? WHERE id = ?", test.now(), first);
  assert.equal((await create()).status, 201);
  assert.equal((await create()).status, 409);

  const { portalSessions } = test.services.rateLimits;
  for (let n = 0; n < portalSessionsPerMinuteMax; n++) portalSessions.take(id);
  const limited = await create();
  assert.deepEqual([limited.status, limited.body.error.code], [429, "rate_limited"]);
  assert.equal(
    (await asOperator(test, (await newOperatorToken(test)).fullToken)("POST /portal-sessions", {
      organizationId,
      pages: ["keys"],
    })).status,
    409,
  );
});

onEveryDatabase("a session ends on the next request, and is deleted a day after its end", async (test) => {
  const { organizationId } = await test.signUp();
  const { fullToken } = await newOperatorToken(test);
  const call = asOperator(test, fullToken);
  const { base, cookie, id } = await openPortalSession(test, organizationId, { minutes: 10 });
  const other = await openPortalSession(test, organizationId);
  const statusOf = async (session: { base: string; cookie: string }) =>
    (await openPage(test, `${session.base}/usage`, { cookie: session.cookie })).status;
  assert.equal(await statusOf({ base, cookie }), 200);
  assert.equal((await call(`DELETE /portal-sessions/${id}`)).status, 204);
  assert.equal(await statusOf({ base, cookie }), 401);
  assert.equal((await call(`DELETE /portal-sessions/${id}`)).status, 204);
  assert.equal((await call("DELETE /portal-sessions/pse_1")).status, 404);

  test.advance(3_600_000 - 1);
  assert.equal(await statusOf(other), 200);
  test.advance(1);
  assert.equal(await statusOf(other), 401);
  const count = async () =>
    (await test.opened.database.read({ sql: "SELECT 1 FROM portal_sessions", args: [] })).length;
  test.advance(portalSessionKeptMs);
  assert.equal(await deleteOldPortalSessions(test.services), false);
  assert.equal(await count(), 1);
  test.advance(1);
  assert.equal(await deleteOldPortalSessions(test.services), false);
  assert.equal(await count(), 0);
});
