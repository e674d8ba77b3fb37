// Limits on pending invitations, on new ones and on their emails.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { newId } from "../../../../domain/id.ts";
import { invitationMailsToAddressPerHourMax, openInvitationsMax } from "../../../../domain/limits.ts";
import { type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { assertRows, fetchJson, type Row } from "../../../support/app/rows.ts";
import { inviteTo, joinedPerson, mailedToken, verifiedPerson } from "../../../support/people/people.ts";

/** Requests about invitations are sent below their path. */
const inInvitationsOf = ({ cookie, organizationId }: TestPerson) => ({
  cookie,
  at: `/api/portal/organizations/${organizationId}/invitations`,
});
const invite = (email: string, outcome: Row[2] = 201): Row => ["POST ", { email, role: "MEMBER" }, outcome];

let invited = 0;

/** Invites new people one after another, until one is limited. @returns How many invitations were sent. */
async function invitationsOf(test: TestApp, person: TestPerson, max: number): Promise<number> {
  const { at, cookie } = inInvitationsOf(person);
  for (let sent = 0; sent < max; sent++) {
    const json = { email: `guest${++invited}@example.com`, role: "MEMBER" };
    const { status } = await test.send(at, { cookie, json });
    if (status === 429) return sent;
    assert.equal(status, 201);
  }
  return max;
}

testApp("allows a hundred pending invitations, and says why more are rejected", async (test) => {
  const owner = await verifiedPerson(test);
  const { database } = test.opened;
  const by = inInvitationsOf(owner);
  const open = (count: number, expiresAt: number, prefix: string) =>
    database.write(
      Array.from({ length: count }, (_, n) =>
        sql`INSERT INTO invitations (id, organization_id, email, role, invited_by, created_at, sent_at, expires_at)
          VALUES (${
          newId("inv")
        }, ${owner.organizationId}, ${`${prefix}${n}@example.com`}, 'MEMBER', ${owner.userId},
            1, 1, ${expiresAt})`),
    );
  await open(openInvitationsMax, test.now() - 1, "old");
  await assertRows(test, by, [invite(owner.email, "409 already_member")]);
  await open(openInvitationsMax - 1, test.now() + 1, "new");
  await assertRows(test, by, [invite("last@example.com"), invite("more@example.com", "409 limit_reached")]);
  const old = await database.readFirst<{ id: string }>(
    sql`SELECT id FROM invitations WHERE email = 'old1@example.com'`,
  );
  const resend = `POST /${old?.id}/resend`;
  await assertRows(test, by, [[resend, null, "409 limit_reached"]]);
  await database.write([sql`UPDATE invitations SET revoked_at = 1 WHERE email = 'new1@example.com'`]);
  // The second time, it is a pending one that is resent.
  await assertRows(test, by, [[resend, null, 200], [resend, null, 200]]);
});

testApp("sends one address at most five invitation emails an hour from one person", async (test) => {
  const owner = await verifiedPerson(test);
  const by = inInvitationsOf(owner);
  const { id } = await inviteTo(test, owner, { email: "grace@example.com" });
  await assertRows(test, by, [
    ...Array<Row>(invitationMailsToAddressPerHourMax - 2).fill([`POST /${id}/resend`, null, 200]),
    [`DELETE /${id}`, null, 204],
  ]);
  const json = { email: "GRACE@example.com", role: "MEMBER" };
  const { invitation } = await fetchJson(test, by, "POST ", json);
  const again = `POST /${invitation.id}/resend`;
  const { answer } = await assertRows(test, by, [[again, null, "429 rate_limited"]]);
  assert.ok(Number(answer.headers.get("retry-after")) > 3_500);
  // Others are not concerned.
  await assertRows(test, by, [invite("linus@example.com")]);
  test.advance(3_600_001);
  await assertRows(test, by, [[again, null, 200]]);
});

testApp("an organization and a person each send at most fifty invitations an hour", async (test) => {
  const owner = await verifiedPerson(test);
  const second = await joinedPerson(test, owner, "OWNER");
  assert.equal(await invitationsOf(test, owner, 30), 30);
  // The second owner's own is one of them.
  assert.equal(await invitationsOf(test, second, 30), 19);
  test.advance(3_600_001);
  // So does a person across all organizations.
  const { organization } = await fetchJson(test, owner, "POST /api/portal/organizations", { name: "Second" });
  assert.equal(await invitationsOf(test, owner, 30), 30);
  assert.equal(await invitationsOf(test, { ...owner, organizationId: organization.id }, 30), 20);
});

testApp("people with an unconfirmed address send at most five invitations an hour", async (test) => {
  const owner = await test.signUp();
  assert.equal(await invitationsOf(test, owner, 6), 5);
  const token = await mailedToken(test, owner.email);
  await assertRows(test, owner, [["POST /api/auth/email/verify", { token }, 200]]);
  assert.equal(await invitationsOf(test, owner, 1), 1);
});
