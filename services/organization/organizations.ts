// Organizations: create, rename, hand over, delete.
import { insertAuditEvent } from "../../db/audit.ts";
import { endInvitationsBy } from "../../db/organization/invitations.ts";
import {
  demoteOwner,
  findMember,
  insertMembership,
  promoteToOwner,
} from "../../db/organization/memberships.ts";
import {
  endOrganizationAccess,
  findOrganization,
  findOrganizations,
  insertOrganization,
  markOrganizationDeleted,
  type OrganizationRow,
  updateOrganizationName,
} from "../../db/organization/organizations.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { membershipsPerUserMax } from "../../domain/limits.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { isTypedName } from "../../domain/typed_name.ts";
import { isoTime } from "../../domain/meter/usage_window.ts";
import type { SessionContext } from "../context.ts";
import { requireMembership } from "./membership.ts";
import { requireRecentAuthentication } from "../sign_in/recent_authentication.ts";

/** An organization as one of its members sees it. */
export interface Organization {
  readonly id: string;
  readonly name: string;
  /** The role of whoever asks. */
  readonly role: Role;
  /** How many people belong to it. */
  readonly memberCount: number;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
}

/** The verbs of organizations. */
export interface OrganizationService {
  /** @returns The person's organizations by name. */
  listOrganizations(actor: SessionActor): Promise<Organization[]>;
  /** @throws {AppError} `not_found`. */
  getOrganization(actor: SessionActor, id: string): Promise<Organization>;
  /** Makes an organization that the person owns; it does not become the active one. @throws {AppError} `limit_reached`. */
  createOrganization(actor: SessionActor, name: string): Promise<Organization>;
  /** @throws {AppError} `not_found`, `forbidden`. */
  renameOrganization(actor: SessionActor, id: string, name: string): Promise<Organization>;
  /**
   * Makes another member the owner, and the person themself an ADMIN.
   *
   * @throws {AppError} `not_found`, `forbidden`, `proof_required`, `validation_failed` when it is nobody else's membership.
   */
  transferOrganization(actor: SessionActor, id: string, userId: string): Promise<Organization>;
  /**
   * Deletes an organization: keys are refused from the next request on, memberships and invitations are gone; what it
   * recorded is deleted in the background.
   *
   * @param confirmedName The organization's name, typed to confirm.
   * @throws {AppError} `not_found`, `forbidden`, `proof_required`, `validation_failed` when the name is not that.
   */
  deleteOrganization(actor: SessionActor, id: string, confirmedName: string): Promise<void>;
}

/** @param context See {@linkcode SessionContext}. */
export function createOrganizationService(
  { database, clock, writeAs }: SessionContext,
): OrganizationService {
  async function get(actor: SessionActor, id: string): Promise<Organization> {
    const row = isId("org", id) ? await findOrganization(database, actor.user.id, id) : undefined;
    if (row === undefined) throw notFoundError();
    return shown(row);
  }

  return {
    listOrganizations: async (actor) => (await findOrganizations(database, actor.user.id)).map(shown),
    getOrganization: get,

    async createOrganization(actor, name) {
      const now = clock();
      const id = newId("org");
      const userId = actor.user.id;
      const entry = { action: "organization.created", organizationId: id, target: { id, name } } as const;
      const audit = insertAuditEvent(actor, entry, { now });
      const [inserted] = await writeAs(actor, [
        insertOrganization({ id, name, now }, { userId, membershipsMax: membershipsPerUserMax }),
        audit.statement,
        insertMembership({ userId, organizationId: id, role: "OWNER", now }, audit.id),
      ]);
      if (inserted?.changes !== 1) throw membershipLimitError();
      return { id, name, role: "OWNER", memberCount: 1, createdAt: isoTime(now) };
    },

    async renameOrganization(actor, id, name) {
      const permit = requireMembership(actor, { organizationId: id, act: "organization.manage" });
      const { name: from } = permit;
      if (from === name) return await get(actor, id);
      const entry = {
        action: "organization.renamed",
        organizationId: id,
        target: { id, name },
        details: { from, to: name },
      } as const;
      const [renamed] = await writeAs(permit, [
        updateOrganizationName({ id, from, to: name }),
        insertAuditEvent(actor, entry, { now: clock() }).statement,
      ]);
      const organization = await get(actor, id);
      if (renamed?.changes === 1 || organization.name === name) return organization;
      throw unavailableError("The organization was renamed by someone else just now. Try again.");
    },

    async transferOrganization(actor, id, userId) {
      const permit = requireMembership(actor, { organizationId: id, act: "organization.manage" });
      const now = clock();
      requireRecentAuthentication(actor, now);
      const notThem = validationError([{ path: "userId", message: "must be another member's." }]);
      if (userId === actor.user.id) throw notThem;
      const member = await findMember(database, id, { userId, now });
      const entry = {
        action: "organization.transferred",
        organizationId: id,
        target: { id: userId, name: member?.name ?? null },
      } as const;
      const audit = insertAuditEvent(actor, entry, { now });
      const [made] = await writeAs(permit, [
        promoteToOwner({ organizationId: id, userId }),
        audit.statement,
        demoteOwner({ organizationId: id, userId: actor.user.id }, audit.id),
        endInvitationsBy({ organizationId: id, userId: actor.user.id, now }, audit.id),
      ]);
      if (made?.changes !== 1) throw notThem;
      return await get(actor, id);
    },

    async deleteOrganization(actor, id, confirmedName) {
      const permit = requireMembership(actor, { organizationId: id, act: "organization.manage" });
      const { name } = permit;
      const now = clock();
      requireRecentAuthentication(actor, now);
      const notTheName = validationError([{
        path: "name",
        message: "must be the organization's name, as it is written above.",
      }]);
      if (!isTypedName(confirmedName, name)) throw notTheName;
      const entry = { action: "organization.deleted", organizationId: id, target: { id, name } } as const;
      const audit = insertAuditEvent(actor, entry, { now });
      const [marked] = await writeAs(permit, [
        markOrganizationDeleted({ id, name, now }),
        audit.statement,
        ...endOrganizationAccess(id, { now, audited: audit.id }),
      ]);
      if (marked?.changes !== 1) throw notTheName;
    },
  };
}

/** @returns The error for somebody who belongs to as many organizations as one may. */
export function membershipLimitError(): AppError {
  return new AppError(
    "limit_reached",
    `One person may belong to ${membershipsPerUserMax} organizations at most. Leave one first.`,
  );
}

function shown({ id, name, role, createdAt, members }: OrganizationRow): Organization {
  return { id, name, role, memberCount: members, createdAt: isoTime(createdAt) };
}
