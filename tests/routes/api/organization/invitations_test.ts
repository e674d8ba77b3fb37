// Invitations: for one address, valid once and for seven days, unless they are revoked or replaced.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { recentAuthenticationMs } from "../../../../domain/limits.ts";
import type { Role } from "../../../../domain/access/session.ts";
import { cookieOf, type TestApp, testApp, testPassword, type TestPerson } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { assertOutcome, assertRows, fetchJson } from "../../../support/app/rows.ts";
import {
  inviteTo,
  joinedPerson,
  lastMail,
  mailedToken,
  me,
  reauthenticate,
  signInAgain,
  verifiedPerson,
} from "../../../support/people/people.ts";

const accept = "POST /api/portal/invitations/accept";
const sevenDays = 7 * 24 * 3_600_000;
const at = (owner: TestPerson, rest = "") =>
  `/api/portal/organizations/${owner.organizationId}/invitations${rest}`;

let address = 0;
function signUpBy(test: TestApp, token: string, more: Record<string, unknown> = {}) {
  return test.send("/api/auth/sign-up", {
    json: { name: "New Person", password: testPassword, invitationToken: token, ...more },
    peerAddress: `10.4.0.${++address}`,
  });
}

testApp("the email of an invitation names the inviter and the organization", async (test) => {
  const owner = await test.signUp("Ada <b>Lovelace</b>");
  const json = { email: " Bob@Example.COM ", role: "ADMIN" };
  const { invitation } = await fetchJson(test, owner, `POST ${at(owner)}`, json);
  const { email, status, expiresAt, invitedBy } = invitation;
  assert.deepEqual([email, status, invitedBy.id], ["bob@example.com", "pending", owner.userId]);
  assert.equal(Date.parse(expiresAt) - test.now(), sevenDays);
  const mail = await lastMail(test, "bob@example.com");
  assert.match(mail.text, /Ada <b>Lovelace<\/b>/);
  assert.doesNotMatch(mail.html, /<b>Lovelace/);
  assert.ok(mail.link?.startsWith(`${test.config.baseUrl.origin}/invitations/accept?token=`));
  assert.deepEqual((await fetchJson(test, owner, `GET ${at(owner)}`)).invitations, [invitation]);
});

testApp("an invited account has a confirmed address and no other organization", async (test) => {
  const owner = await test.signUp();
  const { token } = await inviteTo(test, owner, { email: "bob@example.com" });
  await assertOutcome(
    signUpBy(test, token, { organizationName: "Mine" }),
    "422 validation_failed organizationName",
  );
  const response = await signUpBy(test, token);
  assert.equal(response.status, 201);
  const { user, memberships, organizationId } = await response.json();
  assert.deepEqual([user.email, user.emailVerified, organizationId], [
    "bob@example.com",
    true,
    owner.organizationId,
  ]);
  assert.deepEqual(memberships.map(({ role }: { role: string }) => role), ["MEMBER"]);
  await assertOutcome(signUpBy(test, token), "404 invalid_token");
  assert.equal((await me(test, cookieOf(response))).memberships.length, 1);
});

testApp("rejects an invitation for another address, at sign-up and for an existing account", async (test) => {
  const { token } = await inviteTo(test, await test.signUp(), { email: "bob@example.com" });
  await assertOutcome(signUpBy(test, token, { email: "eve@example.com" }), "422 validation_failed email");
  await assertRows(test, await verifiedPerson(test, "Eve"), [[accept, { token }, "403 wrong_account"]]);
  await assertOutcome(signUpBy(test, token), 201);
});

testApp("accepting requires a confirmed address and makes the organization active", async (test) => {
  const owner = await test.signUp();
  const bob = await test.signUp("Bob");
  const confirmation = await mailedToken(test, bob.email);
  const { token } = await inviteTo(test, owner, { email: bob.email });
  await assertOutcome(signUpBy(test, token), "409 email_taken");
  await assertRows(test, {}, [[accept, { token }, "401 unauthenticated"]]);
  await assertRows(test, bob, [
    [accept, { token }, "403 email_unverified"],
    ["POST /api/auth/email/verify", { token: confirmation }, 200],
  ]);
  const { organizationId, role, memberships } = await fetchJson(test, bob, accept, { token });
  assert.deepEqual([organizationId, role, memberships.length], [owner.organizationId, "MEMBER", 2]);
  await assertRows(test, bob, [[accept, { token }, "404 invalid_token"]]);
});

testApp("accepting twice at the same time creates one membership", async (test) => {
  const owner = await test.signUp();
  const { email, cookie } = await verifiedPerson(test, "Bob");
  const { token } = await inviteTo(test, owner, { email });
  const path = "/api/portal/invitations/accept";
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => test.send(path, { cookie, json: { token } })),
  );
  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, ...Array(7).fill(404)]);
  assert.equal((await listAudit(test, owner.cookie, "?action=member.joined")).events.length, 1);
  const other = await inviteTo(test, owner, { email: "carol@example.com" });
  const signUps = await Promise.all(Array.from({ length: 4 }, () => signUpBy(test, other.token)));
  assert.equal(signUps.filter(({ status }) => status === 201).length, 1);
});

testApp("a link ends after seven days, when it is revoked, and when it is resent", async (test) => {
  let owner = await test.signUp();
  const email = "a@example.com";
  const old = await inviteTo(test, owner, { email });
  test.advance(sevenDays);
  owner = { ...owner, cookie: await signInAgain(test, owner.email) };
  await assertOutcome(signUpBy(test, old.token), "404 invalid_token");
  assert.equal((await fetchJson(test, owner, `GET ${at(owner)}`)).invitations[0].status, "expired");

  const { id, token } = await inviteTo(test, owner, { email });
  await assertRows(test, owner, [[`POST ${at(owner, `/${id}/resend`)}`, null, 200]]);
  await assertOutcome(signUpBy(test, token), "404 invalid_token");
  const newest = await mailedToken(test, email);
  assert.notEqual(newest, token);

  await assertRows(test, owner, [[`DELETE ${at(owner, `/${id}`)}`, null, 204]]);
  await assertOutcome(signUpBy(test, newest), "404 invalid_token");
  await assertRows(test, owner, [
    [`DELETE ${at(owner, `/${id}`)}`, null, "404 not_found"],
    [`POST ${at(owner, `/${id}/resend`)}`, null, "404 not_found"],
  ]);
});

testApp("never sends a link that was replaced before its email was sent", async (test) => {
  const owner = await test.signUp();
  const json = { email: "a@example.com", role: "MEMBER" };
  const { invitation: { id } } = await fetchJson(test, owner, `POST ${at(owner)}`, json);
  await assertRows(test, owner, [[`DELETE ${at(owner, `/${id}`)}`, null, 204]]);
  assert.equal((await test.mails()).filter(({ to }) => to === json.email).length, 0);
});

testApp("rejects a second open invitation to an address, and invitations to members", async (test) => {
  const owner = await test.signUp();
  await inviteTo(test, owner, { email: "a@example.com" });
  const { email } = await joinedPerson(test, owner, "MEMBER");
  const invite = `POST ${at(owner)}`;
  await assertRows(test, owner, [
    [invite, { email: "A@example.com", role: "MEMBER" }, "409 already_invited"],
    [invite, { email, role: "MEMBER" }, "409 already_member"],
    [invite, { email: "no address", role: "MEMBER" }, "422 validation_failed email"],
    [invite, { email: "x@example.com", role: "BOSS" }, "422 validation_failed role"],
  ]);
});

testApp("admins can't invite owners or change their invitations", async (test) => {
  const owner = await test.signUp();
  const { id } = await inviteTo(test, owner, { email: "o@example.com", role: "OWNER" });
  await assertRows(test, await joinedPerson(test, owner, "ADMIN"), [
    [`POST ${at(owner)}`, { email: "a@example.com", role: "OWNER" }, "403 forbidden"],
    [`POST ${at(owner)}`, { email: "a@example.com", role: "ADMIN" }, 201],
    [`DELETE ${at(owner, `/${id}`)}`, null, "403 forbidden"],
    [`POST ${at(owner, `/${id}/resend`)}`, null, "403 forbidden"],
  ]);
});

testApp("inviting an owner or resending that invitation requires recent authentication", async (test) => {
  const owner = await test.signUp();
  const { id } = await inviteTo(test, owner, { email: "one@example.com", role: "OWNER" });
  test.advance(recentAuthenticationMs);
  const inviteOwner = [`POST ${at(owner)}`, { email: "two@example.com", role: "OWNER" }] as const;
  const resend = [`POST ${at(owner, `/${id}/resend`)}`, null] as const;
  await assertRows(test, owner, [
    [`POST ${at(owner)}`, { email: "admin@example.com", role: "ADMIN" }, 201],
    [...inviteOwner, "403 proof_required"],
    [...resend, "403 proof_required"],
  ]);
  const invited = (await test.mails()).map(({ to }) => to).slice(1);
  assert.deepEqual(invited, ["one@example.com", "admin@example.com"]);
  await reauthenticate(test, owner.cookie);
  await assertRows(test, owner, [[...inviteOwner, 201], [...resend, 200]]);
});

testApp("with SIGN_UP=invite, only invited people create accounts", async (test) => {
  const body = { name: "Stranger", email: "s@example.com", password: testPassword };
  await assertRows(test, {}, [["POST /api/auth/sign-up", body, "403 sign_up_closed"]]);
  await assertOutcome(signUpBy(test, "x".repeat(43), { email: "s@example.com" }), "404 invalid_token");
}, { SIGN_UP: "invite" });

testApp("with SIGN_UP=closed, no one creates an account, invited or not", async (test) => {
  const body = { name: "Stranger", email: "s@example.com", password: testPassword };
  await assertRows(test, {}, [["POST /api/auth/sign-up", body, "403 sign_up_closed"]]);
  await assertOutcome(signUpBy(test, "x".repeat(43)), "403 sign_up_closed");
}, { SIGN_UP: "closed" });

testApp("rejects invitations on an https address without SMTP_URL", async (test) => {
  const owner = await test.signUp();
  const json = { email: "a@example.com", role: "MEMBER" };
  await assertRows(test, owner, [[`POST ${at(owner)}`, json, "503 mail_unavailable"]]);
  const rows = await test.opened.database.read(sql`SELECT 1 FROM invitations UNION SELECT 1 FROM outbox`);
  assert.equal(rows.length, 0);
}, { BASE_URL: "https://auth.example.com" });

testApp("a role change revokes the invitations that the member may no longer send", async (test) => {
  const owner = await test.signUp();
  const second = await joinedPerson(test, owner, "OWNER");
  const organization = `/api/portal/organizations/${owner.organizationId}`;
  const invitedAs = async (role: Role) => {
    const email = `puppet-${++address}@example.com`;
    return (await inviteTo(test, second, { email, role })).token;
  };
  const demote = (role: Role) =>
    assertRows(test, owner, [[`PATCH ${organization}/members/${second.userId}`, { role }, 200]]);
  const [asOwner, asAdmin] = [await invitedAs("OWNER"), await invitedAs("ADMIN")];
  const asMember = await invitedAs("MEMBER");
  await demote("ADMIN");
  await assertOutcome(signUpBy(test, asOwner), "404 invalid_token");
  // An ADMIN may still invite ADMINs.
  await assertOutcome(signUpBy(test, asAdmin), 201);
  await demote("MEMBER");
  await assertOutcome(signUpBy(test, asMember), "404 invalid_token");

  await demote("OWNER");
  const again = await invitedAs("OWNER");
  await assertRows(test, second, [[`POST ${organization}/transfer`, { userId: owner.userId }, 200]]);
  await assertOutcome(signUpBy(test, again), "404 invalid_token");
  // So does the end of a membership.
  const last = await invitedAs("ADMIN");
  await assertRows(test, owner, [[`DELETE ${organization}/members/${second.userId}`, null, 204]]);
  await assertOutcome(signUpBy(test, last), "404 invalid_token");
});

testApp("accepting an invitation as a member changes nothing, and adds no audit entry", async (test) => {
  const owner = await test.signUp();
  const bob = await joinedPerson(test, owner, "MEMBER");
  const email = "bob-new@example.com";
  const { token } = await inviteTo(test, owner, { email, role: "ADMIN" });
  await assertRows(test, bob, [["POST /api/portal/account/email", { email }, 202]]);
  await assertRows(test, bob, [
    ["POST /api/auth/email/verify", { token: await mailedToken(test, email) }, 200],
    [accept, { token }, "409 already_member"],
  ]);
  const { events } = await listAudit(test, owner.cookie, "?action=member.joined");
  assert.deepEqual(events.map(({ details }) => details["role"]), ["MEMBER"]);
});
