// Which account a provider's claims lead to: rules 1 to 5 of signing in with a provider, and what stands in the way as for passwords.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { type GithubEmail, startGithub } from "../../../support/identity_providers/github.ts";
import { userOf, withPeer } from "../../../support/identity_providers/own_visits.ts";
import {
  addProvider,
  assertRejected,
  type ProviderOptions,
} from "../../../support/identity_providers/providers.ts";
import { newVisitor, type Visited } from "../../../support/identity_providers/visitor.ts";
import { lastMail, me, verifiedPerson } from "../../../support/people/people.ts";
import { run } from "../../../support/people/scene.ts";
import { codeOf, twoStepPerson } from "../../../support/people/second_step.ts";

/** Defines a test with an issuer that is the provider `peer`. */
const accountTest = (name: string, use: Parameters<typeof withPeer>[0]) => testApp(name, withPeer(use));

let subjects = 0;

/** Makes someone new sign in with a provider. */
function personOf(
  email: string | undefined,
  claims: Readonly<Record<string, unknown>> = { email_verified: true },
) {
  return { sub: `subject-${++subjects}`, ...(email === undefined ? {} : { email }), ...claims };
}

async function identitiesOf(test: TestApp, userId: string): Promise<number> {
  const rows = await test.opened.database.read(sql`SELECT id FROM identities WHERE user_id = ${userId}`);
  return rows.length;
}

const isHome = ({ status, url }: Visited) => status === 200 && url.pathname.startsWith("/portal");

accountTest("knows an identity by issuer and subject, and never by its address", async (test, issuer) => {
  const grace = await verifiedPerson(test, "Grace");
  issuer.person = personOf("ada@example.com");
  const first = newVisitor(test);
  assert.ok(isHome(await first.signInWith("peer")));
  const ada = await userOf(test, first);
  assert.equal(ada?.email, "ada@example.com");
  // The provider now gives the same person the address of someone else, of nobody, or none.
  for (const email of [grace.email, "new@example.com", undefined]) {
    issuer.person = {
      sub: issuer.person.sub,
      ...(email === undefined ? {} : { email }),
      email_verified: true,
    };
    const again = newVisitor(test);
    assert.ok(isHome(await again.signInWith("peer")));
    assert.deepEqual(await userOf(test, again), ada);
  }
  assert.equal(await identitiesOf(test, grace.userId), 0);
  // And their first address to someone else, who is someone else here too.
  issuer.person = personOf("ada@example.com", {});
  const other = newVisitor(test);
  await assertRejected(test, other, () => other.signInWith("peer"), { name: "a reused address" });
});

/** Kinds of providers, their claims, and true if these vouch for the address. */
const statements: readonly (readonly [ProviderOptions, Readonly<Record<string, unknown>>, boolean])[] = [
  [{}, { email_verified: true }, true],
  [{}, {}, false],
  ...[false, "true", "false", 1, "1", null, [true], { value: true }].map((value) =>
    [{}, { email_verified: value }, false] as const
  ),
  [{ kind: "microsoft" }, { email_verified: true }, false],
  [{ kind: "microsoft" }, { xms_edov: true }, true],
  ...["true", "1", 1, false].map((value) => [{ kind: "microsoft" }, { xms_edov: value }, false] as const),
  [{}, { xms_edov: true }, false],
  [{ kind: "google" }, { email_verified: true }, true],
  [{ kind: "google" }, { email_verified: "true" }, false],
  [{ trustEmail: true }, {}, true],
  [{ trustEmail: true }, { email_verified: false }, true],
];

accountTest(
  "links an account only if the provider vouches for its confirmed address",
  async (test, issuer) => {
    for (const [index, [options, claims, vouches]] of statements.entries()) {
      const name = JSON.stringify([options, claims]);
      const slug = `p${index}`;
      await addProvider(test, issuer, { slug, ...options });
      const person = await verifiedPerson(test);
      issuer.person = personOf(person.email.toUpperCase(), claims);
      const visitor = newVisitor(test);
      if (!vouches) {
        const { status } = await assertRejected(test, visitor, () => visitor.signInWith(slug), { name });
        assert.ok(status < 500, name);
        continue;
      }
      assert.ok(isHome(await visitor.signInWith(slug)), name);
      assert.equal((await userOf(test, visitor))?.id, person.userId, name);
      assert.equal(await identitiesOf(test, person.userId), 1, name);
      // The account stays as it was, and its owner gets an email.
      assert.equal((await me(test, person.cookie)).authenticated, true, name);
      assert.match((await lastMail(test, person.email)).subject, new RegExp(`Peer ${slug}`), name);
    }
  },
);

/** GitHub's addresses of someone, and whether one is believed. */
const githubEmails: readonly (readonly [(email: string) => readonly GithubEmail[] | unknown, boolean])[] = [
  [(email) => [{ email, primary: true, verified: true }], true],
  [
    (
      email,
    ) => [{ email: "other@example.com", primary: false, verified: true }, {
      email,
      primary: true,
      verified: true,
    }],
    true,
  ],
  [(email) => [{ email, primary: true, verified: false }], false],
  [
    (
      email,
    ) => [{ email, primary: false, verified: true }, {
      email: "x@example.org",
      primary: true,
      verified: false,
    }],
    false,
  ],
  [(email) => [{ email, primary: true, verified: "true" }], false],
  [(email) => [{ email, primary: "true", verified: true }], false],
  [() => [], false],
  [() => ({ message: "?" }), false],
];

testApp("believes GitHub's primary verified address, and no public profile", async (test) => {
  const github = startGithub();
  try {
    await addProvider(test, github, { kind: "github", slug: "github" });
    for (const [index, [emails, vouches]] of githubEmails.entries()) {
      const person = await verifiedPerson(test);
      const login = `ada${index}`;
      github.person = {
        id: 1000 + index,
        login,
        email: person.email,
        emails: emails(person.email) as GithubEmail[],
      };
      const visitor = newVisitor(test);
      if (vouches) {
        assert.ok(isHome(await visitor.signInWith("github")), login);
        assert.equal((await userOf(test, visitor))?.id, person.userId);
      } else await assertRejected(test, visitor, () => visitor.signInWith("github"), { name: login });
    }
    for (const id of ["1000", null, -1, 1.5, 2 ** 53]) {
      github.person = { ...github.person, id: id as number };
      const visitor = newVisitor(test);
      await assertRejected(test, visitor, () => visitor.signInWith("github"), { name: `the id ${id}` });
    }
  } finally {
    await github.stop();
  }
});

accountTest("takes an account back whose address was never confirmed", async (test, issuer) => {
  const squatter = await test.signUp("Eve");
  issuer.person = personOf(squatter.email, {});
  const stranger = newVisitor(test);
  await assertRejected(test, stranger, () => stranger.signInWith("peer"), { name: "without an assertion" });
  assert.equal((await me(test, squatter.cookie)).authenticated, true);

  issuer.person = personOf(squatter.email);
  const owner = newVisitor(test);
  assert.ok(isHome(await owner.signInWith("peer")));
  const user = await userOf(test, owner);
  assert.deepEqual([user?.email, user?.emailVerified], [squatter.email, true]);
  assert.equal((await me(test, squatter.cookie)).authenticated, false);
  const json = { email: squatter.email, password: testPassword };
  assert.equal((await test.send("/api/auth/sign-in", { json })).status, 401);
});

accountTest("asks for the second step that is set up here", async (test, issuer) => {
  const ada = await twoStepPerson(test);
  await run(test, "UPDATE users SET email_verified_at = ? WHERE id = ?", test.now(), ada.userId);
  issuer.person = personOf(ada.email);
  for (const isKnown of [false, true]) {
    const visitor = newVisitor(test);
    const step = await visitor.signInWith("peer");
    assert.equal(step.url.pathname, "/sign-in/second-step", `known: ${isKnown}`);
    assert.equal(step.status, 200);
    assert.equal(await userOf(test, visitor), null);
    test.advance(60_000);
    const done = await visitor.open("/sign-in/second-step", {
      form: { code: codeOf(ada.secret, test.now()) },
    });
    assert.ok(isHome(done), done.html);
    assert.equal((await userOf(test, visitor))?.id, ada.userId);
  }
});
