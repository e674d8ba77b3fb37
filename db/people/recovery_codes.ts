// SQL of recovery codes. Only the SHA-256 of a code is stored.
import { ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { ifSecondStepPending, type SecondStep } from "./pending_sign_ins.ts";

export async function countRecoveryCodes(database: DatabaseReader, userId: string): Promise<number> {
  const row = await database.readFirst<{ n: number }>(
    sql`SELECT count(*) AS n FROM recovery_codes WHERE user_id = ${userId} AND used_at IS NULL`,
  );
  return row?.n ?? 0;
}

/** True if a user has a code that wasn't used yet. */
export async function hasRecoveryCode(
  database: DatabaseReader,
  { userId, codeHash }: { userId: string; codeHash: string },
): Promise<boolean> {
  const row = await database.readFirst(
    sql`SELECT 1 FROM recovery_codes WHERE user_id = ${userId} AND code_hash = ${codeHash} AND used_at IS NULL`,
  );
  return row !== undefined;
}

/** Uses a code up to complete a pending sign-in. @param code `left`: how many there were before, which its email relies on. */
export function useRecoveryCode(code: SecondStep & { codeHash: string; left: number }) {
  const { userId, codeHash, left, now } = code;
  return sql`
    UPDATE recovery_codes SET used_at = ${now}
    WHERE user_id = ${userId} AND code_hash = ${codeHash} AND used_at IS NULL
      AND (SELECT count(*) FROM recovery_codes WHERE user_id = ${userId} AND used_at IS NULL) = ${left}
      AND ${ifSecondStepPending(code)}`;
}

/** Replaces a user's codes, after an audited change. */
export function insertRecoveryCodes(
  userId: string,
  { codeHashes, audited }: { codeHashes: readonly string[]; audited: string },
): Statement[] {
  return [
    deleteRecoveryCodes(userId, { audited }),
    sql`
      INSERT INTO recovery_codes (user_id, code_hash, used_at)
      SELECT ${userId}, value, NULL FROM json_each(${JSON.stringify(codeHashes)}) WHERE ${
      ifAudited(audited)
    }`,
  ];
}

export function deleteRecoveryCodes(userId: string, { audited }: { audited: string }) {
  return sql`DELETE FROM recovery_codes WHERE user_id = ${userId} AND ${ifAudited(audited)}`;
}
