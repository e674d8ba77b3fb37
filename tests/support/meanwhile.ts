// Tests race conditions: a database that lets a test act between a function's reads and its batch of writes.
import type { Database } from "../../db/engine/database.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { embeddedTestDatabase } from "./database.ts";

/** Runs `act` once, just before the next batch with a matching statement is written. */
export type Meanwhile = (statement: RegExp, act: () => Promise<unknown>) => void;

/** Defines a test with its own app on such a database. */
export function testMeanwhile(
  name: string,
  test: (app: TestApp, meanwhile: Meanwhile) => Promise<void>,
): void {
  Deno.test(name, async () => {
    let waiting: { statement: RegExp; act: () => Promise<unknown> } | null = null;
    const open = async () => {
      const opened = await embeddedTestDatabase();
      const { database } = opened;
      const watched: Database = {
        source: database.source,
        read: (statement) => database.read(statement),
        readFirst: (statement) => database.readFirst(statement),
        close: () => database.close(),
        async write(batch, options) {
          const act = waiting?.act;
          if (batch.some(({ sql }) => waiting?.statement.test(sql))) {
            waiting = null;
            await act?.();
          }
          return await database.write(batch, options);
        },
      };
      return { ...opened, database: watched };
    };
    const app = await startTestApp({}, { open });
    try {
      await test(app, (statement, act) => waiting = { statement, act });
      if (waiting !== null) throw new Error("no batch contained the expected statement");
    } finally {
      await app.dispose();
    }
  });
}
