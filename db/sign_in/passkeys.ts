// All SQL of passkeys. Of each there is the public key alone.
import { ifAudited } from "../audit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { ifSecondStepWaits, type SecondStep, secondStepArgs } from "./pending_sign_ins.ts";

/** A passkey as its answers are checked. Times in milliseconds since 1970. */
export interface PasskeyRow {
  readonly id: string;
  readonly userId: string;
  /** Base64url, as the browser names it. */
  readonly credentialId: string;
  /** COSE, in base64url. */
  readonly publicKey: string;
  /** How often it was used, as it says itself; those that are on several devices say 0. */
  readonly counter: number;
  /** JSON: how browsers reach it. */
  readonly transports: string;
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

const select =
  `SELECT id, user_id AS userId, credential_id AS credentialId, public_key AS publicKey, counter, transports,
    name, created_at AS createdAt, last_used_at AS lastUsedAt FROM passkeys WHERE`;

/** @returns A user's passkeys, the oldest first. @throws {DatabaseError} */
export function findPasskeysOfUser(database: DatabaseReader, userId: string): Promise<PasskeyRow[]> {
  return database.read(sql(`${select} user_id = ? ORDER BY id`, userId));
}

/** @returns One of a user's passkeys, or undefined. @throws {DatabaseError} */
export function findPasskey(
  database: DatabaseReader,
  { userId, id }: { userId: string; id: string },
): Promise<PasskeyRow | undefined> {
  return database.readFirst(sql(`${select} user_id = ? AND id = ?`, userId, id));
}

/** @returns The passkey that a browser names, whoever's it is, or undefined. @throws {DatabaseError} */
export function findPasskeyByCredential(
  database: DatabaseReader,
  credentialId: string,
): Promise<PasskeyRow | undefined> {
  return database.readFirst(sql(`${select} credential_id = ?`, credentialId));
}

/** @returns A statement that adds a passkey, unless the user has `max` or someone has this one. */
export function insertPasskey(passkey: PasskeyRow, { max }: { max: number }): Statement {
  return sql`INSERT INTO passkeys (id, user_id, credential_id, public_key, counter, transports, name, created_at, last_used_at)
     SELECT ${passkey.id}, ${passkey.userId}, ${passkey.credentialId}, ${passkey.publicKey}, ${passkey.counter}, ${passkey.transports}, ${passkey.name}, ${passkey.createdAt}, NULL WHERE (SELECT count(*) FROM passkeys WHERE user_id = ${passkey.userId}) < ${max}
     ON CONFLICT (credential_id) DO NOTHING`;
}

/** @returns A statement that gives a passkey another name. */
export function updatePasskeyName(passkey: { userId: string; id: string; name: string }): Statement {
  return sql`UPDATE passkeys SET name = ${passkey.name} WHERE user_id = ${passkey.userId} AND id = ${passkey.id} AND name <> ${passkey.name}`;
}

/** @returns A statement that takes a passkey away. */
export function deletePasskey({ userId, id }: { userId: string; id: string }): Statement {
  return sql`DELETE FROM passkeys WHERE user_id = ${userId} AND id = ${id}`;
}

/** @returns A statement that removes all of a user's passkeys, after an audited change. */
export function deletePasskeys(userId: string, { audited }: { audited: string }): Statement {
  return sql`DELETE FROM passkeys WHERE user_id = ${userId} AND ${ifAudited(audited)}`;
}

/** A use of a passkey, with what its counter said. */
export interface PasskeyUse {
  readonly id: string;
  readonly counter: number;
}

/** A counter that does not go up is a copy's; one that stays at 0 does not count. */
const counterGoesUp = (counter: string) => `(counter < ${counter} OR (counter = 0 AND ${counter} = 0))`;

/** @returns A statement that notes the use of a passkey which signs in alone; nothing for a user who is disabled. */
export function usePasskey(passkey: PasskeyUse & { userId: string; now: number }): Statement {
  return sql(
    `UPDATE passkeys SET counter = ?1, last_used_at = ?2 WHERE id = ?3 AND user_id = ?4 AND ${
      counterGoesUp("?1")
    }
       AND EXISTS (SELECT 1 FROM users WHERE id = ?4 AND disabled_at IS NULL)`,
    passkey.counter,
    passkey.now,
    passkey.id,
    passkey.userId,
  );
}

/** @returns A statement that notes the use of a passkey in a sign-in that waits for it. */
export function usePasskeyInSecondStep(passkey: PasskeyUse & SecondStep): Statement {
  return sql(
    `UPDATE passkeys SET counter = ?5, last_used_at = ?3 WHERE id = ?4 AND user_id = ?2 AND ${
      counterGoesUp("?5")
    }
       AND ${ifSecondStepWaits}`,
    ...secondStepArgs(passkey),
    passkey.id,
    passkey.counter,
  );
}
