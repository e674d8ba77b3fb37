// Stands in for db/engine/migrate.ts in the real program, which then has one more migration: it rewrites the records.
import type { Database } from "../../../db/engine/database.ts";
import { migrate as migrateTo, migrations } from "../../../db/engine/migrate.ts";
export * from "../../../db/engine/migrate.ts";

const rewrite = {
  number: 999,
  name: "rewrite",
  text: `UPDATE usage_records SET recorded_at = recorded_at + 1;
CREATE TABLE later (a TEXT);
`,
};

export const migrate = (database: Database, { now }: { now: number }): Promise<number[]> =>
  migrateTo(database, { now, list: [...migrations, rewrite] });
