// Rewrites stored secrets after SECRETS_KEY was set or changed.
import {
  findStoredSecrets,
  replaceStoredSecrets,
  type SecretsTable,
  type StoredSecrets,
} from "../db/stored_secrets.ts";
import type { Context } from "./context.ts";
import { type Secrets, SecretsError } from "./secrets.ts";

/** Rows that one step reads. */
const stepRowsMax = 100;

/**
 * Returns a step that encrypts some stored secrets with the newest key, and then returns true if there may be more. Once it has seen
 * all of them, it does nothing: new secrets are written with that key.
 */
export function createResealing(): (context: Pick<Context, "database" | "secrets">) => Promise<boolean> {
  const tables: SecretsTable[] = ["webhooks", "identity_providers", "oauth_signing_keys"];
  let after = "";
  return async function resealSecrets({ database, secrets }) {
    const [table] = tables;
    if (table === undefined) return false;
    const rows = await findStoredSecrets(database, table, { after, limit: stepRowsMax });
    const changes = rows.flatMap((row) => {
      const next = resealed(secrets, row);
      const isSame = next.secret === row.secret && next.otherSecret === row.otherSecret;
      return isSame ? [] : [replaceStoredSecrets(row, next)];
    });
    if (changes.length > 0) await database.write(changes);
    const isLast = rows.length < stepRowsMax;
    if (isLast) tables.shift();
    after = isLast ? "" : rows.at(-1)?.id ?? "";
    return tables.length > 0;
  };
}

function resealed(secrets: Secrets, { id, secret, otherSecret }: StoredSecrets) {
  const one = (stored: string): string => {
    if (secrets.isCurrent(stored)) return stored;
    try {
      return secrets.seal(id, secrets.open(id, stored));
    } catch (error) {
      // `gatehouse check` reports a missing key.
      if (error instanceof SecretsError) return stored;
      throw error;
    }
  };
  return { secret: one(secret), otherSecret: otherSecret === null ? null : one(otherSecret) };
}
