// When health checks write, how often, and what they report.
import assert from "node:assert/strict";
import { type Database, DatabaseError } from "../../db/engine/database.ts";
import type { LastWrite } from "../../db/engine/write_state.ts";
import { readinessRecoveryWrites, readinessWriteAgeMaxMs } from "../../domain/check_limits.ts";
import { DatabaseReadiness } from "../../services/readiness.ts";

const now = 1_000_000;

/** A database with space for so many writes, and a thread's view of it. */
class Disk {
  writes = 0;
  lastWrite: LastWrite = { problem: null, succeededAt: now };
  /** Writes wait for this. */
  unlocked: Promise<void> = Promise.resolve();
  readonly readiness: DatabaseReadiness;

  constructor(public space: number) {
    const database = {
      read: () => Promise.resolve([]),
      write: async () => {
        this.writes++;
        await this.unlocked;
        if (this.space-- <= 0) {
          this.lastWrite = { ...this.lastWrite, problem: "disk_full" };
          throw new DatabaseError("unavailable", "SQLITE_FULL: database or disk is full");
        }
        this.lastWrite = { problem: null, succeededAt: now };
        return [{ rows: [], changes: 1 }];
      },
    };
    Object.defineProperty(database, "lastWrite", { get: () => this.lastWrite });
    this.readiness = new DatabaseReadiness({ database: database as unknown as Database, clock: () => now });
  }
}

Deno.test("a check writes only if the last write was long ago, or in the future", async () => {
  const disk = new Disk(Infinity);
  for (
    const [ageMs, writes] of [[0, 0], [readinessWriteAgeMaxMs - 1, 0], [readinessWriteAgeMaxMs, 1], [-1, 1]]
  ) {
    disk.writes = 0;
    disk.lastWrite = { problem: null, succeededAt: now - (ageMs ?? 0) };
    assert.equal(await disk.readiness.unreadyReason(), null);
    assert.equal(disk.writes, writes);
  }
});

Deno.test("after a failure, a few free pages don't look like a recovery", async () => {
  const disk = new Disk(readinessRecoveryWrites - 1);
  disk.lastWrite = { problem: "disk_full", succeededAt: now };
  assert.equal(await disk.readiness.unreadyReason(), "disk_full");
  assert.equal(disk.writes, readinessRecoveryWrites);
  disk.space = readinessRecoveryWrites;
  assert.equal(await disk.readiness.unreadyReason(), null);
  assert.equal(disk.writes, 2 * readinessRecoveryWrites);
});

Deno.test("a check doesn't wait for the lock, and the next ones share its write", async () => {
  const disk = new Disk(Infinity);
  const { promise, resolve } = Promise.withResolvers<void>();
  disk.unlocked = promise;
  disk.lastWrite = { problem: null, succeededAt: 0 };
  const both = [disk.readiness.unreadyReason(), disk.readiness.unreadyReason()];
  assert.deepEqual(await Promise.all(both), ["write_delayed", "write_delayed"]);
  disk.lastWrite = { problem: "database_locked", succeededAt: 0 };
  assert.equal(await disk.readiness.unreadyReason(), "database_locked");
  assert.equal(disk.writes, 1);
  resolve();
  assert.equal(await disk.readiness.unreadyReason(), null);
});
