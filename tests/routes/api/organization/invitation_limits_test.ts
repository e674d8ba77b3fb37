// Limits on pending invitations, on new ones and on their emails.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { newId } from "../../../../domain/id.ts";
import { invitationMailsToAddressPerHourMax, openInvitationsMax } from "../../../../domain/limits.ts";
import { assertError, type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { mailedToken, verifiedPerson } from "../../../support/people/people.ts";

async function statusOfInvitation(test: TestApp, owner: TestPerson, email: string): Promise<number> {
  const path = `/api/portal/organizations/${owner.organizationId}/invitations`;
  return (await test.send(path, { cookie: owner.cookie, json: { email, role: "MEMBER" } })).status;
}

testApp("allows a hundred pending invitations, and says why more are rejected", async (test) => {
  const owner = await verifiedPerson(test);
  const { database } = test.opened;
  const path = `/api/portal/organizations/${owner.organizationId}/invitations`;
  const invite = (email: string) =>
    test.send(path, { cookie: owner.cookie, json: { email, role: "MEMBER" } });
  const open = (count: number, expiresAt: number, prefix: string) =>
    database.write(
      Array.from({ length: count }, (_, n) =>
        sql`INSERT INTO invitations (id, organization_id, email, role, invited_by, created_at, sent_at, expires_at)
       VALUES (${
          newId("inv")
        }, ${owner.organizationId}, ${`${prefix}${n}@example.com`}, 'MEMBER', ${owner.userId}, 1, 1, ${expiresAt})`),
    );
  await open(openInvitationsMax, test.now() - 1, "old");
  await assertError(await invite(owner.email), 409, "already_member");
  await open(openInvitationsMax - 1, test.now() + 1, "new");
  assert.equal((await invite("last@example.com")).status, 201);
  await assertError(await invite("more@example.com"), 409, "limit_reached");
  const old = await database.readFirst<{ id: string }>(
    sql`SELECT id FROM invitations WHERE email = 'old1@example.com'`,
  );
  const again = `${path}/${old?.id}/resend`;
  const resend = () => test.send(again, { method: "POST", cookie: owner.cookie });
  await assertError(await resend(), 409, "limit_reached");
  await database.write([sql`UPDATE invitations SET revoked_at = 1 WHERE email = 'new1@example.com'`]);
  assert.equal((await resend()).status, 200);
  assert.equal((await resend()).status, 200, "a pending one is resent");
});

testApp("sends one address at most five invitation emails an hour from one person", async (test) => {
  const owner = await verifiedPerson(test);
  const path = `/api/portal/organizations/${owner.organizationId}/invitations`;
  const send = (to: string, method = "POST", json?: unknown) =>
    test.send(to, { method, cookie: owner.cookie, ...(json === undefined ? {} : { json }) });
  const invite = (email: string) => send(path, "POST", { email, role: "MEMBER" });
  const { invitation } = await (await invite("grace@example.com")).json();
  for (let n = 2; n < invitationMailsToAddressPerHourMax; n++) {
    assert.equal((await send(`${path}/${invitation.id}/resend`)).status, 200);
  }
  assert.equal((await send(`${path}/${invitation.id}`, "DELETE")).status, 204);
  const renewed = await (await invite("GRACE@example.com")).json();
  const again = await send(`${path}/${renewed.invitation.id}/resend`);
  assert.ok(Number(again.headers.get("retry-after")) > 3_500);
  await assertError(again, 429, "rate_limited");
  assert.equal((await invite("linus@example.com")).status, 201, "others are not concerned");
  test.advance(3_600_001);
  assert.equal((await send(`${path}/${renewed.invitation.id}/resend`)).status, 200);
});

testApp("an organization sends at most fifty invitations an hour", async (test) => {
  const owner = await verifiedPerson(test);
  const statuses: number[] = [];
  for (let i = 0; i < 51; i++) {
    statuses.push(await statusOfInvitation(test, owner, `a${i}@example.com`));
  }
  assert.deepEqual([statuses.indexOf(429), statuses.filter((status) => status === 201).length], [50, 50]);
  test.advance(3_600_001);
  assert.equal(await statusOfInvitation(test, owner, "later@example.com"), 201);
});

testApp("a person sends at most fifty invitations an hour, across all organizations", async (test) => {
  const owner = await verifiedPerson(test);
  const statuses: number[] = [];
  for (let round = 0; round < 2; round++) {
    const made = await test.send("/api/portal/organizations", {
      cookie: owner.cookie,
      json: { name: `Round ${round}` },
    });
    const { organization } = await made.json();
    const there = { ...owner, organizationId: organization.id };
    for (let i = 0; i < 30; i++) {
      statuses.push(await statusOfInvitation(test, there, `a${round}-${i}@example.com`));
    }
  }
  assert.equal(statuses.filter((status) => status === 201).length, 50);
  assert.equal(statuses.at(-1), 429);
});

testApp("people with an unconfirmed address send at most five invitations an hour", async (test) => {
  const owner = await test.signUp();
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) {
    statuses.push(await statusOfInvitation(test, owner, `u${i}@example.com`));
  }
  assert.deepEqual(statuses, [201, 201, 201, 201, 201, 429]);
  const token = await mailedToken(test, owner.email);
  await test.send("/api/auth/email/verify", { cookie: owner.cookie, json: { token } });
  assert.equal(await statusOfInvitation(test, owner, "more@example.com"), 201);
});
