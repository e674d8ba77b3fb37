// What ends when a password is reset. All SQL of taking an account back from somebody who never owned its address.
import { ifAudited } from "./audit.ts";
import { sql, type Statement } from "./database.ts";

/**
 * @param options `audited`: the id of the entry about the reset. `everything`: the address was never proved before, so
 *   second steps, passkeys, keys and invitations go too; otherwise only sign-ins that are half done.
 * @returns The statements.
 */
export function endUnprovedAccess(
  userId: string,
  options: { now: number; audited: string; everything: boolean },
): Statement[] {
  const { now, audited } = options;
  const remove = (table: "pending_sign_ins" | "totp" | "recovery_codes" | "passkeys") =>
    sql(`DELETE FROM ${table} WHERE user_id = ? AND ${ifAudited}`, userId, audited);
  const halfDone = [remove("pending_sign_ins")];
  if (!options.everything) return halfDone;
  return [
    ...halfDone,
    remove("totp"),
    remove("recovery_codes"),
    remove("passkeys"),
    sql(
      `UPDATE api_keys SET revoked_at = ? WHERE created_by = ? AND revoked_at IS NULL AND ${ifAudited}`,
      now,
      userId,
      audited,
    ),
    sql(
      `UPDATE invitations SET revoked_at = ? WHERE invited_by = ? AND accepted_at IS NULL AND revoked_at IS NULL
         AND ${ifAudited}`,
      now,
      userId,
      audited,
    ),
  ];
}
