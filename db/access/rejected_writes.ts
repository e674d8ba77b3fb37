// How a guard rejects a batch in the batch's own transaction. A guard is a query that selects a `reason`: null if the writer may write.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

/** Makes its batch fail with a `constraint` error if the guard has a reason. */
export const rejectWrite = (guard: Statement): Statement =>
  sql`INSERT INTO refused_writes (reason)
    SELECT reason FROM (${guard}) WHERE reason IS NOT NULL`;

/** Returns why a guard rejected a batch; null if it no longer would. */
export async function findRejectionReason(
  database: DatabaseReader,
  guard: Statement,
): Promise<string | null> {
  return (await database.readFirst<{ reason: string | null }>(guard))?.reason ?? null;
}
