// How SQLite finds what the queries of a function read.
import { type Database, sql, type Statement } from "../../../db/engine/database.ts";
import { embeddedTestDatabase } from "./database.ts";

/** Returns the steps of the plan of each statement that is read, none of which returns a row. */
export async function plansOf(
  read: (database: Database) => Promise<unknown>,
): Promise<{ text: string; steps: string[] }[]> {
  const { database, dispose } = await embeddedTestDatabase();
  try {
    const asked: Statement[] = [];
    await read({
      ...database,
      read: (statement) => (asked.push(statement), Promise.resolve([])),
      readFirst: (statement) => (asked.push(statement), Promise.resolve(undefined)),
    });
    const plans = [];
    for (const statement of asked) {
      const plan = await database.read<{ detail: string }>(sql`EXPLAIN QUERY PLAN ${statement}`);
      plans.push({ text: statement.sql, steps: plan.map(({ detail }) => detail) });
    }
    return plans;
  } finally {
    await dispose();
  }
}
