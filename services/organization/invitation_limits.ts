// How many mails invitations may cause. Whoever invites decides to whom the service writes: it must be of little use to
// somebody who wants to write to many, or to one again and again.
import type { SessionActor } from "../../domain/actor.ts";
import { AppError } from "../../domain/errors.ts";
import {
  invitationMailsPerHourMax,
  invitationMailsToAddressPerHourMax,
  unverifiedInvitationMailsPerHourMax,
} from "../../domain/limits.ts";
import { rateLimited } from "../sign_in/credentials.ts";
import { RateLimiter } from "../rate_limiter.ts";

/** The mails that invitations may cause. */
export interface InvitationMails {
  /**
   * Takes one of the organization's mails, of the person's (organizations are made and deleted as often as one likes), and of
   * the person's to this address.
   *
   * @throws {AppError} `rate_limited`; then none is taken.
   */
  take(actor: SessionActor, invitation: { organizationId: string; email: string }): void;
}

const hourMs = 3_600_000;

/** @param clock Milliseconds since 1970. */
export function createInvitationMails(clock: () => number): InvitationMails {
  const mails = new RateLimiter({ points: invitationMailsPerHourMax, windowMs: hourMs, clock });
  const toAddress = new RateLimiter({ points: invitationMailsToAddressPerHourMax, windowMs: hourMs, clock });
  // A throw-away address must not be worth more to a sender of spam.
  const unverified = new RateLimiter({
    points: unverifiedInvitationMailsPerHourMax,
    windowMs: hourMs,
    clock,
  });

  return {
    take(actor, { organizationId, email }) {
      const { id, emailVerified } = actor.user;
      const budgets = [
        [mails, organizationId],
        [mails, id],
        [toAddress, `${id} ${email}`],
        ...(emailVerified ? [] : [[unverified, id] as const]),
      ] as const;
      for (const [limiter, name] of budgets) {
        const { isAllowed, resetMs } = limiter.peek(name);
        if (isAllowed) continue;
        if (limiter !== unverified) throw rateLimited(resetMs);
        throw new AppError("rate_limited", "Confirm your own address first to invite more people.", {
          retryAfterSeconds: Math.max(1, Math.ceil(resetMs / 1000)),
        });
      }
      for (const [limiter, name] of budgets) limiter.take(name);
    },
  };
}
