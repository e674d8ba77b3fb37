// Grants of a limit per day against a model that is a pure function of the history: random grants, expiries, batches over several days,
// voids, limits and time zones.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { restartLimits, timezoneRows } from "../../../db/meter/usage_limits.ts";
import { AppError } from "../../../domain/errors.ts";
import { hashApiKey } from "../../../domain/keys/api_key.ts";
import { splitQuantity } from "../../../domain/meter/quantity.ts";
import { operatorAccess } from "../../../services/access/access.ts";
import { readLimits } from "../../../services/meter/limits.ts";
import { keyAccess } from "../../../services/meter/usage_access.ts";
import { createGrant, listGrants, voidGrant } from "../../../services/meter/usage_grants.ts";
import { voidUsageRecord } from "../../../services/meter/usage_voids.ts";
import type { TestApp } from "../../support/app/app.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { isRemote, onEveryDatabase } from "../../support/meter/usage.ts";
import { WindowGrantModel } from "../../support/meter/window_grant_model.ts";
import { commandLineActor } from "../../support/operators/operators.ts";
import { newKeys, newOrganization, run } from "../../support/people/scene.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";
import { poll } from "../../support/runner/poll.ts";

const hourMs = 3_600_000;
/** Zones whose clocks never change. */
const zones = { "UTC": 0, "Asia/Tokyo": 9, "America/Bogota": -5 } as const;
const names = Object.keys(zones) as (keyof typeof zones)[];
const quantity = fc.oneof(
  fc.integer({ min: 0, max: 12 }),
  fc.integer({ min: 0, max: 9_000_000 }).map((n) => n / 1e6),
);
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("grant" as const), quantity, hours: fc.option(fc.nat(60)) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("record" as const),
      records: fc.array(fc.record({ quantity, hoursAgo: fc.constantFrom(0, 0, 0, 3, 20, 40) }), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("void" as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("voidGrant" as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("advance" as const), hours: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("limit" as const), quantity: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("move" as const), zone: fc.constantFrom(...names) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const history = fc.record({
  first: fc.nat(10),
  mode: fc.constantFrom("hard" as const, "hard" as const, "soft" as const),
  steps: fc.array(step, { minLength: 5, maxLength: 30 }),
});

const micros = (value: number) => BigInt(Math.round(value * 1e6));
const split = (value: number) => splitQuantity(value) ?? { whole: 0, micro: 0 };

async function createScene(test: TestApp, quantity: number, mode: "hard" | "soft") {
  const organizationId = await newOrganization(test, "Northwind Maps");
  const [key] = await newKeys(test, organizationId, 1);
  const keyHash = hashApiKey(key?.fullKey ?? "");
  return {
    test,
    organizationId,
    keyHash,
    mode,
    limit: await addLimit(test, { organizationId }, { per: "day", productSlug: "tiles", quantity, mode }),
    model: new WindowGrantModel(micros(quantity)),
    operator: await operatorAccess(test.services, commandLineActor, organizationId),
    key: await keyAccess(test.services, keyHash, { address: "127.0.0.1", userAgent: "", requestId: null }),
    recordIds: [] as string[],
    grantIds: [] as string[],
  };
}
type Scene = Awaited<ReturnType<typeof createScene>>;

async function take(scene: Scene, step: Step): Promise<void> {
  const { test, model, operator, key, limit, mode, keyHash, organizationId } = scene;
  const { services } = test;
  switch (step.type) {
    case "grant": {
      const value = step.quantity === 0 ? 1 : step.quantity;
      const expiresAt = step.hours === null ? null : test.now() + (step.hours + 1) * hourMs;
      const { grant } = await createGrant(services, operator, {
        limitId: limit.id,
        quantity: split(value),
        expiresAt,
        reason: "Paid.",
        idempotencyKey: `k${model.grants.length}`,
      });
      scene.grantIds.push(grant.id);
      model.grants.push({
        quantity: micros(value),
        endsAt: expiresAt ?? Infinity,
        used: 0n,
        isVoided: false,
      });
      break;
    }
    case "record": {
      const records = step.records.map(({ quantity, hoursAgo }) => ({
        quantity,
        timestamp: test.now() - hoursAgo * hourMs,
      }));
      const inputs = records.map(({ quantity, timestamp }) => ({
        productSlug: "tiles",
        metric: "requests",
        quantity: split(quantity),
        timestamp,
        idempotencyKey: null,
        properties: null,
      }));
      const recorded = await services.recorder.record({ keyHash, inputs, bytes: 1 }).catch((error) => {
        if (error instanceof AppError && error.code === "limit_exceeded") return null;
        throw error;
      });
      const added = records.map(({ quantity, timestamp }) => ({ at: timestamp, micros: micros(quantity) }));
      const fits = model.record(added, { now: test.now(), isHard: mode === "hard" });
      assert.equal(recorded !== null, fits);
      if (recorded !== null) scene.recordIds.push(...inputs.map((_, at) => recorded.usageRecord(at).id));
      break;
    }
    case "void": {
      const which = step.which % model.records.length;
      const [id, record] = [scene.recordIds[which], model.records[which]];
      if (id === undefined || record === undefined) break;
      const { signal } = new AbortController();
      await voidUsageRecord(services, key, { id, reason: "Wrong.", signal });
      if (!record.isVoided) model.void(record);
      break;
    }
    case "voidGrant": {
      const which = step.which % model.grants.length;
      const [id, grant] = [scene.grantIds[which], model.grants[which]];
      if (id === undefined || grant === undefined) break;
      await voidGrant(services, operator, { id, reason: "Refunded." });
      grant.isVoided = true;
      break;
    }
    case "advance":
      test.advance(step.hours * hourMs);
      break;
    case "limit":
      model.quantity = micros(step.quantity);
      await run(test, "UPDATE usage_limits SET quantity_whole = ? WHERE id = ?", step.quantity, limit.id);
      break;
    case "move":
      model.hoursAhead = zones[step.zone];
      await test.opened.database.write([
        ...timezoneRows(step.zone, test.now()),
        sql`UPDATE organizations SET timezone = ${step.zone}, ${
          restartLimits(test.now())
        } WHERE id = ${organizationId}`,
      ]);
  }
}

async function checkStanding({ test, model, operator, organizationId }: Scene): Promise<void> {
  // Usage of a soft limit is taken from grants once its counter has all earlier usage.
  await poll(async () =>
    await test.opened.database.readFirst(sql`SELECT 1 FROM usage_limit_counters c
      JOIN organizations o ON o.number = c.organization AND o.id = ${organizationId} AND c.opened_seq >= o.limits_seq
      WHERE c.is_known = 0 AND c.sum_high + c.sum_low + c.sum_micro > 0`) === undefined
  );
  const { signal } = new AbortController();
  const [limit] = await readLimits(test.services, operator, { signal });
  const [raised, used] = [model.raised(test.now()), model.used(model.day(test.now()))];
  assert.deepEqual(
    [limit?.quantity, limit?.used, limit?.remaining].map((value) => micros(value ?? -1)),
    [raised, used, raised > used ? raised - used : 0n],
  );
  const { grants } = await listGrants(test.services, operator, { limit: 100 });
  assert.deepEqual(grants.toReversed().map(({ used }) => micros(used)), model.grants.map(({ used }) => used));
}

onEveryDatabase("windows use grants as by a model that is a pure function of the history", async (test) => {
  await runHistories(history, async ({ first, mode, steps }) => {
    const scene = await createScene(test, first, mode);
    for (const step of steps) {
      await take(scene, step);
      await checkStanding(scene);
    }
    const [sums] = await test.opened.database.read<{ taken: string; used: string }>(sql`
      SELECT CAST(total(micros) AS TEXT) AS taken,
        (SELECT CAST(total(used_micros) AS TEXT) FROM usage_grants) AS used FROM usage_grant_windows`);
    assert.equal(sums?.taken, sums?.used);
  }, { rounds: repeats({ quick: 25, full: isRemote(test) ? 6 : 60 }), test });
});
