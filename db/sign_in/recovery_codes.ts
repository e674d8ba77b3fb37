// All SQL of recovery codes. A code is never here, only its SHA-256.
import { ifAudited } from "../audit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { ifSecondStepWaits, type SecondStep, secondStepArgs } from "./pending_sign_ins.ts";

/** @returns How many of a user's codes were not used yet. @throws {DatabaseError} */
export async function countRecoveryCodes(database: DatabaseReader, userId: string): Promise<number> {
  const row = await database.readFirst<{ n: number }>(
    sql`SELECT count(*) AS n FROM recovery_codes WHERE user_id = ${userId} AND used_at IS NULL`,
  );
  return row?.n ?? 0;
}

/** @returns Whether a user has a code that was not used yet. @throws {DatabaseError} */
export async function hasRecoveryCode(
  database: DatabaseReader,
  code: { userId: string; codeHash: string },
): Promise<boolean> {
  const row = await database.readFirst(
    sql`SELECT 1 FROM recovery_codes WHERE user_id = ${code.userId} AND code_hash = ${code.codeHash} AND used_at IS NULL`,
  );
  return row !== undefined;
}

/**
 * @param code `left`: how many there are before, which the mail about it counts on.
 * @returns A statement that uses a code up in a sign-in that waits for it.
 */
export function useRecoveryCode(code: SecondStep & { codeHash: string; left: number }): Statement {
  return sql(
    `UPDATE recovery_codes SET used_at = ?3 WHERE user_id = ?2 AND code_hash = ?4 AND used_at IS NULL
       AND (SELECT count(*) FROM recovery_codes WHERE user_id = ?2 AND used_at IS NULL) = ?5
       AND ${ifSecondStepWaits}`,
    ...secondStepArgs(code),
    code.codeHash,
    code.left,
  );
}

/** @returns Statements that put new codes in the place of a user's old ones, after an audited change. */
export function insertRecoveryCodes(
  userId: string,
  options: { codeHashes: readonly string[]; audited: string },
): Statement[] {
  return [
    deleteRecoveryCodes(userId, options),
    sql`
      INSERT INTO recovery_codes (user_id, code_hash, used_at)
      SELECT ${userId}, value, NULL FROM json_each(${JSON.stringify(options.codeHashes)})
      WHERE ${ifAudited(options.audited)}`,
  ];
}

/** @returns A statement that takes a user's codes away, after an audited change. */
export function deleteRecoveryCodes(userId: string, { audited }: { audited: string }): Statement {
  return sql`DELETE FROM recovery_codes WHERE user_id = ${userId} AND ${ifAudited(audited)}`;
}
