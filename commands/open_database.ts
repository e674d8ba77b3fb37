// Opens and migrates the database for a command.
import { resolve } from "node:path";
import type { Config } from "../config.ts";
import { type Database, DatabaseError, type MainDatabase } from "../db/engine/database.ts";
import { createIfMissing, lockDataFile } from "../db/engine/data_file.ts";
import { checkSchema, migrate, MigrationError } from "../db/engine/migrate.ts";
import { openDatabase } from "../db/engine/open.ts";
import type { TurnMemory } from "../db/engine/stream/turns.ts";
import { messageOf } from "../domain/errors.ts";
import { CommandError, exitStatus } from "./settings.ts";
import { writeLine } from "./terminal.ts";

/** A migrated database. */
export interface OpenedDatabase {
  readonly database: MainDatabase;
  /** The numbers of the migrations that were just applied. */
  readonly applied: readonly number[];
  /** Warns when the data file alone doesn't have all of the data, as after a close that takes too long. */
  warnOfLog(): void;
  close(): Promise<void>;
}

/** Returns the full path of the data file, or the libSQL server's host. */
export function databaseName({ database }: Pick<Config, "database">): string {
  return database.kind === "file" ? resolve(database.path) : new URL(database.url).host;
}

interface OpenOptions {
  /** See `openEmbedded`. By default, only the write that met a fatal error reports it. */
  readonly onFatal?: (error: DatabaseError) => void;
  /**
   * True to work next to a running server. If one may be running, the schema must be exactly this version's, and nothing is migrated. A
   * missing database is never created.
   */
  readonly isGuest?: boolean;
  /** Called with the lock, before the data file is opened. Returns memory for {@linkcode openDatabase}. */
  readonly beforeOpen?: (path: string) => TurnMemory | undefined;
  /** Lets a server start meanwhile, as printing a long list may take a while. */
  readonly onlyReads?: boolean;
}

/** Opens and migrates the database; without `isGuest`, for one process alone. @throws {CommandError} */
export async function openForCommand(config: Config, options: OpenOptions = {}): Promise<OpenedDatabase> {
  const { onFatal = () => {}, isGuest = false, onlyReads = false } = options;
  const { database: target } = config;
  let database: MainDatabase | undefined;
  let unlock: (() => void) | null = () => {};
  try {
    if (target.kind === "file") {
      createIfMissing(target.path, isGuest ? "nothing" : target.createFolder ? "folder" : "file");
      // Before opening: without the lock, only a guest may close the file, which doesn't checkpoint the log.
      unlock = lockDataFile(target.path);
    }
    if (unlock === null && !isGuest) {
      throw new CommandError(`another server is running on ${databaseName(config)}`, exitStatus.busy);
    }
    const turns = target.kind === "file" ? options.beforeOpen?.(target.path) : undefined;
    database = await openDatabase(target, { onFatal, isGuest, turns });
    const opened = database;
    // A libSQL server has no such lock: Gatehouse servers may be running.
    const isShared = isGuest && (unlock === null || target.kind === "remote");
    if (isGuest) await requireSchema(opened, { mayBeOlder: !isShared });
    const applied = isShared ? [] : await migrate(opened, { now: Date.now() });
    if (onlyReads) {
      unlock?.();
      unlock = null;
    }
    const warn = () => {
      if (target.kind === "file" && unlock !== null) warnOfLog(target.path);
    };
    return {
      database: opened,
      applied,
      warnOfLog: warn,
      close: async () => {
        await opened.close();
        warn();
        unlock?.();
      },
    };
  } catch (error) {
    await database?.close();
    unlock?.();
    throw error instanceof CommandError ? error : databaseFailure(config, error);
  }
}

export function databaseFailure(config: Pick<Config, "database">, error: unknown): CommandError {
  const isKnown = error instanceof MigrationError || error instanceof DatabaseError;
  const isBusy = error instanceof DatabaseError && error.kind === "unavailable";
  const status = isBusy ? exitStatus.busy : isKnown ? exitStatus.config : exitStatus.internal;
  return new CommandError(`${databaseName(config)}: ${messageOf(error)}`, status);
}

/** @throws {MigrationError} When the schema is missing or another version's. */
async function requireSchema(database: Database, { mayBeOlder }: { mayBeOlder: boolean }): Promise<void> {
  try {
    if (await checkSchema(database)) return;
  } catch (error) {
    if (mayBeOlder && error instanceof MigrationError && error.isOlder) return;
    throw error;
  }
  throw new MigrationError("the database has no tables yet; start the server or run gatehouse migrate first");
}

function warnOfLog(path: string): void {
  const log = `${path}-wal`;
  try {
    if (Deno.statSync(log).size === 0) return;
  } catch {
    return;
  }
  writeLine(
    `gatehouse: the newest data is still in ${resolve(log)}, because another program has the database open ` +
      "or writing failed. Copy both files, or use gatehouse backup",
    "stderr",
  );
}
