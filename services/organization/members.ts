// Members of an organization: who they are, what role they have, and their end. Every organization keeps an OWNER.
import { insertAuditEvent } from "../../db/audit.ts";
import { endInvitationsBy } from "../../db/organization/invitations.ts";
import {
  deleteMembership,
  endMemberAccess,
  findMember,
  findMemberCounts,
  findMembers,
  findOwners,
  type MemberRow,
  updateMemberRole,
} from "../../db/organization/memberships.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { ownersShownMax } from "../../domain/limits.ts";
import { mayDo } from "../../domain/permissions.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { isoTime } from "../../domain/meter/usage_window.ts";
import type { SessionContext } from "../context.ts";
import { requireMembership } from "./membership.ts";
import { requireRecentAuthentication } from "../sign_in/recent_authentication.ts";

/** A member as the others see them. */
export interface Member {
  readonly user: { readonly id: string; readonly name: string; readonly email: string };
  readonly role: Role;
  /** ISO 8601 UTC. */
  readonly joinedAt: string;
  /** Two-step sign-in is on; null where that is not whoever looks at it to know: it would tell whose password is enough. */
  readonly twoStep: boolean | null;
  /** Active API keys that they made in this organization. */
  readonly activeApiKeys: number;
}

/** Which member of which organization. */
export interface MemberPlace {
  readonly organizationId: string;
  readonly userId: string;
}

/** The verbs of members. */
export interface MemberService {
  /** @throws {AppError} `not_found`, `validation_failed` for a cursor that is none. */
  listMembers(
    actor: SessionActor,
    organizationId: string,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ members: Member[]; nextCursor: string | null }>;
  /** @returns How many people have each role. @throws {AppError} `not_found`. */
  countMembers(actor: SessionActor, organizationId: string): Promise<Readonly<Record<Role, number>>>;
  /** @returns Some of the people who can change a member's role. @throws {AppError} `not_found`. */
  listOwners(actor: SessionActor, organizationId: string): Promise<{ name: string; email: string }[]>;
  /** @throws {AppError} `not_found`. */
  getMember(actor: SessionActor, place: MemberPlace): Promise<Member>;
  /**
   * Gives a member another role. Making somebody an OWNER takes a young proof, as handing the organization over does:
   * they can then do everything, and end the person's own ownership.
   *
   * @throws {AppError} `not_found`, `forbidden`, `proof_required`, `last_owner`.
   */
  changeRole(actor: SessionActor, place: MemberPlace, role: Role): Promise<Member>;
  /**
   * Ends a membership; one's own is leaving. Keys that the member made here are revoked, or handed to the remover.
   *
   * @throws {AppError} `not_found`, `forbidden`, `last_owner`, `validation_failed` for keeping the keys when leaving.
   */
  removeMember(actor: SessionActor, place: MemberPlace, options: { keepKeys: boolean }): Promise<void>;
}

/** @param context See {@linkcode SessionContext}. */
export function createMemberService({ database, clock, writeAs }: SessionContext): MemberService {
  async function find({ organizationId, userId }: MemberPlace): Promise<MemberRow> {
    const row = isId("usr", userId)
      ? await findMember(database, organizationId, { userId, now: clock() })
      : undefined;
    if (row === undefined) throw notFoundError();
    return row;
  }

  return {
    async listMembers(actor, organizationId, { limit, cursor }) {
      requireMembership(actor, { organizationId, act: "members.read" });
      if (cursor !== undefined && !isId("usr", cursor)) {
        throw validationError([{ path: "cursor", message: "must be a “nextCursor” of this list." }]);
      }
      const rows = await findMembers(database, organizationId, {
        now: clock(),
        limit: limit + 1,
        after: cursor,
      });
      const members = rows.slice(0, limit).map((row) => shown(row, { actor, organizationId }));
      return { members, nextCursor: rows.length > limit ? members.at(-1)?.user.id ?? null : null };
    },

    async countMembers(actor, organizationId) {
      requireMembership(actor, { organizationId, act: "members.read" });
      const counts = { OWNER: 0, ADMIN: 0, MEMBER: 0 };
      for (const { role, members } of await findMemberCounts(database, organizationId)) {
        counts[role] = members;
      }
      return counts;
    },

    async listOwners(actor, organizationId) {
      requireMembership(actor, { organizationId, act: "members.read" });
      return await findOwners(database, organizationId, { limit: ownersShownMax });
    },

    async getMember(actor, place) {
      requireMembership(actor, { organizationId: place.organizationId, act: "members.read" });
      return shown(await find(place), { ...place, actor });
    },

    async changeRole(actor, place, role) {
      const { organizationId, userId } = place;
      const permit = requireMembership(actor, { organizationId, act: "owners.manage" });
      const before = await find(place);
      if (before.role === role) return shown(before, { actor, organizationId });
      const now = clock();
      if (role === "OWNER") requireRecentAuthentication(actor, now);
      const entry = {
        action: "member.role_changed",
        organizationId,
        target: { id: userId, name: before.name },
        details: { from: before.role, to: role },
      } as const;
      const audit = insertAuditEvent(actor, entry, { now });
      const [changed] = await writeAs(permit, [
        updateMemberRole(place, { from: before.role, to: role }),
        audit.statement,
        endInvitationsBy({ ...place, now }, audit.id),
      ]);
      if (changed?.changes !== 1) {
        const present = await find(place);
        // Pressed twice, or two owners of one mind: it is as it should be.
        if (present.role !== role) throw await whyUnchanged(present, organizationId);
        return shown(present, { actor, organizationId });
      }
      return shown({ ...before, role }, { actor, organizationId });
    },

    async removeMember(actor, place, { keepKeys }) {
      const { organizationId, userId } = place;
      const isOwn = userId === actor.user.id;
      const membership = requireMembership(actor, {
        organizationId,
        act: isOwn ? "members.read" : "members.manage",
      });
      if (isOwn && keepKeys) {
        throw validationError([{ path: "keys", message: "can be kept only when somebody else is removed." }]);
      }
      const member = await find(place);
      const permit = isOwn || member.role !== "OWNER"
        ? membership
        : requireMembership(actor, { organizationId, act: "owners.manage" });
      const now = clock();
      const entry = {
        action: isOwn ? "member.left" : "member.removed",
        organizationId,
        target: { id: userId, name: member.name },
        details: { role: member.role, keys: keepKeys ? "handed over" : "revoked" },
      } as const;
      const audit = insertAuditEvent(actor, entry, { now });
      const [removed] = await writeAs(permit, [
        deleteMembership(place, member.role),
        audit.statement,
        ...endMemberAccess(place, { now, audited: audit.id, handTo: keepKeys ? actor.user.id : undefined }),
        endInvitationsBy({ ...place, now }, audit.id),
      ]);
      if (removed?.changes !== 1) throw await whyUnchanged(await find(place), organizationId);
    },
  };

  /** @returns Why a member was not changed: they are the last OWNER, or someone else has just changed them. */
  async function whyUnchanged({ role }: MemberRow, organizationId: string): Promise<AppError> {
    const counts = await findMemberCounts(database, organizationId);
    const owners = counts.find((one) => one.role === "OWNER")?.members ?? 0;
    return role === "OWNER" && owners === 1
      ? new AppError("last_owner", "An organization needs an owner. Make someone else an owner first.")
      : unavailableError("The members were changed by someone else just now. Try again.");
  }
}

function shown(
  row: MemberRow,
  { actor, organizationId }: { actor: SessionActor; organizationId: string },
): Member {
  const viewer = actor.memberships.find((one) => one.organizationId === organizationId)?.role ?? "MEMBER";
  const seesTwoStep = row.userId === actor.user.id || mayDo(viewer, "members.manage");
  return {
    user: { id: row.userId, name: row.name, email: row.email },
    role: row.role,
    joinedAt: isoTime(row.joinedAt),
    twoStep: seesTwoStep ? row.hasTotp === 1 : null,
    activeApiKeys: row.apiKeys,
  };
}
