// The secrets of webhooks as they are stored: for rewriting them under another key, and for counting them by key.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

export interface StoredSecrets {
  readonly number: number;
  readonly id: string;
  readonly secret: string;
  readonly oldSecret: string | null;
}

/** Returns some webhooks with their stored secrets, in order. @param after The number of the last one before them. */
export async function findStoredSecrets(
  database: DatabaseReader,
  { after, limit }: { after: number; limit: number },
): Promise<StoredSecrets[]> {
  return await database.read(sql`SELECT number, id, secret, old_secret AS oldSecret FROM webhooks
    WHERE number > ${after} AND deleted_at IS NULL ORDER BY number LIMIT ${limit}`);
}

/** Replaces the stored secrets of a webhook if they are still those that were read. */
export function replaceStoredSecrets(
  { number, secret, oldSecret }: StoredSecrets,
  next: Pick<StoredSecrets, "secret" | "oldSecret">,
): Statement {
  return sql`UPDATE webhooks SET secret = ${next.secret}, old_secret = ${next.oldSecret}
    WHERE number = ${number} AND secret = ${secret} AND old_secret IS ${oldSecret}`;
}

/** Counts the secrets in use by the start of their stored text, up to the colon. */
export async function countStoredSecrets(
  database: DatabaseReader,
  now: number,
): Promise<{ start: string; count: number }[]> {
  return await database.read(
    sql`SELECT substr(stored, 1, instr(stored, ':')) AS start, count(*) AS count FROM (
    SELECT secret AS stored FROM webhooks WHERE deleted_at IS NULL
    UNION ALL SELECT old_secret FROM webhooks
      WHERE deleted_at IS NULL AND old_secret IS NOT NULL AND old_secret_until > ${now}
  ) GROUP BY 1 ORDER BY 1`,
  );
}
