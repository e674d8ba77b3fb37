// The folder beside the data file where segments wait for their upload.
import assert from "node:assert/strict";
import { DamagedObject, seal, unseal } from "../../../../db/engine/stream/envelope.ts";
import { parseSegmentName, segmentName } from "../../../../db/engine/stream/segment.ts";
import { Spool } from "../../../../db/engine/stream/spool.ts";

const chain = "000000000003-0123abcd";
const name = (number: number, endedAt = number) => segmentName(chain, number, endedAt);

Deno.test("segments continue a target only if it has the one before them, as a copy of this machine may have gone on", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-spool-" });
  const spoolOf = (...names: string[]) => {
    const spool = new Spool(`${folder}/${crypto.randomUUID()}.db`);
    for (const one of names) spool.addSegment(one, new Uint8Array(1), 0);
    return spool;
  };
  const last = (number: number, endedAt?: number) => parseSegmentName(name(number, endedAt));
  const spool = spoolOf(name(7), name(8));
  // The second one is stored when the response was lost.
  for (const number of [7, 8]) assert.ok(spool.continues(last(number)));
  for (const number of [6, 9]) assert.ok(!spool.continues(last(number)), `${number}`);
  assert.ok(!spool.continues(last(8, 99)), "the same number, written by another machine");
  assert.ok(!spool.continues(null), "another target");
  // The first ones of a chain.
  const first = spoolOf(name(3), name(4));
  assert.ok(first.continues(null));
  assert.ok(first.continues(parseSegmentName(segmentName("000000000001-0123abcd", 2, 2))));
  assert.ok(!first.continues(last(3, 99)));
  assert.ok(spoolOf().continues(last(5)));
  await Deno.remove(folder, { recursive: true });
});

Deno.test("with a key, objects that aren't encrypted are rejected", () => {
  const key = new Uint8Array(32).fill(7);
  const body = new TextEncoder().encode("body");
  const plain = seal("a", body, []);
  assert.throws(() => unseal("a", plain, [key]), DamagedObject);
  assert.deepEqual(new Uint8Array(unseal("a", plain, [])), body);
  assert.deepEqual(new Uint8Array(unseal("a", seal("a", body, [key]), [key])), body);
});
