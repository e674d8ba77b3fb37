// Limits on invitation emails. Inviters choose whom the service writes to, so it must be of little use to spammers.
import type { SessionActor } from "../../domain/actor.ts";
import { AppError } from "../../domain/errors.ts";
import type { SessionContext } from "../context.ts";
import { rateLimited } from "../sign_in/credentials.ts";

/**
 * Counts an email for the organization, for the inviter, who could create any number of organizations, and for the inviter
 * and this address.
 *
 * @throws {AppError} `rate_limited`; then nothing is counted.
 */
export function takeInvitationEmail(
  { rateLimits }: SessionContext,
  { user: { id, emailVerified } }: SessionActor,
  { organizationId, email }: { organizationId: string; email: string },
): void {
  const { invitationEmails, invitationEmailsToAddress, unverifiedInvitationEmails } = rateLimits;
  const limits = [
    [invitationEmails, organizationId],
    [invitationEmails, id],
    [invitationEmailsToAddress, `${id} ${email}`],
    ...(emailVerified ? [] : [[unverifiedInvitationEmails, id] as const]),
  ] as const;
  for (const [limiter, name] of limits) {
    const { isAllowed, resetMs } = limiter.peek(name);
    if (isAllowed) continue;
    if (limiter !== unverifiedInvitationEmails) throw rateLimited(resetMs);
    throw new AppError("rate_limited", "Confirm your email address to invite more people.", {
      retryAfterSeconds: Math.max(1, Math.ceil(resetMs / 1000)),
    });
  }
  for (const [limiter, name] of limits) limiter.take(name);
}
