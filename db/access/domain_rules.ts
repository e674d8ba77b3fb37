// Rules for signing in that an organization sets for addresses of its verified domains: its provider, and how long sessions last.
import { type Database, type DatabaseReader, sql, type Statement } from "../engine/database.ts";

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

/** Members whose sessions one step shortens. */
const membersOfStepMax = 100;

/** Shortens the sessions of an organization's first members, and begins with the rest. @param condition True if the rules have changed. */
export function beginShortening(organizationId: string, condition: Statement): Statement[] {
  const begin = sql`UPDATE identity_providers SET shortened_through = ''
    WHERE organization_id = ${organizationId} AND ${condition}`;
  return [begin, ...shortenStep(organizationId, "")];
}

/**
 * Shortens the sessions of some members with addresses of their organization's domains, after {@linkcode beginShortening}. Never lengthens
 * one. Returns true if there may be more.
 */
export async function shortenSomeSessions(database: Database): Promise<boolean> {
  const next = await database.readFirst<{ id: string; through: string }>(sql`
    SELECT organization_id AS id, shortened_through AS through FROM identity_providers
    WHERE shortened_through IS NOT NULL LIMIT 1`);
  if (next === undefined) return false;
  await database.write(shortenStep(next.id, next.through));
  return true;
}

/** @param through The last member whose sessions are done. */
function shortenStep(id: string, through: string): Statement[] {
  const members = sql`SELECT user_id FROM memberships
    WHERE organization_id = ${id} AND user_id > ${through} ORDER BY user_id LIMIT ${membersOfStepMax}`;
  const end = sql`(SELECT ${sessionEnd(sql`u.email`, sql`sessions.created_at`)} FROM users u
    WHERE u.id = sessions.user_id)`;
  const isOfDomain = sql`EXISTS (SELECT 1 FROM users u CROSS JOIN organization_domains d
    ON d.organization_id = ${id} AND d.domain = ${domainOf(sql`u.email`)} AND d.verified_at IS NOT NULL
    WHERE u.id = sessions.user_id)`;
  return [
    sql`UPDATE sessions SET expires_at = min(coalesce(expires_at, ${end}), ${end})
      WHERE token_hash IN (SELECT s.token_hash FROM (${members}) m CROSS JOIN sessions s ON s.user_id = m.user_id)
        AND ${isOfDomain} AND ${end} IS NOT NULL`,
    sql`UPDATE identity_providers SET shortened_through =
        (SELECT iif(count(*) < ${membersOfStepMax}, NULL, max(user_id)) FROM (${members}))
      WHERE organization_id = ${id} AND shortened_through = ${through}`,
  ];
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
