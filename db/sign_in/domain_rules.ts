// Rules for signing in that an organization sets for addresses of its verified domains: its provider, and how long sessions last.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

const dayMs = 24 * 3_600_000;

/** A way to sign in. Without either, it is a password. */
export interface SignInMethod {
  /** SQL of the provider's id, whether or not a second step follows. */
  readonly providerId?: Statement;
  /** True for a passkey alone, without a password or a provider. */
  readonly isPasskey?: boolean;
}

/** Selects the domain of a canonical email address. */
export const domainOf = (email: Statement): Statement => sql`substr(${email}, instr(${email}, '@') + 1)`;

/** The providers `p` of organizations that have verified the domain of an address: at most one. */
const providersOf = (email: Statement): Statement =>
  sql`organization_domains d JOIN identity_providers p ON p.organization_id = d.organization_id
    WHERE d.domain = ${domainOf(email)} AND d.verified_at IS NOT NULL`;

/**
 * A condition: the address's domain doesn't require another way to sign in. Owners of the organization may always use a passkey, so
 * that they can repair a broken provider.
 *
 * @param options `userId`: the account, if there is one.
 */
export function domainPermits(
  email: Statement,
  { providerId = sql`NULL`, isPasskey = false, userId }: SignInMethod & { userId?: Statement },
): Statement {
  const isWayBack = !isPasskey || userId === undefined ? sql`false` : sql`EXISTS (SELECT 1 FROM memberships m
    WHERE m.user_id = ${userId} AND m.organization_id = p.organization_id AND m.role = 'OWNER')`;
  return sql`NOT EXISTS (SELECT 1 FROM ${providersOf(email)}
    AND p.enforced = 1 AND p.id IS NOT ${providerId} AND NOT (${isWayBack}))`;
}

/**
 * A condition: an account may change its address. Someone whose domain requires a provider would otherwise leave its reach, and stay a
 * member.
 */
export function mayLeaveDomain({ from, to }: Readonly<Record<"from" | "to", string>>): Statement {
  return sql`NOT EXISTS (SELECT 1 FROM ${providersOf(sql`${from}`)} AND p.enforced = 1 AND NOT EXISTS (
    SELECT 1 FROM organization_domains t WHERE t.organization_id = p.organization_id
      AND t.domain = ${domainOf(sql`${to}`)} AND t.verified_at IS NOT NULL))`;
}

/** Selects when a session of someone with the address ends at the latest; null if its domain doesn't shorten it. */
export function sessionEnd(email: Statement, now: number | Statement): Statement {
  return sql`(SELECT ${now} + p.session_max_days * ${dayMs} FROM ${providersOf(email)})`;
}

/** Shortens the sessions of an organization's members with addresses of its domains, after an audited change. Never lengthens one. */
export function shortenSessions(organizationId: string, condition: Statement): Statement {
  return sql`
    UPDATE sessions SET expires_at = min(coalesce(sessions.expires_at, n.ends_at), n.ends_at) FROM (
      SELECT s.token_hash, ${sessionEnd(sql`u.email`, sql`s.created_at`)} AS ends_at
      FROM memberships m JOIN users u ON u.id = m.user_id JOIN sessions s ON s.user_id = u.id
      WHERE m.organization_id = ${organizationId} AND EXISTS (SELECT 1 FROM organization_domains d
        WHERE d.organization_id = m.organization_id AND d.domain = ${
    domainOf(sql`u.email`)
  } AND d.verified_at IS NOT NULL)) n
    WHERE sessions.token_hash = n.token_hash AND n.ends_at IS NOT NULL AND ${condition}`;
}

/** Returns true if a user may sign in with a passkey alone. */
export async function isPasskeyPermitted(database: DatabaseReader, userId: string): Promise<boolean> {
  const permits = domainPermits(sql`u.email`, { isPasskey: true, userId: sql`u.id` });
  return await database.readFirst(sql`SELECT 1 FROM users u WHERE u.id = ${userId} AND ${permits}`) !==
    undefined;
}

export interface DomainProvider {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly enforced: 0 | 1;
}

/** Finds the provider for addresses of a verified domain. */
export function findDomainProvider(
  database: DatabaseReader,
  email: string,
): Promise<DomainProvider | undefined> {
  return database.readFirst(sql`SELECT p.id, p.slug, p.name, p.enforced FROM ${providersOf(sql`${email}`)}`);
}
