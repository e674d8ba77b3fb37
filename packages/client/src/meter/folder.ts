// The folder of a spool: only its user and root can change what is in it, and no link in it is followed.
import * as fs from "node:fs";
import process from "node:process";

const { O_APPEND, O_CREAT, O_RDWR, O_WRONLY } = fs.constants;
/** Windows has no such flag. */
const noFollow = fs.constants.O_NOFOLLOW ?? 0;
const writableByOthers = 0o022;

/** Creates a spool's folder if it is missing. @throws {TypeError} If other users can change what is in it. */
export function makeFolder(folder: string): void {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  requireSafeFolder(folder);
}

/** @throws {TypeError} If a folder exists, and other users than this one and root can change what is in it. */
export function requireSafeFolder(folder: string): void {
  // There, owners and modes have no meaning.
  if (process.platform === "win32") return;
  const stats = statsOf(folder);
  const user = userId();
  const remedy = "or name a new folder inside it, which the meter will create";
  const foreign = stats.find(({ uid }) => user !== undefined && uid !== user && uid !== 0);
  if (foreign !== undefined) {
    throw new TypeError(
      `The spool ${folder} belongs to user ${foreign.uid}, and this process runs as user ${user}. Change its owner, ${remedy}.`,
    );
  }
  if (stats.some((one) => !one.isSymbolicLink() && (one.mode & writableByOthers) !== 0)) {
    throw new TypeError(`Other users can write to the spool ${folder}. Run "chmod go-w" on it, ${remedy}.`);
  }
}

/** Opens a file to read and change it. @returns Its descriptor. @throws {Error} If it is a link, or can't be opened. */
export function openFile(path: string): number {
  const fd = fs.openSync(path, O_RDWR | noFollow);
  try {
    requireNoLink(path, fs.fstatSync(fd));
    return fd;
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

/** Opens a file, created if missing, to append to it. @throws {Error} If it is a link, or can't be opened. */
export async function openToAppend(path: string): Promise<fs.promises.FileHandle> {
  const file = await fs.promises.open(path, O_WRONLY | O_APPEND | O_CREAT | noFollow, 0o600);
  try {
    requireNoLink(path, await file.stat());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Deno with limited permissions resolves links before it opens a file. Nothing was written yet. */
function requireNoLink(path: string, opened: fs.Stats): void {
  if (noFollow === 0) return;
  const { ino, dev } = fs.lstatSync(path);
  if (ino !== opened.ino || dev !== opened.dev) throw new Error(`${path} is a link`);
}

/** @returns The folder, and the link that leads to it; nothing if it is missing. */
function statsOf(folder: string): fs.Stats[] {
  try {
    return [fs.lstatSync(folder), fs.statSync(folder)];
  } catch {
    // What else is wrong with it shows when it is used.
    return [];
  }
}

/** @returns The user that owns the files of this process, or undefined if Deno denies to tell. */
function userId(): number | undefined {
  try {
    return process.geteuid?.();
  } catch {
    return undefined;
  }
}
