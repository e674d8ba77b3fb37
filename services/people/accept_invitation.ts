// Accepting an invitation with the link from its email.
import { updateLastOrganization } from "../../db/people/users.ts";
import { deleteLinks, insertChangeEvent } from "../../db/outbox/mod.ts";
import {
  findInvitationByToken,
  type InvitationOfLink,
  type InvitationRow,
  markInvitationAccepted,
} from "../../db/people/invitations.ts";
import { insertMembership } from "../../db/people/memberships.ts";
import { updateSessionOrganization } from "../../db/access/mod.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import {
  AppError,
  invalidTokenError,
  memberLimitError,
  organizationSuspendedError,
} from "../../domain/errors.ts";
import { membershipsPerUserMax } from "../../domain/limits.ts";
import type { InvitationOffer } from "../../domain/organization.ts";
import { byOrganizationName, type Session } from "../../domain/access/session.ts";
import { wellFormedHash, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { membershipLimitError } from "./organizations.ts";

/** Reads the invitation of a link without using it up. Returns null if the link doesn't work. */
export async function findInvitationOffer(
  { database, clock }: SessionContext,
  token: string,
): Promise<InvitationOffer | null> {
  const tokenHash = wellFormedHash(token);
  const row = tokenHash === null ? undefined : await findInvitationByToken(database, tokenHash, clock());
  if (row === undefined) return null;
  return {
    organization: { id: row.organizationId, name: row.organizationName },
    email: row.email,
    role: row.role,
    invitedBy: row.invitedByName,
    hasAccount: row.hasAccount === 1,
  };
}

/**
 * Accepts an invitation. The organization becomes the active one.
 *
 * @returns The session with the new membership.
 * @throws {AppError} `invalid_token`, `wrong_account`, `email_unverified`, `already_member`, `limit_reached`,
 *   `organization_suspended`.
 */
export async function acceptInvitation(
  context: SessionContext,
  actor: SessionActor,
  token: string,
): Promise<Session> {
  const tokenHash = wellFormedHash(token);
  const now = context.clock();
  const row = await findJoinable(context, tokenHash);
  requireMayAccept(actor, row);
  const { id, organizationId, role } = row;
  const { id: userId, name } = actor.user;
  const isAccepted = await writeChange(context, actor, {
    statement: markInvitationAccepted({ id, tokenHash, userId, now }),
    entry: { action: "member.joined", organizationId, target: { id: userId, name }, details: { role } },
    after: ({ audited }) => [
      insertMembership({ userId, organizationId, role, now }, audited),
      insertChangeEvent("member.added", { now, audited }),
      ...deleteLinks(id, { purposes: ["invitation"], audited }),
      updateSessionOrganization({ id: actor.id, userId }, organizationId),
      updateLastOrganization(userId, organizationId),
    ],
  });
  if (isAccepted) {
    const organization = {
      organizationId,
      name: row.organizationName,
      role,
      suspended: false,
      // The next request reads the organization's.
      timezone: "UTC",
      features: [],
    };
    return {
      ...actor,
      organization,
      memberships: [...actor.memberships, organization].sort(byOrganizationName),
    };
  }
  await findJoinable(context, tokenHash);
  throw actor.memberships.length >= membershipsPerUserMax ? membershipLimitError() : invalidTokenError();
}

function requireMayAccept({ user, memberships }: SessionActor, invitation: InvitationRow): void {
  if (invitation.email !== user.email) {
    throw new AppError(
      "wrong_account",
      `This invitation is for ${invitation.email}, but you are signed in as ${user.email}.`,
    );
  }
  if (!user.emailVerified) {
    throw new AppError(
      "email_unverified",
      "Confirm your email address first: open the link in the email that we sent you, then accept the invitation.",
    );
  }
  if (memberships.some(({ organizationId }) => organizationId === invitation.organizationId)) {
    throw new AppError("already_member", `You are already a member of ${invitation.organizationName}.`);
  }
}

/** Finds the pending invitation of a link. @throws {AppError} `invalid_token`, `organization_suspended`, `limit_reached`. */
export async function findJoinable(
  { database, clock }: Pick<SessionContext, "database" | "clock">,
  tokenHash: string | null,
) {
  const row = tokenHash === null ? undefined : await findInvitationByToken(database, tokenHash, clock());
  if (row === undefined) throw invalidTokenError();
  requireJoinable(row);
  return row;
}

/** Requires that an organization can be joined. @throws {AppError} `organization_suspended`; `limit_reached` if it is full. */
export function requireJoinable({ suspended, hasRoom, membersMax }: InvitationOfLink): void {
  if (suspended === 1) throw organizationSuspendedError();
  if (hasRoom === 0) throw memberLimitError(membersMax);
}
