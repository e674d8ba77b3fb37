// The meter and hard limits: exactly what doesn't fit is rejected.
import assert from "node:assert/strict";
import { createTestKey } from "../support/app/app.ts";
import { addLimit } from "../support/meter/limits.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { gatehouseError, metered, type Scene } from "../support/client/meter_scene.ts";
import { newOperatorToken } from "../support/operators/operators.ts";

const tiles = { product: "tiles", metric: "requests" };
const hourMs = 3_600_000;
/** The shortest windows. One day of the year has 23 hours. */
const windows = { minute: 60_000, hour: hourMs, day: 23 * hourMs, month: 28 * 24 * hourMs - hourMs };

const steps: Record<string, (scene: Scene) => Promise<void>> = {
  async "rejects only what exceeds a hard limit, and keeps sending the rest"(
    { newMeter, key, test, person, problems },
  ) {
    const limit = {
      per: "day",
      productSlug: "tiles",
      metric: "requests",
      quantity: 10,
      mode: "hard",
    } as const;
    await addLimit(test, { organizationId: person.organizationId }, limit);
    const meter = newMeter();
    for (let n = 0; n < 4; n++) {
      meter.record({ ...tiles, quantity: 4 });
      meter.record({ ...tiles, metric: "exports" });
    }
    meter.record({ ...tiles, quantity: 2 });
    // Another window has room.
    meter.record({ ...tiles, quantity: 9, timestamp: new Date(Date.now() - 48 * 3_600_000) });
    assert.equal(await meter.flush(), true);
    assert.equal(meter.stats().rejected, 2);
    assert.match(problems[0]?.message ?? "", /limit_exceeded/);
    assert.deepEqual(await usageOf(test, key), { exports: [4, 4], requests: [10 + 9, 4] });
  },

  async "fills a limit exactly after a replay: what was recorded before takes no room"(scene) {
    const { newMeter, test, person, key } = scene;
    const limit = { per: "total", quantity: 5, mode: "hard" } as const;
    await addLimit(test, { organizationId: person.organizationId }, limit);
    const timestamp = new Date();
    const replayed = ["a", "b", "c"].map((idempotencyKey) => ({ ...tiles, timestamp, idempotencyKey }));
    const first = newMeter();
    for (const usage of replayed) first.record(usage);
    assert.equal(await first.flush(), true);
    const meter = newMeter();
    for (const usage of [...replayed, tiles, tiles, tiles]) meter.record(usage);
    assert.equal(await meter.flush(), true);
    const { sent, duplicates, rejected } = meter.stats();
    assert.deepEqual({ sent, duplicates, rejected }, { sent: 5, duplicates: 3, rejected: 1 });
    assert.deepEqual(await usageOf(test, key), { requests: [5, 5] });
  },

  async "records for several organizations with an operator token, of which one is at its limit"(scene) {
    const { newMeter, test, person, key, keyId } = scene;
    const { fullToken: operatorToken } = await newOperatorToken(test);
    const limited = await test.signUp();
    const { fullKey: limitedKey } = await createTestKey(test, limited);
    const limit = { per: "total", quantity: 3, mode: "hard" } as const;
    await addLimit(test, { organizationId: limited.organizationId }, limit);
    const meter = newMeter({ operatorToken });
    for (let n = 0; n < 5; n++) {
      meter.record({ ...tiles, apiKeyId: keyId });
      meter.record({ ...tiles, organizationId: limited.organizationId });
      meter.record({ ...tiles, organizationId: person.organizationId });
    }
    meter.record({ ...tiles, externalId: "unknown" });
    meter.record(tiles);
    meter.record({ ...tiles, apiKeyId: keyId, externalId: "both" });
    assert.equal(await meter.flush(), true);
    assert.equal(meter.stats().rejected, 2 + 3);
    assert.deepEqual(await usageOf(test, limitedKey), { requests: [3, 3] });
    assert.deepEqual(await usageOf(test, key), { requests: [10, 10] });
  },

  async "separates customers who are named by an API key, of whom one is at its limit"(scene) {
    const { newMeter, test, key, keyId } = scene;
    const { fullToken: operatorToken } = await newOperatorToken(test);
    const limited = await test.signUp();
    const { id: limitedId, fullKey: limitedKey } = await createTestKey(test, limited);
    const limit = { per: "total", quantity: 3, mode: "hard" } as const;
    await addLimit(test, { organizationId: limited.organizationId }, limit);
    const meter = newMeter({ operatorToken });
    for (let n = 0; n < 5; n++) {
      for (const apiKeyId of [keyId, limitedId]) meter.record({ ...tiles, apiKeyId });
    }
    meter.record({ ...tiles, quantity: 4, apiKeyId: keyId });
    assert.equal(await meter.flush(), true);
    assert.equal(meter.stats().rejected, 2);
    assert.deepEqual(await usageOf(test, limitedKey), { requests: [3, 3] });
    assert.deepEqual(await usageOf(test, key), { requests: [9, 6] });
  },

  async "rejects only what surely belongs to a window, also on the shortest day"({ newMeter, line }) {
    const resetsAt = Date.now();
    for (const [per, lengthMs] of Object.entries(windows)) {
      const limit = { productSlug: "tiles", metric: per, per, remaining: 0, resetsAt: new Date(resetsAt) };
      line.disturb = (_, count) =>
        count === 0 ? gatehouseError(429, "limit_exceeded", { details: [limit] }) : null;
      const meter = newMeter();
      const times = { before: resetsAt - lengthMs - 1, within: resetsAt - lengthMs, after: resetsAt };
      for (const [id, ms] of Object.entries(times)) {
        meter.record({ ...tiles, metric: per, timestamp: new Date(ms), idempotencyKey: `${id} ${per}` });
      }
      assert.equal(await meter.flush(), true);
      const sent = line.batches.splice(0).map(({ records }) =>
        records.map(({ idempotencyKey }) => idempotencyKey.split(" ")[0])
      );
      assert.deepEqual(sent, [["before", "within", "after"], ["before", "after"]], per);
    }
  },
};

metered("Meter with limits", steps);
