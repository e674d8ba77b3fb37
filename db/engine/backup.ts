// Backups of the data file: a copy of its pages in one read transaction, written aside, checked, and renamed. It never
// writes to the data file.
import { dirname } from "node:path";
import { backupStepPagesMax, backupSyncBytes } from "../../domain/limits.ts";
import { Connection } from "./connection.ts";
import { DatabaseError, sql } from "./database.ts";
import { type AppliedMigration, appliedMigrationsQuery } from "./migrate.ts";

/** A backup that was told to stop. */
export class BackupStopped extends Error {}

/**
 * Copies the data file as it is at one moment, also while a server writes to it.
 *
 * @param path The data file.
 * @param options `to`: the new file, mode 0600, on disk when this returns. `isStopped`: asked between steps.
 * @returns The size in bytes.
 * @throws {DatabaseError}
 * @throws {BackupStopped}
 */
export function copyDataFile(
  path: string,
  { to, isStopped }: { to: string; isStopped: () => boolean },
): number {
  const connection = new Connection(path, { readOnly: true, isGuest: true });
  try {
    using file = Deno.openSync(to, { write: true, createNew: true, mode: 0o600 });
    // What is committed from here on is not part of the backup; the server's log keeps it apart until the end.
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
    // Closing alone would leave the log in use until the connection is collected.
    if (connection.inTransaction) connection.exec("ROLLBACK");
    connection.close();
  }
}

/**
 * The header's "write version" and "read version" (https://sqlite.org/fileformat.html, 1.3.3): the copy needs no
 * write-ahead log beside it. A server that opens it turns the log on again.
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

/**
 * Reads a backup from its first page to its last, every table and index.
 *
 * @returns The migrations that it has.
 * @throws {DatabaseError} `fault` when it is damaged, or no database of this program.
 */
export function checkBackup(file: string): AppliedMigration[] {
  const connection = new Connection(file, { readOnly: true, isBackup: true });
  try {
    const [row] = connection.all(sql`PRAGMA integrity_check(1)`) as { integrity_check: string }[];
    if (row?.integrity_check !== "ok") {
      throw new DatabaseError("fault", `it is damaged: ${row?.integrity_check ?? "no result"}`);
    }
    const table = sql`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'`;
    if (connection.first(table) === undefined) {
      throw new DatabaseError("fault", "it is a database, but not one of Gatehouse");
    }
    return connection.all(appliedMigrationsQuery) as AppliedMigration[];
  } finally {
    connection.close();
  }
}

/** Puts a finished file in its place, so that a crash leaves either the former one or this one. */
export function moveIntoPlace(from: string, to: string): void {
  Deno.renameSync(from, to);
  syncFolder(dirname(to));
}

/** Sends the names in a folder to the disk, where the system can. */
export function syncFolder(folder: string): void {
  try {
    using opened = Deno.openSync(folder, { read: true });
    opened.syncSync();
  } catch {
    // Windows has no such call.
  }
}
