// Opens and migrates the database for a command, or says in one line why that cannot be.
import { resolve } from "node:path";
import type { Config } from "../config.ts";
import { type Database, DatabaseError } from "../db/engine/database.ts";
import { lockDataFile } from "../db/engine/embedded.ts";
import { checkSchema, migrate, MigrationError } from "../db/engine/migrate.ts";
import { openDatabase } from "../db/engine/open.ts";
import { exitBusy, exitConfig, exitFault } from "./settings.ts";
import { writeLine } from "./terminal.ts";

/** A migrated database, and how to let go of it. */
export interface OpenedDatabase {
  readonly database: Database;
  /** The numbers of the migrations that were applied now. */
  readonly applied: readonly number[];
  close(): Promise<void>;
}

/**
 * @param config The settings.
 * @param onFatal See `openEmbedded`.
 * @returns The database; or an exit status after the reason was told.
 */
export async function openForCommand(
  config: Config,
  onFatal: (error: DatabaseError) => void,
): Promise<OpenedDatabase | number> {
  return await open(config, { onFatal, isGuest: false });
}

/** @returns The data file's whole path, or the libSQL server's host. */
export function databaseName({ database }: Pick<Config, "database">): string {
  return database.kind === "file" ? resolve(database.path) : new URL(database.url).host;
}

/**
 * Opens the database for a command that works beside a running server. Where one may be running the schema must be
 * exactly this program's, and nothing is migrated under its feet. A database that is missing is never created.
 *
 * @param options `onlyReads`: a server may start meanwhile; whoever pages through a long list would keep it from that.
 * @returns The database; or an exit status after the reason was told.
 */
export async function openBesideServer(
  config: Config,
  { onlyReads }: { onlyReads: boolean },
): Promise<OpenedDatabase | number> {
  // What a fatal error leaves undone is told by the write that met it.
  return await open(config, { onFatal: () => {}, isGuest: true, onlyReads });
}

interface OpenOptions {
  readonly onFatal: (error: DatabaseError) => void;
  /** Go on when a server has the file. */
  readonly isGuest: boolean;
  /** Give the lock back once the schema is right. */
  readonly onlyReads?: boolean;
}

async function open(config: Config, options: OpenOptions): Promise<OpenedDatabase | number> {
  const { onFatal, isGuest, onlyReads = false } = options;
  const refuse = (message: string, status: number): number => {
    writeLine(`gatehouse: ${message}`, "stderr");
    return status;
  };
  const { database: target } = config;
  let database: Database | undefined;
  let unlock: (() => void) | null = () => {};
  try {
    database = await openDatabase(target, { onFatal, isGuest, mayCreate: !isGuest });
    if (target.kind === "file") unlock = lockDataFile(target.path);
    if (unlock === null && !isGuest) {
      await database.close();
      return refuse(`another server is running on ${databaseName(config)}`, exitBusy);
    }
    const opened = database;
    // A remote database has no such lock: servers may be running.
    const isShared = isGuest && (unlock === null || target.kind === "remote");
    if (isGuest) await requireSchema(opened, { mayBeOlder: !isShared });
    const applied = isShared ? [] : await migrate(opened, { now: Date.now() });
    if (onlyReads) {
      unlock?.();
      unlock = null;
    }
    return {
      database: opened,
      applied,
      close: async () => {
        await opened.close();
        if (target.kind === "file" && unlock !== null) warnOfLog(target.path);
        unlock?.();
      },
    };
  } catch (error) {
    await database?.close();
    unlock?.();
    const reason = error instanceof Error ? error.message : String(error);
    const known = error instanceof MigrationError || error instanceof DatabaseError;
    const isBusy = error instanceof DatabaseError && error.kind === "unavailable";
    const status = isBusy ? exitBusy : known ? exitConfig : exitFault;
    return refuse(`${databaseName(config)}: ${reason}`, status);
  }
}

/** @throws {MigrationError} When the schema is not this program's, or there is none. */
async function requireSchema(database: Database, { mayBeOlder }: { mayBeOlder: boolean }): Promise<void> {
  try {
    if (await checkSchema(database)) return;
  } catch (error) {
    if (mayBeOlder && error instanceof MigrationError && error.isOlder) return;
    throw error;
  }
  throw new MigrationError("the database has no tables yet; start the server or run gatehouse migrate first");
}

/** Says so when the data file alone is not all of the data. */
function warnOfLog(path: string): void {
  const log = `${path}-wal`;
  const size = sizeOf(log);
  if (size === 0) return;
  writeLine(
    `gatehouse: the newest data is still in ${resolve(log)}, because another program has the database open ` +
      "or writing failed: copy both files, or use gatehouse backup",
    "stderr",
  );
}

function sizeOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch {
    return 0;
  }
}
