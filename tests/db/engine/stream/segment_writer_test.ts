// How many segments become a file.
import assert from "node:assert/strict";
import { type Segment, SegmentWriter } from "../../../../db/engine/stream/segment.ts";
import { streamGatheredBytesMax } from "../../../../domain/stream_limits.ts";
import { seededRandom } from "../../../support/runner/random.ts";

const pageSize = 65_536;

Deno.test("segments that are written together leave the same file as one after another", async () => {
  const random = seededRandom(7);
  const path = await Deno.makeTempFile();
  try {
    using file = Deno.openSync(path, { read: true, write: true });
    // A snapshot with more pages than the first segment.
    file.writeSync(new Uint8Array(120 * pageSize).fill(255));
    let expected = Array.from({ length: 120 }, () => 255);
    const writer = new SegmentWriter(file);
    let [bytes, pageCount] = [0, 100];
    for (let number = 1; bytes < 3 * streamGatheredBytesMax; number++) {
      if (random.chance(0.2)) pageCount = random.between(20, 110);
      const pages = Array.from({ length: pageCount }, (_, n) => n + 1).filter(() => random.chance(0.05));
      const images = new Uint8Array(pages.length * pageSize).fill(number % 255);
      writer.add({ head: { pageSize, pageCount, pages } as unknown as Segment["head"], images });
      bytes += images.length;
      for (const page of pages) expected[page - 1] = number % 255;
      expected = Array.from({ length: pageCount }, (_, n) => expected[n] ?? 0);
    }
    writer.flush();
    const found = Deno.readFileSync(path);
    assert.equal(found.length, expected.length * pageSize);
    assert.deepEqual(expected.map((_, n) => found[n * pageSize]), expected);
    assert.deepEqual(expected.map((_, n) => found[(n + 1) * pageSize - 1]), expected);
  } finally {
    await Deno.remove(path);
  }
});
