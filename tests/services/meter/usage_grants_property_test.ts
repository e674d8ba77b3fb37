// Grants against a model that is a pure function of the history: random grants, expiries, records, voids and limits.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { hashApiKey } from "../../../domain/keys/api_key.ts";
import { AppError } from "../../../domain/errors.ts";
import { splitQuantity } from "../../../domain/meter/quantity.ts";
import { operatorAccess } from "../../../services/access/access.ts";
import { readLimits } from "../../../services/meter/limits.ts";
import { keyAccess } from "../../../services/meter/usage_access.ts";
import { createGrant, listGrants, voidGrant } from "../../../services/meter/usage_grants.ts";
import { voidUsageRecord } from "../../../services/meter/usage_voids.ts";
import type { TestApp } from "../../support/app/app.ts";
import { GrantModel } from "../../support/meter/grant_model.ts";
import { repeats } from "../../support/runner/extent.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { isRemote, onEveryDatabase } from "../../support/meter/usage.ts";
import { commandLineActor } from "../../support/operators/operators.ts";
import { newKeys, newOrganization, run } from "../../support/people/scene.ts";
import fc from "../../support/runner/fast_check.ts";
import { poll } from "../../support/runner/poll.ts";

const hourMs = 3_600_000;
const quantity = fc.oneof(
  fc.integer({ min: 0, max: 12 }),
  fc.integer({ min: 0, max: 9_000_000 }).map((n) => n / 1e6),
);
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("grant" as const), quantity, hours: fc.option(fc.nat(6)) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("record" as const),
      quantities: fc.array(quantity, { minLength: 1, maxLength: 3 }),
      productSlug: fc.constantFrom("tiles", "tiles", "maps"),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("void" as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("voidGrant" as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("advance" as const), hours: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("limit" as const), quantity: fc.nat(20) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const history = fc.record({
  first: fc.nat(10),
  mode: fc.constantFrom("hard" as const, "hard" as const, "soft" as const),
  steps: fc.array(step, { minLength: 5, maxLength: 30 }),
});

const micros = (value: number) => BigInt(Math.round(value * 1e6));
const client = { address: "127.0.0.1", userAgent: "", requestId: null };

async function createScene(test: TestApp, quantity: number, mode: "hard" | "soft") {
  const organizationId = await newOrganization(test, "Northwind Maps");
  const [key] = await newKeys(test, organizationId, 1);
  const keyHash = hashApiKey(key?.fullKey ?? "");
  const limit = await addLimit(test, { organizationId }, {
    per: "total",
    productSlug: "tiles",
    quantity,
    mode,
  });
  return {
    test,
    keyHash,
    limit,
    mode,
    model: new GrantModel(micros(quantity)),
    operator: await operatorAccess(test.services, commandLineActor, organizationId),
    key: await keyAccess(test.services, keyHash, client),
    /** By position; only those of the limit's product. */
    records: [] as { id: string; position: number; micros: bigint; isVoided: boolean }[],
    /** Records of all products: their positions are in one order. */
    grantIds: [] as string[],
    count: 0,
  };
}
type Scene = Awaited<ReturnType<typeof createScene>>;

async function take(scene: Scene, step: Step): Promise<void> {
  const { test, model, operator, key, limit, mode, keyHash } = scene;
  const { services } = test;
  const { signal } = new AbortController();
  switch (step.type) {
    case "grant": {
      const value = step.quantity === 0 ? 1 : step.quantity;
      const expiresAt = step.hours === null ? null : test.now() + (step.hours + 1) * hourMs;
      const { grant } = await createGrant(services, operator, {
        limitId: limit.id,
        quantity: splitQuantity(value) ?? { whole: 0, micro: 0 },
        expiresAt,
        reason: "Paid.",
        idempotencyKey: `k${model.grants.length}`,
      });
      scene.grantIds.push(grant.id);
      model.grant(micros(value), expiresAt ?? Infinity, test.now());
      break;
    }
    case "record": {
      const { quantities, productSlug } = step;
      const inputs = quantities.map((value) => ({
        productSlug,
        metric: "requests",
        quantity: splitQuantity(value) ?? { whole: 0, micro: 0 },
        timestamp: null,
        idempotencyKey: null,
        properties: null,
      }));
      const recorded = await services.recorder.record({ keyHash, inputs, bytes: 1 }).catch((error) => {
        if (error instanceof AppError && error.code === "limit_exceeded") return null;
        throw error;
      });
      const amounts = quantities.map(micros);
      if (productSlug !== "tiles") {
        assert.notEqual(recorded, null);
        model.count += amounts.length;
        break;
      }
      const position = model.count + 1;
      const fits = model.record(amounts, { now: test.now(), isHard: mode === "hard" });
      assert.equal(recorded !== null, fits);
      if (recorded === null) {
        // Rejected records have a position too.
        model.count += amounts.length;
        break;
      }
      for (const [at, micros] of amounts.entries()) {
        scene.records.push({
          id: recorded.usageRecord(at).id,
          position: position + at,
          micros,
          isVoided: false,
        });
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
  }
}

async function checkStanding({ test, model, operator, limit: { id } }: Scene): Promise<void> {
  const { signal } = new AbortController();
  const [limit] = await readLimits(test.services, operator, { signal });
  const raised = model.raised(test.now());
  const remaining = raised > model.used ? raised - model.used : 0n;
  assert.deepEqual(
    [limit?.quantity, limit?.used, limit?.remaining].map((value) => micros(value ?? -1)),
    [raised, model.used, remaining],
  );
  // Usage of a soft limit is taken from grants once its counter has all earlier usage.
  await poll(async () =>
    await test.opened.database.readFirst(sql`SELECT 1 FROM usage_limits l JOIN usage_limit_counters c
      ON c.usage_limit = l.number AND c.is_known = 0 AND c.sum_high + c.sum_low + c.sum_micro > 0
      WHERE l.id = ${id}`) === undefined
  );
  const { grants } = await listGrants(test.services, operator, { limit: 100 });
  assert.deepEqual(grants.toReversed().map(({ used }) => micros(used)), model.grants.map(({ used }) => used));
  const isOpen = (at: number) => !model.grants[at]?.isVoided && (model.grants[at]?.endsAt ?? 0) > test.now();
  for (const [at, { remaining, quantity, used }] of grants.toReversed().entries()) {
    assert.equal(micros(remaining), isOpen(at) ? micros(quantity) - micros(used) : 0n);
  }
}

onEveryDatabase("grants are used as by a model that is a pure function of the history", async (test) => {
  await runHistories(history, async ({ first, mode, steps }) => {
    const scene = await createScene(test, first, mode);
    for (const step of steps) {
      await take(scene, step);
      await checkStanding(scene);
    }
    const [account] = await test.opened.database.read<{ taken: string | null; used: string | null }>(
      sql`
            SELECT CAST(sum(taken_whole * 1000000 + taken_micro) AS TEXT) AS taken,
              (SELECT CAST(sum(used_micros) AS TEXT) FROM usage_grants) AS used FROM usage_grant_accounts`,
    );
    assert.equal(account?.taken, account?.used);
  }, { rounds: repeats({ quick: 25, full: isRemote(test) ? 6 : 60 }), test });
});
