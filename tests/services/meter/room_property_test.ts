// Questions that write nothing against the requests that follow them: one that says VALID is followed by an accepted record or hold of the
// same quantity, and one that finds no room by a rejection. Random windows, grants, refills, holds, limits and time zones, around turns.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { restartLimits, timezoneRows } from "../../../db/meter/usage_limits.ts";
import { limitWindow } from "../../../domain/meter/limit_window.ts";
import { doWork } from "../../support/meter/background_work.ts";
import { GrantModel } from "../../support/meter/grant_model.ts";
import { GrantScene, micros, quantities } from "../../support/meter/grant_scene.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { isRemote, onEveryDatabase } from "../../support/meter/usage.ts";
import { senderOf } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { run } from "../../support/people/scene.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";
import { poll } from "../../support/runner/poll.ts";
import type { TestApp } from "../../support/app/app.ts";

const minuteMs = 60_000;
const zones = ["UTC", "Asia/Tokyo", "Europe/Berlin"] as const;
const steps = {
  /** `room`: as much as fits, and one millionth less or more; null for the quantity. */
  ask: fc.record({
    quantity: quantities,
    room: fc.constantFrom(null, null, -1, 0, 1),
    as: fc.constantFrom("record" as const, "hold" as const, "hold" as const),
    expiresIn: fc.constantFrom(60, 3_600, 30_000, 86_400),
    onExpiry: fc.constantFrom("release", "release", "record"),
  }),
  end: fc.record({ which: fc.nat(), quantity: fc.option(quantities) }),
  grant: fc.record({
    quantity: quantities,
    which: fc.nat(1),
    minutes: fc.option(fc.nat(3_000)),
    every: fc.option(fc.constantFrom("day" as const, "week" as const), { freq: 2 }),
  }),
  void: fc.record({ which: fc.nat() }),
  /** `toTurn`: minutes after the end of the window. */
  advance: fc.oneof(
    fc.record({ toTurn: fc.constantFrom(-1, 0, 0, 1, 20) }),
    fc.record({ minutes: fc.constantFrom(1, 30, 200, 1_500) }),
  ),
  limit: fc.record({ quantity: fc.nat(12), restarts: fc.boolean() }),
  move: fc.record({ zone: fc.constantFrom(...zones) }),
};
const weights = { ask: 12, end: 4, grant: 4, void: 1, advance: 6, limit: 2, move: 1 };
type Steps = { [Name in keyof typeof steps]: typeof steps[Name] extends fc.Arbitrary<infer T> ? T : never };
type Step = { [Name in keyof Steps]: { type: Name } & Steps[Name] }[keyof Steps];
const history = fc.record({
  per: fc.constantFrom("minute" as const, "hour" as const, "day" as const, "day" as const, "month" as const),
  mode: fc.constantFrom("hard" as const, "hard" as const, "cutoff" as const),
  first: fc.nat(8),
  /** Of the limit in total, which grants raise, too. */
  total: fc.constantFrom(20, 200, 1_000),
  steps: fc.array(
    fc.oneof(
      ...Object.entries(steps).map(([type, arbitrary]) => ({
        weight: weights[type as keyof typeof weights],
        arbitrary: (arbitrary as fc.Arbitrary<object>).map((more) => ({ type, ...more }) as Step),
      })),
    ),
    { minLength: 10, maxLength: 40 },
  ),
});
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

interface Standing {
  readonly limitId: string;
  readonly quantity: number;
  readonly used: number;
  readonly held: number;
  readonly remaining: number;
}

async function createScene(test: TestApp, { per, mode, first, total }: History) {
  const scene = await GrantScene.create(test, new GrantModel(micros(first)), { per, mode, quantity: first });
  const { organizationId, key } = scene;
  const all = await addLimit(test, { organizationId }, { per: "total", mode: "hard", quantity: total });
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  const send = senderOf(test, { path: "/api/v1", apiKey: fullToken });
  return {
    scene,
    per,
    limits: [scene.limit.id, all.id],
    timezone: "UTC" as (typeof zones)[number],
    holds: [] as string[],
    records: [] as string[],
    /** Counters begin again with the next record or hold. */
    isRestarted: false,
    /** The answers to all questions so far. */
    outcomes: [] as string[],
    send,
    async verify(quantity: number, more: object = {}) {
      const usage = [{ productSlug: "tiles", metric: "requests", quantity }];
      const { status, body } = await send("POST /keys/verify", { key: key.fullKey, usage, ...more });
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    },
  };
}
type RoomScene = Awaited<ReturnType<typeof createScene>>;

const remainingOf = (limits: readonly Standing[]) =>
  limits.map(({ limitId, remaining }) => `${limitId} ${remaining}`).sort();

/** True if a window with holds lacks earlier usage, and shares grants. */
async function lacksUsage({ scene: { test, organizationId } }: RoomScene): Promise<boolean> {
  const row = await test.opened.database.readFirst(sql`
    SELECT 1 FROM organizations o JOIN usage_grant_accounts t ON t.organization = o.number AND t.per <> 'total'
    JOIN usage_limits l ON l.organization = o.number AND l.per = t.per
    JOIN usage_limit_counters c ON c.organization = o.number AND c.usage_limit = l.number
    WHERE o.id = ${organizationId} AND c.is_known = 0 AND c.held_high + c.held_low + c.held_micro > 0
      AND c.opened_seq >= max(l.created_seq, o.limits_seq)`);
  return row !== undefined;
}

async function ask(room: RoomScene, { as, expiresIn, onExpiry, ...asked }: Steps["ask"]): Promise<void> {
  const { limits } = await room.verify(0);
  const left: number = Math.min(...limits.map(({ remaining }: Standing) => remaining));
  const quantity = asked.room === null
    ? asked.quantity
    : Math.max(0, Math.round(left * 1e6) + asked.room) / 1e6;
  const question = await room.verify(quantity);
  assert.deepEqual(remainingOf(question.limits), remainingOf(limits), "the same question, the same numbers");
  const key = senderOf(room.scene.test, { path: "/api/v1", apiKey: room.scene.key.fullKey });
  assert.deepEqual(remainingOf((await key("GET /limits")).body.limits), remainingOf(limits), "lists");
  const isUnknown = room.isRestarted || await lacksUsage(room);
  const written = await room.verify(
    quantity,
    as === "record" ? { record: true } : { hold: { expiresIn, onExpiry } },
  );
  const shown = JSON.stringify({ quantity, question: question.limits, written }, null, 1);
  assert.equal(written.code, question.code, shown);
  // Without another record or hold, what is left is what was left without this one.
  const after = new Map(written.limits.map((limit: Standing) => [limit.limitId, limit]));
  for (const before of question.limits as Standing[]) {
    const limit = after.get(before.limitId) as Standing | undefined;
    if (limit === undefined) continue;
    const taken = written.valid ? micros(quantity) : 0n;
    const expected = micros(before.remaining) - taken;
    const left = expected > 0n ? expected : 0n;
    // What fits waits for no other window: until that has all usage, its holds may need all that they hold.
    if (isUnknown) assert.ok(micros(limit.remaining) <= left, shown);
    else assert.equal(micros(limit.remaining), left, shown);
  }
  room.isRestarted = false;
  await poll(async () => !await lacksUsage(room));
  room.outcomes.push(question.code);
  const isShared = ({ quantity, used, held, remaining }: Standing) =>
    remaining > 0 && micros(remaining) < micros(quantity) - micros(used) - micros(held);
  if (limits.some(isShared)) room.outcomes.push("room of other windows");
  if (written.hold !== null) room.holds.push(written.hold.id);
  room.records.push(...written.usageRecords);
}

const actions: { [Name in keyof Steps]: (room: RoomScene, step: Steps[Name]) => Promise<unknown> } = {
  ask,
  async end({ holds, send }, { which, quantity }) {
    const id = holds[which % holds.length];
    if (id === undefined) return;
    const records = quantity === null ? null : [{ productSlug: "tiles", metric: "requests", quantity }];
    await (records === null
      ? send(`POST /holds/${id}/release`, {})
      : send(`POST /holds/${id}/settle`, { records }));
  },
  async grant({ scene, limits }, { quantity, which, minutes, every }) {
    const { test } = scene;
    const endsAt = minutes === null || every !== null ? Infinity : test.now() + (minutes + 1) * minuteMs;
    const refill = every && { every, rollover: 1 as const, until: test.now() + 10 * 86_400_000 };
    // No more refills than a limit may have.
    await scene.give(quantity === 0 ? 1 : quantity, { endsAt, refill, limitId: limits[which] ?? "" })
      .catch((error) => assert.equal(error.code, "limit_reached"));
  },
  async void({ scene, records }, { which }) {
    const id = records[which % records.length];
    if (id !== undefined) await scene.voidRecord(id);
  },
  async advance({ scene: { test }, per, timezone }, step) {
    const end = limitWindow(per, timezone, test.now())?.end ?? 0;
    test.advance("minutes" in step ? step.minutes * minuteMs : end + step.toTurn * minuteMs - test.now());
    await doWork(test, "turns of refills");
  },
  async limit(room, { quantity, restarts }) {
    const { test, limit, organizationId } = room.scene;
    await run(test, "UPDATE usage_limits SET quantity_whole = ? WHERE id = ?", quantity, limit.id);
    if (!restarts) return;
    room.isRestarted = true;
    await test.opened.database.write([
      sql`UPDATE organizations SET ${restartLimits(test.now())} WHERE id = ${organizationId}`,
    ]);
  },
  async move(room, { zone }) {
    const { test, organizationId } = room.scene;
    room.timezone = zone;
    room.isRestarted = true;
    await test.opened.database.write([
      ...timezoneRows(zone, test.now()),
      sql`UPDATE organizations SET timezone = ${zone}, ${
        restartLimits(test.now())
      } WHERE id = ${organizationId}`,
    ]);
    await doWork(test, "turns of refills");
  },
};

onEveryDatabase("a question that writes nothing says what a record or hold then finds", async (test) => {
  const found = new Map<string, number>();
  const rounds = repeats({ quick: 25, full: isRemote(test) ? 10 : 150 });
  await runHistories(history, async (history) => {
    const room = await createScene(test, history);
    for (const { type, ...step } of history.steps) {
      await (actions[type] as (room: RoomScene, step: object) => Promise<unknown>)(room, step);
      await room.scene.settled();
    }
    for (const outcome of room.outcomes) found.set(outcome, (found.get(outcome) ?? 0) + 1);
  }, { rounds, test });
  if (rounds < 25) return;
  for (const outcome of ["VALID", "USAGE_EXCEEDED", "room of other windows"]) {
    assert.ok(found.has(outcome), JSON.stringify([...found]));
  }
});
