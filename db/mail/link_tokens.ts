// All SQL of the tokens in mailed links. The token itself is never here, only its SHA-256.
import type { LinkPurpose } from "../../domain/mail/mail.ts";
import { ifAudited } from "../audit.ts";
import { type DatabaseReader, sql, type Statement, type Value } from "../engine/database.ts";

/** A link that still works. */
export interface LinkToken {
  readonly purpose: LinkPurpose;
  /** The user's id, or the invitation's. */
  readonly subject: string;
  /** The address that whoever has the link has proved, or null. */
  readonly email: string | null;
}

/** What makes a link. Times in milliseconds since 1970. */
export interface NewLinkToken extends LinkToken {
  readonly tokenHash: string;
  readonly now: number;
  readonly expiresAt: number;
}

/** @returns A statement that makes a link work. */
export function insertLinkToken(token: NewLinkToken): Statement {
  return sql(
    `INSERT INTO link_tokens (token_hash, purpose, subject, email, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)`,
    ...columnsOf(token),
  );
}

function columnsOf(token: NewLinkToken): Value[] {
  return [token.tokenHash, token.purpose, token.subject, token.email, token.now, token.expiresAt];
}

/**
 * A condition: the link of a mail that goes out now can still be used. Takes its purpose, its subject, the address that it
 * goes to and the time, as `?2` to `?5`. What it asks is what the statements ask that use links up.
 */
const isWorthSending = `CASE ?2
  WHEN 'invitation' THEN EXISTS (SELECT 1 FROM invitations i
    WHERE i.id = ?3 AND i.email = ?4 AND i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > ?5)
  ELSE EXISTS (SELECT 1 FROM users u WHERE u.id = ?3 AND u.disabled_at IS NULL AND CASE ?2
    WHEN 'reset_password' THEN u.email = ?4
    WHEN 'verify_email' THEN u.email = ?4 AND u.email_verified_at IS NULL
    WHEN 'turn_off_two_step' THEN u.email = ?4
      AND EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL)
    ELSE NOT EXISTS (SELECT 1 FROM users other WHERE other.email = ?4) END)
  END`;

/**
 * @param mail The claimed mail that the link will be in.
 * @returns Two statements. The first makes a link work unless its mail was taken back, by a newer request say, was claimed
 *   by somebody else meanwhile, or what it is for has ended: it returns the `tokenHash` when it did. The second takes a
 *   mail whose link would not work out of the outbox, and returns its `droppedId` then.
 */
export function insertMailedLinkToken(
  token: NewLinkToken,
  mail: { id: string; attempts: number },
): Statement[] {
  return [
    sql(
      `INSERT INTO link_tokens (token_hash, purpose, subject, email, created_at, expires_at)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6 FROM outbox WHERE id = ?7 AND attempts = ?8 AND ${isWorthSending}
       RETURNING token_hash AS tokenHash`,
      ...columnsOf(token),
      mail.id,
      mail.attempts,
    ),
    sql`DELETE FROM outbox WHERE id = ${mail.id} AND attempts = ${mail.attempts} AND NOT EXISTS (SELECT 1 FROM link_tokens WHERE token_hash = ${token.tokenHash})
       RETURNING id AS droppedId`,
  ];
}

/** @returns What a link is for, or undefined when it does not work any more. @throws {DatabaseError} */
export function findLinkToken(
  database: DatabaseReader,
  tokenHash: string,
  now: number,
): Promise<LinkToken | undefined> {
  return database.readFirst(
    sql`SELECT purpose, subject, email FROM link_tokens WHERE token_hash = ${tokenHash} AND expires_at > ${now}`,
  );
}

/** @returns The address that a user asked to change to, while the link works or its mail waits. @throws {DatabaseError} */
export function findPendingEmail(
  database: DatabaseReader,
  userId: string,
  now: number,
): Promise<{ email: string } | undefined> {
  return database.readFirst(sql(
    `SELECT email FROM link_tokens WHERE subject = ?1 AND purpose = 'change_email' AND expires_at > ?2
     UNION ALL SELECT recipient FROM outbox WHERE subject = ?1 AND kind = 'change_email' LIMIT 1`,
    userId,
    now,
  ));
}

/**
 * @param options `purposes`: which links. `audited`: the id of the audit entry without which nothing is done.
 * @returns Statements that end a subject's links, those included whose mail is not sent yet.
 */
export function deleteLinks(
  subject: string,
  options: { purposes: readonly LinkPurpose[]; audited?: string },
): Statement[] {
  const ofPurposes = sql`IN (SELECT value FROM json_each(${JSON.stringify(options.purposes)}))`;
  const condition = options.audited === undefined ? sql`true` : ifAudited(options.audited);
  return [
    sql`DELETE FROM link_tokens WHERE subject = ${subject} AND purpose ${ofPurposes} AND ${condition}`,
    sql`DELETE FROM outbox WHERE subject = ${subject} AND kind ${ofPurposes} AND ${condition}`,
  ];
}

/** A condition on a link that a statement uses up: takes its hash, its purpose and the time. */
export const linkWorks =
  "EXISTS (SELECT 1 FROM link_tokens WHERE token_hash = ? AND purpose = ? AND expires_at > ?)";

/**
 * @returns A statement that uses up a link that turns two-step sign-in off. It does nothing when the link does not work, went to
 *   an address that is not the user's any more, or two-step sign-in is off.
 */
export function useTurnOffLink(
  link: { userId: string; tokenHash: string; now: number },
): Statement {
  return sql`DELETE FROM link_tokens WHERE token_hash = ${link.tokenHash} AND purpose = 'turn_off_two_step' AND subject = ${link.userId} AND expires_at > ${link.now}
       AND EXISTS (SELECT 1 FROM users u JOIN totp t ON t.user_id = u.id AND t.confirmed_at IS NOT NULL
         WHERE u.id = link_tokens.subject AND u.email = link_tokens.email)`;
}

/** @returns A statement that removes links whose time is over. */
export function deleteEndedLinks(now: number): Statement {
  return sql`DELETE FROM link_tokens WHERE expires_at <= ${now}`;
}
