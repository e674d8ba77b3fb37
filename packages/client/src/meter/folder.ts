// The folder of a spool: only its user and root can change its content, and no link in it is followed.
import * as fs from "node:fs";
import { resolve } from "node:path";
import process from "node:process";

const { O_APPEND, O_CREAT, O_RDWR } = fs.constants;
/** Windows has no such flag. */
const noFollow = fs.constants.O_NOFOLLOW ?? 0;
const writableByGroup = 0o020;
const writableByOthers = 0o022;
const sticky = 0o1000;

/** Creates a spool's folder if it is missing. @throws {TypeError} If other users can change its content. */
export function makeFolder(folder: string): void {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  requireSafeFolder(folder);
}

/**
 * Removes the group's write permission from a folder of this user.
 *
 * @throws {TypeError} If a folder exists, and other users than this one and root can change its content.
 */
export function requireSafeFolder(folder: string): void {
  // There, owners and modes have no meaning.
  if (process.platform === "win32") return;
  const stats = statsOf(folder);
  const remedy = "Name a new folder inside it, which the meter will create, or";
  const foreign = stats.find(({ uid }) => !isTrusted(uid));
  if (foreign !== undefined) {
    throw new TypeError(
      `The spool ${folder} belongs to user ${foreign.uid}, and this process runs as user ${userId()}. ${remedy} change its owner.`,
    );
  }
  tighten(folder, stats.at(-1));
  if (statsOf(folder).some((one) => !one.isSymbolicLink() && (one.mode & writableByOthers) !== 0)) {
    throw new TypeError(`Other users can write to the spool ${folder}. ${remedy} run "chmod go-w" on it.`);
  }
}

/** Makes a folder safe that Kubernetes with `fsGroup` made writable for a group. Those of root may be the system's. */
function tighten(folder: string, stats: fs.Stats | undefined): void {
  if (stats === undefined || stats.uid === 0 || stats.uid !== userId()) return;
  if ((stats.mode & (writableByOthers | sticky)) !== writableByGroup) return;
  try {
    fs.chmodSync(folder, stats.mode & 0o7777 & ~writableByGroup);
  } catch {
    // The caller reads the mode again.
  }
}

/** Opens a file to read and change it. @throws {Error} If it is a link or another user's, or can't be opened. */
export function openFile(path: string): number {
  const fd = fs.openSync(path, O_RDWR | noFollow);
  try {
    requireOwnFile(path, fs.fstatSync(fd));
    return fd;
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

/** Opens a file, created if missing, to append to it. @throws {Error} If it is a link or another user's, or can't be opened. */
export async function openToAppend(path: string): Promise<fs.promises.FileHandle> {
  // Opening a pipe only to write would wait for a reader.
  const file = await fs.promises.open(path, O_RDWR | O_APPEND | O_CREAT | noFollow, 0o600);
  try {
    requireOwnFile(path, await file.stat());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Rejects files that others may have put into the folder while they could write to it. */
function requireOwnFile(path: string, opened: fs.Stats): void {
  if (noFollow === 0) return;
  // Deno with limited permissions resolves links before it opens a file. Nothing was written yet.
  const { ino, dev } = fs.lstatSync(path);
  if (ino !== opened.ino || dev !== opened.dev) throw new Error(`${path} is a link`);
  if (!opened.isFile()) throw new Error(`${path} is not a regular file`);
  if (!isTrusted(opened.uid)) throw new Error(`${path} belongs to user ${opened.uid}`);
}

/** Returns the stats of the path and of the folder; none if it is missing. */
function statsOf(folder: string): fs.Stats[] {
  // With a slash at the end, a link would not be seen.
  const path = resolve(folder);
  try {
    return [fs.lstatSync(path), fs.statSync(path)];
  } catch {
    // Other problems show when the folder is used.
    return [];
  }
}

/** True for this user and root, and for everyone if this user is unknown. */
function isTrusted(uid: number): boolean {
  const user = userId();
  return user === undefined || uid === user || uid === 0;
}

/** Returns the user that owns the files of this process, or undefined if Deno denies access to it. */
function userId(): number | undefined {
  try {
    return process.geteuid?.();
  } catch {
    return undefined;
  }
}
