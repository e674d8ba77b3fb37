// Opens a new, migrated database for each test, embedded or remote.
import { type Database, type MainDatabase, sql } from "../../../db/engine/database.ts";
import { openEmbedded } from "../../../db/engine/embedded.ts";
import { migrate, type Migration, migrations } from "../../../db/engine/migrate.ts";
import { makeMemoryFolder } from "./memory_folder.ts";
import { newWriter } from "../app/reused_threads.ts";
import { isFull } from "../runner/extent.ts";
import { openServer, sqldMissing, startSqld } from "./sqld.ts";

/** A database for one test. */
export interface TestDatabase<Kind extends Database = Database> {
  readonly database: Kind;
  /** The path of the data file, or the server's URL. */
  readonly place: string;
  dispose(): Promise<void>;
}

/** Copied for every test: migrating takes longer than many tests. */
let migratedFile: Promise<Uint8Array> | undefined;
let migratedServer: Promise<string> | undefined;
/** Databases that were closed. */
let closed = 0;
const globals = globalThis as { gc?: (() => void) | undefined };
const { gc } = globals;

/** Each database has its own, made by a migration. */
const newRecordIdKey = sql`UPDATE record_id_key SET key = lower(hex(randomblob(12)))`;

/** @param list The migrations, by default all. @returns A new data file in its own folder. */
export async function embeddedTestDatabase(
  { list }: { list?: readonly Migration[] } = {},
): Promise<TestDatabase<MainDatabase>> {
  const folder = await makeMemoryFolder("gatehouse-test-");
  const place = `${folder}/gatehouse.db`;
  const bytes = list === undefined ? await (migratedFile ??= migrateFile()) : await migrateFile(list);
  await Deno.writeFile(place, bytes, { mode: 0o600 });
  const database = await openFile(place);
  await database.write([newRecordIdKey]);
  return {
    database,
    place,
    async dispose() {
      // Closing collects garbage to release the files, which takes longer than many tests. Do so for a few together.
      if (++closed % 20 !== 0) globals.gc = undefined;
      try {
        await database.close();
      } finally {
        globals.gc = gc;
      }
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function migrateFile(list: readonly Migration[] = migrations): Promise<Uint8Array> {
  const folder = await makeMemoryFolder("gatehouse-test-");
  const place = `${folder}/gatehouse.db`;
  const database = await openFile(place);
  await migrate(database, { now: 0, list });
  await database.close();
  const bytes = await Deno.readFile(place);
  await Deno.remove(folder, { recursive: true });
  return bytes;
}

/** Opens a data file, or the database of a server. @param place Its path or address. */
export async function openTestDatabase(place: string): Promise<MainDatabase> {
  return place.startsWith("http:") ? openServer(place) : await openFile(place);
}

function openFile(path: string): Promise<MainDatabase> {
  return openEmbedded({
    path,
    create: "file",
    onFatal: (error) => {
      throw error;
    },
    newWorker: newWriter,
  });
}

/** @returns A database on its own server. */
export async function remoteTestDatabase(): Promise<TestDatabase<MainDatabase>> {
  const server = await startSqld(await (migratedServer ??= migrateServer()));
  const database = openServer(server.url);
  await database.write([newRecordIdKey]);
  return {
    database,
    place: server.url,
    async dispose() {
      await database.close();
      await server.stop();
    },
  };
}

async function migrateServer(): Promise<string> {
  const server = await startSqld();
  const database = openServer(server.url);
  await migrate(database, { now: 0 });
  await database.close();
  return await server.killAndKeep();
}

interface DatabaseKind {
  readonly name: string;
  readonly ignore: boolean;
  readonly open: () => Promise<TestDatabase<MainDatabase>>;
}

/** Both kinds of database, for tests of what differs between them. The remote one is ignored where its server can't run. */
export const bothDatabases: readonly DatabaseKind[] = [
  { name: "embedded", ignore: false, open: embeddedTestDatabase },
  { name: "remote", ignore: sqldMissing() !== null, open: remoteTestDatabase },
];

/** The kinds of database to test with: in a quick run only the embedded one. */
export const databaseKinds = isFull ? bothDatabases : bothDatabases.slice(0, 1);

/** Defines a test with a new database of each kind: in a quick run only the embedded one. @param kinds Others. */
export function onDatabases(
  promise: string,
  run: (opened: TestDatabase<MainDatabase>) => Promise<void>,
  kinds: readonly DatabaseKind[] = databaseKinds,
): void {
  for (const { name, ignore, open } of kinds) {
    Deno.test({
      name: `${name} database: ${promise}`,
      ignore,
      fn: async () => {
        const opened = await open();
        try {
          await run(opened);
        } finally {
          await opened.dispose();
        }
      },
    });
  }
}
