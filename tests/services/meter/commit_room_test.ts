// Commits in progress together.
import assert from "node:assert/strict";
import { CommitRoom } from "../../../services/meter/commit_room.ts";

Deno.test("commits run together while they fit, and the others follow in their order, also after a failure", async () => {
  const room = new CommitRoom(10);
  const ends: (() => void)[] = [];
  const begun: number[] = [];
  const commit = (name: number, rows: number) =>
    room.run(rows, async () => {
      begun.push(name);
      await new Promise<void>((resolve, reject) =>
        ends[name] = name === 1 ? () => reject(new Error("failed")) : resolve
      );
      return name;
    });
  const commits = [commit(0, 4), commit(1, 6), commit(2, 8), commit(3, 1)];
  const turn = () => new Promise((resolve) => queueMicrotask(() => queueMicrotask(() => resolve(null))));
  await turn();
  assert.deepEqual(begun, [0, 1]);
  const failed = assert.rejects(async () => await commits[1], /failed/);
  ends[1]?.();
  await failed;
  // The third has no room yet, and the fourth doesn't overtake it.
  assert.deepEqual(begun, [0, 1]);
  ends[0]?.();
  await commits[0];
  await turn();
  assert.deepEqual(begun, [0, 1, 2, 3]);
  ends[2]?.();
  ends[3]?.();
  assert.deepEqual(await Promise.all(commits.slice(2)), [2, 3]);
});
