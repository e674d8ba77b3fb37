// The SQL of the search of the portal and of the console. Every query is bounded by an index or by an organization's active keys.
import { isId } from "../../domain/id.ts";
import { importedPrefixForm } from "../../domain/keys/imported_key.ts";
import {
  type FoundApiKey,
  type FoundEntry,
  type FoundMember,
  foundOfKindMax,
  type FoundOrganization,
  type FoundUser,
  keyPrefixIn,
} from "../../domain/search.ts";
import { activeApiKey, type ApiKeyScope, inScope, isActiveIn } from "../access/mod.ts";
import { type DatabaseReader, joinSql, sql, type Statement } from "../engine/database.ts";
import { hasText, indexedText } from "../text_search.ts";
import { selectOwnedBy } from "./organizations.ts";

/** Finds the organization with an id, then some whose names or owners' addresses begin with a text, then the newest that contain it. */
export function findOrganizationsByText(
  database: DatabaseReader,
  text: string,
): Promise<FoundOrganization[]> {
  const contains = indexedText(sql`f.organization_search`, text);
  const found = best([
    sql`SELECT o.number, 0 AS rank FROM organizations o WHERE o.id = ${text} AND o.deleted_at IS NULL`,
    sql`SELECT o.number, 0 FROM organizations o WHERE o.external_id = ${text} AND o.deleted_at IS NULL`,
    sql`SELECT o.number, 1 FROM organizations o
      WHERE ${startsWith(sql`o.name COLLATE NOCASE`, text)} AND o.deleted_at IS NULL`,
    text.includes("@") && sql`SELECT o.number, 1 FROM (${selectOwnedBy(text)}) m
      CROSS JOIN organizations o ON o.id = m.organization_id AND o.deleted_at IS NULL`,
    contains && sql`SELECT f.rowid, 2
      FROM organization_search f CROSS JOIN organizations o ON o.number = f.rowid
      WHERE ${contains} AND o.deleted_at IS NULL ORDER BY f.rowid DESC`,
  ]);
  return database.read(sql`
    SELECT o.id, o.name, o.external_id AS externalId, o.suspended_at IS NOT NULL AS suspended
    FROM (${found}) b CROSS JOIN organizations o ON o.number = b.number ORDER BY b.rank, b.number DESC`);
}

/** Finds the user with an id, then some whose addresses begin with a text, then the newest whose name or address contains it. */
export function findUsersByText(database: DatabaseReader, text: string): Promise<FoundUser[]> {
  const contains = indexedText(sql`f.user_search`, text);
  const found = best([
    sql`SELECT x.number, 0 AS rank FROM user_texts x WHERE x.user_id = ${text}`,
    sql`SELECT x.number, 1 FROM users u CROSS JOIN user_texts x ON x.user_id = u.id
      WHERE ${startsWith(sql`u.email`, text.toLowerCase())}`,
    contains && sql`SELECT f.rowid, 2 FROM user_search f WHERE ${contains} ORDER BY f.rowid DESC`,
  ]);
  return database.read(sql`
    SELECT u.id, u.name, u.email, u.disabled_at IS NOT NULL AS disabled
    FROM (${found}) b CROSS JOIN user_texts x ON x.number = b.number CROSS JOIN users u ON u.id = x.user_id
    ORDER BY b.rank, b.number DESC`);
}

/**
 * Finds the key with an id, and keys whose prefix begins with a text.
 *
 * @param options `scope`: also finds its active keys by a part of their names, names that equal or begin with the text first; null
 *   for the keys of all organizations.
 */
export function findApiKeysByText(
  database: DatabaseReader,
  text: string,
  { scope, now }: { scope: ApiKeyScope | null; now: number },
): Promise<FoundApiKey[]> {
  const characters = keyPrefixIn(text);
  const isOpen = scope === null ? sql`true` : inScope(scope);
  const found = best([
    sql`SELECT k.number, 0 AS rank FROM api_keys k WHERE k.id = ${text} AND ${isOpen}`,
    characters && sql`SELECT k.number, 1 FROM api_keys k INDEXED BY api_keys_characters
      WHERE ${startsWith(sql`substr(k.key_prefix, -9) COLLATE NOCASE`, characters)} AND ${isOpen}`,
    // Keys of thousands of organizations can begin alike, so that it takes long to find those of one.
    scope === null && importedPrefixForm.test(text)
      ? sql`SELECT k.number, 1 FROM api_keys k INDEXED BY api_keys_imported_prefix
        WHERE ${startsWith(sql`k.key_prefix COLLATE NOCASE`, text)} AND k.imported_at IS NOT NULL`
      : null,
    scope &&
    sql`SELECT k.number, 4 - (k.name = ${text} COLLATE NOCASE) - (${
      startsWith(sql`k.name COLLATE NOCASE`, text)
    }) AS rank FROM api_keys k
      WHERE ${isActiveIn(scope.organizationId, now)} AND ${isOpen} AND ${hasText(sql`k.name`, text)}
      ORDER BY rank, k.number DESC`,
  ]);
  return database.read(sql`
    SELECT k.id, k.name, k.key_prefix AS keyPrefix, k.environment, o.id AS organizationId, o.name AS organizationName,
      NOT (${activeApiKey(now)}) AS ended
    FROM (${found}) b CROSS JOIN api_keys k ON k.number = b.number
    CROSS JOIN organizations o ON o.id = k.organization_id
    WHERE o.deleted_at IS NULL ORDER BY b.rank, b.number DESC`);
}

/** Finds members of an organization by a part of their name or address. It has no more than its plan allows. */
export function findMembersByText(
  database: DatabaseReader,
  text: string,
  organizationId: string,
): Promise<FoundMember[]> {
  return database.read(sql`
    SELECT u.id, u.name, u.email FROM memberships m CROSS JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organizationId}
      AND (u.id = ${text} OR ${hasText(sql`u.name`, text)} OR ${hasText(sql`u.email`, text)})
    ORDER BY u.name COLLATE NOCASE, u.id LIMIT ${foundOfKindMax}`);
}

/** Entries are written at most this long after the request began, which is the time in its id. */
const requestMs = 60_000;

/** Finds entries of the request with an id in the log of an organization; for operators, in all. */
export async function findEntriesOfRequest(
  database: DatabaseReader,
  text: string,
  organizationId: string | null,
): Promise<FoundEntry[]> {
  if (!isId("req", text)) return [];
  const startedAt = parseInt(text.slice(4, 16), 16);
  const isInLog = organizationId === null ? sql`true` : sql`e.organization_id = ${organizationId}`;
  return await database.read(sql`
    SELECT e.action, e.at, e.organization_id AS organizationId FROM audit_events e
    WHERE ${isInLog} AND e.at BETWEEN ${startedAt} AND ${startedAt + requestMs} AND e.request_id = ${text}
    ORDER BY e.at LIMIT ${foundOfKindMax}`);
}

/** A condition: a column begins with a text, as the collation of its index compares it. */
const startsWith = (column: Statement, text: string): Statement =>
  sql`${column} BETWEEN ${text} AND ${`${text}\u{10ffff}`}`;

/** Reads the numbers of some rows with the lowest ranks. Each query is read no further than it has to be. */
function best(queries: readonly (Statement | null | "" | false)[]): Statement {
  const first = queries.filter((query) => query !== null && query !== "" && query !== false)
    .map((query) => sql`SELECT * FROM (${query} LIMIT ${foundOfKindMax})`);
  return sql`SELECT number, min(rank) AS rank FROM (${joinSql(first, " UNION ALL ")})
    GROUP BY number ORDER BY min(rank), number DESC LIMIT ${foundOfKindMax}`;
}
