// All SQL of users. Passwords are never here, only their hashes.
import { mayLeaveDomain, pendingInvitation } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import type { EmailChoices } from "../../domain/outbox/mail.ts";
import type { Preferences } from "../../domain/presentation.ts";
import { validLink } from "../outbox/mod.ts";
import { invitationLink, joinableInvitation } from "./invitations.ts";

/** `email`: canonical. `emailVerifiedAt`: when it was confirmed, or null. */
export interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly emailVerifiedAt: number | null;
  readonly name: string;
  readonly passwordHash: string;
  /** False if the hash is that of a random text; true by default. */
  readonly hasPassword?: boolean;
  readonly now: number;
}

/** Inserts a user if the condition holds and the email address is free. */
export function insertUser(user: NewUser, condition: Statement = sql`true`) {
  const { id, email, emailVerifiedAt, name, passwordHash, hasPassword = true, now } = user;
  return sql`
    INSERT INTO users (id, email, email_verified_at, name, password_hash, has_password, created_at)
    SELECT ${id}, ${email}, ${emailVerifiedAt}, ${name}, ${passwordHash}, ${hasPassword ? 1 : 0}, ${now}
    WHERE ${condition}
    ON CONFLICT (email) DO NOTHING`;
}

/**
 * Inserts a user if the invitation to the address is pending.
 *
 * @param invited `tokenHash`: of its link, which must be valid; null without one. `condition`: a further condition.
 */
export function insertInvitedUser(
  user: NewUser,
  { id, tokenHash, condition = sql`true` }: { id: string; tokenHash: string | null; condition?: Statement },
): Statement {
  return insertUser(
    user,
    sql`EXISTS (SELECT 1 FROM invitations i WHERE i.id = ${id} AND i.email = ${user.email}
      AND ${pendingInvitation(user.now)} AND ${joinableInvitation} AND ${invitationLink(tokenHash, user.now)})
      AND ${condition}`,
  );
}

/** Replaces a password's hash, unless it was changed meanwhile. */
export function updatePasswordHash(userId: string, { from, to }: { from: string; to: string }) {
  return sql`UPDATE users SET password_hash = ${to}
    WHERE id = ${userId} AND password_hash = ${from} AND disabled_at IS NULL`;
}

/**
 * Sets a new password, unless the user's email address has changed since.
 *
 * @param reset `tokenHash`: of a link that must be valid. `email`: where it was sent, or null; it counts as confirmed.
 */
export function resetPasswordHash(
  reset: { userId: string; passwordHash: string; tokenHash: string; email: string | null; now: number },
) {
  const { userId, email, now } = reset;
  return sql`
    UPDATE users SET password_hash = ${reset.passwordHash},
      email_verified_at = iif(email = ${email}, coalesce(email_verified_at, ${now}), email_verified_at)
    WHERE id = ${userId} AND disabled_at IS NULL AND (${email} IS NULL OR email = ${email})
      AND ${validLink({ ...reset, purpose: "reset_password" })}`;
}

export function updateUserName(userId: string, name: string) {
  return sql`UPDATE users SET name = ${name} WHERE id = ${userId} AND name <> ${name}`;
}

export function updateEmailChoices(userId: string, { limits, unusedKeys }: EmailChoices): Statement {
  return sql`UPDATE users SET limit_emails = ${limits ? 1 : 0}, unused_key_emails = ${unusedKeys ? 1 : 0}
    WHERE id = ${userId}`;
}

export async function findEmailChoices(database: DatabaseReader, userId: string): Promise<EmailChoices> {
  const row = await database.readFirst<Record<keyof EmailChoices, 0 | 1>>(
    sql`SELECT limit_emails AS limits, unused_key_emails AS unusedKeys FROM users WHERE id = ${userId}`,
  );
  return { limits: row?.limits === 1, unusedKeys: row?.unusedKeys === 1 };
}

/** Changes the given preferences and keeps the others. */
export function updatePreferences(
  userId: string,
  { timezone, locale, theme }: { readonly [Name in keyof Preferences]?: Preferences[Name] | undefined },
): Statement {
  const changed = (value: unknown) => value === undefined ? 0 : 1;
  return sql`
    UPDATE users SET
      usage_timezone = iif(${changed(timezone)}, ${timezone ?? null}, usage_timezone),
      locale = iif(${changed(locale)}, ${locale ?? null}, locale),
      theme = iif(${changed(theme)}, ${theme === "system" ? null : theme ?? null}, theme)
    WHERE id = ${userId}`;
}

/** Confirms a user's email address with a valid link, if the address is still theirs. */
export function verifyUserEmail(link: { userId: string; email: string; tokenHash: string; now: number }) {
  return sql`
    UPDATE users SET email_verified_at = coalesce(email_verified_at, ${link.now})
    WHERE id = ${link.userId} AND email = ${link.email} AND ${
    validLink({ ...link, purpose: "verify_email" })
  }`;
}

/** Changes and confirms a user's email address with a valid link, if the new one is free and the old one's domain permits it. */
export function updateUserEmail(
  link: { userId: string; from: string; to: string; tokenHash: string; now: number },
) {
  const { userId, from, to, now } = link;
  return sql`
    UPDATE users SET email = ${to}, email_verified_at = ${now} WHERE id = ${userId} AND email = ${from}
      AND NOT EXISTS (SELECT 1 FROM users WHERE email = ${to}) AND ${mayLeaveDomain({ from, to })}
      AND ${validLink({ ...link, purpose: "change_email" })}`;
}

/** Makes an organization a user's last active one, if they belong to it. */
export function updateLastOrganization(userId: string, organizationId: string) {
  return sql`
    UPDATE users SET last_organization_id = ${organizationId} WHERE id = ${userId}
      AND EXISTS (SELECT 1 FROM memberships WHERE user_id = ${userId} AND organization_id = ${organizationId})`;
}
