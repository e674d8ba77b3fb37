// The account of a signed-in person: their name, and deleting it.
import {
  deleteAccountTraces,
  leaveWithAccount,
  listAccountEnds,
  markAccountDeletable,
} from "../../db/account/account_deletion.ts";
import { insertAuditEvent } from "../../db/audit.ts";
import {
  endOrganizationAccess,
  findOrganizations,
  markOwnOrganizationDeleted,
} from "../../db/organization/organizations.ts";
import { findUserCredentialsById, updateUserName } from "../../db/account/users.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, unauthenticatedError, unavailableError } from "../../domain/errors.ts";
import type { SessionContext } from "../context.ts";
import type { MailService } from "../mail/mail.ts";
import { requireRecentAuthentication } from "../sign_in/recent_authentication.ts";

/** The verbs of one's own account. */
export interface OwnAccountService {
  /** Changes what the person is called. */
  renameUser(actor: SessionActor, name: string): Promise<void>;
  /** @returns The names of the organizations that end with the account, and of those that need another OWNER first. */
  previewDeletion(actor: SessionActor): Promise<{ ending: string[]; ownerless: string[] }>;
  /**
   * Deletes the account, and the organizations without other members. Keys that the person made anywhere are revoked.
   *
   * @throws {AppError} `proof_required`, `last_owner` while others would be left without an OWNER.
   */
  deleteAccount(actor: SessionActor): Promise<void>;
}

/** @param context See {@linkcode SessionContext}. */
export function createOwnAccountService(
  { database, clock, writeAs }: SessionContext,
  mail: MailService,
): OwnAccountService {
  async function whyNotDeleted(actor: SessionActor): Promise<AppError> {
    const ends = await listAccountEnds(database, actor.user.id);
    return ends.some(({ hasOthers }) => hasOthers !== 0)
      ? new AppError(
        "last_owner",
        "You are the last owner of an organization that others belong to. Make someone else an owner first.",
      )
      : unavailableError("Your organizations were changed at this moment. Try again.");
  }

  return {
    async renameUser(actor, name) {
      await writeAs(actor, [
        updateUserName(actor.user.id, name),
        insertAuditEvent(actor, { action: "account.renamed", details: { from: actor.user.name, to: name } }, {
          now: clock(),
        }).statement,
      ]);
    },

    async previewDeletion(actor) {
      const ends = await listAccountEnds(database, actor.user.id);
      const names = (wanted: boolean) =>
        ends.filter(({ hasOthers }) => (hasOthers !== 0) === wanted).map(({ name }) => name);
      return { ending: names(false), ownerless: names(true) };
    },

    async deleteAccount(actor) {
      const now = clock();
      requireRecentAuthentication(actor, now);
      const found = await findUserCredentialsById(database, actor.user.id);
      if (found === undefined) throw unauthenticatedError();
      const account = insertAuditEvent(actor, {
        action: "account.deleted",
        target: { id: actor.user.id, name: found.email },
      }, { now });
      const organizations = await findOrganizations(database, actor.user.id);
      const alone = organizations.filter(({ members }) => members === 1);
      const ends = alone.flatMap(({ id, name }) => {
        const entry = { action: "organization.deleted", organizationId: id, target: { id, name } } as const;
        const audit = insertAuditEvent(actor, entry, { now });
        return [
          markOwnOrganizationDeleted({ id, now, audited: account.id }, actor.user.id),
          audit.statement,
          ...endOrganizationAccess(id, { now, audited: audit.id }),
        ];
      });
      const leaves = organizations.filter(({ members }) => members > 1).flatMap(({ id, role }) => {
        const { user } = actor;
        const entry = {
          action: "member.left",
          organizationId: id,
          target: { id: user.id, name: user.name },
          details: { role, keys: "revoked" },
        } as const;
        return [
          leaveWithAccount({ userId: user.id, organizationId: id }, account.id),
          insertAuditEvent(actor, entry, { now }).statement,
        ];
      });
      const bye = { kind: "account_deleted", to: found.email, fields: { name: found.name } } as const;
      const [, audited] = await writeAs(actor, [
        markAccountDeletable(actor.user.id, {
          now,
          organizations: organizations.map(({ id }) => id),
          aloneIn: alone.length,
        }),
        account.statement,
        ...ends,
        ...leaves,
        ...mail.outgoing(bye, { now, audited: account.id }),
        ...deleteAccountTraces(actor.user.id, { now, audited: account.id }),
      ]);
      if (audited?.rows.length !== 1) throw await whyNotDeleted(actor);
      mail.wake();
    },
  };
}
