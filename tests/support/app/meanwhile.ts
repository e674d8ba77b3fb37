// Tests race conditions: a database that lets a test act between a function's reads and its batch of writes.
import type { Database, Statement } from "../../../db/engine/database.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { embeddedTestDatabase, type TestDatabase } from "../database/database.ts";

/** Runs `act` once, just before the next batch with a matching statement is written. */
export type Meanwhile = (statement: RegExp, act: () => Promise<unknown>) => void;

/** Defines a test with its own app on such a database. */
export function testMeanwhile(
  name: string,
  test: (app: TestApp, meanwhile: Meanwhile) => Promise<void>,
): void {
  Deno.test(name, async () => {
    let waiting: { statement: RegExp; act: () => Promise<unknown> } | null = null;
    const open = () =>
      openWatched(async (batch) => {
        const act = waiting?.act;
        if (!batch.some(({ sql }) => waiting?.statement.test(sql))) return;
        waiting = null;
        await act?.();
      });
    const app = await startTestApp({}, { open });
    try {
      await test(app, (statement, act) => waiting = { statement, act });
      if (waiting !== null) throw new Error("no batch contained the expected statement");
    } finally {
      await app.dispose();
    }
  });
}

/** Opens a database that calls a function just before each batch is written. */
export async function openWatched(
  beforeWrite: (batch: readonly Statement[], database: Database) => Promise<void>,
): Promise<TestDatabase> {
  const opened = await embeddedTestDatabase();
  const { database } = opened;
  const watched: Database = {
    source: database.source,
    read: (statement) => database.read(statement),
    readFirst: (statement) => database.readFirst(statement),
    close: () => database.close(),
    async write(batch, options) {
      await beforeWrite(batch, database);
      return await database.write(batch, options);
    },
  };
  return { ...opened, database: watched };
}
