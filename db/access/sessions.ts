// SQL of sessions. Only the SHA-256 of a token is stored.
import { byOrganizationName, type Membership, type Role, type Session } from "../../domain/access/session.ts";
import { sessionsPerUserMax } from "../../domain/limits.ts";
import { listedLocale } from "../../domain/locale.ts";
import type { Theme } from "../../domain/presentation.ts";
import { landingOrganization, planFeatures } from "./organization_state.ts";
import { type Audited, ifAudited } from "./audit.ts";
import { bind, type Database, type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { domainPermits, sessionEnd, type SignInMethod } from "./domain_rules.ts";
import { identityMaySignIn, type IdentityUse } from "./identities.ts";
import { enteredAtProvider, type FreshUse, type SecondFactor } from "./session_proofs.ts";
import { hasTwoStep } from "./user_credentials.ts";

export interface NewSession {
  readonly id: string;
  readonly tokenHash: string;
  readonly userId: string;
  readonly now: number;
  /** The client's IP address and `User-Agent`. */
  readonly address: string;
  readonly userAgent: string;
  /** The hashes of the client's earlier tokens. */
  readonly replaces: readonly string[];
}

/** The times after which a live session was created and last used, and before which it doesn't end. */
export interface SessionBounds {
  readonly createdAfter: number;
  readonly seenAfter: number;
  readonly now: number;
}

/** A condition: the session `s` of the user `u` is live. */
export const liveSession = (
  { createdAfter, seenAfter, now }: Readonly<Record<keyof SessionBounds, number | Statement>>,
): Statement =>
  sql`s.created_at > ${createdAfter} AND s.last_seen_at > ${seenAfter} AND u.disabled_at IS NULL
    AND (s.expires_at IS NULL OR s.expires_at > ${now})`;

function insertSessionIf(
  session: NewSession,
  { condition, secondFactorAt, enteredAt = session.now, amr, ...method }: SignInMethod & {
    condition: Statement;
    secondFactorAt: number | null;
    /** Null if a provider doesn't say when the person signed in there. */
    enteredAt?: number | null;
    /** Methods as in RFC 8176, with spaces; null if a provider alone signed the person in. */
    amr: string | null | Statement;
  },
) {
  const { tokenHash, id, userId, now, address, userAgent } = session;
  return sql`
    INSERT INTO sessions (token_hash, id, user_id, organization_id, created_at, last_seen_at, proved_at,
      second_factor_at, address, user_agent, provider_id, amr, entered_at, expires_at)
    SELECT ${tokenHash}, ${id}, u.id, ${landingOrganization}, ${now}, ${now}, ${now},
      ${secondFactorAt}, ${address}, ${userAgent}, ${method.providerId ?? sql`NULL`}, ${amr}, ${enteredAt}, ${
    sessionEnd(sql`u.email`, now)
  }
    FROM users u WHERE u.id = ${userId} AND u.disabled_at IS NULL AND ${condition}
      AND ${domainPermits(sql`u.email`, { ...method, userId: sql`u.id` })}`;
}

/**
 * Inserts a session in the user's last organization, or their oldest if they left it. Does nothing if the user is disabled, has
 * changed the password since `passwordHash` was checked, or has turned on two-step sign-in, or if their address's domain requires
 * a provider.
 */
export function insertSession(session: NewSession, passwordHash: string): Statement {
  const condition = sql`u.password_hash = ${passwordHash} AND NOT ${hasTwoStep}`;
  return insertSessionIf(session, { condition, secondFactorAt: null, amr: "pwd" });
}

/** Inserts a session for an identity, unless the provider may not sign the user in or two-step sign-in is on. */
export function insertProviderSession(session: NewSession, use: FreshUse): Statement {
  const condition = sql`${identityMaySignIn(use)} AND NOT ${hasTwoStep}`;
  return insertSessionIf(session, {
    condition,
    secondFactorAt: null,
    amr: null,
    enteredAt: enteredAtProvider(use, session.now),
    providerId: sql`${use.providerId}`,
  });
}

/**
 * Inserts a session after an audited second step or passkey, if the domain of the address permits how it began.
 *
 * @param options `pendingHash`: of the sign-in that it completes; null for a passkey alone. `use`: the identity that it began with, which
 *   must sign the user in.
 */
export function insertAuditedSession(
  session: NewSession,
  { audited, pendingHash, factor, use }: {
    audited: string;
    pendingHash: string | null;
    factor: SecondFactor;
    use?: IdentityUse | undefined;
  },
): Statement {
  return insertSessionIf(session, {
    condition: use === undefined
      ? ifAudited(audited)
      : sql`${ifAudited(audited)} AND ${identityMaySignIn(use)}`,
    secondFactorAt: session.now,
    providerId: sql`(SELECT p.provider_id FROM pending_sign_ins p WHERE p.token_hash = ${pendingHash})`,
    amr: pendingHash === null
      ? factor
      : sql`(SELECT iif(p.provider_id IS NULL, 'pwd ', '') || ${`${factor} mfa`} FROM pending_sign_ins p
        WHERE p.token_hash = ${pendingHash})`,
    isPasskey: pendingHash === null,
  });
}

/**
 * Ends the sessions that a new one replaces: those of the client's earlier tokens, and the person's least recently used ones
 * beyond {@linkcode sessionsPerUserMax}. The statements follow the one that inserts the session, and depend on it.
 */
export function endReplacedSessions({ tokenHash, userId, replaces }: NewSession) {
  const isInserted = sql`EXISTS (SELECT 1 FROM sessions WHERE token_hash = ${tokenHash})`;
  const endOldest = sql`
    DELETE FROM sessions WHERE ${isInserted} AND token_hash IN (
      SELECT token_hash FROM sessions WHERE user_id = ${userId}
      ORDER BY token_hash = ${tokenHash} DESC, last_seen_at DESC, id DESC LIMIT -1 OFFSET ${sessionsPerUserMax})`;
  if (replaces.length === 0) return [endOldest];
  const endReplaced = sql`
    DELETE FROM sessions WHERE ${isInserted} AND token_hash <> ${tokenHash}
      AND token_hash IN (SELECT value FROM json_each(${JSON.stringify(replaces)}))`;
  return [endReplaced, endOldest];
}

export interface FoundSession {
  readonly session: Session;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly tokenHash: string;
}

const sessionRow = sql`
  json_array(s.id, s.last_seen_at, s.organization_id, u.id, u.name, u.email, u.email_verified_at, (
      SELECT json_group_array(json_array(m.organization_id, o.name, m.role, o.suspended_at,
        o.timezone, nullif(${planFeatures}, '[]')))
      FROM memberships m JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = u.id
    ), s.proved_at, s.created_at, s.token_hash,
    s.second_factor_at, u.operator_since, u.usage_timezone, u.locale, u.theme)`;

const selectSessions = (rows: Statement, isWanted: Statement): Statement =>
  // One JSON column, which also holds the sessions of many tokens.
  sql`
    SELECT ${rows} AS rows FROM sessions s JOIN users u ON u.id = s.user_id
    WHERE ${isWanted} AND ${liveSession({ createdAfter: sql`?2`, seenAfter: sql`?3`, now: sql`?4` })}`;

// Built once, because every request with a session needs one of them. A list of one takes longer than the first does.
const selectByHash = selectSessions(sql`json_array(${sessionRow})`, sql`s.token_hash = ?1`);
const selectByHashes = selectSessions(
  sql`json_group_array(${sessionRow})`,
  sql`s.token_hash IN (SELECT value FROM json_each(?1))`,
);

/** Finds the live sessions of tokens, in no order. Read each time, so that nothing is stale. */
export async function findSessions(
  database: DatabaseReader,
  tokenHashes: readonly string[],
  bounds: SessionBounds,
): Promise<FoundSession[]> {
  const [first, second] = tokenHashes;
  if (first === undefined) return [];
  const { createdAfter, seenAfter, now } = bounds;
  const select = second === undefined
    ? selectSession(first, bounds)
    : bind(selectByHashes, JSON.stringify(tokenHashes), createdAfter, seenAfter, now);
  return foundSessions(await database.readFirst<FoundSessionsRow>(select));
}

/** Sessions as a JSON list. */
export interface FoundSessionsRow {
  readonly rows: string;
}

/** Reads the live session of a token for {@linkcode foundSessions}; no row if there is none. */
export function selectSession(tokenHash: string, { createdAfter, seenAfter, now }: SessionBounds): Statement {
  return bind(selectByHash, tokenHash, createdAfter, seenAfter, now);
}

export function foundSessions(row: FoundSessionsRow | undefined): FoundSession[] {
  return row === undefined ? [] : (JSON.parse(row.rows) as SessionRow[]).map(toFoundSession);
}

type SessionRow = [
  id: string,
  lastSeenAt: number,
  organizationId: string | null,
  userId: string,
  name: string,
  email: string,
  emailVerifiedAt: number | null,
  memberships: [
    organizationId: string,
    name: string,
    role: Role,
    suspendedAt: number | null,
    timezone: string,
    features: string | null,
  ][],
  authenticatedAt: number,
  createdAt: number,
  tokenHash: string,
  secondFactorAt: number | null,
  operatorSince: number | null,
  timezone: string | null,
  locale: string | null,
  theme: Theme | null,
];

function toFoundSession(row: SessionRow): FoundSession {
  const [
    id,
    lastSeenAt,
    activeId,
    userId,
    name,
    email,
    emailVerifiedAt,
    membershipRows,
    authenticatedAt,
    ...rest
  ] = row;
  const [createdAt, tokenHash, secondFactorAt, operatorSince, ...preferred] = rest;
  const memberships: Membership[] = membershipRows.map((
    [organizationId, name, role, suspendedAt, timezone, features],
  ) => ({
    organizationId,
    name,
    role,
    suspended: suspendedAt !== null,
    timezone,
    features: features === null ? [] : JSON.parse(features),
  }));
  // Sorted here: the remote server's parser rejects ORDER BY within an aggregate.
  if (memberships.length > 1) memberships.sort(byOrganizationName);
  const organization = memberships.find((m) => m.organizationId === activeId) ?? memberships[0] ?? null;
  const user = { id: userId, name, email, emailVerified: emailVerifiedAt !== null };
  const isOperator = operatorSince !== null;
  const [timezone, locale, theme] = preferred;
  const preferences = { timezone, locale: listedLocale(locale), theme: theme ?? "system" };
  const session = {
    id,
    user,
    organization,
    memberships,
    authenticatedAt,
    secondFactorAt,
    isOperator,
    preferences,
  };
  return { session, createdAt, lastSeenAt, tokenHash };
}

export function updateSessionSeen(sessionId: string, now: number) {
  return sql`UPDATE sessions SET last_seen_at = max(last_seen_at, ${now}) WHERE id = ${sessionId}`;
}

/** Lists the live sessions that a user used last, and in any case the one with the id `always`, in no order. */
export function listSessionsOfUser(
  database: DatabaseReader,
  userId: string,
  { bounds, always, limit }: { bounds: SessionBounds; always: string; limit: number },
): Promise<{ id: string; createdAt: number; lastSeenAt: number; address: string; userAgent: string }[]> {
  return database.read(sql`
    SELECT s.id, s.created_at AS createdAt, s.last_seen_at AS lastSeenAt, s.address, s.user_agent AS userAgent
    FROM sessions s JOIN users u ON u.id = s.user_id
    WHERE s.user_id = ${userId} AND ${liveSession(bounds)}
    ORDER BY s.id = ${always} DESC, s.last_seen_at DESC, s.id DESC LIMIT ${limit}`);
}

export function deleteSessionOfUser(userId: string, sessionId: string) {
  return sql`DELETE FROM sessions WHERE user_id = ${userId} AND id = ${sessionId}`;
}

/** Ends access to a user's account that outlives sessions: a trigger deletes the grants of applications. */
export function endLastingAccess(userId: string, now: number, condition = sql`true`): Statement {
  return sql`UPDATE users SET access_ended_at = ${now} WHERE id = ${userId} AND ${condition}`;
}

/** Ends a user's sessions, except the one to keep, after an audited change. */
export function deleteSessionsOfUser(
  userId: string,
  { keep = "", audited }: { keep?: string; audited: string },
) {
  return sql`DELETE FROM sessions WHERE user_id = ${userId} AND id <> ${keep} AND ${ifAudited(audited)}`;
}

/** Ends a user's sessions, except the one to keep, and what outlives them, after an audited change. */
export function endAllAccess(
  userId: string,
  { now, ...ended }: Audited & { keep?: string },
): Statement[] {
  return [endLastingAccess(userId, now, ifAudited(ended.audited)), deleteSessionsOfUser(userId, ended)];
}

/** Makes an organization a session's active one, if the user is a member. */
export function updateSessionOrganization(
  { id, userId }: { id: string; userId: string },
  organizationId: string,
) {
  return sql`
    UPDATE sessions SET organization_id = ${organizationId} WHERE id = ${id} AND user_id = ${userId}
      AND EXISTS (SELECT 1 FROM memberships WHERE user_id = ${userId} AND organization_id = ${organizationId})`;
}

export function deleteSessions(tokenHashes: readonly string[]) {
  const hashes = JSON.stringify(tokenHashes);
  return sql`DELETE FROM sessions WHERE token_hash IN (SELECT value FROM json_each(${hashes}))`;
}

export function deleteExpiredSessions(userId: string, { createdAfter, seenAfter, now }: SessionBounds) {
  return sql`DELETE FROM sessions WHERE user_id = ${userId}
    AND (created_at <= ${createdAfter} OR last_seen_at <= ${seenAfter} OR expires_at <= ${now})`;
}

/**
 * Deletes at most `limit` expired rows of each kind, and returns how many. Other statements reject them anyway; this only keeps
 * their data, such as IP addresses, from piling up.
 *
 * @param options `seenAfter`: sessions last used by then have expired.
 */
export async function deleteExpiredSignIns(
  database: Database,
  { now, seenAfter, limit }: { now: number; seenAfter: number; limit: number },
): Promise<number> {
  // Usually there is none, and even a write that changes nothing waits for the lock.
  const expired = await database.readFirst(sql`
    SELECT 1 FROM pending_sign_ins WHERE expires_at <= ${now}
    UNION ALL SELECT 1 FROM passkey_challenges WHERE expires_at <= ${now}
    UNION ALL SELECT 1 FROM provider_attempts WHERE expires_at <= ${now}
    UNION ALL SELECT 1 FROM sessions WHERE last_seen_at <= ${seenAfter} LIMIT 1`);
  if (expired === undefined) return 0;
  const results = await database.write([
    sql`DELETE FROM pending_sign_ins WHERE token_hash IN (
      SELECT token_hash FROM pending_sign_ins WHERE expires_at <= ${now} LIMIT ${limit})`,
    sql`DELETE FROM passkey_challenges WHERE challenge IN (
      SELECT challenge FROM passkey_challenges WHERE expires_at <= ${now} LIMIT ${limit})`,
    sql`DELETE FROM provider_attempts WHERE state_hash IN (
      SELECT state_hash FROM provider_attempts WHERE expires_at <= ${now} LIMIT ${limit})`,
    sql`DELETE FROM sessions WHERE token_hash IN (
      SELECT token_hash FROM sessions WHERE last_seen_at <= ${seenAfter} LIMIT ${limit})`,
  ]);
  return results.reduce((sum, { changes }) => sum + changes, 0);
}
