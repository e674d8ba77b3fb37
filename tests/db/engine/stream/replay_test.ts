// The choice of a point to restore.
import assert from "node:assert/strict";
import { NoSuchPoint, planReplay, type WantedPoint } from "../../../../db/engine/stream/replay.ts";
import { segmentName } from "../../../../db/engine/stream/segment.ts";
import { putManifest } from "../../../../db/engine/stream/snapshots.ts";
import { targetInMemory } from "../../../support/database/memory_target.ts";

const keys = [new Uint8Array(32).fill(7)];
const chain = "000000000001-0123abcd";

Deno.test("a time after which the clock was set back means the newest point that had ended by then, and a number is exact", async () => {
  const { target } = targetInMemory();
  const endedAt = [10, 20, 30, 100, 110, 50, 60, 120];
  for (const [n, at] of endedAt.entries()) {
    await target.put(segmentName(chain, n + 1, at), new Uint8Array(1));
  }
  const manifest = { format: 1, chain, snapshot: "00000002", from: 1, to: 2, parts: 1, bytes: 1 } as const;
  await putManifest(manifest, { target, keys, now: 25 });
  const point = async (wanted: WantedPoint) => (await planReplay(target, keys, wanted)).point.number;
  assert.equal(await point({ time: 30 }), 3);
  assert.equal(await point({ time: 55 }), 6);
  assert.equal(await point({ time: 105 }), 7);
  assert.equal(await point({ number: 5 }), 5);
  assert.equal(await point(null), 8);
  await assert.rejects(point({ time: 15 }), NoSuchPoint);
  await assert.rejects(point({ number: 9 }), NoSuchPoint);
});
