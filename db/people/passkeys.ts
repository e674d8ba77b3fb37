// SQL of passkeys, of which only the public key is stored, and of their challenges, each of which is answered once.
import { passkeysPerUserMax } from "../../domain/limits.ts";
import { ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { hasOtherWayIn, worksAt } from "./sign_in_methods.ts";
import { ifSecondStepPending, type SecondStep } from "./pending_sign_ins.ts";

export interface PasskeyRow {
  readonly id: string;
  readonly userId: string;
  /** The browser's id, in base64url. */
  readonly credentialId: string;
  /** COSE, in base64url. */
  readonly publicKey: string;
  /** Its own count of uses. Synced passkeys stay at 0. */
  readonly counter: number;
  /** Transports, such as `usb`, as a JSON list. */
  readonly transports: string;
  readonly name: string;
  /** The host that it works at; null if unknown. */
  readonly host: string | null;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

const select = sql`
  SELECT id, user_id AS userId, credential_id AS credentialId, public_key AS publicKey, counter, transports,
    name, host, created_at AS createdAt, last_used_at AS lastUsedAt
  FROM passkeys WHERE`;

/** Returns a user's passkeys, oldest first. */
export function findPasskeysOfUser(database: DatabaseReader, userId: string): Promise<PasskeyRow[]> {
  return database.read(sql`${select} user_id = ${userId} ORDER BY id`);
}

/** Returns a user's passkeys that work at a host, oldest first. */
export function findUsablePasskeys(
  database: DatabaseReader,
  { userId, host }: { userId: string; host: string },
): Promise<PasskeyRow[]> {
  return database.read(sql`${select} user_id = ${userId} AND ${worksAt(host)} ORDER BY id`);
}

/** Counts passkeys by the host that they work at, if it is another one. */
export function countPasskeysElsewhere(
  database: DatabaseReader,
  host: string,
): Promise<{ host: string; count: number }[]> {
  return database.read(sql`SELECT host, count(*) AS count FROM passkeys WHERE host <> ${host} GROUP BY host
    ORDER BY 2 DESC`);
}

/** Reads one of a user's passkeys as a {@linkcode PasskeyRow}. */
export const selectPasskey = ({ userId, id }: { userId: string; id: string }): Statement =>
  sql`${select} user_id = ${userId} AND id = ${id}`;

/** Finds the passkey of any user by the browser's id. */
export function findPasskeyByCredential(database: DatabaseReader, credentialId: string) {
  return database.readFirst<PasskeyRow>(sql`${select} credential_id = ${credentialId}`);
}

/** Adds a passkey, unless the user has too many or the passkey was already added. */
export function insertPasskey(passkey: PasskeyRow) {
  const { id, userId, credentialId, publicKey, counter, transports, name, host, createdAt } = passkey;
  return sql`
    INSERT INTO passkeys
      (id, user_id, credential_id, public_key, counter, transports, name, host, created_at, last_used_at)
    SELECT ${id}, ${userId}, ${credentialId}, ${publicKey}, ${counter}, ${transports}, ${name}, ${host}, ${createdAt}, NULL
    WHERE (SELECT count(*) FROM passkeys WHERE user_id = ${userId}) < ${passkeysPerUserMax}
    ON CONFLICT (credential_id) DO NOTHING`;
}

export function updatePasskeyName({ userId, id, name }: { userId: string; id: string; name: string }) {
  return sql`UPDATE passkeys SET name = ${name} WHERE user_id = ${userId} AND id = ${id} AND name <> ${name}`;
}

/** Deletes a passkey, unless it is its user's only way to sign in. */
export function deletePasskey({ userId, id, host }: { userId: string; id: string; host: string }) {
  return sql`DELETE FROM passkeys WHERE user_id = ${userId} AND id = ${id}
    AND EXISTS (SELECT 1 FROM users u WHERE u.id = ${userId} AND ${hasOtherWayIn({ passkeyId: id, host })})`;
}

export function deletePasskeys(userId: string, { audited }: { audited: string }) {
  return sql`DELETE FROM passkeys WHERE user_id = ${userId} AND ${ifAudited(audited)}`;
}

interface PasskeyUse {
  readonly id: string;
  readonly userId: string;
  readonly counter: number;
  /** The host that it was used at. */
  readonly host: string;
  readonly now: number;
}

/** Rejects a counter that doesn't increase, which belongs to a copy, unless it stays at 0. */
function updatePasskeyUsed({ id, userId, counter, host, now }: PasskeyUse, condition: Statement) {
  return sql`
    UPDATE passkeys SET counter = ${counter}, host = ${host}, last_used_at = ${now}
    WHERE id = ${id} AND user_id = ${userId}
      AND (counter < ${counter} OR (counter = 0 AND ${counter} = 0)) AND ${condition}`;
}

/** Records that a passkey signs in alone; does nothing if its user is disabled. */
export function usePasskey(use: PasskeyUse): Statement {
  return updatePasskeyUsed(
    use,
    sql`EXISTS (SELECT 1 FROM users WHERE id = ${use.userId} AND disabled_at IS NULL)`,
  );
}

/** Records that a passkey completes a pending sign-in. */
export function usePasskeyInSecondStep(use: PasskeyUse & SecondStep): Statement {
  return updatePasskeyUsed(use, ifSecondStepPending(use));
}

export type PasskeyPurpose = "register" | "sign_in" | "second_step";

/** A challenge in base64url. `userId`: whose passkey may answer; null if any may. `expiresAt`: milliseconds since 1970. */
interface PasskeyChallenge {
  readonly challenge: string;
  readonly purpose: PasskeyPurpose;
  readonly userId: string | null;
  readonly expiresAt: number;
}

/** Inserts a challenge, and deletes those that have expired. */
export function insertPasskeyChallenge(
  { challenge, purpose, userId, expiresAt }: PasskeyChallenge,
  now: number,
): Statement[] {
  return [
    // One more than is added. The background deletes the rest.
    sql`DELETE FROM passkey_challenges WHERE challenge IN (
      SELECT challenge FROM passkey_challenges WHERE expires_at <= ${now} LIMIT 2)`,
    sql`
      INSERT INTO passkey_challenges (challenge, purpose, user_id, expires_at)
      VALUES (${challenge}, ${purpose}, ${userId}, ${expiresAt})`,
  ];
}

/** Uses a challenge up. Changes no row unless the challenge waits for this answer. */
export function takePasskeyChallenge(
  { challenge, purpose, userId, now }: Omit<PasskeyChallenge, "expiresAt"> & { now: number },
) {
  return sql`
    DELETE FROM passkey_challenges
    WHERE challenge = ${challenge} AND purpose = ${purpose} AND user_id IS ${userId} AND expires_at > ${now}`;
}
