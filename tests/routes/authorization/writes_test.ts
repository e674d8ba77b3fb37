// Every write of every route for a session, interrupted: just before it, the session ends, its owner loses the role, or the
// organization is suspended.
import assert from "node:assert/strict";
import type { Database, Statement } from "../../../db/engine/database.ts";
import { startTestApp, type TestApp } from "../../support/app.ts";
import { openWatched } from "../../support/meanwhile.ts";
import { newWorld, type World } from "../../support/world.ts";
import type { Entry, Lost, Write } from "./entry.ts";
import { outcomeOf, send, table } from "./tries.ts";

/** What happens to the owner, or to the organization, just before a batch is written. */
type Interruption = "ended" | "suspended" | Lost;

/** Acts just before the `nth` batch that is written from now on. */
interface Interrupter {
  arm(nth: number, act: (database: Database) => Promise<void>): void;
  /** @returns The number of batches since then, up to the interrupted one. */
  disarm(): number;
}

/** Guesses and emails are counted, and denied requests logged, for everyone. */
const changesAnyway: readonly string[] = ["sign_in_failures", "mail_budgets", "access.denied"];
const rowsMax = 100_000;
/** Need a role, but change nothing in the organization. */
const whileSuspended: readonly string[] = [
  "POST /api/auth/organization",
  "POST /portal/switch",
  "POST /portal/access",
];

Deno.test("no route writes for a session that just ended or lost its role", async () => {
  const { test, interrupter } = await startInterruptedApp();
  try {
    const wrong: string[] = [];
    let tries = 0;
    for (const [route, entry] of Object.entries(table)) {
      for (const write of writesOf(route, entry)) {
        for (const interruption of ["ended", ...write.lost ?? []] as const) {
          for (let nth = 1;; nth++) {
            const fault = await faultOf(test, { route, write, interruption, nth, interrupter });
            if (fault === "not written") {
              if (nth === 1) wrong.push(`${route}: writes nothing; say so in its table`);
              break;
            }
            tries++;
            if (fault !== null) wrong.push(`${route}, ${interruption} before batch ${nth}: ${fault}`);
          }
        }
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(tries > 150, `only ${tries} tries`);
  } finally {
    await test.dispose();
  }
});

Deno.test("no route changes an organization that was just suspended, and people's own accounts can be changed", async () => {
  const { test, interrupter } = await startInterruptedApp();
  try {
    const wrong: string[] = [];
    let denied = 0;
    for (const [route, entry] of Object.entries(table)) {
      for (const write of writesOf(route, entry)) {
        const isInOrganization = (write.lost ?? []).length > 0 && !whileSuspended.includes(route);
        const fault = await faultOf(test, { route, write, interruption: "suspended", nth: 1, interrupter });
        const expected = isInOrganization ? null : "is “in”";
        if (fault !== expected) wrong.push(`${route}: ${fault}`);
        if (fault === null) denied++;
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(denied > 30, `only ${denied} denied`);
  } finally {
    await test.dispose();
  }
});

Deno.test("no GET request of a signed-in person writes", async () => {
  const { test, interrupter } = await startInterruptedApp();
  try {
    const writing: string[] = [];
    for (const [route, { who, attempt }] of Object.entries(table)) {
      if (!route.startsWith("GET ") || who.nobody !== "signIn") continue;
      const world = await newWorld(test, "owner");
      const tried = await attempt?.(world) ?? {};
      interrupter.arm(1, () => Promise.resolve());
      const response = await send(world, { route, attempt: tried, caller: "owner" });
      await response.body?.cancel();
      if (interrupter.disarm() > 0) writing.push(route);
    }
    assert.deepEqual(writing, []);
  } finally {
    await test.dispose();
  }
});

/** @returns The writes of a route in its table; by default its attempt. */
function writesOf(route: string, { who, attempt, writes }: Entry): readonly Write[] {
  if (writes !== undefined) return writes;
  if (route.startsWith("GET ") || who.nobody !== "signIn") return [];
  const lost = (["admin", "member", "removed"] as const).filter((caller) => who[caller] !== "in");
  return [{ attempt: attempt ?? (() => ({})), lost }];
}

async function startInterruptedApp(): Promise<{ test: TestApp; interrupter: Interrupter }> {
  let armed: ((database: Database) => Promise<void>) | null = null;
  let nth = 0;
  let batches = 0;
  const isNote = (batch: readonly Statement[]) => batch.some(({ args }) => args.includes("access.denied"));
  const open = () =>
    openWatched(async (batch, database) => {
      if (armed === null || isNote(batch) || ++batches !== nth) return;
      const act = armed;
      armed = null;
      await act(database);
    });
  const test = await startTestApp({ API_KEY_REQUESTS_PER_SECOND: "0", METRICS_TOKEN: "" }, { open });
  return {
    test,
    interrupter: {
      arm: (to, act) => {
        armed = act;
        nth = to;
        batches = 0;
      },
      disarm: () => {
        armed = null;
        return batches;
      },
    },
  };
}

/** @returns What is wrong, null if nothing is, or "not written" if the request wrote fewer batches. */
async function faultOf(
  test: TestApp,
  { route, write, interruption, nth, interrupter }: {
    route: string;
    write: Write;
    interruption: Interruption;
    nth: number;
    interrupter: Interrupter;
  },
): Promise<string | null> {
  const world = await newWorld(test, "owner");
  const attempt = await write.attempt(world);
  let before = new Map<string, string>();
  interrupter.arm(nth, async (database) => {
    await interrupt(database, { world, interruption });
    before = await stored(database);
  });
  const response = await send(world, { route, attempt, caller: "owner" });
  const body = await response.text();
  const outcome = outcomeOf(response, { body, also: [] });
  if (interrupter.disarm() < nth) {
    return outcome === "in"
      ? "not written"
      : `is “${outcome}” without an interruption (${body.slice(0, 300)})`;
  }
  if (interruption === "suspended" && outcome === "in") return "is “in”";
  const expected: readonly string[] = interruption === "ended" ? ["signIn"] : ["forbidden", "unknown"];
  if (!expected.includes(outcome)) return `is “${outcome}” (${response.status} ${body.slice(0, 300)})`;
  if (interruption === "suspended" && !body.includes("suspended")) {
    return `doesn't say why (${body.slice(0, 300)})`;
  }
  const changed = [...await stored(test.opened.database)].filter(([name, rows]) => rows !== before.get(name));
  return changed.length === 0 ? null : `changed ${changed.map(([name]) => name).join(", ")}`;
}

/** Ends the session, takes the role away, or suspends the organization. */
async function interrupt(
  database: Database,
  { world, interruption }: { world: World; interruption: Interruption },
): Promise<void> {
  const { me: { userId }, organizationId } = world;
  if (interruption === "ended") {
    await database.write([{ sql: "DELETE FROM sessions WHERE user_id = ?", args: [userId] }]);
    return;
  }
  if (interruption === "suspended") {
    await database.write([
      { sql: "UPDATE organizations SET suspended_at = 1 WHERE id = ?", args: [organizationId] },
    ]);
    return;
  }
  const membership = [userId, organizationId];
  const where = "WHERE user_id = ? AND organization_id = ?";
  await database.write([
    interruption === "removed" ? { sql: `DELETE FROM memberships ${where}`, args: membership } : {
      sql: `UPDATE memberships SET role = ? ${where}`,
      args: [interruption.toUpperCase(), ...membership],
    },
  ]);
}

/** @returns All rows of the database, by table. */
async function stored(database: Database): Promise<Map<string, string>> {
  const tables = await database.read<{ name: string }>({
    sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
    args: [],
  });
  const found = new Map<string, string>();
  for (const { name } of tables) {
    if (changesAnyway.includes(name)) continue;
    const rows = await database.read({ sql: `SELECT * FROM ${name} LIMIT ${rowsMax}`, args: [] });
    const kept = rows.filter((row) => !changesAnyway.includes(String(row["action"])));
    found.set(name, JSON.stringify(kept));
  }
  return found;
}
