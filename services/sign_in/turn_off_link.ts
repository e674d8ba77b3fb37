// The last way to turn two-step sign-in off, for people who lost the device and the recovery codes: a session, the password,
// and a link that goes to their address.
import { insertAuditEvent } from "../../db/audit.ts";
import { deleteLinks, findLinkToken, useTurnOffLink } from "../../db/mail/link_tokens.ts";
import { endHalfDoneSignIns } from "../../db/sign_in/pending_sign_ins.ts";
import { deleteRecoveryCodes } from "../../db/sign_in/recovery_codes.ts";
import { deleteTotp } from "../../db/sign_in/totp.ts";
import { findUserCredentialsById } from "../../db/account/users.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, invalidTokenError, unauthenticatedError } from "../../domain/errors.ts";
import type { SessionContext } from "../context.ts";
import { type Credentials, sessionSubject } from "./credentials.ts";
import type { Mail } from "../mail/mail.ts";
import type { MailBudgets } from "../mail/mail_budgets.ts";
import { wellFormedHash } from "./session_tokens.ts";

/** The verbs of the link. */
export interface TurnOffLinkService {
  /**
   * Sends the link to the account's address; an older one ends.
   *
   * @throws {AppError} `mail_unavailable`, `two_step_state`, `invalid_credentials`, `rate_limited`, `unavailable`.
   */
  requestLink(actor: SessionActor, password: string): Promise<void>;
  /** @returns The user whose link it is, or null when it does not work; looking does not use it up. */
  findLink(token: string): Promise<{ userId: string } | null>;
  /** Uses the link up. @throws {AppError} `invalid_token`, `wrong_account`, `unauthenticated`. */
  turnOff(actor: SessionActor, token: string): Promise<void>;
}

/** @param context See {@linkcode SessionContext}. */
export function createTurnOffLinkService(
  { database, clock, writeAs }: SessionContext,
  { credentials, mail, budgets }: { credentials: Credentials; mail: Mail; budgets: MailBudgets },
): TurnOffLinkService {
  async function find(token: string): Promise<{ userId: string; tokenHash: string } | null> {
    const tokenHash = wellFormedHash(token);
    const link = tokenHash === null ? undefined : await findLinkToken(database, tokenHash, clock());
    if (link?.purpose !== "turn_off_two_step" || tokenHash === null) return null;
    return { userId: link.subject, tokenHash };
  }

  return {
    findLink: find,

    async requestLink(actor, password) {
      mail.requireMail();
      const user = await findUserCredentialsById(database, actor.user.id);
      if (user === undefined) throw unauthenticatedError();
      if (!user.hasTotp) throw new AppError("two_step_state", "Two-step sign-in is off.");
      const { id, email: to, name } = user;
      const subject = sessionSubject(actor);
      await credentials.guess(
        { subject, actor, refused: "password.refused", about: () => ({}) },
        async () => {
          if (!await credentials.isPassword(user, password)) {
            throw new AppError("invalid_credentials", "This is not your password.");
          }
          const isConfirmed = user.emailVerifiedAt !== null;
          await budgets.spend({ kind: "turn_off_two_step", to, isConfirmed }, async () => {
            const now = clock();
            const audit = insertAuditEvent(actor, { action: "two_step.turn_off_requested" }, {
              now,
              always: true,
            });
            await writeAs(actor, [
              audit.statement,
              credentials.forgetFailures(subject),
              ...deleteLinks(id, { purposes: ["turn_off_two_step"], audited: audit.id }),
              ...mail.outgoing({ kind: "turn_off_two_step", to, subject: id, fields: { name } }, {
                now,
                audited: audit.id,
              }),
            ]);
          });
        },
      );
      mail.wake();
    },

    async turnOff(actor, token) {
      const link = await find(token);
      if (link === null) throw invalidTokenError();
      const { userId, tokenHash } = link;
      if (userId !== actor.user.id) {
        throw new AppError("wrong_account", "This link is for another account. Sign in to that one first.");
      }
      const now = clock();
      const { email: to, name } = actor.user;
      const audit = insertAuditEvent(actor, {
        action: "two_step.disabled",
        details: { method: "mailed link" },
      }, { now });
      const audited = { now, audited: audit.id };
      const [, written] = await writeAs(actor, [
        useTurnOffLink({ userId, tokenHash, now }),
        audit.statement,
        deleteTotp(userId, audited),
        deleteRecoveryCodes(userId, audited),
        ...endHalfDoneSignIns(userId, audited),
        ...deleteLinks(userId, { purposes: ["turn_off_two_step"], audited: audit.id }),
        ...mail.outgoing({ kind: "two_step_disabled", to, fields: { name } }, audited),
      ]);
      if (written?.rows.length !== 1) throw invalidTokenError();
      mail.wake();
    },
  };
}
