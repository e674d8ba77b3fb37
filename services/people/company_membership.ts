// Joining an organization by signing in with its own provider. An account that is created for this gets no organization of its own.
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import { updateLastOrganization } from "../../db/people/users.ts";
import { identityMaySignIn, insertAuditEvent, type UserCredentials } from "../../db/access/mod.ts";
import { sql, type Statement } from "../../db/engine/database.ts";
import { type CompanyRoom, insertCompanyMembership } from "../../db/people/company_membership.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { memberLimitError, organizationSuspendedError } from "../../domain/errors.ts";
import { membershipsPerUserMax } from "../../domain/limits.ts";
import { type IdentityVisit, useOf } from "./provider_visit.ts";
import { personOf } from "./sign_in.ts";
import { membershipLimitError } from "./organizations.ts";

type Joining = Pick<UserCredentials, "id" | "name" | "email" | "organizationId">;

/** Requires room for someone who isn't a member yet. @throws {AppError} `organization_suspended`, `limit_reached`. */
export function requireRoom(room: CompanyRoom | undefined): void {
  if (room === undefined || room.isMember === 1) return;
  if (room.suspended === 1) throw organizationSuspendedError();
  if (room.hasRoom === 0) throw memberLimitError(room.membersMax);
  if (room.memberships >= membershipsPerUserMax) throw membershipLimitError();
}

/**
 * Returns the statements that make someone a member of the organization whose provider signs them in. They follow those that add the
 * identity. There are none for a member, or without a room, as for a provider of the whole service.
 */
export function joinCompany(
  client: ClientInfo,
  { visit: { provider, claims }, user, room, condition = sql`true`, now }: {
    visit: IdentityVisit;
    user: Joining;
    room: CompanyRoom | undefined;
    condition?: Statement;
    now: number;
  },
): Statement[] {
  const { organizationId } = provider;
  if (organizationId === null || room === undefined || room.isMember === 1) return [];
  const role = provider.role ?? "MEMBER";
  const { id: userId, name, email } = user;
  const joined = insertAuditEvent(personOf({ ...user, organizationId }, client), {
    action: "member.joined",
    organizationId,
    target: { id: userId, name: name || email },
    details: { role, provider: provider.name },
  }, { now });
  return [
    insertCompanyMembership(
      { userId, organizationId, role, now },
      sql`${condition} AND ${identityMaySignIn({ ...claims, ...useOf({ provider, claims }) })}`,
    ),
    joined.statement,
    insertChangeEvent("member.added", { now, audited: joined.id }),
    updateLastOrganization(userId, organizationId),
  ];
}
