// SQL of authorization codes, consents, and requests that wait while their person signs in.
import {
  codeKeptMs,
  documentsOfPersonMax,
  expiredRowsMax,
  openCodesMax,
  waitingRequestsOfAddressMax,
} from "../../domain/oauth/oauth_limits.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

export interface NewCode {
  readonly codeHash: string;
  readonly clientId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly organizationId: string | null;
  readonly resourceId: string | null;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
  readonly challenge: string | null;
  readonly nonce: string | null;
  readonly now: number;
  readonly expiresAt: number;
}

/**
 * Inserts a code with how and when its session was proved, unless the session has too many open ones, or the client has a document and
 * no consent.
 */
export function insertCode(code: NewCode): Statement {
  const { now, sessionId } = code;
  return sql`
    INSERT INTO oauth_codes (code_hash, client_id, user_id, session_id, organization_id, resource_id, scopes, redirect_uri,
      challenge, nonce, auth_time, amr, created_at, expires_at)
    SELECT ${code.codeHash}, ${code.clientId}, s.user_id, s.id, ${code.organizationId}, ${code.resourceId},
      ${
    code.scopes.join(" ")
  }, ${code.redirectUri}, ${code.challenge}, ${code.nonce}, s.proved_at, s.amr, ${now},
      ${code.expiresAt}
    FROM sessions s WHERE s.id = ${sessionId} AND s.user_id = ${code.userId}
      AND (SELECT count(*) FROM oauth_codes o WHERE o.session_id = ${sessionId} AND o.expires_at > ${now}
        AND o.used_at IS NULL) < ${openCodesMax}
      AND (${code.clientId} < 'https:' OR ${hasConsented(code)})`;
}

/** A condition: a person has allowed a client something. */
const hasConsented = ({ userId, clientId }: { userId: string; clientId: string }): Statement =>
  sql`EXISTS (SELECT 1 FROM oauth_consents WHERE user_id = ${userId} AND client_id = ${clientId})`;

export async function findHasConsented(
  database: DatabaseReader,
  key: { userId: string; clientId: string },
): Promise<boolean> {
  return (await database.readFirst<{ found: number }>(sql`SELECT ${hasConsented(key)} AS found`))?.found ===
    1;
}

/** Deletes some codes that can neither be used nor reused anymore. */
export const deleteOldCodes = (now: number): Statement =>
  sql`DELETE FROM oauth_codes WHERE code_hash IN (SELECT code_hash FROM oauth_codes
    WHERE expires_at < ${now - codeKeptMs} LIMIT ${expiredRowsMax})`;

export interface StoredCode extends Omit<NewCode, "scopes" | "now" | "userId" | "sessionId"> {
  readonly usedAt: number | null;
  readonly grantId: string | null;
  readonly resourceUri: string | null;
  /** With spaces. */
  readonly scopes: string;
}

export function findCode(database: DatabaseReader, codeHash: string): Promise<StoredCode | undefined> {
  return database.readFirst(sql`
    SELECT o.code_hash AS codeHash, o.client_id AS clientId, o.organization_id AS organizationId, o.resource_id AS resourceId,
      o.scopes, o.redirect_uri AS redirectUri, o.challenge, o.nonce, o.expires_at AS expiresAt, o.used_at AS usedAt,
      o.grant_id AS grantId, r.uri AS resourceUri
    FROM oauth_codes o LEFT JOIN oauth_resources r ON r.id = o.resource_id WHERE o.code_hash = ${codeHash}`);
}

/** Marks a code as used for a grant, if it works and its session hasn't ended. It expires, so that nothing counts it as open. */
export function useCode(codeHash: string, { grantId, now }: { grantId: string; now: number }): Statement {
  return sql`UPDATE oauth_codes SET used_at = ${now}, expires_at = ${now}, grant_id = ${grantId}
    WHERE code_hash = ${codeHash} AND used_at IS NULL AND expires_at > ${now}
      AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = oauth_codes.session_id)`;
}

interface ConsentKey {
  readonly userId: string;
  readonly clientId: string;
  readonly organizationId: string | null;
  readonly resourceId: string | null;
}

const isConsent = ({ userId, clientId, organizationId, resourceId }: ConsentKey): Statement =>
  sql`user_id = ${userId} AND client_id = ${clientId} AND organization_id = ${organizationId ?? ""}
    AND resource_id = ${resourceId ?? ""}`;

/** Returns the scopes that a person has allowed a client; none without a consent. */
export async function findConsentedScopes(database: DatabaseReader, key: ConsentKey): Promise<string[]> {
  const row = await database.readFirst<{ scopes: string }>(
    sql`SELECT scopes FROM oauth_consents WHERE ${isConsent(key)}`,
  );
  return row === undefined ? [] : row.scopes.split(" ");
}

/** Notes what a person allows, unless they have allowed too many clients with documents. */
export function insertConsent(
  key: ConsentKey,
  { scopes, now }: { scopes: readonly string[]; now: number },
): Statement {
  return sql`
    INSERT INTO oauth_consents (user_id, client_id, organization_id, resource_id, scopes, created_at)
    SELECT ${key.userId}, ${key.clientId}, ${key.organizationId ?? ""}, ${key.resourceId ?? ""}, ${
    scopes.join(" ")
  }, ${now}
    WHERE ${key.clientId} < 'https:' OR (SELECT count(DISTINCT client_id) FROM oauth_consents
      WHERE user_id = ${key.userId} AND client_id >= 'https:' AND client_id <> ${key.clientId}) < ${documentsOfPersonMax}
    ON CONFLICT DO UPDATE SET created_at = excluded.created_at, scopes = excluded.scopes || (
      SELECT coalesce(group_concat(' ' || value, ''), '') FROM json_each('["' || replace(scopes, ' ', '","') || '"]')
      WHERE instr(' ' || excluded.scopes || ' ', ' ' || value || ' ') = 0)`;
}

/** Keeps a request while its person signs in, unless too many of the address wait. */
export function insertWaitingRequest(
  { tokenHash, query, address, now, expiresAt }: {
    tokenHash: string;
    query: string;
    address: string;
    now: number;
    expiresAt: number;
  },
): Statement[] {
  return [
    sql`DELETE FROM oauth_requests WHERE token_hash IN (
      SELECT token_hash FROM oauth_requests WHERE expires_at <= ${now} LIMIT ${expiredRowsMax})`,
    sql`INSERT INTO oauth_requests (token_hash, query, address, expires_at)
      SELECT ${tokenHash}, ${query}, ${address}, ${expiresAt} WHERE (SELECT count(*) FROM oauth_requests
        WHERE address = ${address} AND expires_at > ${now}) < ${waitingRequestsOfAddressMax}`,
  ];
}

export function findWaitingRequest(
  database: DatabaseReader,
  tokenHash: string,
  now: number,
): Promise<{ query: string; expiresAt: number } | undefined> {
  return database.readFirst(sql`SELECT query, expires_at AS expiresAt FROM oauth_requests
    WHERE token_hash = ${tokenHash} AND expires_at > ${now}`);
}
