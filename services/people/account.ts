// The account of a signed-in person: renaming and deleting it.
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import {
  deleteAccountTraces,
  deleteMembershipWithAccount,
  findDependentOrganizations,
  markAccountDeletable,
} from "../../db/people/account_deletion.ts";
import { findEmailChoices, updateEmailChoices, updateUserName } from "../../db/people/users.ts";
import { type Audited, findUserCredentialsById } from "../../db/access/mod.ts";
import type { Statement } from "../../db/engine/database.ts";
import {
  endOrganizationAccess,
  findOrganizations,
  markOwnOrganizationDeleted,
  type OrganizationRow,
} from "../../db/people/organizations.ts";
import type { EmailChoices } from "../../domain/outbox/mail.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { AppError, unauthenticatedError, unavailableError } from "../../domain/errors.ts";
import { changesBatch, requireRecentAuthentication, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

export async function renameUser(context: SessionContext, actor: SessionActor, name: string): Promise<void> {
  await writeChange(context, actor, {
    statement: updateUserName(actor.user.id, name),
    entry: { action: "account.renamed", details: { from: actor.user.name, to: name } },
  });
}

export async function getEmailChoices(context: SessionContext, actor: SessionActor): Promise<EmailChoices> {
  return await findEmailChoices(context.database, actor.user.id);
}

/** Changes the given ones, and returns all of them. */
export async function changeEmailChoices(
  context: SessionContext,
  actor: SessionActor,
  { limits, unusedKeys }: { readonly [Name in keyof EmailChoices]?: EmailChoices[Name] | undefined },
): Promise<EmailChoices> {
  const known = await findEmailChoices(context.database, actor.user.id);
  const changed = { limits: limits ?? known.limits, unusedKeys: unusedKeys ?? known.unusedKeys };
  await context.writeAs(actor, [updateEmailChoices(actor.user.id, changed)]);
  return changed;
}

/**
 * Returns the names of organizations that depend on the account. `ending`: without other members; they are deleted with the
 * account. It can't be deleted while there are any of the others. `ownerless`: with other members, but without another OWNER;
 * `suspended`: without other members.
 */
export async function previewAccountDeletion(context: SessionContext, actor: SessionActor) {
  const organizations = await findDependentOrganizations(context.database, actor.user.id);
  const names = (isWanted: (one: (typeof organizations)[number]) => boolean) =>
    organizations.filter(isWanted).map(({ name }) => name);
  return {
    ending: names(({ hasOthers }) => hasOthers === 0),
    ownerless: names(({ hasOthers }) => hasOthers === 1),
    suspended: names(({ hasOthers, suspended }) => hasOthers === 0 && suspended === 1),
  };
}

/**
 * Deletes the account and its organizations without other members, and revokes every key that the person created.
 *
 * @throws {AppError} `proof_required`; `last_owner` while others would be left without an OWNER; `organization_suspended`
 *   while an organization without other members is suspended; `unavailable`.
 */
export async function deleteAccount(context: SessionContext, actor: SessionActor): Promise<void> {
  const { database, mail } = context;
  const { id } = actor.user;
  const now = context.clock();
  requireRecentAuthentication(actor, now);
  const { email, name, emailVerifiedAt } = await findActingUser(context, actor);
  const organizations = await findOrganizations(database, id);
  const ending = organizations.filter(({ members }) => members === 1);
  const leaving = organizations.filter(({ members }) => members > 1);
  const isDeleted = await writeChange(context, actor, {
    statement: markAccountDeletable(id, {
      now,
      organizationIds: organizations.map((organization) => organization.id),
      endingCount: ending.length,
    }),
    entry: { action: "account.deleted", target: { id, name: email } },
    after: (audited) => [
      ...ending.flatMap((organization) => deleteWithAccount(actor, organization, audited)),
      ...leaving.flatMap((organization) => leaveWithAccount(actor, organization, audited)),
      // An address that was never confirmed may be a stranger's.
      ...(emailVerifiedAt === null
        ? []
        : mail.outgoing({ kind: "account_deleted", to: email, fields: { name } }, audited)),
      ...deleteAccountTraces(id, audited),
    ],
  });
  if (!isDeleted) throw await deletionError(context, actor);
  mail.wake();
}

function deleteWithAccount(
  actor: SessionActor,
  { id, name }: OrganizationRow,
  { now, audited }: Audited,
): Statement[] {
  return changesBatch(actor, [{
    statement: markOwnOrganizationDeleted({ id, now, audited }, actor.user.id),
    entry: { action: "organization.deleted", organizationId: id, target: { id, name } },
    after: (deleted) => endOrganizationAccess(id, deleted),
  }], now);
}

function leaveWithAccount(
  actor: SessionActor,
  { id: organizationId, role }: OrganizationRow,
  audited: Audited,
): Statement[] {
  const { id: userId, name } = actor.user;
  const details = { role, keys: "revoked" };
  return changesBatch(actor, [{
    statement: deleteMembershipWithAccount({ userId, organizationId }, audited.audited),
    entry: { action: "member.left", organizationId, target: { id: userId, name }, details },
    after: (left) => [insertChangeEvent("member.removed", left)],
  }], audited.now);
}

async function deletionError(context: SessionContext, actor: SessionActor): Promise<AppError> {
  const { ownerless, suspended: [suspended] } = await previewAccountDeletion(context, actor);
  if (suspended !== undefined) {
    return new AppError(
      "organization_suspended",
      `${suspended} is suspended, so it can't be deleted with your account. Contact the people who run this service.`,
    );
  }
  if (ownerless.length === 0) return unavailableError("Your organizations just changed. Try again.");
  return new AppError(
    "last_owner",
    "You're the only owner of an organization with other members. Make someone else an owner first.",
  );
}

/** Reads the user behind a session. @throws {AppError} `unauthenticated` if they no longer exist. */
export async function findActingUser(context: SessionContext, { user }: SessionActor) {
  const found = await findUserCredentialsById(context.database, user.id);
  if (found === undefined) throw unauthenticatedError();
  return found;
}
