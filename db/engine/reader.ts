// Read access for a thread of its own: no writer, and nothing shared with the thread that opened the database first.
import { Connection, filesReleased } from "./connection.ts";
import { type Database, DatabaseError, type DatabaseSource, type Statement } from "./database.ts";

/**
 * Opens a database that another thread has opened, for reading only.
 *
 * @throws {DatabaseError} When the file cannot be opened, and from every write.
 */
export async function openReader(source: DatabaseSource): Promise<Database> {
  const write = () => Promise.reject(new DatabaseError("fault", "this thread only reads"));
  if (source.kind === "remote") {
    const { openRemote } = await import("./remote.ts");
    return { ...openRemote(source), write };
  }
  const connection = new Connection(source.path, { readOnly: true, isGuest: true });
  return {
    source,
    // deno-lint-ignore require-await -- reading is synchronous here; the interface is not
    read: async <T>(statement: Statement) => connection.all(statement) as T[],
    // deno-lint-ignore require-await -- as above
    readFirst: async <T>(statement: Statement) => connection.first(statement) as T | undefined,
    write,
    async close() {
      connection.close();
      await filesReleased();
    },
  };
}
