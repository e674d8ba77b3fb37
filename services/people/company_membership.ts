// Joining an organization by signing in with its own provider. An account that is created for this gets no organization of its own.
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import { insertUser, type NewUser, updateLastOrganization } from "../../db/people/users.ts";
import {
  identityMaySignIn,
  insertAuditEvent,
  isFreeIdentity,
  providerIsBelieved,
  type UserCredentials,
} from "../../db/access/mod.ts";
import { sql, type Statement } from "../../db/engine/database.ts";
import {
  findCompanyRoom,
  insertCompanyMembership,
  isCompanyJoinable,
} from "../../db/people/company_membership.ts";
import type { ClientInfo, PersonActor } from "../../domain/access/actor.ts";
import { memberLimitError, organizationSuspendedError } from "../../domain/errors.ts";
import { membershipsPerUserMax } from "../../domain/limits.ts";
import { emailDomain } from "../../domain/outbox/email.ts";
import type { Context } from "../context.ts";
import type { IdentityVisit, ProviderVisit } from "./provider_visit.ts";
import { personOf } from "./sign_in.ts";
import { membershipLimitError } from "./organizations.ts";

type Joining = Pick<UserCredentials, "id" | "name" | "email" | "organizationId">;

/**
 * Returns the statements that make someone a member of the organization whose provider signs them in. They follow those that add the
 * identity. There are none for a member, or for a provider of the whole service.
 *
 * @throws {AppError} `organization_suspended`, `limit_reached`.
 */
export async function joinCompany(
  { database, clock }: Context,
  client: ClientInfo,
  { visit: { provider, claims }, user, condition = sql`true` }: {
    visit: IdentityVisit;
    user: Joining;
    condition?: Statement;
  },
): Promise<Statement[]> {
  const { organizationId } = provider;
  if (organizationId === null) return [];
  const room = await findCompanyRoom(database, { organizationId, userId: user.id });
  if (room === undefined || room.isMember === 1) return [];
  if (room.suspended === 1) throw organizationSuspendedError();
  if (room.hasRoom === 0) throw memberLimitError(room.membersMax);
  if (room.memberships >= membershipsPerUserMax) throw membershipLimitError();
  const now = clock();
  const role = provider.role ?? "MEMBER";
  const { id: userId, name, email } = user;
  const joined = insertAuditEvent(personOf({ ...user, organizationId }, client), {
    action: "member.joined",
    organizationId,
    target: { id: userId, name: name || email },
    details: { role, provider: provider.name },
  }, { now });
  return [
    insertCompanyMembership({ userId, organizationId, role, now }, {
      condition: sql`${condition} AND ${identityMaySignIn({ ...claims, providerId: provider.id })}`,
      membershipsMax: membershipsPerUserMax,
    }),
    joined.statement,
    insertChangeEvent("member.added", { now, audited: joined.id }),
    updateLastOrganization(userId, organizationId),
  ];
}

/** Returns the statements that create an account for someone who will join; the second one is its audit entry. */
export function companyAccount(
  actor: PersonActor,
  user: NewUser,
  { provider, claims }: ProviderVisit,
): Statement[] {
  const { organizationId } = provider;
  const use = { providerId: provider.id, issuer: claims.issuer };
  const condition = sql`${isFreeIdentity(claims)} AND ${providerIsBelieved(use, emailDomain(user.email))}
    AND ${isCompanyJoinable(organizationId ?? "")}`;
  const target = { id: user.id, name: user.email };
  const entry = { action: "account.created", organizationId, target } as const;
  return [insertUser(user, condition), insertAuditEvent(actor, entry, { now: user.now }).statement];
}
