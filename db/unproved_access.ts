// All SQL of taking an account back from somebody who never owned its address.
import { revokeApiKeysMadeBy } from "./api_keys.ts";
import { ifAudited } from "./audit.ts";
import { sql, type Statement } from "./database.ts";
import { revokeInvitationsMadeBy } from "./invitations.ts";
import { deletePasskeys } from "./passkeys.ts";
import { deleteRecoveryCodes } from "./recovery_codes.ts";

/**
 * @param options `audited`: the id of the entry about the reset that proved the address.
 * @returns Statements that end the second steps, passkeys, keys and invitations that were made before.
 */
export function endUnprovedAccess(
  userId: string,
  options: { now: number; audited: string },
): Statement[] {
  return [
    // Also one that was begun only: whoever made it knows its secret.
    sql(`DELETE FROM totp WHERE user_id = ? AND ${ifAudited}`, userId, options.audited),
    deleteRecoveryCodes(userId, options),
    deletePasskeys(userId, options),
    revokeApiKeysMadeBy(userId, options),
    revokeInvitationsMadeBy(userId, options),
  ];
}
