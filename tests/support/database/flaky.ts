// A database whose writes sometimes fail, as between a server and a database that lose each other.
import { type Database, DatabaseError } from "../../../db/engine/database.ts";

/**
 * Wraps a database.
 *
 * @param failure Called with the number of each write, from 1: fails it before it is done, or after, without its result; null for neither.
 */
export function flakyDatabase(
  database: Database,
  failure: (write: number) => "before" | "after" | null,
): Database {
  let writes = 0;
  return {
    source: database.source,
    read: (statement) => database.read(statement),
    readFirst: (statement) => database.readFirst(statement),
    close: () => database.close(),
    async write(batch, options) {
      const fails = failure(++writes);
      if (fails === "before") throw new DatabaseError("unavailable", "before");
      const results = await database.write(batch, options);
      if (fails === "after") throw new DatabaseError("unavailable", "after");
      return results;
    },
  };
}
