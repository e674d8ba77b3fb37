// Connects the identity of a visit to an account, and makes its person a member of the organization whose own provider it is. With
// two-step sign-in, nothing of this is done before the second step passes. An account that is created for an organization gets none of
// its own.
import {
  domainPermits,
  findIdentity,
  findProviders,
  hasAddress,
  identityMaySignIn,
  ifAudited,
  insertAuditEvent,
  insertIdentity,
  providerMaySignIn,
  updateIdentityUsed,
  type UserCredentials,
} from "../../db/access/mod.ts";
import { sql, type Statement } from "../../db/engine/database.ts";
import { type CompanyRoom, findCompanyRoom, insertCompanyMembership } from "../../db/people/memberships.ts";
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import { mayEnter, type PendingIdentity } from "../../db/people/pending_sign_ins.ts";
import { updateLastOrganization } from "../../db/people/users.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { memberLimitError, organizationSuspendedError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import { membershipsPerUserMax } from "../../domain/limits.ts";
import type { User } from "../../domain/access/session.ts";
import type { Change } from "../access/mod.ts";
import type { Context } from "../context.ts";
import { membershipLimitError } from "./organizations.ts";
import { type IdentityVisit, useOf } from "./provider_visit.ts";
import { personOf } from "./sign_in.ts";

/**
 * Returns the statements that connect an identity to the account that has confirmed its address.
 *
 * @param options `condition`: another one, true by default.
 */
export function linkIdentity(
  { clock, mail }: Context,
  client: ClientInfo,
  { visit, user, condition: only = sql`true` }: {
    visit: IdentityVisit;
    user: UserCredentials;
    condition?: Statement;
  },
): Statement[] {
  const now = clock();
  const condition = sql`${only} AND ${hasAddress(visit.claims.email ?? "", { isConfirmed: true })} AND ${
    providerMaySignIn(useOf(visit))
  } AND ${domainPermits(sql`u.email`, { providerId: sql`${visit.provider.id}` })}`;
  const { statement, entry, email } = addIdentity(visit, user, { condition, now });
  const audit = insertAuditEvent(personOf(user, client), entry, { now });
  return [statement, audit.statement, ...mail.outgoing(email, { now, audited: audit.id })];
}

/** Returns the change that adds the identity of a visit. */
export function addIdentity(
  { provider, claims }: IdentityVisit,
  { id: userId, email: to, name }: Pick<User, "id" | "email" | "name">,
  { condition, now }: { condition: Statement; now: number },
) {
  const { issuer, subject, email } = claims;
  const id = newId("idn");
  const details = { provider: provider.name };
  const fields = { name, ...details, ...(email === null ? {} : { identity: email }) };
  return {
    statement: insertIdentity({ id, userId, issuer, subject, email, createdAt: now }, condition),
    entry: { action: "identity.linked", target: { id, name: email }, details },
    email: { kind: "identity_linked", to, fields },
  } as const satisfies Change;
}

/**
 * Connects the identity of a sign-in, and makes its person a member, when its second step passes.
 *
 * @param options `audited`: the entry of the second step.
 * @returns Statements; null if the provider or the identity no longer signs the user in.
 * @throws {AppError} `organization_suspended`, `limit_reached`.
 */
export async function enterWithIdentity(
  context: Context,
  client: ClientInfo,
  { user, identity, audited, now }: {
    user: UserCredentials;
    identity: PendingIdentity;
    audited: string;
    now: number;
  },
): Promise<Statement[] | null> {
  const { database } = context;
  const [provider] = await findProviders(database, sql`id = ${identity.providerId}`);
  const isNew = await findIdentity(database, identity) === undefined;
  if (provider === undefined || !await mayEnter(database, user.id, { ...identity, isNew })) return null;
  const visit = { provider, claims: identity };
  const condition = ifAudited(audited);
  const room = await findCompanyRoom(database, provider, user.id);
  requireRoom(room);
  return [
    ...isNew ? linkIdentity(context, client, { visit, user, condition }) : [],
    ...joinCompany(client, { visit, user, room, condition, now }),
    updateIdentityUsed(identity, { email: identity.email, now, audited }),
  ];
}

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
