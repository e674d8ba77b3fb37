// Finds, creates, locks and measures the data file.
import { dirname, resolve } from "node:path";
import type { DatabaseTarget } from "../../config.ts";
import { messageOf } from "../../domain/errors.ts";
import { shellWord } from "../../domain/shell_word.ts";
import { initializeDataFile } from "./connection.ts";
import { DatabaseError } from "./database.ts";

/** The part to create when the data file is missing. `folder` also creates the file. */
export type MissingFile = "nothing" | "file" | "folder";

/** The start of every SQLite database (https://sqlite.org/fileformat.html, 1.3.1). */
const formatText = "SQLite format 3\0";

/** Checks the data file, and creates it with mode 0600 if it is missing. @throws {DatabaseError} If it can't be used. */
export function createIfMissing(path: string, create: MissingFile): void {
  try {
    const exists = isNonEmptyFile(path);
    if (!exists && create === "nothing") {
      const message = "the database doesn't exist; check DATABASE_URL and the current folder";
      throw new DatabaseError("fault", message);
    }
    if (create === "folder") Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if (exists) {
      requireDatabase(path);
    } else {
      requireFolder(dirname(path));
      createFile(path);
    }
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    throw new DatabaseError("fault", `cannot open ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** Fails with a clear reason, where SQLite only has a number, and before the lock file is created. @throws {DatabaseError} */
function requireDatabase(path: string): void {
  using file = Deno.openSync(path, { read: true, write: true });
  const start = new Uint8Array(formatText.length);
  file.readSync(start);
  if (new TextDecoder().decode(start) !== formatText) {
    throw new DatabaseError("fault", "the file is not a database");
  }
}

/** @throws {DatabaseError} When the folder doesn't exist. */
function requireFolder(folder: string): void {
  const problem = missingFolder(folder);
  if (problem !== null) {
    throw new DatabaseError("fault", `${problem}, or check DATABASE_URL and the current folder`);
  }
}

/** Says that a folder doesn't exist, with the command that creates it; null if it exists or can't be looked at. */
export function missingFolder(folder: string): string | null {
  try {
    Deno.statSync(folder);
    return null;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) return null;
    const path = resolve(folder);
    return `the folder ${path} doesn't exist; create it with mkdir -p ${shellWord(path)}`;
  }
}

/** @throws {DatabaseError} When the file is empty. Gatehouse never leaves an empty file, but an interrupted copy does. */
function isNonEmptyFile(path: string): boolean {
  try {
    if (Deno.statSync(path).size > 0) return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  throw new DatabaseError(
    "fault",
    "the file is empty, so it is not a database; restore a backup, or delete the file to start with a new database",
  );
}

/** Creates a temporary file and renames it, so that a crash never leaves an empty one. */
function createFile(path: string): void {
  const unlock = lockDataFile(path);
  if (unlock === null) throw new DatabaseError("unavailable", "another server is creating this database");
  try {
    // Another program may have created it meanwhile.
    if (isNonEmptyFile(path)) return;
    const temporary = `${path}.new`;
    // SQLite would let other users read it. The log inherits the mode.
    openTemporary(temporary).close();
    initializeDataFile(temporary);
    Deno.renameSync(temporary, path);
  } finally {
    unlock();
  }
}

/** Opens a new file for the owner alone, in place of one that a crash has left or a link that someone has put there. */
export function openTemporary(path: string): Deno.FsFile {
  removeIfExists(path);
  return Deno.openSync(path, { write: true, createNew: true, mode: 0o600 });
}

export function removeIfExists(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Keeps a second server from the data file. Returns a function that releases the lock, or null if it is taken. */
export function lockDataFile(path: string): (() => void) | null {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(`${path}.lock`, { read: true, write: true, create: true, mode: 0o600 });
  } catch (error) {
    throw new DatabaseError("fault", `cannot open ${path}.lock: ${messageOf(error)}`, { cause: error });
  }
  if (!file.tryLockSync(true)) {
    file.close();
    return null;
  }
  return () => file.close();
}

/** Returns the sizes in bytes of the data file and its log, 0 for a missing one; null for a libSQL server. */
export async function dataFileSize(target: DatabaseTarget) {
  if (target.kind !== "file") return null;
  const [dataBytes = 0, logBytes = 0] = await Promise.all(["", "-wal"].map(async (end) => {
    try {
      return (await Deno.stat(target.path + end)).size;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return 0;
      throw error;
    }
  }));
  return { dataBytes, logBytes };
}
