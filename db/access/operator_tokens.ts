// All SQL of operator tokens. Only the SHA-256 of a token is stored, and its prefix.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { activeOperatorToken } from "./operator_guard.ts";

export type ActiveOperatorToken = Pick<
  OperatorTokenRow,
  "id" | "name" | "scopes" | "addresses" | "lastUsedAt"
>;

export function findActiveOperatorToken(
  database: DatabaseReader,
  tokenHash: string,
  now: number,
): Promise<ActiveOperatorToken | undefined> {
  return database.readFirst(sql`
    SELECT t.id, t.name, t.scopes, t.addresses, t.last_used_at AS lastUsedAt
    FROM operator_tokens t WHERE t.token_hash = ${tokenHash} AND ${activeOperatorToken(now)}`);
}

interface NewOperatorToken {
  readonly id: string;
  readonly tokenHash: string;
  readonly tokenPrefix: string;
  readonly name: string;
  /** JSON lists. */
  readonly scopes: string;
  readonly addresses: string;
  /** A user's id, or null on the command line. */
  readonly createdBy: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

export interface OperatorTokenRow extends Omit<NewOperatorToken, "tokenHash" | "createdBy"> {
  readonly createdById: string | null;
  readonly createdByName: string | null;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
}

const select = sql`
  SELECT t.id, t.name, t.token_prefix AS tokenPrefix, t.scopes, t.addresses, t.created_at AS createdAt,
    u.id AS createdById, u.name AS createdByName, t.last_used_at AS lastUsedAt, t.expires_at AS expiresAt,
    t.revoked_at AS revokedAt
  FROM operator_tokens t LEFT JOIN users u ON u.id = t.created_by`;

export function insertOperatorToken(token: NewOperatorToken): Statement {
  const { id, tokenHash, tokenPrefix, name, scopes, addresses, createdBy, createdAt, expiresAt } = token;
  return sql`
    INSERT INTO operator_tokens
      (id, token_hash, token_prefix, name, scopes, addresses, created_by, created_at, expires_at)
    VALUES (${id}, ${tokenHash}, ${tokenPrefix}, ${name}, ${scopes}, ${addresses}, ${createdBy}, ${createdAt},
      ${expiresAt})`;
}

/** Returns tokens, newest first, from after the id `before`. */
export function findOperatorTokens(
  database: DatabaseReader,
  { limit, before = null }: { limit: number; before?: string | null | undefined },
): Promise<OperatorTokenRow[]> {
  return database.read(
    sql`${select} WHERE (${before} IS NULL OR t.id < ${before}) ORDER BY t.id DESC LIMIT ${limit}`,
  );
}

export const selectOperatorToken = (id: string): Statement => sql`${select} WHERE t.id = ${id}`;

export function findOperatorToken(database: DatabaseReader, id: string) {
  return database.readFirst<OperatorTokenRow>(selectOperatorToken(id));
}

/** Revokes a token, unless it is revoked already. */
export function markOperatorTokenRevoked(id: string, now: number): Statement {
  return sql`UPDATE operator_tokens SET revoked_at = ${now} WHERE id = ${id} AND revoked_at IS NULL`;
}

export function updateOperatorTokenUsed(id: string, now: number): Statement {
  return sql`UPDATE operator_tokens SET last_used_at = ${now}
    WHERE id = ${id} AND coalesce(last_used_at, 0) < ${now}`;
}
