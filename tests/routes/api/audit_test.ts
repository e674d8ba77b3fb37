// The audit log over the API: each action is recorded with its actor, organization, address, time and request. Actions that
// fail are not recorded, and only owners and admins can read the log.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import type { AuditEvent } from "../../../domain/access/audit.ts";
import {
  accountMailsPerHourMax,
  auditRetentionMs,
  unverifiedInvitationMailsPerHourMax,
} from "../../../domain/limits.ts";
import { accountLinkMailsToRecipientPerHourMax } from "../../../domain/outbox/mail_budget.ts";
import {
  createTestKey,
  type TestApp,
  testApp,
  testPassword,
  type TestPerson,
} from "../../support/app/app.ts";
import { assertRows, fetchJson, type Row, sendRow } from "../../support/app/rows.ts";
import { deleteOldAuditEvents } from "../../../services/access/audit.ts";
import { auditPath as path, listAudit, waitForAudit } from "../../support/app/audit.ts";
import { changePlan } from "../../support/operators/plans.ts";
import { joinedPerson, mailedToken, me, signInAgain } from "../../support/people/people.ts";
import { firstStep, twoStepPerson } from "../../support/people/second_step.ts";
import type { TestPage } from "../../support/portal/pages.ts";

/** An action, its request, what its entry has, and who sends it if it is not the reader. */
type Recorded = [
  action: string,
  request: string,
  json: Row[1],
  expected: Partial<Pick<AuditEvent, "actor" | "target" | "details">>,
  cookie?: string,
];

const keysPath = "/api/portal/api-keys";

/** Sends a request with a distinctive address and user agent, and checks the one entry that it creates. */
async function assertRecorded(
  test: TestApp,
  reader: TestPerson,
  [action, request, json, expected, cookie = reader.cookie]: Recorded,
): Promise<TestPage> {
  test.advance(60_000);
  const peerAddress = "198.51.100.23";
  const userAgent = `Agent of ${action}`;
  const by = { cookie, peerAddress, headers: { "user-agent": userAgent } };
  const page = await sendRow(test, by, request, json);
  const at = new Date(test.now()).toISOString();
  const [event] = await waitForAudit(test, reader.cookie, `?action=${action}&from=${at}`);
  assert.ok(event);
  assert.match(event.id, /^aud_[0-9a-f]{32}$/);
  const requestId = page.answer.headers.get("x-request-id");
  const all = { ...event, at, address: peerAddress, userAgent, requestId, ...expected };
  assert.deepEqual(event, all, action);
  return page;
}

testApp("records each action with its actor, target, address, time and request", async (test) => {
  const ada = await test.signUp("Ada Lovelace");
  const eve = await joinedPerson(test, ada, "MEMBER");
  const eveName = (await me(test, eve.cookie)).user?.name ?? "";
  const by = { actor: { type: "session", id: ada.userId, name: "Ada Lovelace" } } as const;
  const byNobody = { actor: { type: "anonymous", id: null, name: null } } as const;
  const { email } = ada;
  const self = { target: { id: ada.userId, name: email } };
  const organization = `/api/portal/organizations/${ada.organizationId}`;
  const record = async (...recorded: Recorded) => {
    const { html } = await assertRecorded(test, ada, recorded);
    return html === "" ? null : JSON.parse(html);
  };
  const signIn = "POST /api/auth/sign-in";
  const created = { ...by, details: { method: "password" } };
  await record("session.created", signIn, { email, password: testPassword }, created, "");
  const wrong = { email, password: "wrong" };
  await record("session.refused", signIn, wrong, { ...byNobody, ...self }, "");
  await assertRows(test, {}, Array<Row>(4).fill([signIn, wrong, "401 invalid_credentials"]));
  // The delay that failed attempts impose on the correct password.
  test.advance(20 * 60_000);
  const other = await signInAgain(test, email);
  await record("session.ended", "POST /api/auth/sign-out", null, by, other);

  const { apiKey: { id } } = await record("api_key.created", `POST ${keysPath}`, { name: "Production" }, by);
  const live = { ...by, target: { id, name: "Live" } };
  await record("api_key.renamed", `PATCH ${keysPath}/${id}`, { name: "Live" }, live);
  const { apiKey: { id: next } } = await record("api_key.rotated", `POST ${keysPath}/${id}/rotate`, {}, live);
  const revoked = { ...by, target: { id: next, name: "Live" } };
  await record("api_key.revoked", `DELETE ${keysPath}/${next}`, null, revoked);

  const guest = { email: "grace@example.com", role: "ADMIN" };
  const invitations = `${organization}/invitations`;
  const asAdmin = { ...by, details: { role: "ADMIN" } };
  const { invitation } = await record("invitation.created", `POST ${invitations}`, guest, asAdmin);
  const toGuest = { ...by, target: { id: invitation.id, name: guest.email } };
  await record("invitation.resent", `POST ${invitations}/${invitation.id}/resend`, null, toGuest);
  await record("invitation.revoked", `DELETE ${invitations}/${invitation.id}`, null, toGuest);
  const member = `${organization}/members/${eve.userId}`;
  const ofEve = { ...by, target: { id: eve.userId, name: eveName } };
  const changed = { ...ofEve, details: { from: "MEMBER", to: "ADMIN" } };
  await record("member.role_changed", `PATCH ${member}`, { role: "ADMIN" }, changed);
  await record("member.removed", `DELETE ${member}`, null, ofEve);
  const renamed = { ...by, details: { from: "Ada Lovelace’s organization", to: "Northwind" } };
  await record("organization.renamed", `PATCH ${organization}`, { name: "Northwind" }, renamed);
  const asked = { ...byNobody, ...self };
  await record("password.reset_requested", "POST /api/auth/password/forgot", { email }, asked, "");
  const [joined] = (await listAudit(test, ada.cookie, "?action=member.joined")).events;
  const { details, address, actor } = joined ?? {};
  assert.deepEqual([actor?.id, details], [eve.userId, { role: "MEMBER" }]);
  // Each person who joins has an address of their own.
  assert.match(address ?? "", /^10\.2\.\d+\.\d+$/);
  const token = await mailedToken(test, email);
  const password = "another horse 7 battery";
  await assertRows(test, {}, [
    ["POST /api/auth/password/reset", { token: `${token}x`, password }, "404 invalid_token"],
    ["POST /api/auth/password/reset", { token, password }, 204],
  ]);
  const resets =
    (await listAudit(test, await signInAgain(test, email, password), "?action=password.reset")).events;
  assert.deepEqual(resets.map(({ target }) => target), [self.target]);
});

testApp("records each exceeded limit of emails once", async (test) => {
  const ada = await test.signUp();
  const { cookie, userId, organizationId, email } = ada;
  /** Exceeds a limit twice. */
  const exceed = async (max: number, request: string, json: (n: number) => Row[1]) => {
    for (let n = 0; n < max + 2; n++) {
      const { status, html } = await sendRow(test, { cookie }, request, json(n));
      assert.equal(status === 429, n >= max, `${request} ${n}: ${html}`);
    }
  };
  const guest = (n: number) => `guest${n}@example.com`;
  const invite = `POST /api/portal/organizations/${organizationId}/invitations`;
  await exceed(unverifiedInvitationMailsPerHourMax, invite, (n) => ({ email: guest(n), role: "MEMBER" }));
  await exceed(accountMailsPerHourMax, "POST /api/auth/email/verification", () => null);
  const forgot: Row = ["POST /api/auth/password/forgot", { email }, 202];
  await assertRows(test, {}, Array(accountLinkMailsToRecipientPerHourMax + 2).fill(forgot));
  const { events } = await listAudit(test, cookie, "?action=mail.limited");
  assert.deepEqual(events.map(({ actor, target }) => [actor.id, target]), [
    [null, { id: userId, name: email }],
    [userId, null],
    [userId, { id: null, name: guest(unverifiedInvitationMailsPerHourMax) }],
  ]);
});

testApp("records a sign-in that stops at the second step", async (test) => {
  const ada = await twoStepPerson(test);
  await firstStep(test, ada.email);
  const { events } = await listAudit(test, ada.cookie, "?action=sign-ins");
  assert.deepEqual(events.map(({ action, actor, target }) => [action, actor.type, target]), [
    ["session.second_step_asked", "anonymous", { id: ada.userId, name: ada.email }],
  ]);
});

testApp("names the new owner of a transferred organization, and other ended sessions", async (test) => {
  const ada = await test.signUp();
  const eve = await joinedPerson(test, ada, "ADMIN");
  const transfer = `POST /api/portal/organizations/${ada.organizationId}/transfer`;
  await assertRows(test, ada, [[transfer, { userId: eve.userId }, 200]]);
  const by = { cookie: await signInAgain(test, eve.email) };
  const { sessions } = await fetchJson(test, by, "GET /api/auth/sessions");
  const ids = (isCurrent: boolean): string[] =>
    sessions.filter((one: { current: boolean }) => one.current === isCurrent).map(({ id }: { id: string }) =>
      id
    );
  const all = [...ids(false), ...ids(true)];
  await assertRows(test, by, all.map((id): Row => [`DELETE /api/auth/sessions/${id}`, null, 204]));
  const query = "?action=organization.transferred,session.ended";
  const { events } = await listAudit(test, await signInAgain(test, eve.email), query);
  assert.deepEqual(events.map(({ target }) => target), [
    null,
    ...ids(false).map((id) => ({ id, name: null })),
    { id: eve.userId, name: events[0]?.actor.name },
  ]);
});

/** Waits out the delay that failed attempts impose on the correct password, and signs in. */
testApp("records an exceeded rate limit in the organization of the account or the key", async (test) => {
  const ada = await test.signUp();
  const signIn = (password: string, outcome: string): Row => [
    "POST /api/auth/sign-in",
    { email: ada.email, password },
    outcome,
  ];
  await assertRows(test, {}, [
    ...Array<Row>(5).fill(signIn("wrong", "401 invalid_credentials")),
    ...Array<Row>(3).fill(signIn(testPassword, "429 rate_limited")),
  ]);
  const [limited] = await waitForAudit(test, ada.cookie, "?action=session.limited");
  assert.deepEqual(limited?.target, { id: ada.userId, name: ada.email });
  assert.equal(limited?.actor.type, "anonymous");

  const { id, fullKey: apiKey } = await createTestKey(test, ada);
  const usage = { productSlug: "p", metric: "m", quantity: 1 };
  const record = (peerAddress: string, ...outcomes: number[]) =>
    assertRows(test, { apiKey, peerAddress }, outcomes.map((one): Row => ["POST /api/v1/usage", usage, one]));
  await record("192.0.2.1", 201);
  const { answer: first } = await record("192.0.2.2", 429);
  await record("192.0.2.3", 429, 429, 429, 429, 429);
  const [event] = await waitForAudit(test, ada.cookie, "?action=api_key.limited");
  assert.deepEqual(event?.actor, { type: "apiKey", id, name: null });
  assert.deepEqual(event?.target, { id, name: "Production" });
  assert.deepEqual([event?.address, event?.requestId], ["192.0.2.2", first.headers.get("x-request-id")]);
  test.advance(60_000);
  await record("192.0.2.1", 201, 429);
  await waitForAudit(test, ada.cookie, "?action=api_key.limited", 2);
  assert.equal((await listAudit(test, ada.cookie, `?actorId=${id}`)).events.length, 2);
}, { API_KEY_REQUESTS_PER_SECOND: "1" });

testApp("does not record actions that fail", async (test) => {
  const ada = await test.signUp();
  const eve = await joinedPerson(test, ada, "ADMIN");
  await changePlan(test, "api_keys_max", 2);
  const { id } = await createTestKey(test, ada);
  await createTestKey(test, ada);
  const { cookie } = ada;
  const newest = async () => (await listAudit(test, cookie)).events[0]?.id;
  const before = await newest();
  const organization = `/api/portal/organizations/${ada.organizationId}`;
  const unknown = `${keysPath}/key_${"0".repeat(32)}`;
  await assertRows(test, ada, [
    [`POST ${keysPath}`, { name: "One more" }, "409 key_limit_reached"],
    [`POST ${keysPath}`, { name: "" }, "422 validation_failed name"],
    [`PATCH ${organization}/members/${ada.userId}`, { role: "MEMBER" }, "409 last_owner"],
    [`DELETE ${organization}/members/${ada.userId}`, null, "409 last_owner"],
    [`POST ${organization}/invitations`, { email: eve.email, role: "MEMBER" }, "409 already_member"],
    [`DELETE ${unknown}`, null, "404 not_found"],
    [`PATCH ${unknown}`, { name: "x" }, "404 not_found"],
  ]);
  await assertRows(test, await test.signUp(), [[`DELETE ${keysPath}/${id}`, null, "404 not_found"]]);
  assert.equal(await newest(), before);
  // Revoking twice creates one entry.
  await assertRows(test, ada, [
    [`DELETE ${keysPath}/${id}`, null, 200],
    [`DELETE ${keysPath}/${id}`, null, 200],
    [`POST ${keysPath}/${id}/rotate`, null, "422 validation_failed id"],
  ]);
  const { events } = await listAudit(test, cookie, "?action=api_key.revoked,api_key.rotated");
  assert.deepEqual(events.map(({ action }) => action), ["api_key.revoked"]);
});

testApp("the log has only entries of its own organization", async (test) => {
  const [ada, stranger] = [await test.signUp("Ada"), await test.signUp("Stranger")];
  await createTestKey(test, ada, { name: "Ours" });
  for (const to of [path, `${path}.csv`]) {
    assert.match(await (await test.send(to, { cookie: ada.cookie })).text(), /Ours/);
    for (const query of ["", `?actorId=${ada.userId}`]) {
      const foreign = await (await test.send(to + query, { cookie: stranger.cookie })).text();
      assert.doesNotMatch(foreign, /Ours|Ada/);
    }
  }
});

testApp("pages have no gaps or repeats while new entries arrive", async (test) => {
  const ada = await test.signUp();
  // Some entries share a timestamp.
  for (let n = 0; n < 12; n++) {
    if (n % 3 === 0) test.advance(1_000);
    await createTestKey(test, ada, { name: `Key ${n}` });
  }
  for (const query of ["", "&action=keys", `&actorId=${ada.userId}`]) {
    const { events: all } = await listAudit(test, ada.cookie, `?limit=100${query}`);
    const seen: AuditEvent[] = [];
    let cursor = "";
    do {
      const page = await listAudit(test, ada.cookie, `?limit=2${query}${cursor}`);
      assert.ok(page.events.length === 1 || page.events.length === 2);
      seen.push(...page.events);
      cursor = page.nextCursor === null ? "" : `&cursor=${encodeURIComponent(page.nextCursor)}`;
      await createTestKey(test, ada, { name: "meanwhile" });
    } while (cursor !== "");
    assert.deepEqual(seen, all);
  }
});

testApp("validates query parameters, and names the invalid one in the error", async (test) => {
  const by = await test.signUp();
  const bad: Record<string, string[]> = {
    limit: ["0", "101", "x", "1.5"],
    cursor: ["x", "1.aud_x", `-1.aud_${"0".repeat(32)}`, `aud_${"0".repeat(32)}`],
    action: ["x", "api_key.created,x", "", "__proto__", "toString"],
    from: ["yesterday", "2026-13-01T00:00:00Z"],
    to: ["x"],
    organizationId: ["org_1"],
  };
  const rows = Object.entries(bad).flatMap(([name, values]) =>
    values.map((value): Row => [
      `GET ${path}?${new URLSearchParams({ [name]: value })}`,
      null,
      `422 validation_failed ${name}`,
    ])
  );
  await assertRows(test, by, [
    ...rows,
    [
      `GET ${path}?from=2026-11-22T00:00:00.000Z&to=2026-11-21T00:00:00.000Z`,
      null,
      "422 validation_failed to",
    ],
    [`GET ${path}.csv?limit=1`, null, "422 validation_failed limit"],
    // A date means midnight UTC. All entries are from today.
    [`GET ${path}?from=2026-11-21&to=2026-11-22`, null, 200, { shows: ["account.created"] }],
    [`GET ${path}?to=2026-11-21`, null, 200, { shows: ['"events":[]'] }],
  ]);
});

testApp("deletes entries after 400 days, and not before", async (test) => {
  const ada = await test.signUp();
  test.advance(1_000);
  await createTestKey(test, ada);
  const count = async () => (await test.opened.database.read(sql`SELECT id FROM audit_events`)).length;
  const before = await count();
  test.advance(auditRetentionMs - 1_000);
  assert.equal(await deleteOldAuditEvents(test.services), false);
  assert.equal(await count(), before);
  test.advance(1);
  assert.equal(await deleteOldAuditEvents(test.services), false);
  assert.equal(await count(), 1);
  test.advance(1_000);
  await deleteOldAuditEvents(test.services);
  assert.equal(await count(), 0);
});
