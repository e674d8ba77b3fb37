// SQL of the providers of the whole service, as operators manage them. Only `gatehouse check` reads secrets.
import type { IdentityProvider } from "../../domain/people/identity_provider.ts";
import { findProviders, ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

type Column =
  | "id"
  | "slug"
  | "kind"
  | "name"
  | "issuer"
  | "clientId"
  | "position"
  | "createdAt"
  | "updatedAt";

export interface ServiceProviderRow extends Pick<IdentityProvider, Column> {
  readonly trustEmail: 0 | 1;
  readonly signUp: 0 | 1;
}

const ofService = sql`organization_id IS NULL`;
const select = sql`
  SELECT id, slug, kind, name, issuer, client_id AS clientId, trust_email AS trustEmail, sign_up AS signUp, position,
    created_at AS createdAt, updated_at AS updatedAt
  FROM identity_providers WHERE ${ofService}`;

export function findServiceProviders(database: DatabaseReader): Promise<ServiceProviderRow[]> {
  return database.read(sql`${select} ORDER BY position, id`);
}

/** Returns providers with their stored secrets, those of the whole service first. */
export function findCheckedProviders(database: DatabaseReader, { limit }: { limit: number }) {
  return findProviders(
    database,
    sql`true ORDER BY organization_id IS NOT NULL, position, id LIMIT ${limit}`,
  );
}

export const selectServiceProvider = (id: string): Statement => sql`${select} AND id = ${id}`;

export interface ProviderChange {
  readonly name?: string | undefined;
  readonly issuer?: string | undefined;
  readonly clientId?: string | undefined;
  /** As `Secrets` stores it. */
  readonly clientSecret?: string | undefined;
  readonly trustEmail?: boolean | undefined;
  readonly signUp?: boolean | undefined;
}

type NewProvider = Pick<IdentityProvider, "id" | "slug" | "kind"> & Required<ProviderChange>;

/** Inserts a provider after all others, unless its slug is taken or there are `max` of them. */
export function insertServiceProvider(
  provider: { readonly [Name in keyof NewProvider]: NonNullable<NewProvider[Name]> },
  { max, now }: { max: number; now: number },
): Statement {
  const { id, slug, kind, name, issuer, clientId, clientSecret, trustEmail, signUp } = provider;
  return sql`
    INSERT INTO identity_providers (id, slug, kind, name, issuer, client_id, client_secret, trust_email, sign_up, position,
      created_at, updated_at)
    SELECT ${id}, ${slug}, ${kind}, ${name}, ${issuer}, ${clientId}, ${clientSecret}, ${trustEmail ? 1 : 0},
      ${signUp ? 1 : 0}, others.last + 1, ${now}, ${now}
    FROM (SELECT count(*) AS count, coalesce(max(position), 0) AS last FROM identity_providers WHERE ${ofService}) AS others
    WHERE others.count < ${max}
    ON CONFLICT (slug) DO NOTHING`;
}

/** Changes the given fields. */
export function updateServiceProvider(id: string, change: ProviderChange, now: number): Statement {
  const { name = null, issuer = null, clientId = null, clientSecret = null } = change;
  const flag = (value: boolean | undefined) => value === undefined ? null : value ? 1 : 0;
  return sql`
    UPDATE identity_providers SET name = coalesce(${name}, name), issuer = coalesce(${issuer}, issuer),
      client_id = coalesce(${clientId}, client_id), client_secret = coalesce(${clientSecret}, client_secret),
      trust_email = coalesce(${flag(change.trustEmail)}, trust_email),
      sign_up = coalesce(${flag(change.signUp)}, sign_up), updated_at = max(updated_at + 1, ${now})
    WHERE ${ofService} AND id = ${id}`;
}

export function deleteServiceProvider(id: string): Statement {
  return sql`DELETE FROM identity_providers WHERE ${ofService} AND id = ${id}`;
}

/**
 * Numbers the providers from 1 after an audited change.
 *
 * @param moved The provider that gets a position, and the others keep their order; null for none.
 */
export function numberServiceProviders(
  moved: { readonly id: string; readonly position: number } | null,
  audited: string,
): Statement {
  const { id, position } = moved ?? { id: "", position: 0 };
  return sql`
    UPDATE identity_providers SET position = numbered.position FROM (
      SELECT id, row_number() OVER (ORDER BY place) AS position FROM (
        SELECT id, CASE WHEN id = ${id} THEN 2 * ${position} - 1
          ELSE 2 * row_number() OVER (PARTITION BY id = ${id} ORDER BY position, id) END AS place
        FROM identity_providers WHERE ${ofService})) AS numbered
    WHERE numbered.id = identity_providers.id AND ${ifAudited(audited)}`;
}

/** Counts the accounts that are connected to an issuer, up to `max`, and those of them without a password. */
export async function countConnected(
  database: DatabaseReader,
  issuer: string,
  { max }: { max: number },
): Promise<{ accounts: number; withoutPassword: number }> {
  const row = await database.readFirst<{ accounts: number; withoutPassword: number }>(sql`
    SELECT count(*) AS accounts, coalesce(sum(has_password = 0), 0) AS withoutPassword FROM (
      SELECT DISTINCT u.id, u.has_password FROM identities i JOIN users u ON u.id = i.user_id
      WHERE i.issuer = ${issuer} LIMIT ${max})`);
  return row ?? { accounts: 0, withoutPassword: 0 };
}
