// Backs up the data file: copies its pages in one read transaction and checks the copy. Never changes its data.
import { dirname } from "node:path";
import { backupStepPagesMax, backupUnsyncedStepsMax } from "../../domain/limits.ts";
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
export async function copyDataFile(
  path: string,
  { to, isStopped }: { to: string; isStopped: () => boolean },
): Promise<number> {
  using file = Deno.openSync(to, { write: true, createNew: true, mode: 0o600 });
  let steps = 0;
  const onStep = () => {
    if (isStopped()) throw new BackupStopped("the backup was stopped");
    if (++steps % backupUnsyncedStepsMax === 0) file.syncDataSync();
  };
  // Only a connection that may write removes the log when it is the last one.
  const connection = new Connection(path, { readOnly: false, isGuest: true });
  try {
    await connection.copyTo(to, { stepPages: backupStepPagesMax, onStep });
  } finally {
    connection.close();
  }
  return finishCopy(file);
}

/** Marks a complete copy of a data file as one without a log, syncs it to disk, and returns its size in bytes. */
export function finishCopy(file: Deno.FsFile): number {
  file.seekSync(formatOffset, Deno.SeekMode.Start);
  file.writeSync(rollbackFormat);
  file.syncSync();
  return file.statSync().size;
}

/**
 * The header's "write version" and "read version" (https://sqlite.org/fileformat.html, 1.3.3) of a file without a write-ahead
 * log. A server that opens the copy turns the log on again.
 */
const rollbackFormat = new Uint8Array([1, 1]);
const formatOffset = 18;

/** Checks all of a backup and returns its migrations. @throws {DatabaseError} `fault` for a damaged or foreign file. */
export function checkBackup(file: string): AppliedMigration[] {
  checkPages(file);
  return readMigrations(file);
}

/** Checks every table and index. @throws {DatabaseError} `fault` for a damaged file. */
export function checkPages(file: string): void {
  read(file, (connection) => {
    const [row] = connection.all(sql`PRAGMA integrity_check(1)`) as { integrity_check: string }[];
    if (row?.integrity_check !== "ok") {
      throw new DatabaseError("fault", `it is damaged: ${row?.integrity_check ?? "no result"}`);
    }
  });
}

/** Returns the migrations of a backup. @throws {DatabaseError} `fault` for a foreign file. */
export function readMigrations(file: string): AppliedMigration[] {
  return read(file, (connection) => {
    const table = sql`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'`;
    if (connection.first(table) === undefined) {
      throw new DatabaseError("fault", "it is not a Gatehouse database");
    }
    return connection.all(appliedMigrationsQuery) as AppliedMigration[];
  });
}

function read<T>(file: string, act: (connection: Connection) => T): T {
  const connection = new Connection(file, { readOnly: true });
  try {
    return act(connection);
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
