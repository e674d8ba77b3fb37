// SQL of looking up the TXT records of verified domains again.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

/** A verified domain whose record must be looked up. */
export interface DueDomain {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly domain: string;
  readonly token: string;
  readonly lookUpAt: number;
  /** When a look-up first didn't find the record; null if the last one did. */
  readonly missingSince: number | null;
}

export function findDueDomains(
  database: DatabaseReader,
  { now, limit }: { now: number; limit: number },
): Promise<DueDomain[]> {
  return database.read(sql`
    SELECT d.organization_id AS organizationId, o.name AS organizationName, d.domain, d.token,
      d.look_up_at AS lookUpAt, d.missing_since AS missingSince
    FROM organization_domains d JOIN organizations o ON o.id = d.organization_id
    WHERE d.verified_at IS NOT NULL AND d.look_up_at <= ${now} ORDER BY d.look_up_at LIMIT ${limit}`);
}

/** Stores the result of a look-up, unless another server did. @param next `lookUpAt`: null if the domain isn't verified anymore. */
export function updateLookedUpDomain(
  { organizationId, domain, token, lookUpAt }: DueDomain,
  next: { readonly lookUpAt: number | null; readonly missingSince: number | null },
): Statement {
  return sql`
    UPDATE organization_domains SET verified_at = iif(${next.lookUpAt} IS NULL, NULL, verified_at),
      look_up_at = ${next.lookUpAt}, missing_since = ${next.missingSince}
    WHERE organization_id = ${organizationId} AND domain = ${domain} AND token = ${token}
      AND look_up_at = ${lookUpAt} AND verified_at IS NOT NULL`;
}
