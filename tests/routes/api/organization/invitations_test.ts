// Invitations: for one address, valid once and for seven days, unless they are revoked or replaced.
import assert from "node:assert/strict";
import { recentAuthenticationMs } from "../../../../domain/limits.ts";
import { listAudit } from "../../../support/app/audit.ts";
import {
  assertError,
  cookieOf,
  type TestApp,
  testApp,
  testPassword,
  type TestPerson,
} from "../../../support/app/app.ts";
import {
  joinedPerson,
  lastMail,
  mailedToken,
  me,
  reauthenticate,
  signInAgain,
  verifiedPerson,
} from "../../../support/people/people.ts";

const accept = "/api/portal/invitations/accept";
const sevenDays = 7 * 24 * 3_600_000;
const at = (owner: TestPerson, rest = "") =>
  `/api/portal/organizations/${owner.organizationId}/invitations${rest}`;

async function invite(
  test: TestApp,
  actor: TestPerson,
  input: { email: string; role?: string; owner?: TestPerson },
) {
  const { email, role = "MEMBER", owner = actor } = input;
  return await test.send(at(owner), { cookie: actor.cookie, json: { email, role } });
}

async function invited(
  test: TestApp,
  owner: TestPerson,
  email: string,
): Promise<{ id: string; token: string }> {
  const response = await invite(test, owner, { email });
  assert.equal(response.status, 201, await response.clone().text());
  const { invitation } = await response.json();
  return { id: invitation.id, token: await mailedToken(test, email) };
}

let address = 0;
function signUpBy(test: TestApp, token: string, more: Record<string, unknown> = {}) {
  return test.send("/api/auth/sign-up", {
    json: { name: "New Person", password: testPassword, invitationToken: token, ...more },
    peerAddress: `10.4.0.${++address}`,
  });
}

testApp("the email of an invitation names the inviter and the organization", async (test) => {
  const owner = await test.signUp("Ada <b>Lovelace</b>");
  const response = await invite(test, owner, { email: " Bob@Example.COM ", role: "ADMIN" });
  assert.equal(response.status, 201);
  const { invitation } = await response.json();
  assert.equal(invitation.email, "bob@example.com");
  assert.equal(invitation.status, "pending");
  assert.equal(Date.parse(invitation.expiresAt) - test.now(), sevenDays);
  assert.equal(invitation.invitedBy.id, owner.userId);
  const mail = await lastMail(test, "bob@example.com");
  assert.match(mail.text, /Ada <b>Lovelace<\/b>/);
  assert.doesNotMatch(mail.html, /<b>Lovelace/);
  assert.ok(mail.link?.startsWith(`${test.config.baseUrl.origin}/invitations/accept?token=`));
  const { invitations } = await (await test.send(at(owner), { cookie: owner.cookie })).json();
  assert.deepEqual(invitations, [invitation]);
});

testApp("an invited account has a confirmed address and no other organization", async (test) => {
  const owner = await test.signUp();
  const { token } = await invited(test, owner, "bob@example.com");
  const response = await signUpBy(test, token);
  assert.equal(response.status, 201);
  const body = await response.json();
  assert.equal(body.user.email, "bob@example.com");
  assert.equal(body.user.emailVerified, true);
  assert.deepEqual(body.memberships.map(({ role }: { role: string }) => role), ["MEMBER"]);
  assert.equal(body.organizationId, owner.organizationId);
  await assertError(await signUpBy(test, token), 404, "invalid_token");
  assert.equal((await me(test, cookieOf(response))).memberships.length, 1);
});

testApp("rejects an organization name when signing up with an invitation", async (test) => {
  const owner = await test.signUp();
  assert.equal((await invite(test, owner, { email: "grace@example.com" })).status, 201);
  const token = await mailedToken(test, "grace@example.com");
  const refused = await assertError(
    await signUpBy(test, token, { organizationName: "Mine" }),
    422,
    "validation_failed",
  );
  assert.deepEqual(refused.error.details?.map(({ path }) => path), ["organizationName"]);
  assert.equal((await signUpBy(test, token)).status, 201);
});

testApp("rejects an invitation for another address, at sign-up and for an existing account", async (test) => {
  const owner = await test.signUp();
  const { token } = await invited(test, owner, "bob@example.com");
  const body = await assertError(
    await signUpBy(test, token, { email: "eve@example.com" }),
    422,
    "validation_failed",
  );
  assert.equal(body.error.details?.[0]?.path, "email");
  const eve = await verifiedPerson(test, "Eve");
  await assertError(await test.send(accept, { cookie: eve.cookie, json: { token } }), 403, "wrong_account");
  assert.equal((await signUpBy(test, token)).status, 201, "and it still works for its own");
});

testApp("accepting requires a confirmed address and makes the organization active", async (test) => {
  const owner = await test.signUp();
  const bob = await test.signUp("Bob");
  const { token: confirmation } = { token: await mailedToken(test, bob.email) };
  const { token } = await invited(test, owner, bob.email);
  await assertError(await test.send(accept, { json: { token } }), 401, "unauthenticated");
  await assertError(await signUpBy(test, token), 409, "email_taken");
  await assertError(
    await test.send(accept, { cookie: bob.cookie, json: { token } }),
    403,
    "email_unverified",
  );
  await test.send("/api/auth/email/verify", { cookie: bob.cookie, json: { token: confirmation } });
  const response = await test.send(accept, { cookie: bob.cookie, json: { token } });
  assert.equal(response.status, 200);
  const body = await response.json();
  assert.equal(body.organizationId, owner.organizationId);
  assert.equal(body.role, "MEMBER");
  assert.equal(body.memberships.length, 2);
  await assertError(await test.send(accept, { cookie: bob.cookie, json: { token } }), 404, "invalid_token");
});

testApp("accepting twice at the same time creates one membership", async (test) => {
  const owner = await test.signUp();
  const bob = await verifiedPerson(test, "Bob");
  const { token } = await invited(test, owner, bob.email);
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => test.send(accept, { cookie: bob.cookie, json: { token } })),
  );
  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, ...Array(7).fill(404)]);
  const joined = await test.opened.database.read({
    sql: "SELECT * FROM audit_events WHERE action = 'member.joined' AND organization_id = ?",
    args: [owner.organizationId],
  });
  assert.equal(joined.length, 1);
  const other = await invited(test, owner, "carol@example.com");
  const signUps = await Promise.all(Array.from({ length: 4 }, () => signUpBy(test, other.token)));
  assert.equal(signUps.filter(({ status }) => status === 201).length, 1);
});

testApp("a link ends after seven days, when it is revoked, and when it is resent", async (test) => {
  let owner = await test.signUp();
  const old = await invited(test, owner, "a@example.com");
  test.advance(sevenDays);
  owner = { ...owner, cookie: await signInAgain(test, owner.email) };
  await assertError(await signUpBy(test, old.token), 404, "invalid_token");
  const { invitations } = await (await test.send(at(owner), { cookie: owner.cookie })).json();
  assert.equal(invitations[0].status, "expired");
  const renewed = await invited(test, owner, "a@example.com");

  const resent = await test.send(at(owner, `/${renewed.id}/resend`), {
    cookie: owner.cookie,
    method: "POST",
  });
  assert.equal(resent.status, 200);
  await assertError(await signUpBy(test, renewed.token), 404, "invalid_token");
  const newest = await mailedToken(test, "a@example.com");
  assert.notEqual(newest, renewed.token);

  const one = at(owner, `/${renewed.id}`);
  assert.equal((await test.send(one, { cookie: owner.cookie, method: "DELETE" })).status, 204);
  await assertError(await signUpBy(test, newest), 404, "invalid_token");
  await assertError(await test.send(one, { cookie: owner.cookie, method: "DELETE" }), 404, "not_found");
  await assertError(
    await test.send(at(owner, `/${renewed.id}/resend`), { cookie: owner.cookie, method: "POST" }),
    404,
    "not_found",
  );
});

testApp("never sends a link that was replaced before its email was sent", async (test) => {
  const owner = await test.signUp();
  const response = await invite(test, owner, { email: "a@example.com" });
  const { invitation } = await response.json();
  await test.send(at(owner, `/${invitation.id}`), { cookie: owner.cookie, method: "DELETE" });
  assert.equal((await test.mails()).filter(({ to }) => to === "a@example.com").length, 0);
});

testApp("rejects a second open invitation to an address, and invitations to members", async (test) => {
  const owner = await test.signUp();
  await invited(test, owner, "a@example.com");
  await assertError(await invite(test, owner, { email: "A@example.com" }), 409, "already_invited");
  const bob = await joinedPerson(test, owner, "MEMBER");
  await assertError(await invite(test, owner, { email: bob.email }), 409, "already_member");
  await assertError(await invite(test, owner, { email: "no address" }), 422, "validation_failed");
  await assertError(
    await invite(test, owner, { email: "x@example.com", role: "BOSS" }),
    422,
    "validation_failed",
  );
});

testApp("admins can't invite owners or change their invitations", async (test) => {
  const owner = await test.signUp();
  const admin = await joinedPerson(test, owner, "ADMIN");
  await assertError(
    await invite(test, admin, { owner, email: "a@example.com", role: "OWNER" }),
    403,
    "forbidden",
  );
  assert.equal((await invite(test, admin, { owner, email: "a@example.com", role: "ADMIN" })).status, 201);
  const forOwner = await invite(test, owner, { email: "o@example.com", role: "OWNER" });
  const { invitation } = await forOwner.json();
  const one = at(owner, `/${invitation.id}`);
  await assertError(await test.send(one, { cookie: admin.cookie, method: "DELETE" }), 403, "forbidden");
  await assertError(
    await test.send(`${one}/resend`, { cookie: admin.cookie, method: "POST" }),
    403,
    "forbidden",
  );
});

testApp("inviting an owner or resending that invitation requires recent authentication", async (test) => {
  const owner = await test.signUp();
  const made = await (await invite(test, owner, { email: "one@example.com", role: "OWNER" })).json();
  const resend = () =>
    test.send(at(owner, `/${made.invitation.id}/resend`), { cookie: owner.cookie, method: "POST" });
  test.advance(recentAuthenticationMs);
  assert.equal((await invite(test, owner, { email: "admin@example.com", role: "ADMIN" })).status, 201);
  const inviteOwner = () => invite(test, owner, { email: "two@example.com", role: "OWNER" });
  await assertError(await inviteOwner(), 403, "proof_required");
  await assertError(await resend(), 403, "proof_required");
  assert.deepEqual((await test.mails()).map(({ to }) => to).slice(1), [
    "one@example.com",
    "admin@example.com",
  ]);
  await reauthenticate(test, owner.cookie);
  assert.equal((await inviteOwner()).status, 201);
  assert.equal((await resend()).status, 200);
});

testApp("removing an admin revokes the invitations that they sent", async (test) => {
  const owner = await test.signUp();
  const admin = await joinedPerson(test, owner, "ADMIN");
  await invite(test, admin, { owner, email: "puppet@example.com", role: "ADMIN" });
  const token = await mailedToken(test, "puppet@example.com");
  await test.send(`/api/portal/organizations/${owner.organizationId}/members/${admin.userId}`, {
    cookie: owner.cookie,
    method: "DELETE",
  });
  await assertError(await signUpBy(test, token), 404, "invalid_token");
});

testApp("with SIGN_UP=invite, only invited people create accounts", async (test) => {
  const body = { name: "Stranger", email: "s@example.com", password: testPassword };
  await assertError(await test.send("/api/auth/sign-up", { json: body }), 403, "sign_up_closed");
  await assertError(await signUpBy(test, "x".repeat(43), { email: "s@example.com" }), 404, "invalid_token");
}, { SIGN_UP: "invite" });

testApp("with SIGN_UP=closed, invited people can't create accounts", async (test) => {
  await assertError(await signUpBy(test, "x".repeat(43)), 403, "sign_up_closed");
}, { SIGN_UP: "closed" });

testApp("rejects invitations on an https address without SMTP_URL", async (test) => {
  const owner = await test.signUp();
  await assertError(await invite(test, owner, { email: "a@example.com" }), 503, "mail_unavailable");
  const rows = await test.opened.database.read({
    sql: "SELECT 1 FROM invitations UNION SELECT 1 FROM outbox",
    args: [],
  });
  assert.equal(rows.length, 0);
}, { BASE_URL: "https://auth.example.com" });

testApp("a role change revokes the invitations that the member may no longer send", async (test) => {
  const owner = await test.signUp();
  const second = await joinedPerson(test, owner, "OWNER");
  const member = (rest: string) => `/api/portal/organizations/${owner.organizationId}${rest}`;
  const byRole = async (roles: readonly string[]) => {
    const tokens: string[] = [];
    for (const role of roles) {
      const email = `puppet-${role}-${++address}@example.com`.toLowerCase();
      assert.equal((await invite(test, second, { owner, email, role })).status, 201);
      tokens.push(await mailedToken(test, email));
    }
    return tokens;
  };
  const [asOwner = "", asAdmin = "", asMember = ""] = await byRole(["OWNER", "ADMIN", "MEMBER"]);
  const demote = async (role: string) => {
    const response = await test.send(member(`/members/${second.userId}`), {
      cookie: owner.cookie,
      method: "PATCH",
      json: { role },
    });
    assert.equal(response.status, 200, await response.text());
  };
  await demote("ADMIN");
  await assertError(await signUpBy(test, asOwner), 404, "invalid_token");
  assert.equal((await signUpBy(test, asAdmin)).status, 201, "an ADMIN may still invite ADMINs");
  await demote("MEMBER");
  await assertError(await signUpBy(test, asMember), 404, "invalid_token");

  await demote("OWNER");
  const [again = ""] = await byRole(["OWNER"]);
  const handedOver = await test.send(member("/transfer"), {
    cookie: second.cookie,
    json: { userId: owner.userId },
  });
  assert.equal(handedOver.status, 200, await handedOver.text());
  await assertError(await signUpBy(test, again), 404, "invalid_token");
});

testApp("accepting an invitation as a member changes nothing, and adds no audit entry", async (test) => {
  const owner = await test.signUp();
  const bob = await joinedPerson(test, owner, "MEMBER");
  assert.equal((await invite(test, owner, { email: "bob-new@example.com", role: "ADMIN" })).status, 201);
  const token = await mailedToken(test, "bob-new@example.com");
  const asked = await test.send("/api/portal/account/email", {
    cookie: bob.cookie,
    json: { email: "bob-new@example.com" },
  });
  assert.equal(asked.status, 202);
  const change = await mailedToken(test, "bob-new@example.com");
  const verified = await test.send("/api/auth/email/verify", {
    cookie: bob.cookie,
    json: { token: change },
  });
  assert.equal(verified.status, 200);
  await assertError(await test.send(accept, { cookie: bob.cookie, json: { token } }), 409, "already_member");
  const { events } = await listAudit(test, owner.cookie, "?action=member.joined");
  assert.deepEqual(events.map(({ details }) => details["role"]), ["MEMBER"]);
});
