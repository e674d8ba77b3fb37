// A required provider is for the verified domains of its organization: members of a domain that was only added sign in as before.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { mayLeaveDomain } from "../../../db/access/domain_rules.ts";
import { beginShortening, shortenSomeSessions } from "../../../db/access/domain_rules.ts";
import { requireMayLeaveDomain } from "../../../services/people/domain_rules.ts";
import { testApp, testPassword } from "../../support/app/app.ts";
import { assertRows } from "../../support/app/rows.ts";
import { ssoOf } from "../../support/identity_providers/company.ts";
import { addProvider } from "../../support/identity_providers/providers.ts";
import { joinedPerson, verifiedPerson } from "../../support/people/people.ts";

const dayMs = 24 * 3_600_000;

testApp("a provider is required only for verified domains, not for others that were added", async (test) => {
  const { database } = test.opened;
  const owner = await verifiedPerson(test);
  const [proved, unproved] = ["ada@proved.example", "bob@unproved.example"];
  for (const email of [proved, unproved]) {
    const { userId } = await joinedPerson(test, owner, "MEMBER");
    await database.write([sql`UPDATE users SET email = ${email} WHERE id = ${userId}`]);
  }
  const domains = ["proved.example"];
  const company = { organizationId: owner.organizationId, domains, enforced: true, sessionMaxDays: 5 };
  const peer = { url: "https://idp.example", clientId: "c", clientSecret: "s" };
  await addProvider(test, peer, { company });
  await assertRows(test, owner, [
    [`POST ${ssoOf(owner)}/domains`, { domain: "unproved.example" }, 201, { shows: ['"verifiedAt":null'] }],
    [`GET ${ssoOf(owner)}`, null, 200, { shows: ['"enforced":true'] }],
  ]);

  const denied = "403 sso_required";
  const newPerson = { name: "New", password: testPassword };
  await assertRows(test, {}, [
    ["POST /api/auth/sign-in", { email: proved, password: testPassword }, denied],
    ["POST /api/auth/sign-in", { email: unproved, password: testPassword }, 200],
    ["POST /api/auth/sign-up", { ...newPerson, email: "new@proved.example" }, denied],
    ["POST /api/auth/sign-up", { ...newPerson, email: "new@unproved.example" }, 201],
    ["POST /api/auth/password/forgot", { email: proved }, denied],
    ["POST /api/auth/password/forgot", { email: unproved }, 202],
    // The page leads to the provider.
    ["POST /sign-in", { email: proved, password: testPassword }, 200, { shows: ["/sign-in/with/peer"] }],
    ["POST /sign-in", { email: unproved, password: testPassword }, 303],
  ]);

  const leave = (from: string, to: string) => requireMayLeaveDomain(test.services, { from, to });
  await leave(unproved, "bob@elsewhere.example");
  await assert.rejects(leave(proved, unproved), { code: "sso_required" });
  const may = sql`SELECT ${mayLeaveDomain({ from: proved, to: unproved })} AS may`;
  assert.deepEqual(await database.read(may), [{ may: 0 }]);

  const provider = { issuer: peer.url, clientId: peer.clientId, role: "MEMBER", enforced: true };
  await assertRows(test, owner, [[`PUT ${ssoOf(owner)}`, { ...provider, sessionMaxDays: 1 }, 200]]);
  const ends = await database.read(sql`SELECT DISTINCT u.email, s.expires_at AS ends FROM sessions s
    JOIN users u ON u.id = s.user_id WHERE u.email IN (${proved}, ${unproved}) ORDER BY 1`);
  const shortened = { email: proved, ends: test.now() + dayMs };
  assert.deepEqual(ends, [shortened, { email: unproved, ends: null }], "the longest sessions");
});

testApp(
  "shortens the sessions of a hundred members in a step, and goes on after a server died",
  async (test) => {
    const { database } = test.opened;
    const owner = await verifiedPerson(test);
    const { organizationId } = owner;
    const company = { organizationId, domains: ["many.example"], sessionMaxDays: 1 };
    await addProvider(test, { url: "https://idp.example", clientId: "c", clientSecret: "s" }, { company });
    const upTo = sql`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 250)`;
    const now = test.now();
    await database.write([
      sql`${upTo} INSERT INTO users (id, email, email_verified_at, name, password_hash, created_at)
      SELECT printf('usr_%032d', n), n || '@many.example', ${now}, 'Member', 'x', ${now} FROM n`,
      sql`${upTo} INSERT INTO memberships (user_id, organization_id, role, created_at)
      SELECT printf('usr_%032d', n), ${organizationId}, 'MEMBER', ${now} FROM n`,
      sql`${upTo} INSERT INTO sessions (token_hash, id, user_id, created_at, last_seen_at, address, user_agent)
      SELECT printf('%064d', n), printf('ses_%032d', n), printf('usr_%032d', n), ${now}, ${now}, '', '' FROM n`,
      ...beginShortening(organizationId, sql`true`),
    ]);
    const shortened: unknown[] = [];
    do {
      const [row] = await database.read(
        sql`SELECT count(*) AS count FROM sessions WHERE expires_at = ${now + dayMs}`,
      );
      shortened.push(row?.["count"]);
    } while (await shortenSomeSessions(database));
    assert.equal(shortened.at(-1), 250);
    // The owner is one of the members.
    const steps = shortened.map((count, index) => Number(count) - Number(shortened[index - 1] ?? 0));
    assert.ok(steps.length === 3 && steps.every((count) => count <= 100), steps.join());
  },
);
