// A thread that opens a shared database, writes a note twice, and posts what it read and why the second write failed.
import { type DatabaseError, type DatabaseShare, sql } from "../../../db/engine/database.ts";
import { openShared } from "../../../db/engine/open.ts";

interface WorkerScope {
  onmessage: ((event: MessageEvent<{ share: DatabaseShare; text: string }>) => void) | null;
  postMessage(message: unknown): void;
}

const scope = globalThis as unknown as WorkerScope;
scope.onmessage = async ({ data: { share, text } }) => {
  const onFatal = (error: Error) => {
    throw error;
  };
  const database = await openShared(share, { onFatal });
  const insert = sql`INSERT INTO notes VALUES (${text})`;
  await database.write([insert]);
  const refused = await database.write([insert]).catch((error: DatabaseError) => error.kind);
  const read = await database.read<{ text: string }>(sql`SELECT text FROM notes`);
  await database.close();
  scope.postMessage({ read: read.map((row) => row.text), refused });
};
