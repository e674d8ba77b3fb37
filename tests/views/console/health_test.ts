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

function backupsOf(stream: SystemState["stream"], backups: SystemState["backups"] = null) {
  return healthOf({ ...state, stream, backups }, { sendsMail: false, now: 0 })
    .filter(({ name }) => /backup/i.test(name))
    .map(({ name, text, state, trouble }) => [name, text, state, trouble]);
}

test("a continuous backup needs no schedule next to it", () => {
  assert.deepEqual(backupsOf({ state: "ok", behindSeconds: 2 }), [
    ["Continuous backup", "Newest point: 2 seconds ago", "OK", null],
  ]);
  assert.equal(backupsOf({ state: "ok", behindSeconds: 0 })[0]?.[1], "Newest point: 1 second ago");
  const schedule = { lastAt: null, failures: 0, everyHours: 24 };
  assert.deepEqual(backupsOf({ state: "ok", behindSeconds: 2 }, schedule).map(([name]) => name), [
    "Continuous backup",
    "Backups",
  ]);
  assert.equal(backupsOf(null)[0]?.[3], "No backups are scheduled: BACKUP_DIR is not set.");
});

test("a continuous backup that has stopped or is behind needs attention", () => {
  assert.deepEqual(backupsOf({ state: "snapshot", behindSeconds: null }), [
    ["Continuous backup", "Nothing can be restored yet", "Starting", null],
  ]);
  const trouble = (stream: SystemState["stream"]) => backupsOf(stream)[0]?.slice(2);
  assert.deepEqual(trouble({ state: "gap", behindSeconds: 3_600 }), [
    "Stopped",
    "Nothing is copied. Newest point: 60 minutes ago. See the log.",
  ]);
  assert.deepEqual(trouble({ state: "ok", behindSeconds: 300 }), [
    "Behind",
    "The copy is behind. Newest point: 5 minutes ago. See the log.",
  ]);
});
