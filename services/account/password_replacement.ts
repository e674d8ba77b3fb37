// What ends with a password, whoever makes the new one: the person, a mailed link, or the operator. Each of these was reached
// with the old one, or leads past the new one.
import type { Statement } from "../../db/engine/database.ts";
import { deleteLinks } from "../../db/mail/link_tokens.ts";
import { endHalfDoneSignIns } from "../../db/sign_in/pending_sign_ins.ts";
import { deleteSessionsIfAudited } from "../../db/sign_in/sessions.ts";
import { unlockTotp } from "../../db/sign_in/totp.ts";
import type { UserCredentials } from "../../db/account/users.ts";
import type { Credentials } from "../sign_in/credentials.ts";
import type { MailService } from "../mail/mail.ts";

/** When and how a password was replaced. */
export interface NewPassword {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The id of the audit entry about it, without which nothing ends. */
  readonly audited: string;
  /** The session that stays; every other one ends. */
  readonly keep?: string;
  /** It was reset by the owner of an address that was never confirmed; the email says what else ended. */
  readonly isTakenBack?: boolean;
}

/**
 * @param user Whose password is new.
 * @param given See {@linkcode NewPassword}; and the services that delays and mails are of.
 * @returns The statements for the batch that replaces it, after its audit entry.
 */
export function afterNewPassword(
  user: UserCredentials,
  given: NewPassword & { credentials: Credentials; mail: MailService },
): Statement[] {
  const { credentials, mail, isTakenBack = false, ...audited } = given;
  const kind = isTakenBack ? "account_taken_back" : "password_changed";
  const notice = { kind, to: user.email, fields: { name: user.name } } as const;
  return [
    // The mail about another address says: if it was not you, change your password. That must be enough.
    ...deleteLinks(user.id, {
      purposes: ["reset_password", "change_email", "turn_off_two_step"],
      audited: audited.audited,
    }),
    deleteSessionsIfAudited(user.id, audited),
    ...endHalfDoneSignIns(user.id, audited),
    unlockTotp(user.id, audited),
    credentials.forgetFailures(user.email, audited),
    ...mail.outgoing(notice, audited),
  ];
}
