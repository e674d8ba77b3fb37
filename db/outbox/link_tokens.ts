// All SQL of the tokens in emailed links. The tokens are never here, only their SHA-256.
import type { LinkPurpose } from "../../domain/outbox/mail.ts";
import { hasTwoStep, ifAudited, pendingInvitation } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

interface LinkToken {
  readonly purpose: LinkPurpose;
  /** The id of a user or an invitation. */
  readonly subject: string;
  /** The email address that using the link confirms, or null. */
  readonly email: string | null;
}

export interface NewLinkToken extends LinkToken {
  readonly tokenHash: string;
  readonly now: number;
  readonly expiresAt: number;
}

/** Makes a link valid; with the end of a query, for each of its rows. */
export function insertLinkToken(token: NewLinkToken, from: Statement = sql``) {
  const { tokenHash, purpose, subject, email, now, expiresAt } = token;
  return sql`
    INSERT INTO link_tokens (token_hash, purpose, subject, email, created_at, expires_at)
    SELECT ${tokenHash}, ${purpose}, ${subject}, ${email}, ${now}, ${expiresAt} ${from}`;
}

/** A condition: the link that an email will contain can still be used. */
function canBeUsed({ purpose, subject, email, now }: NewLinkToken): Statement {
  if (purpose === "invitation") {
    return sql`EXISTS (SELECT 1 FROM invitations i
      WHERE i.id = ${subject} AND i.email = ${email} AND ${pendingInvitation(now)})`;
  }
  const condition = {
    reset_password: sql`u.email = ${email}`,
    verify_email: sql`u.email = ${email} AND u.email_verified_at IS NULL`,
    turn_off_two_step: sql`u.email = ${email} AND ${hasTwoStep}`,
    change_email: sql`NOT EXISTS (SELECT 1 FROM users other WHERE other.email = ${email})`,
  }[purpose];
  return sql`EXISTS (SELECT 1 FROM users u WHERE u.id = ${subject} AND u.disabled_at IS NULL AND ${condition})`;
}

/**
 * Returns two statements. The first makes the link valid and returns its `tokenHash`, unless the email was withdrawn or
 * claimed again, or the link can no longer be used. In the last case, the second one deletes the email from the outbox and
 * returns its `droppedId`.
 *
 * @param mail The claimed email that will contain the link.
 */
export function insertMailedLinkToken(token: NewLinkToken, mail: { id: string; attempts: number }) {
  const claimed = sql`FROM outbox WHERE id = ${mail.id} AND attempts = ${mail.attempts}`;
  return [
    insertLinkToken(token, sql`${claimed} AND ${canBeUsed(token)} RETURNING token_hash AS tokenHash`),
    sql`DELETE ${claimed} AND NOT EXISTS (SELECT 1 FROM link_tokens WHERE token_hash = ${token.tokenHash})
      RETURNING id AS droppedId`,
  ];
}

export function findLinkToken(database: DatabaseReader, tokenHash: string, now: number) {
  return database.readFirst<LinkToken>(
    sql`SELECT purpose, subject, email FROM link_tokens WHERE token_hash = ${tokenHash} AND expires_at > ${now}`,
  );
}

export function findPendingEmail(database: DatabaseReader, userId: string, now: number) {
  return database.readFirst<{ email: string }>(sql`
    SELECT email FROM link_tokens
    WHERE subject = ${userId} AND purpose = 'change_email' AND expires_at > ${now}
    UNION ALL SELECT recipient FROM outbox WHERE subject = ${userId} AND kind = 'change_email' LIMIT 1`);
}

/** Deletes links of a user or invitation and the unsent emails that would contain one, if `audited` was written. */
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

/** A condition: a user's link for a purpose is valid. */
export function validLink(link: { tokenHash: string; purpose: LinkPurpose; userId: string; now: number }) {
  return sql`EXISTS (SELECT 1 FROM link_tokens l WHERE l.token_hash = ${link.tokenHash}
    AND l.purpose = ${link.purpose} AND l.subject = ${link.userId} AND l.expires_at > ${link.now})`;
}

/**
 * Uses up a link for turning off two-step sign-in. Does nothing if the link is not valid or was sent to a former email
 * address, or if two-step sign-in is off.
 */
export function useTurnOffLink(link: { userId: string; tokenHash: string; now: number }) {
  return sql`
    DELETE FROM link_tokens WHERE token_hash = ${link.tokenHash} AND purpose = 'turn_off_two_step'
      AND subject = ${link.userId} AND expires_at > ${link.now}
      AND EXISTS (SELECT 1 FROM users u
        WHERE u.id = link_tokens.subject AND u.email = link_tokens.email AND ${hasTwoStep})`;
}

export function deleteExpiredLinks({ now, limit }: { now: number; limit: number }) {
  return sql`DELETE FROM link_tokens WHERE token_hash IN (
    SELECT token_hash FROM link_tokens WHERE expires_at <= ${now} LIMIT ${limit})`;
}
