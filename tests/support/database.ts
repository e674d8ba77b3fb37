// Databases for tests: each its own, of either kind, migrated.
import type { Database } from "../../db/engine/database.ts";
import { openEmbedded } from "../../db/engine/embedded.ts";
import { migrate } from "../../db/engine/migrate.ts";
import { openRemote } from "../../db/engine/remote.ts";
import { sqldMissing, startSqld } from "./sqld.ts";

/** A database and how to be rid of it. */
export interface TestDatabase {
  readonly database: Database;
  /** The data file, or the server's address. */
  readonly place: string;
  dispose(): Promise<void>;
}

/** @returns A new data file in a folder of its own. */
export async function embeddedTestDatabase(): Promise<TestDatabase> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-test-" });
  const place = `${folder}/gatehouse.db`;
  const database = await openEmbedded({
    path: place,
    create: "file",
    onFatal: (error) => {
      throw error;
    },
  });
  await migrate(database, { now: 0 });
  return {
    database,
    place,
    async dispose() {
      await database.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** @returns An empty database on a server of its own. */
export async function remoteTestDatabase(): Promise<TestDatabase> {
  const server = await startSqld();
  const database = openRemote({ url: server.url, authToken: undefined });
  await migrate(database, { now: 0 });
  return {
    database,
    place: server.url,
    async dispose() {
      await database.close();
      await server.stop();
    },
  };
}

/** The kinds of database that a promise is tried on; the remote one is left out, and said so, where it cannot run. */
export const databaseKinds: readonly { name: string; ignore: boolean; open: () => Promise<TestDatabase> }[] =
  [
    { name: "embedded", ignore: false, open: embeddedTestDatabase },
    { name: "remote", ignore: sqldMissing() !== null, open: remoteTestDatabase },
  ];
