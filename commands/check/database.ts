// Whether the database can be used as it is. Nothing is made, migrated or left behind: a server may be running on it, or the
// settings may name the wrong one.
import { statfs } from "node:fs/promises";
import { resolve } from "node:path";
import type { Config, DatabaseTarget } from "../../config.ts";
import { type Database, DatabaseError } from "../../db/engine/database.ts";
import { checkSchema, MigrationError } from "../../db/engine/migrate.ts";
import { openDatabase } from "../../db/engine/open.ts";
import { probeWrite, readDatabaseSeconds } from "../../db/engine/diagnostics.ts";
import type { Finding, Verdict } from "../../domain/check_result.ts";
import { checkFreeBytesMin, checkFreeBytesWarningMin } from "../../domain/limits.ts";
import { clockFinding, inTime, reasonOf } from "./time.ts";

const about = "Database";

/**
 * @param options `serverAnswers`: whether the server of the same settings is running now.
 * @returns Whether the database is there, is this program's, takes writes, has room, and is nobody else's to read.
 */
export async function databaseFindings(
  { database: target }: Pick<Config, "database">,
  options: { serverAnswers: Promise<boolean> },
): Promise<Finding[]> {
  if (target.kind === "remote") return await contentFindings(target);
  const file = await fileInfo(target.path);
  const space = await spaceFinding(target.path);
  if (typeof file === "string") return [await missingFinding(target, file, options), ...space];
  return [...await contentFindings(target), ...modeFindings(target.path, file), ...space];
}

/** @returns The file, or why it cannot be looked at. */
async function fileInfo(path: string): Promise<Deno.FileInfo | string> {
  try {
    const info = await Deno.stat(path);
    return info.size === 0 ? "it is empty" : info;
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "it is not there" : reasonOf(error);
  }
}

async function missingFinding(
  { path, createFolder }: DatabaseTarget & { kind: "file" },
  why: string,
  { serverAnswers }: { serverAnswers: Promise<boolean> },
): Promise<Finding> {
  const saw = `${resolve(path)}: ${why}.`;
  if (await serverAnswers) {
    const advice = "A server is running, so it has another file: run this with its settings, in its folder.";
    return { about, verdict: "wrong", saw, advice };
  }
  const folder = await Deno.stat(folderOf(path)).catch(() => null);
  if (folder?.isDirectory !== true && !createFolder) {
    return {
      about,
      verdict: "wrong",
      saw: `${saw} Neither is its folder.`,
      advice: `Make ${folderOf(path)}`,
    };
  }
  const advice =
    "The first start makes it. If there should be one: look at DATABASE_URL, and from which folder this runs.";
  return { about, verdict: "warning", saw, advice };
}

/** What only an open database tells. */
async function contentFindings(target: DatabaseTarget): Promise<Finding[]> {
  const name = target.kind === "file" ? resolve(target.path) : new URL(target.url).host;
  let database: Database | undefined;
  try {
    database = await inTime(openDatabase(target, { onFatal: () => {}, isGuest: true }));
    const schema = schemaFinding(name, await inTime(schemaState(database)));
    if (schema !== null) return [schema];
    await inTime(probeWrite(database));
    const written: Finding = {
      about,
      verdict: "ok",
      saw: `${name} has this program's schema, and takes writes.`,
    };
    // A file's clock is this machine's.
    return target.kind === "file" ? [written] : [written, await databaseClock(database)];
  } catch (error) {
    return [{
      about,
      verdict: "wrong",
      saw: `${name}: ${reasonOf(error)}`,
      advice: adviceFor(error, target),
    }];
  } finally {
    // What hangs would keep this waiting.
    await inTime(database?.close() ?? Promise.resolve()).catch(() => {});
  }
}

/** @returns What is not as it should be, or `current` or `none`. */
async function schemaState(database: Database): Promise<MigrationError | "current" | "none"> {
  try {
    return await checkSchema(database) ? "current" : "none";
  } catch (error) {
    if (error instanceof MigrationError) return error;
    throw error;
  }
}

function schemaFinding(name: string, state: MigrationError | "current" | "none"): Finding | null {
  if (state === "current") return null;
  if (state === "none") {
    return {
      about,
      verdict: "warning",
      saw: `${name} has no schema yet.`,
      advice: "The first start makes it. If there should be one: DATABASE_URL names another database.",
    };
  }
  return state.isOlder
    ? {
      about,
      verdict: "warning",
      saw: `${name}: ${state.message}.`,
      advice: "Copy it, then start the server or run gatehouse migrate: either brings it up to date.",
    }
    : {
      about,
      verdict: "wrong",
      saw: `${name}: ${state.message}.`,
      advice: "Run the version of gatehouse that this database belongs to, or bring back its copy.",
    };
}

function adviceFor(error: unknown, target: DatabaseTarget): string {
  if (target.kind === "remote") {
    return "Look at DATABASE_URL and DATABASE_AUTH_TOKEN, and whether the server is running and reached from here.";
  }
  return error instanceof DatabaseError && error.kind === "unavailable"
    ? "Something holds its lock, or the disk is full: see who has it open (fuser), and how much room there is (df)."
    : "Look at who owns it and its folder, and that its file system is not mounted read-only.";
}

async function databaseClock(database: Database): Promise<Finding> {
  const askedAt = Date.now();
  const seconds = await inTime(readDatabaseSeconds(database));
  return clockFinding("the database", { at: seconds * 1000, askedAt, answeredAt: Date.now() });
}

function modeFindings(path: string, { mode, uid }: Deno.FileInfo): Finding[] {
  // Windows has neither.
  if (mode === null || uid === null) return [];
  const findings: Finding[] = [];
  const name = "Data file";
  const bits = mode & 0o777;
  if ((bits & 0o077) !== 0) {
    findings.push({
      about: name,
      verdict: "warning",
      saw: `Its mode is 0${bits.toString(8)}: other users of this machine can get at it.`,
      advice: `chmod 600 ${path}`,
    });
  }
  const own = Deno.uid();
  if (own !== uid) {
    findings.push({
      about: name,
      verdict: "warning",
      saw:
        `It belongs to the user with the number ${uid}, and this check runs as ${own}: it may see what the server cannot.`,
      advice: "Run it as the server's user.",
    });
  }
  return findings.length > 0
    ? findings
    : [{ about: name, verdict: "ok", saw: "Only its owner can read and write it (mode 0600)." }];
}

/** @returns How much room there is, where that can be known. */
async function spaceFinding(path: string): Promise<Finding[]> {
  try {
    const { bavail, bsize } = await statfs(folderOf(path));
    const free = bavail * bsize;
    const verdict: Verdict = free < checkFreeBytesMin
      ? "wrong"
      : free < checkFreeBytesWarningMin
      ? "warning"
      : "ok";
    const saw = `${Math.floor(free / 1024 / 1024)} MB are free beside the data file.`;
    const advice = "Make room: on a full disk nothing is recorded, and nobody can sign in.";
    return [{ about: "Disk", verdict, saw, ...(verdict === "ok" ? {} : { advice }) }];
  } catch {
    // No such folder: that is told already.
    return [];
  }
}

function folderOf(path: string): string {
  return path.replace(/[^/\\]*$/, "") || ".";
}
