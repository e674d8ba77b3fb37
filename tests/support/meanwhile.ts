// What happens between a verb's look and its batch: a database that lets a test act just before a batch is written.
import type { Database } from "../../db/engine/database.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { embeddedTestDatabase } from "./database.ts";

/** Names a statement of a batch, and what happens before that batch is written. Each happens once. */
export type Meanwhile = (statement: RegExp, act: () => Promise<unknown>) => void;

/** A test with an app of its own, in which things happen at the worst moment. */
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
      if (waiting !== null) throw new Error("no batch had the statement that was waited for");
    } finally {
      await app.dispose();
    }
  });
}
