// All SQL of users. A password is never here, only its hash.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { linkWorks } from "../mail/link_tokens.ts";

/** A user as the password check and the audit log need them. Times in milliseconds since 1970. */
export interface UserCredentials {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly emailVerifiedAt: number | null;
  readonly passwordHash: string;
  readonly disabledAt: number | null;
  /** The one that is active after signing in, or null. */
  readonly organizationId: string | null;
  /** Two-step sign-in is on. */
  readonly hasTotp: number;
}

/** What making an account writes. */
export interface NewUser {
  readonly id: string;
  /** Canonical. */
  readonly email: string;
  /** When the address was proved, or null. */
  readonly emailVerifiedAt: number | null;
  readonly name: string;
  readonly passwordHash: string;
  readonly now: number;
}

/** The organization that a user `u` lands in: the last active one if they still belong to it, else their oldest. */
export const landingOrganization = sql`coalesce(
  (SELECT m.organization_id FROM memberships m WHERE m.user_id = u.id AND m.organization_id = u.last_organization_id),
  (SELECT m.organization_id FROM memberships m WHERE m.user_id = u.id ORDER BY m.created_at LIMIT 1))`;

/** Inserts a user, with {@linkcode newUserArgs} as the first parameters; a condition may follow. */
export const insertNewUser =
  `INSERT INTO users (id, email, email_verified_at, name, password_hash, created_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6`;

/** @returns The parameters of {@linkcode insertNewUser}. */
export function newUserArgs(user: NewUser) {
  return [user.id, user.email, user.emailVerifiedAt, user.name, user.passwordHash, user.now] as const;
}

/** @returns A statement that inserts a user; when the address is taken it does nothing. */
export function insertUser(user: NewUser): Statement {
  return sql(`${insertNewUser} WHERE true ON CONFLICT (email) DO NOTHING`, ...newUserArgs(user));
}

/** @returns A statement like {@linkcode insertUser}, which also does nothing unless the link is of an open invitation to the address. */
export function insertInvitedUser(user: NewUser, tokenHash: string): Statement {
  return sql(
    `${insertNewUser} WHERE EXISTS (SELECT 1 FROM link_tokens l JOIN invitations i ON i.id = l.subject
       WHERE l.token_hash = ?7 AND l.purpose = 'invitation' AND l.expires_at > ?6 AND i.expires_at > ?6 AND i.email = ?2
         AND i.accepted_at IS NULL AND i.revoked_at IS NULL)
     ON CONFLICT (email) DO NOTHING`,
    ...newUserArgs(user),
    tokenHash,
  );
}

const credentials = sql`
  SELECT u.id, u.name, u.email, u.email_verified_at AS emailVerifiedAt, u.password_hash AS passwordHash,
    u.disabled_at AS disabledAt, ${landingOrganization} AS organizationId,
    EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL) AS hasTotp
  FROM users u WHERE`;

/** @returns What the password check needs of an address, or undefined. @throws {DatabaseError} */
export function findUserCredentials(
  database: DatabaseReader,
  email: string,
): Promise<UserCredentials | undefined> {
  return database.readFirst(sql`${credentials} u.email = ${email}`);
}

/** @returns The same of an id. @throws {DatabaseError} */
export function findUserCredentialsById(
  database: DatabaseReader,
  id: string,
): Promise<UserCredentials | undefined> {
  return database.readFirst(sql`${credentials} u.id = ${id}`);
}

/**
 * @returns A statement that replaces a password's hash unless it was changed meanwhile.
 */
export function updatePasswordHash(
  userId: string,
  hashes: { from: string; to: string },
): Statement {
  return sql`UPDATE users SET password_hash = ${hashes.to} WHERE id = ${userId} AND password_hash = ${hashes.from} AND disabled_at IS NULL`;
}

/**
 * @param reset `tokenHash`: of a link that must still work. `email`: where it went by mail, or null; it counts as proved.
 * @returns A statement that sets a new password. It does nothing when the link went to an address that is not the user's any
 *   more.
 */
export function resetPasswordHash(
  reset: { userId: string; passwordHash: string; tokenHash: string; email: string | null; now: number },
): Statement {
  return sql`UPDATE users SET password_hash = ${reset.passwordHash}, email_verified_at = iif(email = ${reset.email}, coalesce(email_verified_at, ${reset.now}), email_verified_at)
     WHERE id = ${reset.userId} AND disabled_at IS NULL AND (${reset.email} IS NULL OR email = ${reset.email})
       AND EXISTS (SELECT 1 FROM link_tokens
         WHERE token_hash = ${reset.tokenHash} AND purpose = 'reset_password' AND subject = ${reset.userId} AND expires_at > ${reset.now})`;
}

/** @returns A statement that changes what a user is called. */
export function updateUserName(userId: string, name: string): Statement {
  return sql`UPDATE users SET name = ${name} WHERE id = ${userId} AND name <> ${name}`;
}

/**
 * @returns A statement that proves a user's address, with a link that still works. It does nothing when the address is not
 *   the user's any more.
 */
export function verifyUserEmail(
  user: { userId: string; email: string; tokenHash: string; now: number },
): Statement {
  return sql(
    `UPDATE users SET email_verified_at = coalesce(email_verified_at, ?) WHERE id = ? AND email = ? AND ${linkWorks}`,
    user.now,
    user.userId,
    user.email,
    user.tokenHash,
    "verify_email",
    user.now,
  );
}

/**
 * @returns A statement that gives a user another, proved address, with a link that still works; nothing if it is taken.
 */
export function updateUserEmail(
  user: { id: string; from: string; to: string; tokenHash: string; now: number },
): Statement {
  return sql`UPDATE users SET email = ${user.to}, email_verified_at = ${user.now} WHERE id = ${user.id} AND email = ${user.from}
       AND NOT EXISTS (SELECT 1 FROM users WHERE email = ${user.to})
       AND EXISTS (SELECT 1 FROM link_tokens
         WHERE token_hash = ${user.tokenHash} AND purpose = 'change_email' AND subject = ${user.id} AND expires_at > ${user.now})`;
}

/** @returns A statement that makes an organization a user's last active one, if they belong to it. */
export function updateLastOrganization(userId: string, organizationId: string): Statement {
  return sql`UPDATE users SET last_organization_id = ${organizationId} WHERE id = ${userId}
       AND EXISTS (SELECT 1 FROM memberships WHERE user_id = ${userId} AND organization_id = ${organizationId})`;
}
