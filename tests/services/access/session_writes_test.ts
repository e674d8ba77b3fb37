// Writing as a session, on both kinds of database: a rejected batch leaves nothing behind, and says why.
import assert from "node:assert/strict";
import { type Database, DatabaseError, sql } from "../../../db/engine/database.ts";
import type { SessionActor } from "../../../domain/access/actor.ts";
import { AppError } from "../../../domain/errors.ts";
import { sessionWritesWaitingMax } from "../../../domain/limits.ts";
import type { Permission } from "../../../domain/access/permissions.ts";
import { accessTo, requirePermission } from "../../../services/access/access.ts";
import { type TestApp, testApp } from "../../support/app/app.ts";
import { onBothDatabases } from "../../support/meter/usage.ts";
import { run } from "../../support/people/scene.ts";

const dayMs = 24 * 3_600_000;

interface Scene {
  readonly test: TestApp;
  readonly actor: SessionActor;
  readonly organizationId: string;
}

async function signedIn(test: TestApp): Promise<Scene> {
  const { cookie, organizationId } = await test.signUp();
  const token = cookie.slice(cookie.indexOf("=") + 1);
  const { session } = await test.services.sessionSearch.find([token]);
  assert.ok(session);
  const client = { address: "127.0.0.1", userAgent: "test", requestId: null };
  return { test, actor: { ...session, type: "session", client }, organizationId };
}

/** @returns The error code of a rejected rename, or null if it was done. */
async function rename(
  { test, actor, organizationId }: Scene,
  permission: Permission | null,
): Promise<string | null> {
  const { opened: { database }, services: { writeAs } } = test;
  const by = permission === null ? actor : requirePermission(accessTo(actor, organizationId), permission);
  const before = await nameOf(database, actor);
  const to = `${before}+`;
  const batch = [sql`UPDATE users SET name = ${to} WHERE id = ${actor.user.id}`, sql`SELECT 1 AS one`];
  try {
    const results = await writeAs(by, batch);
    assert.deepEqual(results.map(({ changes }) => changes)[0], 1, "results are those of the batch");
    assert.deepEqual(results[1]?.rows, [{ one: 1 }]);
    assert.equal(await nameOf(database, actor), to);
    return null;
  } catch (error) {
    assert.ok(error instanceof AppError, String(error));
    assert.equal(await nameOf(database, actor), before);
    return error.code;
  }
}

async function nameOf(database: Database, { user: { id } }: SessionActor): Promise<string | undefined> {
  return (await database.readFirst<{ name: string }>(sql`SELECT name FROM users WHERE id = ${id}`))?.name;
}

onBothDatabases("writes a batch only for a live session with the required role", async (test) => {
  const scene = await signedIn(test);
  const { actor: { id, user } } = scene;
  const assertRename = async (permission: Permission | null, code: string | null) =>
    assert.equal(await rename(scene, permission), code);
  const setRole = (role: string) =>
    run(test, "UPDATE memberships SET role = ? WHERE user_id = ?", role, user.id);

  await assertRename(null, null);
  await assertRename("organization.manage", null);
  await setRole("ADMIN");
  await assertRename("organization.manage", "forbidden");
  await assertRename("members.manage", null);
  await setRole("MEMBER");
  await assertRename("members.manage", "forbidden");
  await assertRename("members.read", null);
  await run(test, "DELETE FROM memberships WHERE user_id = ?", user.id);
  await assertRename("members.read", "not_found");
  await assertRename(null, null);

  await run(test, "UPDATE users SET disabled_at = 1 WHERE id = ?", user.id);
  await assertRename(null, "unauthenticated");
  await run(test, "UPDATE users SET disabled_at = NULL WHERE id = ?", user.id);
  await assertRename(null, null);
  test.advance(test.config.sessionIdleDays * dayMs);
  await assertRename(null, "unauthenticated");
  test.advance(-test.config.sessionIdleDays * dayMs);
  await run(test, "DELETE FROM sessions WHERE id = ?", id);
  await assertRename(null, "unauthenticated");
  await assertRename("members.read", "unauthenticated");
  assert.deepEqual(await test.opened.database.read(sql`SELECT * FROM refused_writes`), []);
});

onBothDatabases("reports a constraint error of the batch itself as such", async (test) => {
  const { actor } = await signedIn(test);
  const broken = sql`UPDATE memberships SET role = 'KING' WHERE user_id = ${actor.user.id}`;
  await assert.rejects(
    test.services.writeAs(actor, [broken]),
    (error) => error instanceof DatabaseError && error.kind === "constraint",
  );
});

testApp("one person's waiting changes don't block everyone else's", async (test) => {
  const { actor } = await signedIn(test);
  const other = await signedIn(test);
  const rename = (by: SessionActor) =>
    test.services.writeAs(by, [sql`UPDATE users SET name = 'New' WHERE id = ${by.user.id}`]);
  const flood = Promise.allSettled(Array.from({ length: sessionWritesWaitingMax + 5 }, () => rename(actor)));
  await rename(other.actor);
  const rejected = (await flood).filter((result) => result.status === "rejected");
  assert.deepEqual(rejected.map(({ reason }) => reason.code), Array(5).fill("unavailable"));
  // There is room again.
  await rename(actor);
});
