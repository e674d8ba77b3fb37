// How windows are made of rollups.
import assert from "node:assert/strict";
import { rollupsOf, signedPieces } from "../../../domain/meter/rollup_unit.ts";

const hourMs = 3_600_000;

Deno.test("signed pieces add up to every quarter of an hour of a window once", () => {
  const windows = [
    [Date.UTC(2026, 9, 1), Date.UTC(2026, 10, 1)],
    [Date.UTC(2026, 8, 30, 22), Date.UTC(2026, 9, 31, 23)],
    [Date.UTC(2026, 9, 1, 4, 45), Date.UTC(2026, 11, 1, 5)],
    [Date.UTC(2026, 9, 10, 1, 15), Date.UTC(2026, 9, 20)],
    [Date.UTC(2026, 9, 12), Date.UTC(2026, 10, 20)],
    [Date.UTC(2026, 9, 1), Date.UTC(2026, 9, 20, 7, 30)],
  ];
  for (const [start = 0, end = 0] of windows) {
    const counts = new Map<number, number>();
    for (const piece of signedPieces({ start, end })) {
      for (let at = piece.start; at < piece.end; at += hourMs / 4) {
        counts.set(at, (counts.get(at) ?? 0) + piece.sign);
      }
    }
    const counted = [...counts].filter(([, count]) => count !== 0);
    assert.equal(counted.length, (end - start) / (hourMs / 4));
    assert.ok(counted.every(([at, count]) => count === 1 && at >= start && at < end));
  }
});

Deno.test("a month of any time zone is read as one of UTC and a few hours", () => {
  const pieces = signedPieces({ start: Date.UTC(2026, 8, 30, 13), end: Date.UTC(2026, 9, 31, 12, 15) });
  assert.deepEqual(pieces.map((piece) => [piece.unit, piece.sign, rollupsOf(piece)]), [
    ["month", 1, 1],
    ["hour", 1, 11],
    ["quarter", -1, 3],
    ["hour", -1, 11],
  ]);
});
