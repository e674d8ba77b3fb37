// Checks whether the database is usable as it is. Creates, migrates and leaves behind nothing: a server may be using it, or the
// settings may name the wrong one.
import { statfs } from "node:fs/promises";
import { resolve } from "node:path";
import type { Config, DatabaseTarget } from "../../config.ts";
import { type Database, DatabaseError } from "../../db/engine/database.ts";
import {
  checkWritable,
  hasWalResetFault,
  readDatabaseSeconds,
  readSqliteVersion,
} from "../../db/engine/diagnostics.ts";
import { checkSchema, MigrationError } from "../../db/engine/migrate.ts";
import { openDatabase } from "../../db/engine/open.ts";
import { countPasskeysElsewhere } from "../../db/people/mod.ts";
import { countStoredSecrets } from "../../db/stored_secrets.ts";
import { type CheckResult, resultsOf } from "../../domain/check_result.ts";
import { shellWord } from "../../domain/shell_word.ts";
import { checkFreeBytesMin, checkFreeBytesWarningMin } from "../../domain/check_limits.ts";
import { passkeyResults } from "./passkeys.ts";
import { type CheckedConfig, checkProviders } from "./providers.ts";
import { secretsResults } from "./secrets.ts";
import { checkClock, inTime, reasonOf } from "./time.ts";

const result = resultsOf("Database");

/** @param options `isRunning`: a server with the same settings is running. */
export async function checkDatabase(
  config: CheckedConfig & Pick<Config, "database">,
  options: { isRunning: Promise<boolean> },
): Promise<CheckResult[]> {
  const { database: target } = config;
  if (target.kind === "remote") return await checkContent(target, config);
  const file = await fileInfo(target.path);
  const space = await checkSpace(target.path);
  if (typeof file === "string") return [await missingResult(target, file, options), ...space];
  return [...await checkContent(target, config), ...checkMode(target.path, file), ...space];
}

/** Returns the file, or why it can't be used. */
async function fileInfo(path: string): Promise<Deno.FileInfo | string> {
  try {
    const info = await Deno.stat(path);
    return info.size === 0 ? "the file is empty" : info;
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "the file does not exist" : reasonOf(error);
  }
}

async function missingResult(
  { path, createFolder }: DatabaseTarget & { kind: "file" },
  reason: string,
  { isRunning }: { isRunning: Promise<boolean> },
): Promise<CheckResult> {
  const saw = `${resolve(path)}: ${reason}.`;
  if (await isRunning) {
    return result.wrong(
      saw,
      "The running server uses another file: run this command in its folder, with its settings.",
    );
  }
  const folder = await Deno.stat(folderOf(path)).catch(() => null);
  return folder?.isDirectory === true || createFolder
    ? result.warning(
      saw,
      "The first start creates it. If it should already exist, check DATABASE_URL and the current folder.",
    )
    : result.wrong(
      `${saw} Its folder does not exist either.`,
      `mkdir -p ${shellWord(resolve(folderOf(path)))}`,
    );
}

async function checkContent(
  target: DatabaseTarget,
  config: CheckedConfig,
): Promise<CheckResult[]> {
  const name = target.kind === "file" ? resolve(target.path) : new URL(target.url).host;
  let database: Database | undefined;
  try {
    database = await inTime(openDatabase(target, { onFatal: () => {}, isGuest: true }));
    const schema = schemaResult(name, await inTime(schemaState(database)));
    if (schema !== null) return [schema];
    await inTime(checkWritable(database));
    const writable = result.ok(`${name} has this program's schema and is writable.`);
    const results = [
      writable,
      sqliteResult(await inTime(readSqliteVersion(database)), target),
      ...secretsResults(config.secretsKeys, await inTime(countStoredSecrets(database, Date.now()))),
      ...passkeyResults(await inTime(countPasskeysElsewhere(database, config.baseUrl.hostname))),
      ...await checkProviders(database, config),
    ];
    // A file has this machine's clock.
    return target.kind === "file" ? results : [...results, await checkDatabaseClock(database)];
  } catch (error) {
    return [result.wrong(`${name}: ${reasonOf(error)}`, adviceFor(error, target))];
  } finally {
    // A database that hangs must not keep the command waiting.
    await inTime(database?.close() ?? Promise.resolve()).catch(() => {});
  }
}

async function schemaState(database: Database): Promise<MigrationError | "current" | "none"> {
  try {
    return await checkSchema(database) ? "current" : "none";
  } catch (error) {
    if (error instanceof MigrationError) return error;
    throw error;
  }
}

function schemaResult(name: string, state: MigrationError | "current" | "none"): CheckResult | null {
  if (state === "current") return null;
  if (state === "none") {
    const advice = "The first start creates it. If the database should have one, DATABASE_URL names another.";
    return result.warning(`${name} has no schema yet.`, advice);
  }
  const saw = `${name}: ${state.message}.`;
  if (state.isOfMove) return result.wrong(saw, "See gatehouse move --help.");
  return state.isOlder
    ? result.warning(saw, "Back it up, then start the server or run gatehouse migrate to upgrade it.")
    : result.wrong(saw, "Run the version of gatehouse that this database belongs to, or restore a backup.");
}

/** Not a warning: Gatehouse and `sqld` avoid the bug, and the check can't know about other programs. */
function sqliteResult(version: string, { kind }: DatabaseTarget): CheckResult {
  const sqlite = resultsOf("SQLite");
  const found = kind === "file"
    ? `Version ${version} of Deno ${Deno.version.deno}`
    : `The server has version ${version}`;
  if (!hasWalResetFault(version)) return sqlite.ok(`${found}, without the WAL-reset fault.`);
  const opener = kind === "file" ? "" : " than the server";
  return sqlite.ok(
    `${found}, with the WAL-reset fault: no other program${opener} may write to the data file while it is in use.`,
  );
}

function adviceFor(error: unknown, target: DatabaseTarget): string {
  if (target.kind === "remote") {
    return "Check DATABASE_URL and DATABASE_AUTH_TOKEN, and that the server is running and reachable.";
  }
  return error instanceof DatabaseError && error.kind === "unavailable"
    ? "Another program holds its lock, or the disk is full: check open files (fuser) and free space (df)."
    : "Check the owner of the file and of its folder, and that the file system is not mounted read-only.";
}

async function checkDatabaseClock(database: Database): Promise<CheckResult> {
  const askedAt = Date.now();
  const seconds = await inTime(readDatabaseSeconds(database));
  return checkClock("the database", { at: seconds * 1000, askedAt, answeredAt: Date.now() });
}

function checkMode(path: string, { mode, uid }: Deno.FileInfo): CheckResult[] {
  // Windows has neither.
  if (mode === null || uid === null) return [];
  const file = resultsOf("Data file");
  const results: CheckResult[] = [];
  const bits = mode & 0o777;
  if ((bits & 0o077) !== 0) {
    const saw = `Its mode is 0${bits.toString(8)}: other users of this machine can access it.`;
    results.push(file.warning(saw, `chmod 600 ${shellWord(path)}`));
  }
  const ownUid = Deno.uid();
  if (ownUid !== uid) {
    results.push(file.warning(
      `User ${uid} owns it, but this check runs as user ${ownUid} and may have other permissions than the server.`,
      "Run this command as the server's user.",
    ));
  }
  return results.length > 0 ? results : [file.ok("Only its owner can read and write it (mode 0600).")];
}

/** Checks the free space, where the system reports it. */
async function checkSpace(path: string): Promise<CheckResult[]> {
  const disk = resultsOf("Disk");
  try {
    const { bavail, bsize } = await statfs(folderOf(path));
    const free = bavail * bsize;
    const saw = `${Math.floor(free / 1024 / 1024)} MB are free next to the data file.`;
    if (free >= checkFreeBytesWarningMin) return [disk.ok(saw)];
    const advice = "Free up space: on a full disk, recording and sign-in fail.";
    return [disk[free < checkFreeBytesMin ? "wrong" : "warning"](saw, advice)];
  } catch {
    // The folder does not exist, which another result reports.
    return [];
  }
}

function folderOf(path: string): string {
  return path.replace(/[^/\\]*$/, "") || ".";
}
