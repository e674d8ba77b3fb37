// The words of the console about the service's health.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SystemState } from "../../../domain/console/system_state.ts";
import { healthOf } from "../../../views/console/health.ts";

const state: SystemState = {
  version: "1.0.0",
  deno: "2.7.11",
  startedAt: 0,
  memoryBytes: 1,
  threads: 1,
  requests: 0,
  internalErrors: 0,
  queue: { records: 0, oldestSeconds: 0 },
  reports: { running: 0, waiting: 0 },
  database: { dataBytes: 1, logBytes: 0 },
  mail: null,
  backups: null,
  stream: null,
};

type Stream = NonNullable<SystemState["stream"]>;

function backupsOf(
  given: Omit<Stream, "everySeconds"> & Partial<Stream> | null,
  { backups = null, now = 0 }: { backups?: SystemState["backups"]; now?: number } = {},
) {
  const stream = given && { everySeconds: 1, ...given };
  return healthOf({ ...state, stream, backups }, { sendsMail: false, now })
    .filter(({ name }) => /backup/i.test(name))
    .map(({ name, text, state, trouble }) => [name, text, state, trouble]);
}

test("a continuous backup needs no schedule next to it", () => {
  assert.deepEqual(backupsOf({ state: "ok", behindSeconds: 2 }), [
    ["Continuous backup", "Newest point: 2 seconds ago", "OK", null],
  ]);
  assert.equal(backupsOf({ state: "ok", behindSeconds: 0 })[0]?.[1], "Newest point: 1 second ago");
  const schedule = { lastAt: null, failures: 0, everyHours: 24 };
  assert.deepEqual(
    backupsOf({ state: "ok", behindSeconds: 2 }, { backups: schedule }).map(([name]) => name),
    [
      "Continuous backup",
      "Backups",
    ],
  );
  assert.equal(backupsOf(null)[0]?.[3], "No backups are scheduled: BACKUP_DIR is not set.");
});

test("a continuous backup that has stopped or is behind needs attention", () => {
  assert.deepEqual(backupsOf({ state: "snapshot", behindSeconds: null }), [
    ["Continuous backup", "Nothing can be restored yet", "Starting", null],
  ]);
  const trouble = (...given: Parameters<typeof backupsOf>) => backupsOf(...given)[0]?.slice(2);
  assert.deepEqual(trouble({ state: "gap", behindSeconds: 3_600 }), [
    "Stopped",
    "Nothing is copied. Newest point: 60 minutes ago. See the log.",
  ]);
  assert.deepEqual(trouble({ state: "ok", behindSeconds: 300 }), [
    "Behind",
    "The copy is behind. Newest point: 5 minutes ago. See the log.",
  ]);
  const hour = 3_600_000;
  const incomplete = ["Behind", "The snapshot isn't complete. Nothing can be restored yet. See the log."];
  assert.deepEqual(trouble({ state: "snapshot", behindSeconds: null }, { now: hour - 1 }), [
    "Starting",
    null,
  ]);
  assert.deepEqual(trouble({ state: "snapshot", behindSeconds: null }, { now: hour }), incomplete);
  assert.equal(trouble({ state: "snapshot", behindSeconds: 3_599 }, { now: hour })?.[0], "Starting");
  assert.equal(trouble({ state: "snapshot", behindSeconds: 90_000 })?.[0], "Behind");
});

test("a continuous backup that copies rarely is behind only after two intervals", () => {
  const of = (behindSeconds: number) => backupsOf({ state: "ok", behindSeconds, everySeconds: 600 })[0]?.[2];
  assert.deepEqual([of(1_200), of(1_201)], ["OK", "Behind"]);
});
