// The audit log over the API: each action is recorded with its actor, organization, address, time and request. Actions that
// fail are not recorded, and only owners and admins can read the log.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import type { AuditEvent } from "../../../domain/audit.ts";
import {
  accountMailsPerHourMax,
  auditRetentionMs,
  unverifiedInvitationMailsPerHourMax,
} from "../../../domain/limits.ts";
import { accountLinkMailsToRecipientPerHourMax } from "../../../domain/mail/mail_budget.ts";
import {
  assertError,
  createTestKey,
  type SendOptions,
  type TestApp,
  testApp,
  testPassword,
  type TestPerson,
} from "../../support/app/app.ts";
import { deleteOldAuditEvents } from "../../../services/audit.ts";
import { auditPath as path, listAudit, waitForAudit } from "../../support/app/audit.ts";
import { joinedPerson, mailedToken, signInAgain } from "../../support/people/people.ts";
import { firstStep, twoStepPerson } from "../../support/people/second_step.ts";

const keysPath = "/api/portal/api-keys";

async function sendRejected(test: TestApp, to: string, options: SendOptions): Promise<Response> {
  const response = await test.send(to, options);
  assert.ok(response.status >= 400, `${to}: ${response.status}`);
  return response;
}

/** Sends a request with a distinctive address and user agent, and checks the one entry that it creates. */
async function sendRecorded(
  test: TestApp,
  reader: TestPerson,
  request:
    & { path: string; options: SendOptions; action: string }
    & Partial<Pick<AuditEvent, "actor" | "target" | "details">>,
): Promise<Response> {
  test.advance(60_000);
  const peerAddress = "198.51.100.23";
  const headers = { "user-agent": `Agent of ${request.action}` };
  const response = await test.send(request.path, {
    peerAddress,
    ...request.options,
    headers: { ...headers, ...request.options.headers },
  });
  const [event] = await waitForAudit(
    test,
    reader.cookie,
    `?action=${request.action}&from=${new Date(test.now()).toISOString()}`,
  );
  assert.ok(event);
  assert.match(event.id, /^aud_[0-9a-f]{32}$/);
  assert.equal(event.at, new Date(test.now()).toISOString());
  assert.equal(event.address, peerAddress);
  assert.equal(event.userAgent, headers["user-agent"]);
  assert.equal(event.requestId, response.headers.get("x-request-id"), request.action);
  for (const name of ["actor", "target", "details"] as const) {
    if (request[name] !== undefined) {
      assert.deepEqual(event[name], request[name], `${request.action}: ${name}`);
    }
  }
  return response;
}

testApp("records each action with its actor, target, address, time and request", async (test) => {
  const ada = await test.signUp("Ada Lovelace");
  const eve = await joinedPerson(test, ada, "MEMBER");
  const eveName = (await (await test.send("/api/auth/me", { cookie: eve.cookie })).json()).user.name;
  const actor = { type: "session", id: ada.userId, name: "Ada Lovelace" } as const;
  const anonymous = { type: "anonymous", id: null, name: null } as const;
  const self = { id: ada.userId, name: ada.email };
  const { cookie } = ada;
  const organization = `/api/portal/organizations/${ada.organizationId}`;
  const assertRecorded = (action: string, to: string, options: SendOptions, more: Partial<AuditEvent> = {}) =>
    sendRecorded(test, ada, { action, path: to, options: { cookie, ...options }, actor, ...more });

  const signIn = (password: string) => ({ cookie: "", json: { email: ada.email, password } });
  await assertRecorded("session.created", "/api/auth/sign-in", signIn(testPassword), {
    details: { method: "password" },
  });
  await assertRecorded("session.refused", "/api/auth/sign-in", signIn("wrong"), {
    actor: anonymous,
    target: self,
  });
  for (let n = 0; n < 4; n++) {
    await sendRejected(test, "/api/auth/sign-in", { json: { email: ada.email, password: "wrong" } });
  }
  const other = await signInAgainLater(test, ada.email);
  await assertRecorded("session.ended", "/api/auth/sign-out", { cookie: other, method: "POST" });

  const created = await assertRecorded("api_key.created", keysPath, { json: { name: "Production" } });
  const { id } = (await created.json()).apiKey;
  await assertRecorded("api_key.renamed", `${keysPath}/${id}`, { method: "PATCH", json: { name: "Live" } }, {
    target: { id, name: "Live" },
  });
  const rotated = await assertRecorded("api_key.rotated", `${keysPath}/${id}/rotate`, { json: {} }, {
    target: { id, name: "Live" },
  });
  const newKey = (await rotated.json()).apiKey.id;
  await assertRecorded("api_key.revoked", `${keysPath}/${newKey}`, { method: "DELETE" }, {
    target: { id: newKey, name: "Live" },
  });

  const invitation = { email: "grace@example.com", role: "ADMIN" };
  const invited = await assertRecorded("invitation.created", `${organization}/invitations`, {
    json: invitation,
  }, {
    details: { role: "ADMIN" },
  });
  const invitationId = (await invited.json()).invitation.id;
  const target = { id: invitationId, name: "grace@example.com" };
  await assertRecorded("invitation.resent", `${organization}/invitations/${invitationId}/resend`, {
    method: "POST",
  }, {
    target,
  });
  await assertRecorded("invitation.revoked", `${organization}/invitations/${invitationId}`, {
    method: "DELETE",
  }, {
    target,
  });
  const member = `${organization}/members/${eve.userId}`;
  await assertRecorded("member.role_changed", member, { method: "PATCH", json: { role: "ADMIN" } }, {
    target: { id: eve.userId, name: eveName },
    details: { from: "MEMBER", to: "ADMIN" },
  });
  await assertRecorded("member.removed", member, { method: "DELETE" }, {
    target: { id: eve.userId, name: eveName },
  });
  await assertRecorded(
    "organization.renamed",
    organization,
    { method: "PATCH", json: { name: "Northwind" } },
    {
      details: { from: "Ada Lovelace’s organization", to: "Northwind" },
    },
  );
  await assertRecorded("password.reset_requested", "/api/auth/password/forgot", {
    cookie: "",
    json: { email: ada.email },
  }, {
    actor: anonymous,
    target: self,
  });
  const joined = (await listAudit(test, cookie, "?action=member.joined")).events[0];
  assert.deepEqual([joined?.actor.id, joined?.details, joined?.address], [
    eve.userId,
    { role: "MEMBER" },
    "10.2.0.1",
  ]);
  const token = await mailedToken(test, ada.email);
  const reset = { token, password: "another horse 7 battery" };
  await sendRejected(test, "/api/auth/password/reset", { json: { ...reset, token: `${token}x` } });
  assert.equal((await test.send("/api/auth/password/reset", { json: reset })).status, 204);
  const again = await signInAgain(test, ada.email, reset.password);
  const resets = (await listAudit(test, again, "?action=password.reset")).events;
  assert.deepEqual(resets.map((one) => one.target), [self]);
});

testApp("records each exceeded limit of emails once", async (test) => {
  const ada = await test.signUp();
  const { cookie, userId, organizationId } = ada;
  const twiceOver = async (max: number, path: string, more: (n: number) => SendOptions) => {
    const statuses: number[] = [];
    for (let n = 0; n < max + 2; n++) {
      statuses.push((await test.send(path, { method: "POST", ...more(n) })).status);
    }
    assert.deepEqual(statuses.slice(-3).map((status) => status === 429), [false, true, true]);
  };
  const invitations = `/api/portal/organizations/${organizationId}/invitations`;
  const guest = (n: number) => `guest${n}@example.com`;
  await twiceOver(unverifiedInvitationMailsPerHourMax, invitations, (n) => ({
    cookie,
    json: { email: guest(n), role: "MEMBER" },
  }));
  await twiceOver(accountMailsPerHourMax, "/api/auth/email/verification", () => ({ cookie }));
  for (let n = 0; n < accountLinkMailsToRecipientPerHourMax + 2; n++) {
    const response = await test.send("/api/auth/password/forgot", { json: { email: ada.email } });
    assert.equal(response.status, 202);
  }
  const { events } = await listAudit(test, cookie, "?action=mail.limited");
  assert.deepEqual(events.map(({ actor, target }) => [actor.id, target]), [
    [null, { id: userId, name: ada.email }],
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
  const transfer = `/api/portal/organizations/${ada.organizationId}/transfer`;
  await test.send(transfer, { cookie: ada.cookie, json: { userId: eve.userId } });
  const other = await signInAgain(test, eve.email);
  const sessions = "/api/auth/sessions";
  const list = await (await test.send(sessions, { cookie: other })).json() as {
    sessions: { id: string; current: boolean }[];
  };
  const own = list.sessions.find(({ current }) => current)?.id ?? "";
  const others = list.sessions.map(({ id }) => id).filter((id) => id !== own);
  for (const id of [...others, own]) {
    assert.equal((await test.send(`${sessions}/${id}`, { method: "DELETE", cookie: other })).status, 204);
  }
  const query = "?action=organization.transferred,session.ended";
  const { events } = await listAudit(test, await signInAgain(test, eve.email), query);
  assert.deepEqual(events.map(({ target }) => target), [
    null,
    ...others.map((id) => ({ id, name: null })),
    { id: eve.userId, name: events[0]?.actor.name },
  ]);
});

/** Waits out the delay that failed attempts impose on the correct password, and signs in. */
async function signInAgainLater(test: TestApp, email: string): Promise<string> {
  test.advance(20 * 60_000);
  return await signInAgain(test, email);
}

testApp("records an exceeded rate limit in the organization of the account or the key", async (test) => {
  const ada = await test.signUp();
  const json = { email: ada.email, password: "wrong" };
  for (let n = 0; n < 5; n++) await sendRejected(test, "/api/auth/sign-in", { json });
  for (let n = 0; n < 3; n++) {
    const response = await sendRejected(test, "/api/auth/sign-in", {
      json: { ...json, password: testPassword },
    });
    assert.equal(response.status, 429);
  }
  const [limited] = await waitForAudit(test, ada.cookie, "?action=session.limited");
  assert.deepEqual(limited?.target, { id: ada.userId, name: ada.email });
  assert.equal(limited?.actor.type, "anonymous");

  const { id, fullKey: apiKey } = await createTestKey(test, ada);
  const record = (peerAddress: string) =>
    test.send("/api/v1/usage", {
      apiKey,
      peerAddress,
      json: { productSlug: "p", metric: "m", quantity: 1 },
    });
  assert.equal((await record("192.0.2.1")).status, 201);
  const first = await record("192.0.2.2");
  assert.equal(first.status, 429);
  for (let n = 0; n < 5; n++) assert.equal((await record("192.0.2.3")).status, 429);
  const [event] = await waitForAudit(test, ada.cookie, "?action=api_key.limited");
  assert.deepEqual(event?.actor, { type: "apiKey", id, name: null });
  assert.deepEqual(event?.target, { id, name: "Production" });
  assert.deepEqual([event?.address, event?.requestId], ["192.0.2.2", first.headers.get("x-request-id")]);
  test.advance(60_000);
  assert.equal((await record("192.0.2.1")).status, 201);
  assert.equal((await record("192.0.2.1")).status, 429);
  await waitForAudit(test, ada.cookie, "?action=api_key.limited", 2);
  assert.equal((await listAudit(test, ada.cookie, `?actorId=${id}`)).events.length, 2);
}, { API_KEY_REQUESTS_PER_SECOND: "1" });

testApp("does not record actions that fail", async (test) => {
  const ada = await test.signUp();
  const eve = await joinedPerson(test, ada, "ADMIN");
  const keys = [];
  for (let n = 0; n < 100; n++) keys.push(await createTestKey(test, ada));
  const { events } = await listAudit(test, ada.cookie, "?limit=100");
  const newest = events[0]?.id;
  const organization = `/api/portal/organizations/${ada.organizationId}`;
  const { cookie } = ada;
  const id = keys[0]?.id;
  const rejected: [string, SendOptions][] = [
    [keysPath, { cookie, json: { name: "The 101st" } }],
    [keysPath, { cookie, json: { name: "" } }],
    [`${organization}/members/${ada.userId}`, { cookie, method: "PATCH", json: { role: "MEMBER" } }],
    [`${organization}/members/${ada.userId}`, { cookie, method: "DELETE" }],
    [`${organization}/invitations`, { cookie, json: { email: eve.email, role: "MEMBER" } }],
    [`${keysPath}/key_${"0".repeat(32)}`, { cookie, method: "DELETE" }],
    [`${keysPath}/key_${"0".repeat(32)}`, { cookie, method: "PATCH", json: { name: "x" } }],
    [`${keysPath}/${id}`, { cookie: (await test.signUp()).cookie, method: "DELETE" }],
  ];
  for (const [to, options] of rejected) await sendRejected(test, to, options);
  assert.equal((await listAudit(test, cookie)).events[0]?.id, newest);
  // Revoking twice creates one entry.
  for (let n = 0; n < 2; n++) await test.send(`${keysPath}/${id}`, { cookie, method: "DELETE" });
  assert.equal((await listAudit(test, cookie, "?action=api_key.revoked")).events.length, 1);
  await sendRejected(test, `${keysPath}/${id}/rotate`, { cookie, method: "POST" });
  assert.equal((await listAudit(test, cookie, "?action=api_key.rotated")).events.length, 0);
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
  const { cookie } = await test.signUp();
  const bad: Record<string, string[]> = {
    limit: ["0", "101", "x", "1.5"],
    cursor: ["x", "1.aud_x", `-1.aud_${"0".repeat(32)}`, `aud_${"0".repeat(32)}`],
    action: ["x", "api_key.created,x", "", "__proto__", "toString"],
    from: ["yesterday", "2026-13-01T00:00:00Z"],
    to: ["x"],
    organizationId: ["org_1"],
  };
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      const response = await test.send(`${path}?${new URLSearchParams({ [name]: value })}`, { cookie });
      const { error } = await assertError(response, 422, "validation_failed");
      assert.deepEqual(error.details?.map((one) => one.path), [name], value);
    }
  }
  const reversed = `${path}?from=2026-11-22T00:00:00.000Z&to=2026-11-21T00:00:00.000Z`;
  const { error } = await assertError(await test.send(reversed, { cookie }), 422, "validation_failed");
  assert.equal(error.details?.[0]?.path, "to");
  // A date means midnight UTC. All entries are from today.
  for (
    const [query, isFound] of [["from=2026-11-21&to=2026-11-22", true], ["to=2026-11-21", false]] as const
  ) {
    const { events } = await (await test.send(`${path}?${query}`, { cookie })).json();
    assert.equal(events.length > 0, isFound, query);
  }
  const csv = await test.send(`${path}.csv?limit=1`, { cookie });
  await assertError(csv, 422, "validation_failed");
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
