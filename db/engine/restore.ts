// Replaces the data file with a backup, atomically, and keeps the former database. The caller has the lock of the data file.
import { dirname } from "node:path";
import { checkBackup, moveIntoPlace, syncFolder } from "./backup.ts";
import { Connection } from "./connection.ts";
import { openTemporary, removeIfExists } from "./data_file.ts";
import { DatabaseError } from "./database.ts";
import { lacksMigrations } from "./migrate.ts";

interface Restored {
  readonly bytes: number;
  /** The new path of the former database; null if there was none. */
  readonly former: string | null;
  /** True if the backup lacks migrations. */
  readonly isOlder: boolean;
}

/**
 * Restores a backup.
 *
 * @param path The data file.
 * @param options `backup`: the bytes of the backup.
 * @throws {DatabaseError} `fault` when it isn't a backup or is damaged; `unavailable` when another program has the data file open.
 * @throws {MigrationError} When the backup is newer than this program, or too old for it.
 */
export async function restoreDataFile(
  path: string,
  { backup, now }: { backup: ReadableStream<Uint8Array>; now: number },
): Promise<Restored> {
  const temporary = `${path}.restoring`;
  try {
    const bytes = await writeTemporary(temporary, backup);
    if (bytes === 0) throw new DatabaseError("fault", "it is empty");
    const isOlder = lacksMigrations(checkBackup(temporary));
    const former = await keepFormer(path, `${path}.before-restore-${stamp(now)}`);
    moveIntoPlace(temporary, path);
    return { bytes, former, isOlder };
  } finally {
    for (const end of ["", "-wal", "-shm"]) removeIfExists(`${temporary}${end}`);
  }
}

async function writeTemporary(temporary: string, backup: ReadableStream<Uint8Array>): Promise<number> {
  for (const end of ["-wal", "-shm"]) removeIfExists(`${temporary}${end}`);
  using file = openTemporary(temporary);
  let bytes = 0;
  for await (const part of backup) {
    for (let at = 0; at < part.length;) at += await file.write(part.subarray(at));
    bytes += part.length;
  }
  await file.sync();
  return bytes;
}

/** Links the former database to a second name. The restored file then takes over the first one. */
async function keepFormer(path: string, former: string): Promise<string | null> {
  const hasFile = exists(path);
  if (hasFile) finishLog(path);
  // The log of a damaged file remains. It would undo the restore.
  if (exists(`${path}-wal`)) await Deno.rename(`${path}-wal`, `${former}-wal`);
  removeIfExists(`${path}-shm`);
  if (!hasFile) return null;
  try {
    await Deno.link(path, former);
  } catch (error) {
    // From another restore in the same second. A rename would replace it.
    if (error instanceof Deno.errors.AlreadyExists) throw error;
    // The file system has no links.
    await Deno.rename(path, former);
  }
  syncFolder(dirname(path));
  return former;
}

/** Moves the log of a killed server into the file. @throws {DatabaseError} When another program has the file open. */
function finishLog(path: string): void {
  try {
    new Connection(path, { readOnly: false }).close();
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === "fault") return;
    throw error;
  }
  // Otherwise close() has removed it.
  if (exists(`${path}-wal`)) throw new DatabaseError("unavailable", "another program has the database open");
}

function stamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
}

function exists(file: string): boolean {
  try {
    Deno.lstatSync(file);
    return true;
  } catch {
    return false;
  }
}
