// Opens the database that the settings name, with either driver.
import type { DatabaseTarget } from "../../config.ts";
import type { Database, DatabaseError } from "./database.ts";
import { openEmbedded } from "./embedded.ts";

/**
 * @param target Which database.
 * @param options `onFatal`, `isGuest`: see {@linkcode openEmbedded}; a remote database has no use for them. `mayCreate`:
 *   create a data file that is missing.
 * @returns The database, not yet migrated.
 * @throws {DatabaseError} When the file cannot be opened.
 */
export async function openDatabase(
  target: DatabaseTarget,
  options: { onFatal: (error: DatabaseError) => void; isGuest?: boolean; mayCreate?: boolean },
): Promise<Database> {
  if (target.kind === "remote") {
    // Loaded when it is needed: most servers have a file.
    const { openRemote } = await import("./remote.ts");
    return openRemote(target);
  }
  return await openEmbedded({
    path: target.path,
    create: options.mayCreate !== true ? "nothing" : target.createFolder ? "folder" : "file",
    onFatal: options.onFatal,
    isGuest: options.isGuest ?? false,
  });
}
