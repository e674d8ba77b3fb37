// Stands in for db/engine/connection.ts in the writer: it makes a commit fail when a test asks.
import * as original from "../../../db/engine/connection.ts";
import { DatabaseError } from "../../../db/engine/database.ts";
import { currentOrder } from "./orders.ts";

/** What a test can order the writer to do instead of COMMIT: it then fails with an unknown outcome, or the thread dies. */
export type WriterOrder = "commit" | "roll back" | "die";

/** The same connection, unless it is ordered to fail. */
export class Connection extends original.Connection {
  #mustDie = false;

  override get inTransaction(): boolean {
    if (this.#mustDie) throw new Error("thrown by a test");
    return super.inTransaction;
  }

  override exec(text: string): void {
    const order = text === "COMMIT" ? currentOrder() : "";
    if (order === "") return super.exec(text);
    if (order === "die") this.#mustDie = true;
    else super.exec(order === "commit" ? "COMMIT" : "ROLLBACK");
    throw new DatabaseError("fault", "SQLITE_IOERR_FSYNC: thrown by a test");
  }
}
