// Who may sign in or sign up with a provider: SIGN_UP, invitations, disabled accounts, suspended organizations, and races.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { startIssuer, type TestIssuer } from "../../../support/identity_providers/issuer.ts";
import { userOf, withPeer } from "../../../support/identity_providers/own_visits.ts";
import { addProvider, assertRejected } from "../../../support/identity_providers/providers.ts";
import { newVisitor, type Visitor } from "../../../support/identity_providers/visitor.ts";
import { inviteTo, me, verifiedPerson } from "../../../support/people/people.ts";
import { newOrganization, newPerson, run } from "../../../support/people/scene.ts";

/** Defines a test with the providers `peer`, and `known`, which creates no accounts by itself. */
function admissionTest(
  name: string,
  use: (test: TestApp, issuer: TestIssuer) => Promise<void>,
  settings: Parameters<typeof testApp>[2] = {},
): void {
  testApp(name, withPeer(use, [{ slug: "peer" }, { slug: "known", signUp: false }]), settings);
}

let people = 0;
const newEmail = () => `provided${++people}@example.com`;
const vouched = (email: string) => ({ sub: `sub-${email}`, email, email_verified: true });

async function newOwner(test: TestApp): Promise<TestPerson> {
  return await newPerson(test, { organizationId: await newOrganization(test, "Northwind"), role: "OWNER" });
}

/** Opens an invitation, and follows its button of a provider. */
async function acceptWith(visitor: Visitor, { slug, path }: { slug: string; path: string }) {
  const page = await visitor.open(path);
  const href = new RegExp(`href="(/sign-in/with/${slug}[^"]*)"`).exec(page.html)?.[1];
  assert.ok(href, page.html);
  return await visitor.open(href.replaceAll("&amp;", "&"));
}

for (const SIGN_UP of ["open", "invite", "closed"] as const) {
  admissionTest(`follows SIGN_UP=${SIGN_UP}`, async (test, issuer) => {
    for (const slug of ["peer", "known"]) {
      // Without an invitation.
      issuer.person = vouched(newEmail());
      const uninvited = newVisitor(test);
      if (SIGN_UP === "open" && slug === "peer") {
        const visited = await uninvited.signInWith(slug);
        assert.equal(visited.url.pathname, "/portal", visited.html + test.logged());
      } else {await assertRejected(test, uninvited, () => uninvited.signInWith(slug), {
          name: `${slug}, uninvited`,
        });}

      // With an invitation, for the invited address and for another one.
      const owner = await newOwner(test);
      if (SIGN_UP === "closed") continue;
      const email = newEmail();
      const { path } = await inviteTo(test, owner, { email, role: "ADMIN" });
      issuer.person = vouched(newEmail());
      const wrong = newVisitor(test);
      await assertRejected(test, wrong, () => acceptWith(wrong, { slug, path }), { name: `${slug}, wrong` });
      issuer.person = vouched(email);
      const invited = newVisitor(test);
      const visited = await acceptWith(invited, { slug, path });
      assert.ok(
        visited.url.pathname.startsWith("/portal"),
        `${slug}: ${visited.url} ${visited.html.slice(0, 500)}`,
      );
      assert.deepEqual(
        (await me(test, await invited.cookie())).memberships.map((
          { organizationId, role },
        ) => [organizationId, role]),
        [[owner.organizationId, "ADMIN"]],
      );

      // Existing accounts always.
      issuer.person = vouched((await newPerson(test, null)).email);
      assert.equal((await newVisitor(test).signInWith(slug)).status, 200);
    }
  }, { SIGN_UP });
}

admissionTest("rejects a disabled account, and shows a suspended organization", async (test, issuer) => {
  const ada = await verifiedPerson(test);
  issuer.person = vouched(ada.email);
  await newVisitor(test).signInWith("peer");
  await run(test, "UPDATE organizations SET suspended_at = ? WHERE id = ?", test.now(), ada.organizationId);
  const suspended = newVisitor(test);
  assert.match((await suspended.signInWith("peer")).html, /suspended/i);
  await run(test, "UPDATE users SET disabled_at = ? WHERE id = ?", test.now(), ada.userId);
  const disabled = newVisitor(test);
  await assertRejected(test, disabled, () => disabled.signInWith("peer"), { name: "a disabled account" });
  // Also when the identity is new.
  issuer.person = { ...vouched(ada.email), sub: "another" };
  await assertRejected(test, disabled, () => disabled.signInWith("peer"), {
    name: "a disabled account, new identity",
  });
});

/** Lets visits come back at the same time. @returns The ids of those who are signed in then. */
async function comeBack(test: TestApp, visits: readonly (readonly [Visitor, URL])[]): Promise<Set<string>> {
  const pages = await Promise.all(visits.map(([visitor, url]) => visitor.open(url)));
  for (const { status, html } of pages) assert.ok(status < 500, html);
  const users = await Promise.all(
    visits.map(async ([visitor]) => (await userOf(test, visitor))?.id ?? ""),
  );
  return new Set(users.filter((id) => id !== ""));
}

admissionTest("creates one account for first sign-ins at the same time", async (test, issuer) => {
  await using other = startIssuer();
  await addProvider(test, other, { slug: "other" });
  for (let round = 0; round < 5; round++) {
    const [same, shared] = [newEmail(), newEmail()];
    const begin = async (slug: string, email: string) => {
      issuer.person = other.person = vouched(email);
      const visitor = newVisitor(test);
      return [visitor, await visitor.untilCallback(slug)] as const;
    };
    // One identity from several browsers.
    const ofSame = [await begin("peer", same), await begin("peer", same), await begin("peer", same)];
    assert.equal((await comeBack(test, ofSame)).size, 1);
    // One address from two providers.
    const ofShared = [await begin("peer", shared), await begin("other", shared)];
    assert.equal((await comeBack(test, ofShared)).size, 1);
    for (const [email, identities] of [[same, 1], [shared, null]] as const) {
      const rows = await test.opened.database.read<{ count: number }>(sql`
        SELECT (SELECT count(*) FROM identities i WHERE i.user_id = u.id) AS count FROM users u WHERE email = ${email}`);
      assert.equal(rows.length, 1);
      assert.ok(identities === null ? (rows[0]?.count ?? 0) >= 1 : rows[0]?.count === identities);
    }
  }
  const organizations = await test.opened.database.readFirst<{ empty: number }>(sql`
    SELECT count(*) AS empty FROM organizations o
    WHERE NOT EXISTS (SELECT 1 FROM memberships m WHERE m.organization_id = o.id)`);
  assert.equal(organizations?.empty, 0);
});
