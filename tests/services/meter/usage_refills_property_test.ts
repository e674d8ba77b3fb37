// Refills against a model in which a grant appears when its turn begins: random turns, records, voids, time zones and idle servers.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { refillPeriods } from "../../../domain/meter/usage_refill.ts";
import { voidRefill, writeRefillTurns } from "../../../services/meter/usage_refills.ts";
import type { TestApp } from "../../support/app/app.ts";
import { GrantModel } from "../../support/meter/grant_model.ts";
import { GrantScene, hourMs, micros } from "../../support/meter/grant_scene.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { RefillModel } from "../../support/meter/refill_model.ts";
import { isRemote, onEveryDatabase } from "../../support/meter/usage.ts";
import { run } from "../../support/people/scene.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";

const zones = ["UTC", "Europe/Berlin", "America/Los_Angeles", "Pacific/Auckland", "Australia/Lord_Howe"];
const step = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("refill" as const),
      quantity: fc.integer({ min: 1, max: 12 }),
      every: fc.constantFrom("day" as const, ...refillPeriods),
      rollover: fc.constantFrom(0 as const, 1 as const),
      days: fc.option(fc.integer({ min: 1, max: 9 })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("grant" as const), quantity: fc.integer({ min: 1, max: 9 }) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ type: fc.constant("record" as const), quantity: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("void" as const), which: fc.nat() }) },
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant("advance" as const), hours: fc.integer({ min: 1, max: 40 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("move" as const), timezone: fc.constantFrom(...zones) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("write" as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("voidRefill" as const), which: fc.nat() }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const history = fc.record({
  first: fc.nat(5),
  timezone: fc.constantFrom(...zones),
  steps: fc.array(step, { minLength: 5, maxLength: 40 }),
});

async function createScene(test: TestApp, { first, timezone }: { first: number; timezone: string }) {
  const model = new GrantModel(micros(first));
  const limit = { per: "total", mode: "hard", quantity: first, timezone } as const;
  const scene = await GrantScene.create(test, model, limit);
  return Object.assign(scene, {
    refills: new RefillModel(model, timezone),
    refillIds: [] as string[],
    writtenAt: test.now(),
  });
}
type Scene = Awaited<ReturnType<typeof createScene>>;

/** Writes turns ahead on two servers at the same time. */
async function write(scene: Scene): Promise<void> {
  const { services } = scene.test;
  const server = async () => {
    while (await writeRefillTurns(services));
  };
  await Promise.all([server(), server()]);
  scene.writtenAt = scene.test.now();
}

async function give(scene: Scene, step: Step & { type: "grant" | "refill" }): Promise<void> {
  const { test, model, refills } = scene;
  if (step.type === "grant") {
    await scene.give(step.quantity);
    return model.grant(micros(step.quantity), Infinity, test.now());
  }
  const until = step.days === null ? null : test.now() + step.days * 24 * hourMs;
  const refill = { every: step.every, rollover: step.rollover, until };
  const { refillId } = await scene.give(step.quantity, { refill });
  scene.refillIds.push(refillId ?? "");
  refills.add({ ...step, quantity: micros(step.quantity), until: until ?? Infinity }, test.now());
}

async function take(scene: Scene, step: Step): Promise<void> {
  const { test, model, refills } = scene;
  switch (step.type) {
    case "grant":
    case "refill":
      if (step.type === "refill" && scene.refillIds.length === 8) break;
      await give(scene, step);
      break;
    case "record": {
      const { quantity } = step;
      const ids = await scene.record([{ quantity }]);
      assert.equal(ids !== null, model.record([micros(quantity)], { now: test.now(), isHard: true }));
      for (const id of ids ?? []) scene.records.push({ id, record: micros(quantity) });
      break;
    }
    case "void":
      await scene.take(step);
      break;
    case "advance":
      test.advance(step.hours * hourMs);
      // The work in the background may be down for some days.
      if (test.now() - scene.writtenAt > 5 * 24 * hourMs) await write(scene);
      refills.pass(test.now());
      break;
    case "move":
      await run(
        test,
        "UPDATE organizations SET timezone = ? WHERE id = ?",
        step.timezone,
        scene.organizationId,
      );
      await write(scene);
      refills.move(step.timezone, test.now());
      break;
    case "write":
      await write(scene);
      break;
    case "voidRefill": {
      const which = step.which % scene.refillIds.length;
      const id = scene.refillIds[which];
      if (id === undefined) break;
      if (!refills.refills[which]?.isVoided) refills.void(which, test.now());
      await voidRefill(test.services, await scene.operator(), { id, reason: "Ended." });
    }
  }
}

interface GrantRow {
  readonly number: number;
  readonly turn: string | null;
  readonly ends: number;
  readonly used: string;
  readonly refill: string | null;
}

async function checkStanding(scene: Scene): Promise<void> {
  const { test, model, refills, refillIds } = scene;
  const now = test.now();
  assert.deepEqual(await scene.numbers(), scene.expected(model.used));
  const rows = await test.opened.database.read<GrantRow>(
    sql`SELECT g.number, g.turn,
      g.ends_at AS ends, CAST(g.used_micros AS TEXT) AS used, r.id AS refill
    FROM usage_grants g JOIN organizations o ON o.number = g.organization LEFT JOIN usage_refills r ON r.number = g.refill
    WHERE o.id = ${scene.organizationId} AND (g.turn IS NULL OR (g.starts_at <= ${now} AND (g.voided_at IS NULL OR g.voided_at >= g.starts_at))) ORDER BY g.turn, g.number`,
  );
  for (const [at, id] of refillIds.entries()) {
    assert.deepEqual(
      rows.filter(({ refill }) => refill === id).map(({ ends, used }) => [ends, BigInt(used)]),
      refills.refills[at]?.given.map(({ grant }) => [grant.endsAt, grant.used]),
    );
  }
  align(scene, rows);
  const taken = rows.reduce((sum, { used }) => sum + BigInt(used), 0n);
  assert.equal(taken, model.grants.reduce((sum, { used }) => sum + used, 0n));
}

/** Of grants that end at the same time, the one that was written first is used first. */
function align({ model, refills, refillIds }: Scene, rows: readonly GrantRow[]): void {
  const ofRefills = refillIds.map((_, at) => (refills.refills[at]?.given ?? []).map(({ grant }) => grant));
  const others = model.grants.filter((grant) => !ofRefills.flat().includes(grant));
  const ordered = rows.toSorted((a, b) => a.number - b.number).map(({ refill, turn }) => {
    if (refill === null) return others.shift();
    const turns = rows.filter((row) => row.refill === refill).map((row) => row.turn);
    return ofRefills[refillIds.indexOf(refill)]?.[turns.indexOf(turn)];
  });
  model.grants.splice(0, model.grants.length, ...ordered.filter((grant) => grant !== undefined));
}

onEveryDatabase("refills are used as by a model that writes nothing ahead", async (test) => {
  await runHistories(history, async ({ first, timezone, steps }) => {
    const scene = await createScene(test, { first, timezone });
    for (const step of steps) {
      await take(scene, step);
      await checkStanding(scene);
    }
  }, { rounds: repeats({ quick: 40, full: isRemote(test) ? 6 : 100 }), test });
});
