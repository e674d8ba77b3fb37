// Snapshots at a target that fails, and the removal of old ones and of segments.
import assert from "node:assert/strict";
import {
  manifestName,
  parseManifestName,
  partName,
  segmentName,
} from "../../../../db/engine/stream/segment.ts";
import { copySnapshot, prune, putManifest } from "../../../../db/engine/stream/snapshots.ts";
import { targetInMemory } from "../../../support/database/memory_target.ts";

const keys = [new Uint8Array(32).fill(7)];
const chain = "000000000001-0123abcd";
const body = new Uint8Array(1);

/** A target with the segments 1–30, and a snapshot with two parts at 10, 20 and 30, which needs the last three segments. */
async function filledTarget(options: { keys: readonly Uint8Array[] } = { keys }) {
  const { target, objects } = targetInMemory();
  for (let number = 1; number <= 30; number++) await target.put(segmentName(chain, number, number), body);
  for (const to of [10, 20, 30]) {
    const snapshot = `${to}`.padStart(8, "0");
    for (const part of [0, 1]) await target.put(partName(chain, snapshot, part), body);
    const manifest = { format: 1, chain, snapshot, from: to - 2, to, parts: 2, bytes: 2 } as const;
    await putManifest(manifest, { target, ...options, now: to });
  }
  // Of a snapshot that was interrupted.
  await target.put(partName(chain, "99999999", 0), body);
  await target.put("other/file", body);
  const under = (folder: string) => [...objects.keys()].filter((name) => name.startsWith(folder)).sort();
  return { target, objects, under };
}

Deno.test("removes what is older than the last snapshot before the kept days, and parts of interrupted ones", async () => {
  const { target, under } = await filledTarget();
  await prune(target, { keys, keepSince: 25 });
  assert.deepEqual(under("manifests/").map((name) => parseManifestName(name)?.number), [20, 30]);
  assert.equal(under("segments/")[0], segmentName(chain, 18, 18));
  assert.equal(under("segments/").length, 13);
  assert.equal(under("snapshots/").length, 4);
  assert.equal(under("other/").length, 1);
  // However old it is, the newest one stays.
  await prune(target, { keys, keepSince: 1_000 });
  assert.deepEqual(under("manifests/").map((name) => parseManifestName(name)?.number), [30]);
  assert.equal(under("segments/").length, 3);
});

Deno.test("removes nothing while the snapshot to keep lacks a part or a segment", async () => {
  for (const missing of [partName(chain, "00000020", 1), segmentName(chain, 19, 19)]) {
    const { target, objects, under } = await filledTarget();
    await target.remove(missing);
    const before = objects.size;
    await prune(target, { keys, keepSince: 25 });
    assert.equal(objects.size, before, missing);
    assert.equal(under("manifests/")[0], manifestName({ chain, snapshot: "00000010", to: 10 }, 10));
  }
});

Deno.test("removes snapshots from before there was a key", async () => {
  const { target, under } = await filledTarget({ keys: [] });
  await prune(target, { keys, keepSince: 25 });
  assert.deepEqual(under("manifests/").map((name) => parseManifestName(name)?.number), [20, 30]);
});

for (const failures of [2, 3]) {
  Deno.test(`a snapshot of which a part fails ${failures} times ${failures > 2 ? "leaves nothing" : "is complete"}`, async () => {
    const { target, objects } = targetInMemory();
    const stored: string[] = [];
    const pages = new Uint8Array(40_000_000).fill(1);
    const copied = copySnapshot({ name: chain, roundFrom: 1 }, {
      target: {
        ...target,
        async put(name, bytes) {
          // It may have been stored all the same.
          await target.put(name, bytes);
          stored.push(name);
          const tries = stored.filter((other) => other === name).length;
          if (name.endsWith("000001") && tries <= failures) throw new Error("SlowDown");
        },
      },
      keys,
      readPages: (at, bytes) => Promise.resolve(pages.subarray(at, at + bytes)),
      rest: () => Promise.resolve(),
    });
    if (failures > 2) await assert.rejects(copied, /SlowDown/);
    else assert.equal((await copied).parts, 3);
    assert.deepEqual([stored.length, objects.size], failures > 2 ? [4, 0] : [5, 3]);
  });
}
