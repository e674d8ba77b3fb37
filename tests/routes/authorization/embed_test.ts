// Every page of portal sessions, tried with sessions of every kind, and every write of theirs, interrupted.
import assert from "node:assert/strict";
import type { Database, Statement } from "../../../db/engine/database.ts";
import { portalPageOf, portalPages } from "../../../domain/keys/portal_session.ts";
import { startTestApp, type TestApp, testApp } from "../../support/app/app.ts";
import { openWatched } from "../../support/app/meanwhile.ts";
import { type OpenPortalSession, openPortalSession } from "../../support/operators/portal_sessions.ts";
import { newScene, run, type Scene } from "../../support/people/scene.ts";
import { embedTable } from "./embed.ts";
import type { Attempt } from "./entry.ts";
import { send } from "./tries.ts";

const below = "/embed/:portalSessionId/";
const routes = Object.keys(embedTable).filter((route) => route.includes(below));
const pathOf = (route: string) => `/${route.split(below)[1]}`;
/** Have no purpose but their form. */
const isForm = (route: string) =>
  route.startsWith("POST ") || routes.includes(route.replace("GET ", "POST "));

/** Tries a route with the cookie of a session, in place of a person's. */
async function tryAs(
  scene: Scene,
  route: string,
  { id, cookie, attempt }: Pick<OpenPortalSession, "id" | "cookie"> & { attempt: Attempt },
): Promise<{ status: number; html: string }> {
  const me = { ...scene.me, cookie: `${scene.me.cookie}; ${cookie}` };
  const params = { ...attempt.params, portalSessionId: id };
  const response = await send({ ...scene, me }, { route, attempt: { ...attempt, params }, caller: "owner" });
  return { status: response.status, html: await response.text() };
}

const attemptOf = async (scene: Scene, route: string) => await embedTable[route]?.attempt?.(scene) ?? {};

testApp("a session has the pages of its organization, and forms unless it only reads", async (test) => {
  const scene = await newScene(test, "owner");
  const other = await newScene(test, "owner");
  const all = await openPortalSession(test, scene.organizationId);
  const reader = await openPortalSession(test, scene.organizationId, { readOnly: true });
  const foreign = await openPortalSession(test, other.organizationId);
  const without = new Map<string, OpenPortalSession>();
  for (const page of portalPages) {
    const pages = portalPages.filter((one) => one !== page);
    without.set(page, await openPortalSession(test, scene.organizationId, { pages }));
  }
  assert.ok(routes.length > 40, `only ${routes.length} routes`);
  const wrong: string[] = [];
  for (const route of routes) {
    const attempt = await attemptOf(scene, route);
    const expect = async (
      who: string,
      session: Pick<OpenPortalSession, "id" | "cookie">,
      isExpected: (status: number) => boolean,
    ) => {
      const { status } = await tryAs(scene, route, { ...session, attempt });
      if (!isExpected(status)) wrong.push(`${route}: ${status} for ${who}`);
    };
    const missing = without.get(portalPageOf(pathOf(route)) ?? "");
    assert.ok(missing, route);
    await expect("a session without the page", missing, (status) => status === 404);
    await expect(
      "a cookie of another session",
      { ...all, cookie: foreign.cookie },
      (status) => status === 401,
    );
    await expect("the id of another session", { ...all, id: foreign.id }, (status) => status === 401);
    // Lists of another organization are its own.
    const hasObject = /:(keyId|webhookId)/.test(route);
    if (hasObject) {
      await expect("another organization", foreign, (status) => status === 404);
    }
    await expect(
      "a session that only reads",
      reader,
      (status) => isForm(route) ? status === 403 : status === 200,
    );
    await expect("the session", all, (status) => status < 400 || status === 422);
  }
  assert.deepEqual(wrong, []);
});

/** Events that end a session, or keep it from changing anything. */
const interruptions: Readonly<Record<string, readonly [sql: string, status: number]>> = {
  ended: ["UPDATE portal_sessions SET ended_at = 1 WHERE id = ?1", 401],
  expired: ["UPDATE portal_sessions SET expires_at = 1 WHERE id = ?1", 401],
  revoked: [
    "UPDATE operator_tokens SET revoked_at = 1 WHERE id = (SELECT operator_token_id FROM portal_sessions WHERE id = ?1)",
    401,
  ],
  deleted: [
    "UPDATE organizations SET deleted_at = 1 WHERE id = (SELECT organization_id FROM portal_sessions WHERE id = ?1)",
    401,
  ],
  suspended: [
    "UPDATE organizations SET suspended_at = 1 WHERE id = (SELECT organization_id FROM portal_sessions WHERE id = ?1)",
    403,
  ],
  readOnly: ["UPDATE portal_sessions SET read_only = 1 WHERE id = ?1", 403],
};

Deno.test("no route writes for a portal session that just ended, and each of its batches checks the session first", async () => {
  let armed: ((batch: readonly Statement[], database: Database) => Promise<void>) | null = null;
  const open = () => openWatched(async (batch, database) => await armed?.(batch, database));
  const test = await startTestApp({}, { open });
  try {
    const wrong: string[] = [];
    let tries = 0;
    for (const route of routes.filter((one) => one.startsWith("POST "))) {
      for (const [name, [statement, expected]] of Object.entries(interruptions)) {
        const scene = await newScene(test, "owner");
        const session = await openPortalSession(test, scene.organizationId);
        const attempt = await attemptOf(scene, route);
        const before = await stored(test, scene);
        let batches = 0;
        armed = async (batch, database) => {
          if (batches++ > 0) return;
          const [first] = batch;
          if (!/refused_writes/.test(first?.sql ?? "") || !/portal_sessions/.test(first?.sql ?? "")) {
            wrong.push(`${route}: a batch begins with ${first?.sql.slice(0, 80)}`);
          }
          await database.write([{ sql: statement.replace("?1", "?"), args: [session.id] }]);
        };
        const { status, html } = await tryAs(scene, route, { ...session, attempt });
        armed = null;
        tries += batches;
        // A form may show the error itself.
        const isSaid = status === expected || (name === "suspended" && /suspended/.test(html));
        if (batches === 0 || !isSaid) wrong.push(`${route}, ${name}: ${status} after ${batches} batches`);
        if (await stored(test, scene) !== before) wrong.push(`${route}, ${name}: changed something`);
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(tries >= 90, `only ${tries} tries`);
  } finally {
    await test.dispose();
  }
});

/** @returns The rows that the pages can change, and the audit log. */
async function stored(test: TestApp, { organizationId }: Scene): Promise<string> {
  const number = "(SELECT number FROM organizations WHERE id = ?)";
  const found = [];
  for (
    const sql of [
      "SELECT * FROM api_keys WHERE organization_id = ?",
      "SELECT * FROM usage_limits WHERE organization IS NULL AND ? <> ''",
      `SELECT * FROM webhooks WHERE organization = ${number}`,
      `SELECT * FROM webhook_deliveries WHERE webhook IN (SELECT number FROM webhooks WHERE organization = ${number})`,
      "SELECT * FROM audit_events WHERE organization_id = ?",
    ]
  ) found.push(await test.opened.database.read({ sql, args: [organizationId] }));
  return JSON.stringify(found);
}

testApp("reading goes on in a suspended organization, and ends with the session", async (test) => {
  for (const [name, [statement, expected]] of Object.entries(interruptions)) {
    const scene = await newScene(test, "owner");
    const session = await openPortalSession(test, scene.organizationId);
    await run(test, statement.replace("?1", "?"), session.id);
    for (const route of ["GET /embed/:portalSessionId/api-keys", "GET /embed/:portalSessionId/limits"]) {
      const { status, html } = await tryAs(scene, route, { ...session, attempt: {} });
      assert.equal(status, expected === 401 ? 401 : 200, `${route}, ${name}`);
      if (name === "suspended") assert.match(html, /is suspended/);
    }
  }
});
