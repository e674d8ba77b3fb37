// What making an account at the command line writes: with an organization of its own, or in one that is there.
import { type AuditStatement, insertAuditEvent } from "../../db/audit.ts";
import type { Statement } from "../../db/engine/database.ts";
import { insertMembership } from "../../db/organization/memberships.ts";
import { insertJoiningUser } from "../../db/operator/users.ts";
import { insertOrganization } from "../../db/organization/organizations.ts";
import { insertUser, type NewUser } from "../../db/account/users.ts";
import type { OperatorActor } from "../../domain/actor.ts";
import { membershipsPerUserMax } from "../../domain/limits.ts";
import { ownOrganizationName } from "../../domain/name.ts";
import type { Role } from "../../domain/sign_in/session.ts";

/** Where an account belongs. */
interface NewAccountPlace {
  readonly actor: OperatorActor;
  /** Of the organization to join, or of the new one. */
  readonly organizationId: string;
  readonly organizationName: string | undefined;
  readonly join: { readonly role: Role } | undefined;
}

/** @returns The statements. The second one is the audit entry of the account: without it nothing was written. */
export function newAccount(user: NewUser, place: NewAccountPlace): Statement[] {
  const { actor, organizationId, organizationName, join } = place;
  return join === undefined
    ? ownOrganization(user, { actor, organizationId, organizationName })
    : joinedOrganization(user, { actor, organizationId, role: join.role });
}

function ownOrganization(
  user: NewUser,
  { actor, organizationId, organizationName }: {
    actor: OperatorActor;
    organizationId: string;
    organizationName: string | undefined;
  },
): Statement[] {
  const { id: userId, now } = user;
  const organization = {
    id: organizationId,
    name: organizationName ?? ownOrganizationName(user.name),
    now,
  };
  const account = accountCreated(user, { actor, organizationId });
  const made = insertAuditEvent(actor, {
    action: "organization.created",
    organizationId,
    target: { id: organizationId, name: organization.name },
  }, { now });
  return [
    insertUser(user),
    account.statement,
    insertOrganization(organization, { userId, membershipsMax: membershipsPerUserMax }),
    made.statement,
    insertMembership({ userId, organizationId, role: "OWNER", now }, made.id),
  ];
}

function joinedOrganization(
  user: NewUser,
  { actor, organizationId, role }: { actor: OperatorActor; organizationId: string; role: Role },
): Statement[] {
  const { id: userId, now } = user;
  const account = accountCreated(user, { actor, organizationId });
  const target = { id: userId, name: user.email };
  return [
    insertJoiningUser(user, organizationId),
    account.statement,
    insertMembership({ userId, organizationId, role, now }, account.id),
    insertAuditEvent(actor, { action: "member.joined", organizationId, target, details: { role } }, { now })
      .statement,
  ];
}

function accountCreated(
  { id, email, now }: NewUser,
  { actor, organizationId }: { actor: OperatorActor; organizationId: string },
): AuditStatement {
  const target = { id, name: email };
  return insertAuditEvent(actor, { action: "account.created", organizationId, target }, { now });
}
