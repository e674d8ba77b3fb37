// What a sign-in or a proof is checked against.
import { type DatabaseReader, sql } from "../engine/database.ts";
import { landingOrganization } from "./organization_state.ts";

export interface UserCredentials {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly emailVerifiedAt: number | null;
  readonly passwordHash: string;
  /** 0 if the hash is that of a random text: no one has chosen a password. */
  readonly hasPassword: number;
  readonly disabledAt: number | null;
  /** The organization that is active after signing in, or null. */
  readonly organizationId: string | null;
  /** 1 if two-step sign-in is on. */
  readonly hasTotp: number;
}

/** A condition: two-step sign-in is on for the user `u`. */
export const hasTwoStep =
  sql`EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL)`;

const credentials = sql`
  SELECT u.id, u.name, u.email, u.email_verified_at AS emailVerifiedAt, u.password_hash AS passwordHash,
    u.has_password AS hasPassword, u.disabled_at AS disabledAt, ${landingOrganization} AS organizationId, ${hasTwoStep} AS hasTotp
  FROM users u WHERE`;

export function findUserCredentials(database: DatabaseReader, email: string) {
  return database.readFirst<UserCredentials>(sql`${credentials} u.email = ${email}`);
}

export function findUserCredentialsById(database: DatabaseReader, id: string) {
  return database.readFirst<UserCredentials>(sql`${credentials} u.id = ${id}`);
}
