// The statements that sign people in obey the rules of their address's domain by themselves, on each kind of database.
import assert from "node:assert/strict";
import { insertUser } from "../../../db/people/users.ts";
import { insertAuditEvent } from "../../../db/access/audit.ts";
import { sql, type Statement } from "../../../db/engine/database.ts";
import { domainPermits, mayLeaveDomain } from "../../../db/access/domain_rules.ts";
import { insertPendingSignIn } from "../../../db/people/pending_sign_ins.ts";
import { insertAuditedSession, insertSession } from "../../../db/access/sessions.ts";
import { newId } from "../../../domain/id.ts";
import { hashToken, newSession, newToken } from "../../../services/access/session_tokens.ts";
import { addProvider } from "../../support/identity_providers/providers.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";
import { joinedPerson, verifiedPerson } from "../../support/people/people.ts";
import { turnOnTwoStep } from "../../support/people/second_step.ts";

const client = { address: "127.0.0.1", userAgent: "", requestId: null };

onEveryDatabase("a required provider stops every statement that signs in another way", async (test) => {
  const owner = await verifiedPerson(test);
  const member = await joinedPerson(test, owner, "MEMBER");
  const twoStep = await joinedPerson(test, owner, "MEMBER");
  await turnOnTwoStep(test, twoStep.cookie);
  const { database } = test.opened;
  const peer = { url: "https://idp.example", clientId: "c", clientSecret: "s" };
  const { organizationId } = owner;
  const company = { organizationId, domains: ["example.com"], enforced: true, sessionMaxDays: 2 };
  await addProvider(test, peer, { company });
  const now = test.now();
  const hashOf = async (id: string) => {
    const row = await database.readFirst<{ hash: string }>(
      sql`SELECT password_hash AS hash FROM users WHERE id = ${id}`,
    );
    return row?.hash ?? "";
  };
  const changes = async (...batch: Statement[]) => (await database.write(batch)).at(-1)?.changes;
  const withPasskey = (userId: string) => {
    const entry = { action: "session.created", organizationId: null } as const;
    const audit = insertAuditEvent({ type: "system", client }, entry, { now, always: true });
    const { row } = newSession(userId, { client, now });
    return changes(
      audit.statement,
      insertAuditedSession(row, { audited: audit.id, pendingHash: null, factor: "pop" }),
    );
  };
  const attempts = async () => {
    const { row } = newSession(member.userId, { client, now });
    const pending = { tokenHash: hashToken(newToken()), userId: twoStep.userId, expiresAt: now + 1_000 };
    const email = `${newId("usr")}@example.com`;
    const user = { id: newId("usr"), email, emailVerifiedAt: null, name: "New", passwordHash: "x", now };
    return [
      await changes(insertSession(row, await hashOf(member.userId))),
      await changes(insertPendingSignIn(pending, await hashOf(twoStep.userId))),
      await withPasskey(member.userId),
      await withPasskey(owner.userId),
      await changes(insertUser(user, domainPermits(sql`${email}`, {}))),
    ];
  };
  const mayLeaveFor = async (to: string) =>
    await database.readFirst(sql`SELECT 1 WHERE ${mayLeaveDomain({ from: member.email, to })}`) !== undefined;
  assert.deepEqual(await attempts(), [0, 0, 0, 1, 0]);
  assert.deepEqual([await mayLeaveFor("a@other.example"), await mayLeaveFor("a@example.com")], [false, true]);
  await database.write([sql`UPDATE identity_providers SET enforced = 0`]);
  assert.deepEqual(await attempts(), [1, 1, 1, 1, 1]);
  assert.equal(await mayLeaveFor("a@other.example"), true);
  const ends = await database.read(
    sql`SELECT DISTINCT expires_at AS ends FROM sessions WHERE expires_at IS NOT NULL`,
  );
  assert.deepEqual(ends, [{ ends: now + 2 * 24 * 3_600_000 }]);
});
