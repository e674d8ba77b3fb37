// All SQL of users and the organizations that signing up makes.
import { type Database, sql, type Statement } from "./database.ts";

/** A user as the password check needs them. */
export interface UserCredentials {
  readonly id: string;
  readonly passwordHash: string;
  readonly disabledAt: number | null;
}

/** What signing up writes. */
export interface NewUser {
  readonly id: string;
  /** Canonical. */
  readonly email: string;
  readonly name: string;
  readonly passwordHash: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly now: number;
}

/**
 * @returns Statements that insert a user and their organization, with the user as OWNER. When the address is taken
 *   they do nothing, and the first returns no row.
 */
export function insertUserWithOrganization(user: NewUser): Statement[] {
  return [
    sql(
      `INSERT INTO users (id, email, name, password_hash, last_organization_id, created_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (email) DO NOTHING RETURNING id`,
      user.id,
      user.email,
      user.name,
      user.passwordHash,
      user.organizationId,
      user.now,
    ),
    sql(
      "INSERT INTO organizations (id, name, created_at) SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM users WHERE id = ?)",
      user.organizationId,
      user.organizationName,
      user.now,
      user.id,
    ),
    sql(
      `INSERT INTO memberships (user_id, organization_id, role, created_at)
       SELECT id, ?, 'OWNER', ? FROM users WHERE id = ?`,
      user.organizationId,
      user.now,
      user.id,
    ),
  ];
}

/** @returns What the password check needs of an address, or undefined. @throws {DatabaseError} */
export function findUserCredentials(database: Database, email: string): Promise<UserCredentials | undefined> {
  return database.readFirst(sql(
    "SELECT id, password_hash AS passwordHash, disabled_at AS disabledAt FROM users WHERE email = ?",
    email,
  ));
}

/** @returns A statement that replaces a password's hash unless it was changed meanwhile. */
export function updatePasswordHash(userId: string, hashes: { from: string; to: string }): Statement {
  return sql(
    "UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?",
    hashes.to,
    userId,
    hashes.from,
  );
}
