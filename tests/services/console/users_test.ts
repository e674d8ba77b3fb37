// The operator's verbs on every kind of database, with a running app.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import type { OperatorActor } from "../../../domain/access/actor.ts";
import { AppError, type ErrorCode } from "../../../domain/errors.ts";
import { operatorLinkLifetimeMs, operatorPageItemsMax } from "../../../domain/limits.ts";
import { createUser } from "../../../services/console/new_user.ts";
import { resetUserPassword } from "../../../services/console/passwords.ts";
import { disableUser, enableUser } from "../../../services/console/users.ts";
import { allUsers } from "../../../services/console/user_list.ts";
import { hashToken } from "../../../services/access/session_tokens.ts";
import { createTestKey, type TestApp, testPassword, type TestPerson } from "../../support/app/app.ts";
import { onBothDatabases, onEveryDatabase } from "../../support/meter/usage.ts";

const client = { address: "", userAgent: "gatehouse user test", requestId: null };
const actor: OperatorActor = { type: "operator", client, credential: { kind: "commandLine" } };
const other = "seven blue lanterns";

function rejectsWith(code: ErrorCode) {
  return (error: unknown) => error instanceof AppError && error.code === code;
}

/** @returns The status of a sign-in, and whether it takes a second step. */
async function signIn(test: TestApp, email: string, password = testPassword): Promise<[number, boolean]> {
  const response = await test.send("/api/auth/sign-in", { json: { email, password } });
  return [response.status, (await response.text()).includes("secondStep")];
}

/** @returns The status of choosing a password with a link. */
async function choose(test: TestApp, link: { address: string } | null, password = other): Promise<number> {
  const token = new URL(link?.address ?? "").searchParams.get("token");
  const response = await test.send("/api/auth/password/reset", { json: { token, password } });
  await response.body?.cancel();
  return response.status;
}

async function isSignedIn(test: TestApp, cookie: string): Promise<boolean> {
  return (await (await test.send("/api/auth/me", { cookie })).json()).authenticated;
}

/** @returns The operator's audit entries, oldest first. */
function entries(test: TestApp): Promise<Record<string, unknown>[]> {
  return test.opened.database.read(
    sql`SELECT action, organization_id AS organizationId, target_name AS target, user_agent AS userAgent
     FROM audit_events WHERE actor_type = 'operator' ORDER BY id`,
  );
}

/** Turns on two-step sign-in. */
async function turnOnTwoStep(test: TestApp, userId: string): Promise<void> {
  await test.opened.database.write([
    sql`INSERT INTO totp VALUES (${userId}, 'SECRET', ${test.now()}, ${test.now()}, 0, 0, NULL)`,
    sql`INSERT INTO recovery_codes VALUES (${userId}, 'hash', NULL)`,
  ]);
}

/** @returns How many rows of each table belong to a user. */
async function counts(test: TestApp, userId: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const table of ["sessions", "totp", "recovery_codes", "pending_sign_ins", "passkey_challenges"]) {
    const query = { sql: `SELECT count(*) AS n FROM ${table} WHERE user_id = ?`, args: [userId] };
    found[table] = (await test.opened.database.readFirst<{ n: number }>(query))?.n ?? -1;
  }
  const links = sql`SELECT count(*) AS n FROM link_tokens WHERE subject = ${userId}`;
  found["links"] = (await test.opened.database.readFirst<{ n: number }>(links))?.n ?? -1;
  return found;
}

onEveryDatabase(
  "creates an account with a new organization or in an existing one, with audit entries there",
  async (test) => {
    const { services } = test;
    const owner = await createUser(services, actor, {
      email: "Ada@example.com",
      name: "Ada",
      password: testPassword,
    });
    assert.equal(owner.link, null);
    const join = { organizationId: owner.organizationId, role: "ADMIN" } as const;
    const made = await createUser(services, actor, { email: "bob@example.com", name: "Bob", join });
    assert.ok(made.link);
    assert.deepEqual(await signIn(test, "ada@example.com"), [200, false]);
    const token = new URL(made.link.address).searchParams.get("token") ?? "";
    for (const guess of ["", token, hashToken(token)]) {
      assert.deepEqual(await signIn(test, "bob@example.com", guess), [401, false]);
    }
    test.advance(operatorLinkLifetimeMs - 1);
    assert.equal(await choose(test, made.link), 204);
    assert.deepEqual(await signIn(test, "bob@example.com", other), [200, false]);
    const users = (await Array.fromAsync(allUsers(services))).flat();
    assert.deepEqual(users.map(({ email, organizations }) => [email, organizations]), [
      ["ada@example.com", [{ id: owner.organizationId, name: "Ada’s organization", role: "OWNER" }]],
      ["bob@example.com", [{ id: owner.organizationId, name: "Ada’s organization", role: "ADMIN" }]],
    ]);
    const entry = { organizationId: owner.organizationId, userAgent: "gatehouse user test" };
    assert.deepEqual(await entries(test), [
      { ...entry, action: "account.created", target: "ada@example.com" },
      { ...entry, action: "organization.created", target: "Ada’s organization" },
      { ...entry, action: "account.created", target: "bob@example.com" },
      { ...entry, action: "member.joined", target: "bob@example.com" },
    ]);
  },
);

onEveryDatabase("writes nothing if an account can't be created", async (test) => {
  const { services } = test;
  const { organizationId, email, userId } = await test.signUp();
  const { database } = test.opened;
  const tables = ["users", "organizations", "memberships", "link_tokens", "audit_events", "outbox"];
  const all = async () =>
    JSON.stringify(
      await Promise.all(tables.map((table) => database.read({ sql: `SELECT * FROM ${table}`, args: [] }))),
    );
  const before = await all();
  const make = (more: Partial<Parameters<typeof createUser>[2]>) =>
    createUser(services, actor, { email: "eve@example.com", name: "Eve", ...more });
  const join = { organizationId, role: "OWNER" } as const;
  for (
    const taken of [{ email }, { email: email.toUpperCase() }, { email, join }, { email, password: other }]
  ) {
    await assert.rejects(make(taken), rejectsWith("email_taken"));
  }
  const nowhere = { organizationId: "org_x", role: "OWNER" } as const;
  for (
    const wrong of [{ join: nowhere }, { email: "eve" }, { password: "short" }, {
      password: "eve@example.com",
    }]
  ) {
    await assert.rejects(make(wrong), rejectsWith("validation_failed"));
  }
  assert.equal(await all(), before);
  await database.write([
    sql`UPDATE organizations SET deleted_at = 1 WHERE id = ${organizationId}`,
    sql`DELETE FROM memberships WHERE user_id = ${userId}`,
  ]);
  await assert.rejects(make({ join }), rejectsWith("validation_failed"));
});

onEveryDatabase(
  "creates a password link that works once, for a day, and ends older links but no session",
  async (test) => {
    const { services } = test;
    const ada = await test.signUp();
    const bob = await test.signUp("Bob");
    const reset = (email = ada.email) => resetUserPassword(services, actor, { email, turnOffTwoStep: false });
    const bobs = await reset(bob.email);
    const first = await reset();
    const second = await reset();
    assert.equal(await choose(test, first.link), 404);
    assert.equal(await isSignedIn(test, ada.cookie), true);
    assert.equal(await choose(test, second.link), 204);
    assert.equal(await choose(test, second.link), 404);
    assert.equal(await isSignedIn(test, ada.cookie), false);
    assert.deepEqual(await signIn(test, ada.email, other), [200, false]);
    const late = await reset();
    test.advance(operatorLinkLifetimeMs);
    assert.equal(await choose(test, late.link), 404);
    assert.equal(await choose(test, bobs.link), 404);
    // A link that wasn't emailed confirms no address.
    const [user] = (await Array.fromAsync(allUsers(services))).flat();
    assert.equal(user?.emailVerifiedAt, null);
    assert.ok((await entries(test)).every(({ action }) => action === "password.reset_requested"));
    await assert.rejects(reset("nobody@example.com"), rejectsWith("not_found"));
  },
);

onEveryDatabase(
  "turns off two-step sign-in, with audit entries and emails",
  async (test) => {
    const { services } = test;
    const ada = await test.signUp();
    const bob = await test.signUp("Bob");
    for (const { userId } of [ada, bob]) await turnOnTwoStep(test, userId);
    await test.opened.database.write([
      sql`INSERT INTO passkeys VALUES ('pas_1', ${ada.userId}, 'c', 'k', 0, '[]', 'Phone', 1, NULL, NULL)`,
    ]);
    const turnOff = async ({ email }: TestPerson, password?: string) =>
      (await resetUserPassword(services, actor, { email, password, turnOffTwoStep: true })).hadTwoStep;
    await assert.rejects(turnOff(ada, "short"), rejectsWith("validation_failed"));
    assert.deepEqual(await signIn(test, ada.email), [200, true]);
    assert.deepEqual([await turnOff(ada), await turnOff(ada)], [true, false]);
    const left = await counts(test, ada.userId);
    assert.deepEqual([left["totp"], left["recovery_codes"], left["pending_sign_ins"]], [0, 0, 0]);
    assert.deepEqual(await signIn(test, ada.email), [200, false]);
    assert.deepEqual(await signIn(test, bob.email), [200, true]);
    // It was never on.
    const { database } = test.opened;
    await database.write([sql`UPDATE totp SET confirmed_at = NULL WHERE user_id = ${bob.userId}`]);
    assert.equal(await turnOff(bob), false);
    const entry = ({ organizationId, email: target }: TestPerson, action: string) => ({
      ...{ action, organizationId, target },
      userAgent: "gatehouse user test",
    });
    assert.deepEqual(await entries(test), [
      ...["password.reset_requested", "two_step.disabled", "passkey.removed", "password.reset_requested"]
        .map((action) => entry(ada, action)),
      entry(bob, "password.reset_requested"),
    ]);
    const mails = sql`SELECT recipient FROM outbox WHERE kind = 'two_step_disabled'`;
    assert.deepEqual(await database.read(mails), [{ recipient: ada.email }]);
  },
);

onBothDatabases(
  "ends everything of a disabled user, and revokes their keys in every organization",
  async (test) => {
    const { services } = test;
    const { database } = test.opened;
    const ada = await test.signUp();
    const bob = await test.signUp("Bob");
    const adas = await createTestKey(test, ada, { name: "Ada’s" });
    const bobs = await createTestKey(test, bob);
    const elsewhere = await createTestKey(test, bob, { name: "Elsewhere" });
    const expired = await createTestKey(test, ada, { expiresAt: new Date(test.now() + 1000).toISOString() });
    test.advance(2000);
    await turnOnTwoStep(test, ada.userId);
    await signIn(test, ada.email);
    const invite = (by: TestPerson) =>
      test.send(`/api/portal/organizations/${by.organizationId}/invitations`, {
        cookie: by.cookie,
        json: { email: "eve@example.com", role: "OWNER" },
      });
    for (const by of [ada, bob]) assert.equal((await invite(by)).status, 201);
    const { link } = (await test.mails()).find(({ to }) => to === "eve@example.com") ?? {};
    await resetUserPassword(services, actor, { email: ada.email, turnOffTwoStep: false });
    await database.write([
      sql`UPDATE api_keys SET created_by = ${ada.userId} WHERE id = ${elsewhere.id}`,
      sql`INSERT INTO passkey_challenges VALUES ('c', 'second_step', ${ada.userId}, ${test.now() + 1000})`,
    ]);
    assert.deepEqual(await disableUser(services, actor, { email: ada.email, revokeKeys: false }), {
      wasDisabled: false,
      activeKeys: 2,
      revokedKeys: 0,
      revokedInvitations: 1,
    });
    const offer = await test.send(link?.slice(test.config.baseUrl.origin.length) ?? "");
    assert.equal(offer.status, 404, await offer.text());
    const open = sql`SELECT invited_by AS by FROM invitations WHERE revoked_at IS NULL`;
    assert.deepEqual(await database.read(open), [{ by: bob.userId }]);
    assert.deepEqual(await counts(test, ada.userId), {
      sessions: 0,
      totp: 1,
      recovery_codes: 1,
      pending_sign_ins: 0,
      passkey_challenges: 0,
      links: 0,
    });
    assert.deepEqual(await disableUser(services, actor, { email: ada.email, revokeKeys: true }), {
      wasDisabled: true,
      activeKeys: 0,
      revokedKeys: 2,
      revokedInvitations: 0,
    });
    const revoked = await database.read<{ id: string }>(
      sql`SELECT id FROM api_keys WHERE revoked_at IS NOT NULL ORDER BY number`,
    );
    assert.deepEqual(revoked.map(({ id }) => id), [adas.id, elsewhere.id]);
    assert.notEqual(expired.id, bobs.id);
    const entriesOf = async (wanted: string) =>
      (await entries(test)).filter(({ action }) => action === wanted)
        .map(({ organizationId, target }) => [organizationId, target]).sort();
    assert.deepEqual(await entriesOf("invitation.revoked"), [[ada.organizationId, "eve@example.com"]]);
    const revokedKeys = [[ada.organizationId, "Ada’s"], [bob.organizationId, "Elsewhere"]];
    assert.deepEqual(await entriesOf("api_key.revoked"), revokedKeys.sort());
    await assert.rejects(
      resetUserPassword(services, actor, { email: ada.email, turnOffTwoStep: true }),
      rejectsWith("validation_failed"),
    );
    assert.equal((await counts(test, ada.userId))["totp"], 1);
    assert.equal(await isSignedIn(test, bob.cookie), true);
    assert.deepEqual(await enableUser(services, actor, { email: ada.email }), { wasDisabled: true });
    assert.deepEqual(await signIn(test, ada.email), [200, true]);
  },
);

onEveryDatabase("lists each of many users once, in order, page by page", async (test) => {
  const count = 2 * operatorPageItemsMax + 7;
  await test.opened.database.write(Array.from({ length: count }, (_, n) => {
    const email = `p${(n * 7919) % count}@example.com`;
    return sql`INSERT INTO users (id, email, name, password_hash, created_at)
      VALUES (${`usr_${n}`}, ${email}, 'N', '', 1)`;
  }));
  const pages = await Array.fromAsync(allUsers(test.services));
  assert.deepEqual(pages.map((page) => page.length), [operatorPageItemsMax, operatorPageItemsMax, 7]);
  const emails = pages.flat().map(({ email }) => email);
  assert.deepEqual(emails, Array.from({ length: count }, (_, n) => `p${n}@example.com`).sort());
});
