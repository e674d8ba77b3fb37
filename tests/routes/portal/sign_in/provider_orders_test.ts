// Pre-hijacking: someone prepares accounts and identities with another person's address, in every order. The owner of the address, who
// comes with a provider that vouches for it or resets the password, shares no account with them, and ends visits in progress.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { type TestApp, testPassword } from "../../../support/app/app.ts";
import { startIssuer, type TestIssuer } from "../../../support/identity_providers/issuer.ts";
import { addProvider } from "../../../support/identity_providers/providers.ts";
import { newVisitor, type Visitor } from "../../../support/identity_providers/visitor.ts";
import { userOf } from "../../../support/identity_providers/own_visits.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { mailedToken } from "../../../support/people/people.ts";

/** One history: an address, Eve with all her browsers and identities, and the owner of the address. */
interface Story {
  readonly test: TestApp;
  readonly email: string;
  /** The provider `evil`, which vouches for nothing; the provider `peer`, which vouches. */
  readonly evil: TestIssuer;
  readonly peer: TestIssuer;
  readonly eves: Visitor[];
  readonly subjects: string[];
  /** Visits that she began, and hasn't finished. */
  readonly begun: (readonly [Visitor, URL])[];
}

const ownPassword = "an entirely different 7 phrase";

/** Signs in at `evil` as one of Eve's identities. */
async function visitEvil({ test, email, evil }: Story, sub: string): Promise<Visitor> {
  evil.person = { sub, email };
  const visitor = newVisitor(test);
  await visitor.signInWith("evil");
  return visitor;
}

/** Sends a form that leads to `evil`. @returns The address on its page, or null if she isn't signed in. */
async function formUrl(eve: Visitor, path: string): Promise<string | null> {
  const page = await eve.open(path, { form: { provider: "evil" } });
  return /http-equiv="refresh" content="0; url=([^"]+)"/.exec(page.html)?.[1]?.replaceAll("&amp;", "&") ??
    null;
}

/** Begins a visit, and stops before the browser comes back. */
async function begin({ begun }: Story, eve: Visitor, address: string): Promise<void> {
  const { location, html } = await eve.open(address, { stopAt: (url) => url.pathname.endsWith("/callback") });
  assert.ok(location, html);
  begun.push([eve, location]);
}

const steps = {
  async signsUpWithPassword({ test, email, eves }: Story) {
    const eve = newVisitor(test);
    await eve.open("/sign-up", {
      form: { name: "Eve", email, password: testPassword, organizationName: "" },
    });
    eves.push(eve);
  },
  async signsUpWithProvider(story: Story) {
    const sub = `${story.email} signed up`;
    story.subjects.push(sub);
    story.eves.push(await visitEvil(story, sub));
  },
  /** In every browser in which she is signed in. She also begins to connect another one, to confirm, and to sign in. */
  async connectsProvider(story: Story) {
    for (const [index, eve] of story.eves.entries()) {
      const sub = `${story.email} connected ${index}`;
      story.evil.person = { sub };
      const url = await formUrl(eve, "/portal/account/identities/link");
      if (url === null) continue;
      story.subjects.push(sub);
      await eve.open(url);
      const confirm = await formUrl(eve, "/portal/confirm-password/provider");
      assert.ok(confirm);
      await begin(story, eve, confirm);
      await begin(story, eve, "/sign-in/with/evil");
      story.evil.person = { sub: `${sub} later` };
      const later = await formUrl(eve, "/portal/account/identities/link");
      assert.ok(later);
      await begin(story, eve, later);
    }
  },
  async ownerComes({ test, email, peer }: Story) {
    peer.person = { sub: email, email, email_verified: true };
    const owner = newVisitor(test);
    await owner.signInWith("peer");
    assert.equal((await userOf(test, owner))?.email, email);
  },
} as const;

type Step = (story: Story) => Promise<void>;

async function ownerResets({ test, email }: Story): Promise<void> {
  const forgot = await test.send("/api/auth/password/forgot", { json: { email } });
  assert.equal(forgot.status, 202);
  const json = { token: await mailedToken(test, email), password: ownPassword };
  assert.equal((await test.send("/api/auth/password/reset", { json })).status, 204);
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest])
  );
}

/** Asserts that Eve gets to the owner's account in no way that she has. */
async function assertOwnersAlone(story: Story, name: string): Promise<void> {
  const { test, email, eves, subjects } = story;
  const owner = await test.opened.database.readFirst<{ id: string; verifiedAt: number | null }>(
    sql`SELECT id, email_verified_at AS verifiedAt FROM users WHERE email = ${email}`,
  );
  assert.ok(owner?.verifiedAt, name);
  for (const [eve, callback] of story.begun) {
    await eve.open(callback, { from: story.evil.url });
    assert.notEqual((await userOf(test, eve))?.id, owner.id, `${name}: ${callback.search}`);
  }
  for (const sub of subjects) eves.push(await visitEvil(story, sub));
  const eve = newVisitor(test);
  await eve.open("/sign-in", { form: { email, password: testPassword } });
  for (const visitor of [...eves, eve]) assert.notEqual((await userOf(test, visitor))?.id, owner.id, name);
  const identities = await test.opened.database.read<{ issuer: string }>(
    sql`SELECT issuer FROM identities WHERE user_id = ${owner.id}`,
  );
  assert.ok(identities.every(({ issuer }) => issuer === story.peer.url), name);
}

onEveryDatabase("an account that was prepared in any order is its owner's alone", async (test) => {
  await using evil = startIssuer();
  await using peer = startIssuer();
  await addProvider(test, evil, { slug: "evil" });
  await addProvider(test, peer, { slug: "peer" });
  const others = Object.entries(steps).filter(([name]) => name !== "ownerComes");
  const orders: (readonly [string, Step])[][] = [
    ...permutations(Object.entries(steps)),
    ...permutations(others).map((order) => [...order, ["ownerResets", ownerResets] as const]),
  ];
  assert.equal(orders.length, 30);
  let taken = 0;
  for (const [index, order] of orders.entries()) {
    const email = `victim${index}@example.com`;
    const story = { test, email, evil, peer, eves: [], subjects: [], begun: [] };
    for (const [, step] of order) await step(story);
    await assertOwnersAlone(story, order.map(([name]) => name).join(", "));
    taken += story.begun.length;
  }
  assert.ok(taken > 20, `only ${taken} visits`);
});
