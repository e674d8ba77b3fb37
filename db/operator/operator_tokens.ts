// SQL of operator tokens. Only the SHA-256 of a token is stored, and its prefix.
import { type DatabaseReader, sql } from "../engine/database.ts";
import { activeOperatorToken } from "./operator_guard.ts";

/** A token that works. */
export interface ActiveOperatorToken {
  readonly id: string;
  readonly name: string;
  /** JSON lists. */
  readonly scopes: string;
  readonly addresses: string;
  /** Milliseconds since 1970. */
  readonly lastUsedAt: number | null;
}

/** @returns The active token with this hash, or undefined. */
export function findActiveOperatorToken(
  database: DatabaseReader,
  tokenHash: string,
  now: number,
): Promise<ActiveOperatorToken | undefined> {
  return database.readFirst(sql`
    SELECT t.id, t.name, t.scopes, t.addresses, t.last_used_at AS lastUsedAt
    FROM operator_tokens t WHERE t.token_hash = ${tokenHash} AND ${activeOperatorToken(now)}`);
}
