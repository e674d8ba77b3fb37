// What operators do with accounts, in the console, by API, and on the command line: the first account, and emergencies. The command
// runs alongside live servers, which learn of every change from the database.
import {
  deleteSessionsOfUser,
  endAllAccess,
  findUserCredentials,
  findUserCredentialsById,
  insertAuditEvent,
  type UserCredentials,
} from "../../db/access/mod.ts";
import { markApiKeyRevoked } from "../../db/keys/mod.ts";
import type { Statement } from "../../db/engine/database.ts";
import { deleteLinks, insertChangeEvent } from "../../db/outbox/mod.ts";
import {
  type ChangeableUsers,
  countActiveKeysOfUser,
  endLastingAccessOfAnyUser,
  findActiveKeysOfUser,
  findIsOperator,
  findPendingInvitationsOfUser,
  revokeInvitationOfUser,
  updateDisabled,
} from "../../db/console/users.ts";
import { deleteUnfinishedSignIns } from "../../db/people/mod.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError } from "../../domain/errors.ts";
import { operatorPageItemsMax } from "../../domain/limits.ts";
import { canonicalEmail } from "../../domain/outbox/email.ts";
import { changesBatch, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

/** Names a user: by id in the console and by API, by email address on the command line. */
export type UserReference = { readonly id: string } | { readonly email: string };

/**
 * Disables a user: sessions, unfinished sign-ins, emailed links and pending invitations end immediately.
 *
 * @param options `revokeKeys`: the keys that they created end too.
 * @returns `activeKeys`: the number of their keys that still work.
 * @throws {AppError} `not_found`; `forbidden` for an operator's account, and for the actor's.
 */
export async function disableUser(
  context: SessionContext,
  actor: OperatorActor,
  { revokeKeys, ...reference }: UserReference & { readonly revokeKeys: boolean },
): Promise<{ wasDisabled: boolean; activeKeys: number; revokedKeys: number; revokedInvitations: number }> {
  const { database, clock, writeAs } = context;
  const { id, email: name, organizationId } = await findChangeableUser(context, actor, reference);
  const { credential } = actor;
  if (credential.kind === "account" && credential.session.user.id === id) {
    throw new AppError("forbidden", "You can't disable your own account.");
  }
  const now = clock();
  const entry = { action: "account.disabled", organizationId, target: { id, name } } as const;
  const audit = insertAuditEvent(actor, entry, { now });
  const audited = { audited: audit.id };
  const [disabled] = await writeAs(actor, [
    updateDisabled(id, now, changeableBy(actor)),
    audit.statement,
    ...endAllAccess(id, { now, ...audited }),
    ...deleteUnfinishedSignIns(id, audited),
    ...deleteLinks(id, { purposes: ["verify_email", "change_email", "reset_password"], ...audited }),
  ]);
  // Afterwards, when they can create no more; and again, in case the last attempt was interrupted.
  const revokedInvitations = await revokeAll(context, actor, {
    list: (page) => findPendingInvitationsOfUser(database, id, page),
    revoke: (invitation) => [
      revokeInvitationOfUser(id, { id: invitation.id, now: clock() }),
      insertAuditEvent(actor, {
        action: "invitation.revoked",
        organizationId: invitation.organizationId,
        target: { id: invitation.id, name: invitation.email },
      }, { now: clock() }).statement,
      ...deleteLinks(invitation.id, { purposes: ["invitation"] }),
    ],
  });
  const revokedKeys = !revokeKeys ? 0 : await revokeAll(context, actor, {
    list: (page) => findActiveKeysOfUser(database, id, page),
    revoke: (key) =>
      changesBatch(actor, [{
        statement: markApiKeyRevoked({ organizationId: key.organizationId, createdBy: id }, key.id, clock()),
        entry: {
          action: "api_key.revoked",
          organizationId: key.organizationId,
          target: { id: key.id, name: key.name },
        },
        after: (audited) => [insertChangeEvent("api_key.revoked", audited)],
      }], clock()),
  });
  const activeKeys = await countActiveKeysOfUser(database, id, clock());
  return { wasDisabled: disabled?.changes !== 1, activeKeys, revokedKeys, revokedInvitations };
}

/** Revokes things page by page until none is left, and counts them. */
async function revokeAll<T>(
  { clock, writeAs }: SessionContext,
  actor: OperatorActor,
  { list, revoke }: {
    list: (page: { now: number; limit: number }) => Promise<readonly T[]>;
    revoke: (item: T) => readonly Statement[];
  },
): Promise<number> {
  for (let revoked = 0;;) {
    const items = await list({ now: clock(), limit: operatorPageItemsMax });
    if (items.length === 0) return revoked;
    const results = await writeAs(actor, items.flatMap(revoke));
    revoked += results.filter(({ rows }) => rows.length === 1).length;
  }
}

/** Lets a disabled user sign in again. @throws {AppError} `not_found`; `forbidden` for an operator's account. */
export async function enableUser(
  context: SessionContext,
  actor: OperatorActor,
  reference: UserReference,
): Promise<{ wasDisabled: boolean }> {
  const { id, email: name, organizationId } = await findChangeableUser(context, actor, reference);
  const wasDisabled = await writeChange(context, actor, {
    statement: updateDisabled(id, null, changeableBy(actor)),
    entry: { action: "account.enabled", organizationId, target: { id, name } },
    after: (audited) => [context.credentials.forgetFailures(name, audited)],
  });
  return { wasDisabled };
}

/** Ends all of a user's sessions. @throws {AppError} `not_found`; `forbidden` for an operator's account. */
export async function endSessionsOfUser(
  context: SessionContext,
  actor: OperatorActor,
  reference: UserReference,
): Promise<void> {
  const { id, email: name, organizationId } = await findChangeableUser(context, actor, reference);
  await writeChange(context, actor, {
    statement: endLastingAccessOfAnyUser(id, { now: context.clock(), ...changeableBy(actor) }),
    entry: { action: "session.all_ended", organizationId, target: { id, name } },
    after: (audited) => [deleteSessionsOfUser(id, audited), ...deleteUnfinishedSignIns(id, audited)],
  });
}

/** An operator's account is not changed with a token: someone with a stolen token must not become an operator. */
const changeableBy = ({ credential }: OperatorActor): ChangeableUsers => ({
  alsoOperators: credential.kind !== "token",
});

async function findChangeableUser(
  { database }: SessionContext,
  actor: OperatorActor,
  reference: UserReference,
): Promise<UserCredentials> {
  const email = "email" in reference ? canonicalEmail(reference.email) : null;
  const found = "id" in reference
    ? await findUserCredentialsById(database, reference.id)
    : email === null
    ? undefined
    : await findUserCredentials(database, email);
  if (found === undefined) throw notFoundError();
  if (!changeableBy(actor).alsoOperators && await findIsOperator(database, found.id)) {
    throw new AppError("forbidden", "Operator tokens can't change an operator's account.");
  }
  return found;
}

/** Finds a user whom an operator may change. @throws {AppError} `not_found`, `forbidden`; `validation_failed` if disabled. */
export async function findEnabledUser(
  context: SessionContext,
  actor: OperatorActor,
  reference: UserReference,
): Promise<UserCredentials> {
  const user = await findChangeableUser(context, actor, reference);
  if (user.disabledAt === null) return user;
  throw new AppError("validation_failed", `${user.email} is disabled. Enable the account first.`);
}
