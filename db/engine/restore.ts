// Puts a backup in the place of the data file. The caller holds the lock that keeps servers away. At every moment there is
// either the former database or the restored one, and nothing of the former is deleted.
import { dirname } from "node:path";
import { checkBackup, moveIntoPlace, syncFolder } from "./backup.ts";
import { Connection, filesReleased } from "./connection.ts";
import { DatabaseError } from "./database.ts";
import { lacksMigrations } from "./migrate.ts";

/** What a restore did. */
export interface Restored {
  readonly bytes: number;
  /** Where the former database is now; null when there was none. */
  readonly former: string | null;
  /** The backup was made by an older version: migrations are still to be applied. */
  readonly isOlder: boolean;
}

/**
 * @param path The data file.
 * @param options `backup`: its bytes. `now`: milliseconds since 1970.
 * @throws {DatabaseError} `fault` when it is not a backup or damaged; `unavailable` when another program has the data
 *   file open.
 * @throws {MigrationError} When the backup is newer than this program.
 */
export async function restoreDataFile(
  path: string,
  { backup, now }: { backup: ReadableStream<Uint8Array>; now: number },
): Promise<Restored> {
  const aside = `${path}.restoring`;
  try {
    const bytes = await writeAside(aside, backup);
    if (bytes === 0) throw new DatabaseError("fault", "it is empty");
    const isOlder = lacksMigrations(checkBackup(aside));
    await filesReleased();
    const former = await putAside(path, `${path}.before-restore-${stamp(now)}`);
    moveIntoPlace(aside, path);
    return { bytes, former, isOlder };
  } finally {
    for (const end of ["", "-wal", "-shm"]) await removeIfThere(`${aside}${end}`);
  }
}

async function writeAside(aside: string, backup: ReadableStream<Uint8Array>): Promise<number> {
  for (const end of ["-wal", "-shm"]) await removeIfThere(`${aside}${end}`);
  using file = await Deno.open(aside, { write: true, create: true, truncate: true, mode: 0o600 });
  let bytes = 0;
  for await (const part of backup) {
    for (let at = 0; at < part.length;) at += await file.write(part.subarray(at));
    bytes += part.length;
  }
  await file.sync();
  return bytes;
}

/** Gives the former database a second name; its first one is taken over by the restored file. */
async function putAside(path: string, former: string): Promise<string | null> {
  const hasFile = isThere(path);
  if (hasFile) await finishLog(path);
  // A log that is left belongs to a damaged file, and to no other one: it would undo the restore.
  if (isThere(`${path}-wal`)) await Deno.rename(`${path}-wal`, `${former}-wal`);
  await removeIfThere(`${path}-shm`);
  if (!hasFile) return null;
  try {
    await Deno.link(path, former);
  } catch (error) {
    // The former database of another restore in the same second: a rename would replace it.
    if (error instanceof Deno.errors.AlreadyExists) throw error;
    // A file system without links.
    await Deno.rename(path, former);
  }
  syncFolder(dirname(path));
  return former;
}

/** Moves what a kill left in the log into the file. @throws {DatabaseError} When another program has the file open. */
async function finishLog(path: string): Promise<void> {
  try {
    new Connection(path, { readOnly: false }).close();
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === "fault") return;
    throw error;
  }
  await filesReleased();
  // The last connection removes the log, but only where close() can release the file.
  const isLast = !("gc" in globalThis) || !isThere(`${path}-wal`);
  if (!isLast) throw new DatabaseError("unavailable", "another program has the database open");
}

function stamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
}

async function removeIfThere(file: string): Promise<void> {
  try {
    await Deno.remove(file);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function isThere(file: string): boolean {
  try {
    Deno.lstatSync(file);
    return true;
  } catch {
    return false;
  }
}
