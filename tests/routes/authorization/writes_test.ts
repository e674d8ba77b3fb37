// Every write of every route for a session or an operator, interrupted: just before it, the session ends, its owner loses the role, the
// organization is suspended, or an operator's credential stops working.
import assert from "node:assert/strict";
import { type Database, sql, type Statement } from "../../../db/engine/database.ts";
import { startTestApp, type TestApp } from "../../support/app/app.ts";
import { openWatched } from "../../support/app/meanwhile.ts";
import { makeOperator, newOperatorToken } from "../../support/operators/operators.ts";
import { newScene, run, type Scene } from "../../support/people/scene.ts";
import { type Attempt, type Entry, operatorsOf, type Outcome, type Write } from "./entry.ts";
import { isWebhookTest, outcomeOf, send, table } from "./tries.ts";

const denied = ["forbidden", "unknown"] as const;
/** What happens to a writer just before a batch is written, and what the route may then do. */
const interruptions = {
  owner: { ended: ["signIn"], suspended: denied, admin: denied, member: denied, removed: denied },
  // A page says with 403 that a second factor is required.
  operator: { ended: ["signIn"], notOperator: ["unknown"], secondFactor: ["secondFactor", "forbidden"] },
  operatorToken: { revoked: ["token"], expired: ["token"], scopeTaken: ["scope"] },
} satisfies Record<string, Record<string, readonly Outcome[]>>;
type Writer = keyof typeof interruptions;
type Interruption = { [W in Writer]: keyof (typeof interruptions)[W] }[Writer];

/** A write, and what interrupts it. */
interface Try {
  readonly route: string;
  readonly attempt: (scene: Scene) => Attempt | Promise<Attempt>;
  readonly writer: Writer;
  readonly interruption: Interruption;
}

/** Acts just before the `nth` batch that is written from now on. */
interface Interrupter {
  arm(nth: number, act: (database: Database) => Promise<void>): void;
  /** @returns The number of batches since then, up to the interrupted one. */
  disarm(): number;
}

/** Guesses, emails and outcomes of keys are counted, and denied requests logged, for everyone. */
const changesAnyway: readonly string[] = [
  "sign_in_failures",
  "mail_budgets",
  "api_key_outcomes",
  "api_key_rejections",
];
/** More than any request writes. */
const batchesMax = 20;
/** Need a role, but change nothing in the organization. */
const whileSuspended: readonly string[] = [
  "POST /api/auth/organization",
  "POST /portal/switch",
  "POST /portal/access",
];

Deno.test("no route writes for a session that just ended or lost its role", () =>
  interruptAll(
    150,
    (route, entry) =>
      writesOf(route, entry).flatMap(({ attempt, lost = [] }) =>
        (["ended", ...lost] as const).map((interruption) => ({
          route,
          attempt,
          writer: "owner",
          interruption,
        }))
      ),
  ));

Deno.test("no route writes for an operator whose credential just stopped working", () =>
  interruptAll(
    50,
    (route, { operators, tokensOnly = false, writesNothing = false, ...entry }) => {
      const attempt = entry.tokenAttempt ?? entry.attempt ?? (() => ({}));
      if (operators === undefined || route.startsWith("GET ") || writesNothing) return [];
      const writers = [
        ...(tokensOnly ? [] : ["operator"] as const),
        ...(operators === "account" ? [] : ["operatorToken"] as const),
      ];
      return writers.flatMap((writer) =>
        (Object.keys(interruptions[writer]) as Interruption[]).map((interruption) => (
          { route, attempt, writer, interruption }
        ))
      );
    },
  ));

/** Interrupts each batch of each try. @param triesMin How many there are at least, so that none is forgotten. */
async function interruptAll(
  triesMin: number,
  triesOf: (route: string, entry: Entry) => readonly Try[],
): Promise<void> {
  const wrong: string[] = [];
  let tries = 0;
  const { test, interrupter } = await startInterruptedApp();
  try {
    for (const one of Object.entries(table).flatMap(([route, entry]) => triesOf(route, entry))) {
      for (let nth = 1; nth <= (isWebhookTest.test(one.route) ? 1 : batchesMax); nth++) {
        const fault = await faultOf(test, { ...one, nth, interrupter });
        if (fault === "not written") {
          if (nth === 1) wrong.push(`${one.route}: writes nothing; say so in its table`);
          break;
        }
        tries++;
        if (fault !== null) wrong.push(`${one.route}, ${one.interruption} before batch ${nth}: ${fault}`);
      }
    }
  } finally {
    await test.dispose();
  }
  assert.deepEqual(wrong, []);
  assert.ok(tries > triesMin, `only ${tries} tries`);
}

Deno.test("no route changes an organization that was just suspended, and people's own accounts can be changed", async () => {
  const { test, interrupter } = await startInterruptedApp();
  try {
    const wrong: string[] = [];
    let denied = 0;
    for (const [route, entry] of Object.entries(table)) {
      for (const write of writesOf(route, entry)) {
        const isInOrganization = (write.lost ?? []).length > 0 && !whileSuspended.includes(route);
        const { attempt } = write;
        const one = { route, attempt, writer: "owner", interruption: "suspended" } as const;
        const fault = await faultOf(test, { ...one, nth: 1, interrupter });
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
    for (const [route, entry] of Object.entries(table)) {
      const { who, attempt } = entry;
      const isForOperators = operatorsOf(entry) !== undefined;
      if (!route.startsWith("GET ") || (who.nobody !== "signIn" && !isForOperators)) continue;
      const isWriting = async () => {
        const scene = await newScene(test, "owner");
        if (isForOperators) await makeOperator(test, scene.me);
        const tried = await attempt?.(scene) ?? {};
        interrupter.arm(1, () => Promise.resolve());
        const response = await send(scene, { route, attempt: tried, caller: "owner" });
        await response.body?.cancel();
        return interrupter.disarm() > 0;
      };
      // Something in the background may write during one request, but not during each.
      if (await isWriting() && await isWriting() && await isWriting()) writing.push(route);
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
  await noteChanges(test.opened.database);
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
  { route, attempt: prepare, writer, interruption, nth, interrupter }: Try & {
    nth: number;
    interrupter: Interrupter;
  },
): Promise<string | null> {
  const scene = await newScene(test, writer);
  const operatorToken = writer === "operatorToken" ? await newUsedToken(test) : undefined;
  if (writer === "operator") await makeOperator(test, scene.me);
  const attempt = await prepare(scene);
  // Nothing is written in the background meanwhile.
  await test.services.lastRequests.close();
  interrupter.arm(nth, async (database) => {
    await interrupt(database, { scene, interruption });
    await database.write([sql`DELETE FROM test_changes`]);
  });
  const response = await send(scene, { route, attempt, caller: writer, operatorToken });
  const body = await response.text();
  const outcome = outcomeOf(response, { body, also: [] });
  if (interrupter.disarm() < nth) {
    return outcome === "in"
      ? "not written"
      : `is “${outcome}” without an interruption (${body.slice(0, 300)})`;
  }
  if (interruption === "suspended" && outcome === "in") return "is “in”";
  const expected = (interruptions[writer] as Record<string, readonly string[]>)[interruption] ?? [];
  if (!expected.includes(outcome)) return `is “${outcome}” (${response.status} ${body.slice(0, 300)})`;
  if (interruption === "suspended" && !body.includes("suspended")) {
    return `doesn't say why (${body.slice(0, 300)})`;
  }
  const changed = await test.opened.database.read(sql`SELECT DISTINCT name FROM test_changes`);
  return changed.length === 0 ? null : `changed ${changed.map(({ name }) => name).join(", ")}`;
}

/** @returns A token with every scope, whose last use needs no update. */
async function newUsedToken(test: TestApp): Promise<string> {
  const { id, fullToken } = await newOperatorToken(test);
  await run(test, "UPDATE operator_tokens SET last_used_at = ? WHERE id = ?", test.now(), id);
  return fullToken;
}

/** Makes something happen to the writer. Tokens need not be told apart. */
async function interrupt(
  database: Database,
  { scene: { test, me: { userId }, organizationId }, interruption }: {
    scene: Scene;
    interruption: Interruption;
  },
): Promise<void> {
  const membership = [userId, organizationId] as const;
  const ofMember = "WHERE user_id = ? AND organization_id = ?";
  const setRole = `UPDATE memberships SET role = ? ${ofMember}`;
  const statements: Readonly<Record<Interruption, readonly [string, ...(string | number)[]]>> = {
    ended: ["DELETE FROM sessions WHERE user_id = ?", userId],
    suspended: ["UPDATE organizations SET suspended_at = 1 WHERE id = ?", organizationId],
    removed: [`DELETE FROM memberships ${ofMember}`, ...membership],
    admin: [setRole, "ADMIN", ...membership],
    member: [setRole, "MEMBER", ...membership],
    notOperator: ["UPDATE users SET operator_since = NULL WHERE id = ?", userId],
    secondFactor: ["UPDATE sessions SET second_factor_at = NULL WHERE user_id = ?", userId],
    revoked: ["UPDATE operator_tokens SET revoked_at = ?", test.now()],
    expired: ["UPDATE operator_tokens SET expires_at = ?", test.now()],
    scopeTaken: [`UPDATE operator_tokens SET scopes = '["audit:read"]'`],
  };
  const [text, ...args] = statements[interruption];
  await database.write([{ sql: text, args }]);
}

/** Notes the table of every row that is written from now on. Full-text indexes change only with the tables that they index. */
async function noteChanges(database: Database): Promise<void> {
  const tables = await database.read<{ name: string }>(
    sql`SELECT name FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite%'`,
  );
  const triggers = tables.filter(({ name }) => !changesAnyway.includes(name)).flatMap(({ name }) =>
    (["INSERT", "UPDATE", "DELETE"] as const).map((act) => ({
      sql: `CREATE TRIGGER test_${name}_${act} AFTER ${act} ON ${name}
        ${name === "audit_events" && act === "INSERT" ? "WHEN NEW.action <> 'access.denied'" : ""}
        BEGIN INSERT INTO test_changes VALUES ('${name}'); END`,
      args: [],
    }))
  );
  await database.write([{ sql: "CREATE TABLE test_changes (name TEXT)", args: [] }, ...triggers]);
}
