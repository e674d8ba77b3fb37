// Stands in for db/engine/connection.ts in the writer: it checkpoints its log after almost every commit.
import * as original from "../../../db/engine/connection.ts";

export * from "../../../db/engine/connection.ts";

export class Connection extends original.Connection {
  constructor(...args: ConstructorParameters<typeof original.Connection>) {
    super(...args);
    if (args[1].isGuest !== true) this.all({ sql: "PRAGMA wal_autocheckpoint = 4", args: [] });
  }
}
