// Inviting with the form, and resending and revoking invitations. Who may do it is tested with the API.
import assert from "node:assert/strict";
import { invitationMailsPerHourMax, recentAuthenticationMs } from "../../../../domain/limits.ts";
import { sql } from "../../../../db/engine/database.ts";
import { testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows, type Row, sendRow } from "../../../support/app/rows.ts";
import { inviteTo, mailedToken, signInAgain, verifiedPerson } from "../../../support/people/people.ts";
import { actionsOf, joinBy, noticesOf, page } from "../../../support/people/portal_people.ts";
import { organizationWords as words } from "../../../support/portal/words/organization.ts";
import { inPage } from "../../../support/portal/words/sign_in.ts";

const path = "/portal/members";
const dayMs = 24 * 3_600_000;
const email = "grace@example.com";

testApp(
  "an invitation is sent and listed; a rejected form keeps the input and shows the error at its field",
  async (test) => {
    const owner = await test.signUp("Olive Owner");
    await assertRows(test, owner, [[`GET ${path}`, null, 200, { shows: [words.alone] }]]);
    const sent = await sendRow(test, owner, `POST ${path}`, { email, role: "ADMIN" });
    assert.match(sent.location ?? "", /^\/portal\/members\?done=invited&id=inv_\w+#invitations$/, sent.html);
    await assertRows(test, owner, [
      [`GET ${sent.location}`, null, 200, {
        notices: [words.invited(email)],
        shows: [
          /grace@example\.com<\/div><div class="muted tiny">Invited by you/,
          `<span class="badge on">${words.pending}</span>`,
        ],
      }],
      ...([
        ["no address", "ADMIN", "422 email", "Enter an email address"],
        ["Grace@Example.com ", "ADMIN", "409 email", words.alreadyInvited],
        [owner.email, "ADMIN", "409 email", words.alreadyMember],
        ["x@example.com", "KING", "422 role", ""],
      ] as const).map(([email, role, outcome, message]): Row => {
        const chosen = '<option value="ADMIN" selected';
        return [`POST ${path}`, { email, role }, outcome, {
          shows: [
            new RegExp(`id="${outcome.slice(4)}-error".*${message}`),
            `name="email" value="${email}"`,
            ...role === "ADMIN" ? [chosen] : [],
          ],
          hides: role === "ADMIN" ? [] : [chosen],
        }];
      }),
    ]);
    assert.equal((await test.mails()).filter(({ to }) => to === email).length, 1);
  },
);

testApp("an admin is offered no changes of an owner's invitation", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const admin = await joinBy(test, owner, { name: "Abel Admin", role: "ADMIN" });
  const { id } = await inviteTo(test, owner, { email: "boss@example.com", role: "OWNER" });
  await inviteTo(test, admin, { email: "help@example.com", role: "ADMIN" });
  const { html } = await page(test, path, admin);
  assert.deepEqual(actionsOf(html, "boss@example.com"), []);
  assert.deepEqual(actionsOf(html, "help@example.com"), ["resend", "revoke"]);
  assert.deepEqual(actionsOf((await page(test, path, owner)).html, "boss@example.com"), ["resend", "revoke"]);
  assert.equal((await page(test, `/portal/invitations/${id}/revoke`, admin)).status, 404);
});

testApp("inviting an owner requires recent authentication, and keeps the input meanwhile", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const { id } = await inviteTo(test, owner, { email: "boss@example.com", role: "OWNER" });
  test.advance(recentAuthenticationMs);
  const confirm = (back: string) => `303 /portal/confirm-password?return_to=${encodeURIComponent(back)}`;
  const form = { email, role: "OWNER" };
  const back = `${path}?email=grace%40example.com&role=OWNER`;
  await assertRows(test, owner, [
    [`POST ${path}`, form, confirm(back)],
    [`POST /portal/invitations/${id}/resend`, null, confirm(path)],
    [`GET ${back}`, null, 200, {
      shows: [`name="email" value="${email}"`, '<option value="OWNER" selected'],
    }],
  ]);
  assert.equal((await test.mails()).filter(({ to }) => to === email).length, 0);
  await assertRows(test, owner, [
    ["POST /portal/confirm-password", { password: testPassword, return_to: back }, `303 ${back}`],
  ]);
  assert.match((await sendRow(test, owner, `POST ${path}`, form)).location ?? "", /\?done=invited&/);
});

testApp("resending ends the earlier link and extends the invitation; revoking asks first", async (test) => {
  const signedUp = await test.signUp("Olive Owner");
  const { id, path: first } = await inviteTo(test, signedUp, { email });
  test.advance(8 * dayMs);
  const owner = { cookie: await signInAgain(test, signedUp.email) };
  const [resend, revoke] = [`/portal/invitations/${id}/resend`, `/portal/invitations/${id}/revoke`];
  await assertRows(test, owner, [
    [`GET ${first}`, null, 404],
    [`GET ${path}`, null, 200, { shows: ['<span class="badge soon">Expired</span>'] }],
  ]);
  const cursor = `inv_${"f".repeat(32)}`;
  const { location } = await sendRow(test, owner, `POST ${resend}?open=${cursor}`);
  assert.ok(location?.startsWith(`${path}?open=${cursor}&done=resent&id=inv_`), String(location));
  const second = `/invitations/accept?token=${await mailedToken(test, email)}`;
  await assertRows(test, owner, [
    [`GET ${location}`, null, 200, { notices: [words.resent(email)] }],
    [`GET ${path}`, null, 200, { shows: [`<span class="badge on">${words.pending}</span>`] }],
    [`GET ${resend}`, null, `303 ${path}`],
    [`GET ${first}`, null, 404],
    [`GET ${revoke}`, null, 200, { shows: [/<h1>[^<]*<bdi>grace@example\.com<\/bdi>/] }],
  ]);
  await assertRows(test, {}, [[`GET ${second}`, null, 200]]);
  const revoked = await sendRow(test, owner, `POST ${revoke}`);
  await assertRows(test, owner, [
    [`GET ${second}`, null, 404],
    [`GET ${revoked.location}`, null, 200, { notices: [words.revoked(email)] }],
    [`GET ${revoke}`, null, 404],
    [`POST ${revoke}`, null, 404],
  ]);
});

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
    assert.equal(html.includes("Newest invitations"), pages > 0);
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
  const rejected = await assertRows(test, owner, [[`POST ${path}`, { email, role: "MEMBER" }, 503]]);
  assert.match(noticesOf(rejected.html).join(), inPage(words.noEmail));
}, { BASE_URL: "https://auth.example.com" });

testApp("every page asks to confirm the email address until it is confirmed", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const question = 'action="/portal/account/verification"';
  const pages = [path, "/portal/api-keys", "/portal/organizations"];
  await assertRows(test, owner, pages.map((one): Row => [`GET ${one}`, null, 200, { shows: [question] }]));
  const member = await joinBy(test, owner, { name: "Mia Member" });
  await assertRows(test, member, [[`GET ${path}`, null, 200, { hides: [question] }]]);
});

testApp("more emails in an hour than the limit are rejected above the list, and sent later", async (test) => {
  const owner = await verifiedPerson(test, "Olive Owner");
  const { id } = await inviteTo(test, owner, { email });
  const resend = `POST /portal/invitations/${id}/resend`;
  for (let sent = 1; sent < invitationMailsPerHourMax; sent++) {
    await inviteTo(test, owner, { email: `guest${sent}@example.com` });
  }
  const { answer, html } = await assertRows(test, owner, [[resend, null, 429]]);
  const waitSeconds = Number(answer.headers.get("retry-after"));
  assert.ok(waitSeconds > 60 && waitSeconds <= 3600);
  const minutes = Math.ceil(waitSeconds / 60);
  assert.deepEqual(noticesOf(html), [`Too many attempts. Try again in ${minutes} minutes.`]);
  await assertRows(test, owner, [[`POST ${path}`, { email: "linus@example.com", role: "ADMIN" }, 429, {
    shows: ['name="email" value="linus@example.com"'],
  }]]);
  test.advance(waitSeconds * 1000);
  assert.match((await sendRow(test, owner, resend)).location ?? "", /\?done=resent&/);
});
