// Refills against a model in which a grant appears when its turn begins: random turns, records, voids, time zones and idle servers.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { AppError } from "../../../domain/errors.ts";
import { hashApiKey } from "../../../domain/keys/api_key.ts";
import { splitQuantity } from "../../../domain/meter/quantity.ts";
import { refillPeriods } from "../../../domain/meter/usage_refill.ts";
import { operatorAccess } from "../../../services/access/access.ts";
import { readLimits } from "../../../services/meter/limits.ts";
import { keyAccess } from "../../../services/meter/usage_access.ts";
import { createGrant } from "../../../services/meter/usage_grants.ts";
import { voidRefill, writeRefillTurns } from "../../../services/meter/usage_refills.ts";
import { voidUsageRecord } from "../../../services/meter/usage_voids.ts";
import type { TestApp } from "../../support/app/app.ts";
import { GrantModel } from "../../support/meter/grant_model.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { RefillModel } from "../../support/meter/refill_model.ts";
import { isRemote, onEveryDatabase } from "../../support/meter/usage.ts";
import { commandLineActor } from "../../support/operators/operators.ts";
import { newKeys, newOrganization, run } from "../../support/people/scene.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";

const hourMs = 3_600_000;
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

const micros = (value: number) => BigInt(Math.round(value * 1e6));
const whole = (value: number) => splitQuantity(value) ?? { whole: 0, micro: 0 };
const client = { address: "127.0.0.1", userAgent: "", requestId: null };

async function createScene(test: TestApp, { first, timezone }: { first: number; timezone: string }) {
  const organizationId = await newOrganization(test, "Northwind Maps");
  await run(test, "UPDATE organizations SET timezone = ? WHERE id = ?", timezone, organizationId);
  const [key] = await newKeys(test, organizationId, 1);
  const keyHash = hashApiKey(key?.fullKey ?? "");
  const limit = await addLimit(test, { organizationId }, {
    per: "total",
    productSlug: "tiles",
    mode: "hard",
    quantity: first,
  });
  const model = new GrantModel(micros(first));
  return {
    test,
    organizationId,
    keyHash,
    limit,
    model,
    refills: new RefillModel(model, timezone),
    key: await keyAccess(test.services, keyHash, client),
    operator: () => operatorAccess(test.services, commandLineActor, organizationId),
    records: [] as { id: string; position: number; micros: bigint; isVoided: boolean }[],
    refillIds: [] as string[],
    grants: 0,
    writtenAt: test.now(),
  };
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
  const { test, model, refills, limit } = scene;
  const until = step.type === "refill" && step.days !== null ? test.now() + step.days * 24 * hourMs : null;
  const { grant } = await createGrant(test.services, await scene.operator(), {
    limitId: limit.id,
    quantity: whole(step.quantity),
    expiresAt: null,
    refill: step.type === "refill" ? { every: step.every, rollover: step.rollover, until } : null,
    reason: "Paid.",
    idempotencyKey: `k${scene.grants++}`,
  });
  if (step.type === "grant") return model.grant(micros(step.quantity), Infinity, test.now());
  scene.refillIds.push(grant.refillId ?? "");
  refills.add({ ...step, quantity: micros(step.quantity), until: until ?? Infinity }, test.now());
}

async function take(scene: Scene, step: Step): Promise<void> {
  const { test, model, refills, key, keyHash } = scene;
  const { services } = test;
  const { signal } = new AbortController();
  switch (step.type) {
    case "grant":
    case "refill":
      if (step.type === "refill" && scene.refillIds.length === 8) break;
      await give(scene, step);
      break;
    case "record": {
      const { quantity } = step;
      const input = {
        productSlug: "tiles",
        metric: "requests",
        quantity: whole(quantity),
        timestamp: null,
        idempotencyKey: null,
        properties: null,
      };
      const recorded = await services.recorder.record({ keyHash, inputs: [input], bytes: 1 }).catch(
        (error) => {
          if (error instanceof AppError && error.code === "limit_exceeded") return null;
          throw error;
        },
      );
      const fits = model.record([micros(quantity)], { now: test.now(), isHard: true });
      assert.equal(recorded !== null, fits);
      // Rejected records have a position too.
      if (recorded === null) model.count++;
      else {
        const { id } = recorded.usageRecord(0);
        scene.records.push({ id, position: model.count, micros: micros(quantity), isVoided: false });
      }
      break;
    }
    case "void": {
      const record = scene.records[step.which % scene.records.length];
      if (record === undefined) break;
      await voidUsageRecord(services, key, { id: record.id, reason: "Wrong.", signal });
      if (!record.isVoided) model.void(record.position, record.micros);
      record.isVoided = true;
      break;
    }
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
      await voidRefill(services, await scene.operator(), { id, reason: "Ended." });
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
  const [limit] = await readLimits(test.services, await scene.operator(), {
    signal: new AbortController().signal,
  });
  const raised = model.raised(now);
  assert.deepEqual(
    [limit?.quantity, limit?.used, limit?.remaining].map((value) => micros(value ?? -1)),
    [raised, model.used, raised > model.used ? raised - model.used : 0n],
  );
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
