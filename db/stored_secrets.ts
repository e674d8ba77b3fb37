// The stored secrets of webhooks, identity providers and signing keys: for encrypting them with another key, and for counting them by key.
import { type DatabaseReader, sql, type Statement } from "./engine/database.ts";

export interface StoredSecrets {
  readonly table: SecretsTable;
  readonly id: string;
  readonly secret: string;
  /** The one before of a webhook, or the pending one of a provider. */
  readonly otherSecret: string | null;
}

export type SecretsTable = "webhooks" | "identity_providers" | "oauth_signing_keys";

/** Returns some rows of a table with their stored secrets, in order. @param options `after`: the id of the last one before them. */
export async function findStoredSecrets(
  database: DatabaseReader,
  table: SecretsTable,
  { after, limit }: { after: string; limit: number },
): Promise<StoredSecrets[]> {
  const selects = {
    webhooks:
      sql`SELECT 'webhooks' AS "table", id, secret, old_secret AS otherSecret FROM webhooks WHERE deleted_at IS NULL`,
    identity_providers:
      sql`SELECT 'identity_providers' AS "table", id, client_secret AS secret, pending_secret AS otherSecret
      FROM identity_providers WHERE true`,
    oauth_signing_keys:
      sql`SELECT 'oauth_signing_keys' AS "table", id, private_key AS secret, NULL AS otherSecret
      FROM oauth_signing_keys WHERE true`,
  };
  return await database.read(sql`${selects[table]} AND id > ${after} ORDER BY id LIMIT ${limit}`);
}

/** Replaces the stored secrets of a row if they are still those that were read. */
export function replaceStoredSecrets(
  { table, id, secret, otherSecret }: StoredSecrets,
  next: Pick<StoredSecrets, "secret" | "otherSecret">,
): Statement {
  if (table === "oauth_signing_keys") {
    return sql`UPDATE oauth_signing_keys SET private_key = ${next.secret} WHERE id = ${id} AND private_key = ${secret}`;
  }
  return table === "webhooks"
    ? sql`UPDATE webhooks SET secret = ${next.secret}, old_secret = ${next.otherSecret}
      WHERE id = ${id} AND secret = ${secret} AND old_secret IS ${otherSecret}`
    : sql`UPDATE identity_providers SET client_secret = ${next.secret}, pending_secret = ${next.otherSecret}
      WHERE id = ${id} AND client_secret = ${secret} AND pending_secret IS ${otherSecret}`;
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
    UNION ALL SELECT client_secret FROM identity_providers
    UNION ALL SELECT pending_secret FROM identity_providers WHERE pending_secret IS NOT NULL
    UNION ALL SELECT private_key FROM oauth_signing_keys
  ) GROUP BY 1 ORDER BY 1`,
  );
}
