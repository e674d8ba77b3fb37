// Members and invitations of any organization, for operators.
import type { OperatorActor } from "../../domain/actor.ts";
import type { Invitation, Member } from "../../domain/organization.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import type { SessionContext } from "../context.ts";
import {
  endInvitation,
  inviteToOrganization,
  readInvitation,
  readInvitationPage,
} from "../organization/invitations.ts";
import { readMemberPage } from "../organization/members.ts";
import type { PageInput } from "../pages.ts";
import { resolveOrganization } from "../access.ts";

/** Lists members by the age of their accounts. @throws {AppError} `not_found`, `validation_failed`. */
export async function listMembers(
  context: SessionContext,
  actor: OperatorActor,
  { idText, ...page }: PageInput & { idText: string },
): Promise<{ members: Member[]; nextCursor: string | null }> {
  const { id: organizationId } = await resolveOrganization(context, idText);
  return await readMemberPage(context, actor, { organizationId, ...page });
}

/** Lists invitations, newest first. @throws {AppError} `not_found`, `validation_failed`. */
export async function listInvitations(
  context: SessionContext,
  { idText, ...page }: PageInput & { idText: string; isOpen?: boolean },
): Promise<{ invitations: Invitation[]; nextCursor: string | null }> {
  const { id: organizationId } = await resolveOrganization(context, idText);
  return await readInvitationPage(context, { organizationId, ...page });
}

/** @throws {AppError} `not_found`. */
export async function getInvitation(
  context: SessionContext,
  { idText, id }: { idText: string; id: string },
): Promise<Invitation> {
  const { id: organizationId } = await resolveOrganization(context, idText);
  return await readInvitation(context, { organizationId, id });
}

/**
 * Invites an email address to any role.
 *
 * @throws {AppError} `not_found`, `validation_failed`, `already_member`, `already_invited`, `limit_reached`, `rate_limited`,
 *   `mail_unavailable`.
 */
export async function inviteMember(
  context: SessionContext,
  actor: OperatorActor,
  { idText, ...invitation }: { idText: string; email: string; role: Role; name?: string | undefined },
): Promise<Invitation> {
  const organization = await resolveOrganization(context, idText);
  return (await inviteToOrganization(context, actor, { organization, ...invitation })).invitation;
}

/** Revokes an open invitation and its links, effective immediately. @throws {AppError} `not_found`. */
export async function revokeInvitation(
  context: SessionContext,
  actor: OperatorActor,
  { idText, id }: { idText: string; id: string },
): Promise<void> {
  const { id: organizationId } = await resolveOrganization(context, idText);
  await endInvitation(context, actor, { organizationId, id });
}
