// Opens the database with either driver: for the program, or for another thread.
import type { DatabaseTarget } from "../../config.ts";
import { Connection } from "./connection.ts";
import {
  type Database,
  DatabaseError,
  type DatabaseShare,
  type DatabaseSource,
  type MainDatabase,
  type SharedDatabase,
  type Statement,
} from "./database.ts";
import { openEmbedded, openSharedFile } from "./embedded.ts";
import type { TurnMemory } from "./stream/turns.ts";

/**
 * Opens the database that the settings name.
 *
 * @param options `onFatal`: called once or more when the program must stop. `isGuest`: see {@linkcode openEmbedded}; a libSQL server
 *   ignores it. `turns`: present if a continuous backup copies the log. `timeoutMs`: the deadline of a request to a libSQL server.
 * @returns The database, not yet migrated.
 * @throws {DatabaseError} When the file is missing or can't be opened.
 */
export async function openDatabase(
  target: DatabaseTarget,
  options: {
    onFatal: (error: DatabaseError) => void;
    isGuest?: boolean;
    turns?: TurnMemory | undefined;
    timeoutMs?: number;
  },
): Promise<MainDatabase> {
  if (target.kind === "remote") return await openRemoteDatabase({ ...target, ...options });
  return await openEmbedded({
    path: target.path,
    create: "nothing",
    onFatal: options.onFatal,
    isGuest: options.isGuest ?? false,
    turns: options.turns,
  });
}

/**
 * Opens a database that another thread has open.
 *
 * @param share From {@linkcode MainDatabase.share}.
 * @param options `onFatal`: see {@linkcode openEmbedded}; not called after `fail()`.
 * @throws {DatabaseError} When the file can't be opened.
 */
export async function openShared(
  share: DatabaseShare,
  { onFatal }: { onFatal: (error: DatabaseError) => void },
): Promise<SharedDatabase> {
  return share.kind === "remote" ? await openRemoteDatabase(share) : openSharedFile(share, { onFatal });
}

/** Opens a database that another thread has open, for reading only. @throws {DatabaseError} When the file can't be opened. */
export async function openReader(source: DatabaseSource): Promise<Database> {
  const write = () => Promise.reject(new DatabaseError("fault", "this thread only reads"));
  if (source.kind === "remote") return { ...await openRemoteDatabase(source), write };
  const connection = new Connection(source.path, { readOnly: true });
  return {
    source,
    // deno-lint-ignore require-await -- reading is synchronous here; the interface is not
    read: async <T>(statement: Statement) => connection.all(statement) as T[],
    // deno-lint-ignore require-await -- as above
    readFirst: async <T>(statement: Statement) => connection.first(statement) as T | undefined,
    write,
    // deno-lint-ignore require-await -- as above
    close: async () => connection.close(),
  };
}

/** Loads the driver only when it is needed: most servers use a file. */
async function openRemoteDatabase(
  source: DatabaseSource & {
    kind: "remote";
    writes?: SharedArrayBuffer;
    timeoutMs?: number;
    onFatal?: (error: DatabaseError) => void;
  },
) {
  const { openRemote } = await import("./remote.ts");
  return openRemote(source);
}
