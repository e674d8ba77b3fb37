// Opens the database that the settings name, with either driver.
import type { DatabaseTarget } from "../config.ts";
import type { Database, DatabaseError } from "./database.ts";
import { openEmbedded } from "./embedded.ts";

/**
 * @param target Which database.
 * @param options `onFatal`, `isGuest`: see {@linkcode openEmbedded}; a remote database has no use for them.
 * @returns The database, not yet migrated.
 * @throws {DatabaseError} When the file cannot be opened.
 */
export async function openDatabase(
  target: DatabaseTarget,
  options: { onFatal: (error: DatabaseError) => void; isGuest?: boolean },
): Promise<Database> {
  if (target.kind === "remote") {
    // Loaded when it is needed: most servers have a file.
    const { openRemote } = await import("./remote.ts");
    return openRemote(target);
  }
  return await openEmbedded({
    path: target.path,
    createFolder: target.createFolder,
    onFatal: options.onFatal,
    isGuest: options.isGuest ?? false,
  });
}
