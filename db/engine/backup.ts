// Backs up the data file: copies its pages in one read transaction and checks the copy. Never writes to the data file.
import { dirname } from "node:path";
import { backupStepPagesMax, backupSyncBytes } from "../../domain/limits.ts";
import { Connection } from "./connection.ts";
import { DatabaseError, sql } from "./database.ts";
import { type AppliedMigration, appliedMigrationsQuery } from "./migrate.ts";

export class BackupStopped extends Error {}

/**
 * Copies a consistent state of the data file, also while a server writes to it.
 *
 * @param path The data file.
 * @param options `to`: the new file, with mode 0600 and synced to disk. `isStopped`: checked between steps.
 * @returns The size in bytes.
 * @throws {BackupStopped}
 */
export function copyDataFile(
  path: string,
  { to, isStopped }: { to: string; isStopped: () => boolean },
): number {
  const connection = new Connection(path, { readOnly: true, isGuest: true });
  try {
    using file = Deno.openSync(to, { write: true, createNew: true, mode: 0o600 });
    // Later commits stay in the server's log until the end, and out of the backup.
    connection.exec("BEGIN");
    const { page_count: pages } = connection.first(sql`PRAGMA page_count`) as { page_count: number };
    let bytes = 0;
    let unsynced = 0;
    for (let first = 1; first <= pages; first += backupStepPagesMax) {
      if (isStopped()) throw new BackupStopped("the backup was stopped");
      const step = readPages(connection, first);
      if (first === 1) step.set(rollbackFormat, formatOffset);
      for (let at = 0; at < step.length;) at += file.writeSync(step.subarray(at));
      bytes += step.length;
      unsynced += step.length;
      if (unsynced >= backupSyncBytes) {
        file.syncDataSync();
        unsynced = 0;
      }
    }
    connection.exec("COMMIT");
    file.syncSync();
    return bytes;
  } finally {
    // Otherwise the log would stay in use until the connection is garbage-collected.
    if (connection.inTransaction) connection.exec("ROLLBACK");
    connection.close();
  }
}

/**
 * The header's "write version" and "read version" (https://sqlite.org/fileformat.html, 1.3.3) of a file without a write-ahead
 * log. A server that opens the copy turns the log on again.
 */
const rollbackFormat = [1, 1];
const formatOffset = 18;

function readPages(connection: Connection, first: number): Uint8Array {
  const rows = connection.all(
    sql`SELECT data FROM sqlite_dbpage WHERE pgno BETWEEN ${first} AND ${first + backupStepPagesMax - 1}`,
  ) as { data: ArrayBuffer }[];
  const pageBytes = rows[0]?.data.byteLength ?? 0;
  const step = new Uint8Array(rows.length * pageBytes);
  rows.forEach(({ data }, index) => step.set(new Uint8Array(data), index * pageBytes));
  return step;
}

/** Checks all of a backup and returns its migrations. @throws {DatabaseError} `fault` for a damaged or foreign file. */
export function checkBackup(file: string): AppliedMigration[] {
  const connection = new Connection(file, { readOnly: true, isBackup: true });
  try {
    const [row] = connection.all(sql`PRAGMA integrity_check(1)`) as { integrity_check: string }[];
    if (row?.integrity_check !== "ok") {
      throw new DatabaseError("fault", `it is damaged: ${row?.integrity_check ?? "no result"}`);
    }
    const table = sql`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'`;
    if (connection.first(table) === undefined) {
      throw new DatabaseError("fault", "it is not a Gatehouse database");
    }
    return connection.all(appliedMigrationsQuery) as AppliedMigration[];
  } finally {
    connection.close();
  }
}

/** Replaces a file atomically: a crash leaves either the former one or the new one. */
export function moveIntoPlace(from: string, to: string): void {
  Deno.renameSync(from, to);
  syncFolder(dirname(to));
}

/** Syncs the names in a folder to disk, if the system supports it. */
export function syncFolder(folder: string): void {
  try {
    using opened = Deno.openSync(folder, { read: true });
    opened.syncSync();
  } catch {
    // Not supported on Windows.
  }
}
