// Inviting with the form, and resending and revoking invitations.
import assert from "node:assert/strict";
import { verifiedPerson } from "../../../support/people/people.ts";
import { invitationMailsPerHourMax, recentAuthenticationMs } from "../../../../domain/limits.ts";
import { sql } from "../../../../db/engine/database.ts";
import { cookieOf, testApp, testPassword } from "../../../support/app/app.ts";
import {
  actionsOf,
  invite,
  joinBy,
  latestLink,
  noticesOf,
  page,
  submit,
} from "../../../support/people/portal_people.ts";
import { organizationWords as words } from "../../../support/portal/words/organization.ts";
import { inPage } from "../../../support/portal/words/sign_in.ts";

const path = "/portal/members";
const dayMs = 24 * 3_600_000;

async function idOf(
  test: Parameters<typeof page>[0],
  person: { cookie: string; organizationId: string },
): Promise<string> {
  const response = await test.send(`/api/portal/organizations/${person.organizationId}/invitations`, {
    cookie: person.cookie,
  });
  return (await response.json()).invitations[0].id;
}

testApp(
  "an invitation is sent and listed; a rejected form keeps the input and shows the error at its field",
  async (test) => {
    const owner = await test.signUp("Olive Owner");
    const alone = (await page(test, path, owner)).html;
    assert.match(alone, inPage(words.alone));
    await invite(test, owner, { email: "grace@example.com", role: "ADMIN" });
    const { html } = await page(test, `${path}?done=invited&id=${await idOf(test, owner)}`, owner);
    assert.deepEqual(noticesOf(html), [words.invited("grace@example.com")]);
    assert.match(html, /grace@example\.com<\/div><div class="muted tiny">Invited by you/);
    assert.ok(html.includes(`<span class="badge on">${words.pending}</span>`));
    const send = (email: string, role = "ADMIN") =>
      submit(test, path, { form: { email, role }, person: owner });
    for (
      const [email, role, status, field, message] of [
        ["no address", "ADMIN", 422, "email", words.invalidEmail],
        ["Grace@Example.com ", "ADMIN", 409, "email", words.alreadyInvited],
        [owner.email, "ADMIN", 409, "email", words.alreadyMember],
        ["x@example.com", "KING", 422, "role", ""],
      ] as const
    ) {
      const response = await send(email, role);
      assert.equal(response.status, status, email);
      assert.match(response.html, new RegExp(`id="${field}-error".*${message}`), email);
      assert.ok(response.html.includes(`name="email" value="${email}"`), email);
      assert.equal(response.html.includes(`<option value="ADMIN" selected`), role === "ADMIN", email);
    }
    assert.equal((await test.mails()).filter(({ to }) => to === "grace@example.com").length, 1);
  },
);

testApp("an admin invites members and admins, and can't change an owner's invitation", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const admin = await joinBy(test, owner, { name: "Abel Admin", role: "ADMIN" });
  await invite(test, owner, { email: "boss@example.com", role: "OWNER" });
  const id = await idOf(test, owner);
  await invite(test, admin, { email: "help@example.com", role: "ADMIN" });
  const { html } = await page(test, path, admin);
  assert.deepEqual(actionsOf(html, "boss@example.com"), []);
  assert.deepEqual(actionsOf(html, "help@example.com"), ["resend", "revoke"]);
  assert.deepEqual(actionsOf((await page(test, path, owner)).html, "boss@example.com"), ["resend", "revoke"]);
  const form = { email: "more@example.com", role: "OWNER" };
  assert.equal((await submit(test, path, { form, person: admin })).status, 403);
  for (const action of ["resend", "revoke"]) {
    const address = `/portal/invitations/${id}/${action}`;
    assert.equal((await submit(test, address, { person: admin })).status, 403, action);
  }
  assert.equal((await page(test, `/portal/invitations/${id}/revoke`, admin)).status, 404);
});

testApp("inviting an owner requires recent authentication, and keeps the input meanwhile", async (test) => {
  const owner = await test.signUp("Olive Owner");
  await invite(test, owner, { email: "boss@example.com", role: "OWNER" });
  test.advance(recentAuthenticationMs);
  const reauthenticate = (back: string) => `/portal/confirm-password?return_to=${encodeURIComponent(back)}`;
  const form = { email: "grace@example.com", role: "OWNER" };
  const back = `${path}?email=grace%40example.com&role=OWNER`;
  assert.equal((await submit(test, path, { form, person: owner })).location, reauthenticate(back));
  const resend = `/portal/invitations/${await idOf(test, owner)}/resend`;
  assert.equal((await submit(test, resend, { person: owner })).location, reauthenticate(path));
  const { html } = await page(test, back, owner);
  assert.match(html, /name="email" value="grace@example\.com"/);
  assert.match(html, /<option value="OWNER" selected/);
  assert.equal((await test.mails()).filter(({ to }) => to === "grace@example.com").length, 0);
  const again = { password: testPassword, return_to: back };
  assert.equal(
    (await submit(test, "/portal/confirm-password", { form: again, person: owner })).location,
    back,
  );
  assert.match((await submit(test, path, { form, person: owner })).location ?? "", /\?done=invited&/);
});

testApp(
  "resending invalidates the previous link and extends an expired invitation by seven days",
  async (test) => {
    const signedUp = await test.signUp("Olive Owner");
    const first = await invite(test, signedUp, { email: "grace@example.com" });
    test.advance(8 * dayMs);
    const form = { email: signedUp.email, password: testPassword };
    const owner = { ...signedUp, cookie: cookieOf((await submit(test, "/sign-in", { form })).answer) };
    assert.equal((await page(test, first.path)).status, 404);
    assert.match((await page(test, path, owner)).html, /<span class="badge soon">Expired<\/span>/);
    const address = `/portal/invitations/${await idOf(test, owner)}/resend`;
    const cursor = `inv_${"f".repeat(32)}`;
    const resent = await submit(test, `${address}?open=${cursor}`, { person: owner });
    assert.ok(
      resent.location?.startsWith(`${path}?open=${cursor}&done=resent&id=inv_`),
      resent.location ?? "",
    );
    assert.deepEqual(noticesOf((await page(test, resent.location ?? "", owner)).html), [
      words.resent("grace@example.com"),
    ]);
    const second = await latestLink(test, "grace@example.com");
    assert.notEqual(second.token, first.token);
    assert.equal((await page(test, first.path)).status, 404);
    assert.equal((await page(test, second.path)).status, 200);
    assert.ok(
      (await page(test, path, owner)).html.includes(`<span class="badge on">${words.pending}</span>`),
    );
    assert.equal((await page(test, address, owner)).location, path);
  },
);

testApp(
  "revoking asks for confirmation, and ends the link",
  async (test) => {
    const owner = await test.signUp("Olive Owner");
    const link = await invite(test, owner, { email: "grace@example.com" });
    const address = `/portal/invitations/${await idOf(test, owner)}/revoke`;
    assert.match(
      (await page(test, address, owner)).html,
      /<h1>[^<]*<bdi>grace@example\.com<\/bdi>/,
    );
    assert.equal((await page(test, link.path)).status, 200);
    const { location } = await submit(test, address, { person: owner });
    assert.equal((await page(test, link.path)).status, 404);
    const { html } = await page(test, location ?? "", owner);
    assert.deepEqual(noticesOf(html), [words.revoked("grace@example.com")]);
    for (const again of [await page(test, address, owner), await submit(test, address, { person: owner })]) {
      assert.equal(again.status, 404);
    }
  },
);

testApp("only open invitations are listed, over several pages", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const count = 210;
  const idAt = (index: number) => `inv_${index.toString(16).padStart(32, "0")}`;
  await test.opened.database.write(
    Array.from({ length: count }, (_, index) =>
      // Of three, one is open, one was revoked and one accepted.
      sql`INSERT INTO invitations
            (id, organization_id, email, role, created_at, sent_at, expires_at, revoked_at, accepted_at)
          VALUES (${idAt(index)}, ${owner.organizationId}, ${`guest${index}@example.com`}, 'MEMBER', 0, 0,
            ${test.now() + dayMs}, ${index % 3 === 1 ? 1 : null}, ${index % 3 === 2 ? 1 : null})`),
  );
  const indexes: number[] = [];
  let address: string | undefined = path;
  for (let pages = 0; address !== undefined && pages < 10; pages++) {
    const { html } = await page(test, address, owner);
    indexes.push(...[...html.matchAll(/>guest(\d+)@example\.com</g)].map(([, index]) => Number(index)));
    assert.equal(html.includes(words.newestInvitations), pages > 0);
    address = new RegExp(`href="([^"]+)" ?>${words.olderInvitations}`).exec(html)?.[1]?.replace(/#.*/, "");
  }
  const all = Array.from({ length: count }, (_, index) => count - 1 - index);
  assert.deepEqual(indexes, all.filter((index) => index % 3 === 0));
  assert.equal((await page(test, `${path}?open=x`, owner)).status, 422);
});

testApp("without SMTP_URL the page says so instead of showing the form", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const { html } = await page(test, path, owner);
  assert.match(noticesOf(html).join(), inPage(words.noEmail));
  assert.doesNotMatch(html, /action="\/portal\/(members|account\/verification)"/);
  const form = { email: "grace@example.com", role: "MEMBER" };
  const refused = await submit(test, path, { form, person: owner });
  assert.equal(refused.status, 503);
  assert.match(noticesOf(refused.html).join(), inPage(words.noEmail));
}, { BASE_URL: "https://auth.example.com" });

testApp("every page asks to confirm the email address until it is confirmed", async (test) => {
  const owner = await test.signUp("Olive Owner");
  for (const one of [path, "/portal/api-keys", "/portal/organizations"]) {
    const { html } = await page(test, one, owner);
    assert.match(html, /action="\/portal\/account\/verification"/, one);
  }
  const member = await joinBy(test, owner, { name: "Mia Member" });
  assert.doesNotMatch((await page(test, path, member)).html, /action="\/portal\/account\/verification"/);
});

testApp("more emails in an hour than the limit are rejected above the list, and sent later", async (test) => {
  const owner = await verifiedPerson(test, "Olive Owner");
  await invite(test, owner, { email: "grace@example.com" });
  const address = `/portal/invitations/${await idOf(test, owner)}/resend`;
  for (let sent = 1; sent < invitationMailsPerHourMax; sent++) {
    await invite(test, owner, { email: `guest${sent}@example.com` });
  }
  const refused = await submit(test, address, { person: owner });
  assert.equal(refused.status, 429);
  const waitSeconds = Number(refused.answer.headers.get("retry-after"));
  assert.ok(waitSeconds > 60 && waitSeconds <= 3600);
  const minutes = Math.ceil(waitSeconds / 60);
  assert.deepEqual(noticesOf(refused.html), [`Too many attempts. Try again in ${minutes} minutes.`]);
  const form = { email: "linus@example.com", role: "ADMIN" };
  const kept = await submit(test, path, { form, person: owner });
  assert.equal(kept.status, 429);
  assert.match(kept.html, /name="email" value="linus@example\.com"/);
  test.advance(waitSeconds * 1000);
  assert.match((await submit(test, address, { person: owner })).location ?? "", /\?done=resent&/);
});
