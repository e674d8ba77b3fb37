// Opens and migrates the database for a command, or says in one line why that cannot be.
import type { Config } from "../config.ts";
import { type Database, DatabaseError } from "../db/database.ts";
import { lockDataFile } from "../db/embedded.ts";
import { migrate, MigrationError } from "../db/migrate.ts";
import { openDatabase } from "../db/open.ts";
import { exitConfig, exitFault } from "./settings.ts";
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
  const refuse = (message: string, status: number): number => {
    writeLine(`gatehouse: ${message}`, "stderr");
    return status;
  };
  let database: Database | undefined;
  let unlock: (() => void) | null = () => {};
  try {
    database = await openDatabase(config.database, { onFatal });
    if (config.database.kind === "file") unlock = lockDataFile(config.database.path);
    if (unlock === null) {
      await database.close();
      return refuse(`another server is running on ${databaseName(config)}`, exitConfig);
    }
    const release = unlock;
    const opened = database;
    const applied = await migrate(opened, { now: Date.now() });
    return {
      database: opened,
      applied,
      close: async () => {
        await opened.close();
        release();
      },
    };
  } catch (error) {
    await database?.close();
    unlock?.();
    const reason = error instanceof Error ? error.message : String(error);
    const known = error instanceof MigrationError || error instanceof DatabaseError;
    return refuse(`${databaseName(config)}: ${reason}`, known ? exitConfig : exitFault);
  }
}

function databaseName({ database }: Config): string {
  return database.kind === "file" ? database.path : new URL(database.url).host;
}
