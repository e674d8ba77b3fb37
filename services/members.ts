// Members of an organization: who they are, what role they have, and their end. Every organization keeps an OWNER.
import { insertAuditEvent } from "../db/audit.ts";
import { endInvitationsBy } from "../db/invitations.ts";
import { hasLiveSession } from "../db/live_session.ts";
import {
  countMembers,
  deleteMembership,
  endMember,
  findMember,
  listMembers,
  listOwners,
  type MemberRow,
  updateMemberRole,
} from "../db/memberships.ts";
import type { SessionActor } from "../domain/actor.ts";
import {
  AppError,
  forbiddenError,
  notFoundError,
  unauthenticatedError,
  unavailableError,
  validationError,
} from "../domain/errors.ts";
import { isId } from "../domain/id.ts";
import { ownersShownMax } from "../domain/limits.ts";
import { mayDo } from "../domain/permissions.ts";
import type { Role } from "../domain/session.ts";
import { isoTime } from "../domain/usage_window.ts";
import type { ServiceContext } from "./context.ts";
import { requireMembership } from "./membership.ts";
import { requireProof } from "./proof.ts";

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

/** @param context See {@linkcode ServiceContext}. */
export function createMemberService({ database, clock }: ServiceContext): MemberService {
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
      const rows = await listMembers(database, organizationId, {
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
      for (const { role, members } of await countMembers(database, organizationId)) counts[role] = members;
      return counts;
    },

    async listOwners(actor, organizationId) {
      requireMembership(actor, { organizationId, act: "members.read" });
      return await listOwners(database, organizationId, { limit: ownersShownMax });
    },

    async getMember(actor, place) {
      requireMembership(actor, { organizationId: place.organizationId, act: "members.read" });
      return shown(await find(place), { ...place, actor });
    },

    async changeRole(actor, place, role) {
      const { organizationId, userId } = place;
      requireMembership(actor, { organizationId, act: "owners.manage" });
      const before = await find(place);
      if (before.role === role) return shown(before, { actor, organizationId });
      const now = clock();
      if (role === "OWNER") requireProof(actor, now);
      const entry = {
        action: "member.role_changed",
        organizationId,
        target: { id: userId, name: before.name },
        details: { from: before.role, to: role },
      } as const;
      const audit = insertAuditEvent(actor, entry, { now });
      const [changed] = await database.write([
        updateMemberRole({ ...place, actorId: actor.user.id, sessionId: actor.id }, {
          from: before.role,
          to: role,
        }),
        audit.statement,
        endInvitationsBy({ ...place, now }, audit.id),
      ]);
      if (changed?.changes !== 1) {
        const present = await find(place);
        // Pressed twice, or two owners of one mind: it is as it should be.
        if (present.role !== role) await refuse(actor, place);
        return shown(present, { actor, organizationId });
      }
      return shown({ ...before, role }, { actor, organizationId });
    },

    async removeMember(actor, place, { keepKeys }) {
      const { organizationId, userId } = place;
      const isOwn = userId === actor.user.id;
      const { role } = requireMembership(actor, {
        organizationId,
        act: isOwn ? "members.read" : "members.manage",
      });
      if (isOwn && keepKeys) {
        throw validationError([{ path: "keys", message: "can be kept only when somebody else is removed." }]);
      }
      const member = await find(place);
      if (!isOwn && member.role === "OWNER" && !mayDo(role, "owners.manage")) throw forbiddenError();
      const now = clock();
      const entry = {
        action: isOwn ? "member.left" : "member.removed",
        organizationId,
        target: { id: userId, name: member.name },
        details: { role: member.role, keys: keepKeys ? "handed over" : "revoked" },
      } as const;
      const audit = insertAuditEvent(actor, entry, { now });
      const [removed] = await database.write([
        deleteMembership({ ...place, actorId: actor.user.id }),
        audit.statement,
        ...endMember(place, { now, audited: audit.id, handTo: keepKeys ? actor.user.id : undefined }),
        endInvitationsBy({ ...place, now }, audit.id),
      ]);
      if (removed?.changes !== 1) await refuse(actor, place);
    },
  };

  /** Says why a statement, whose conditions are the last word, changed nothing. */
  async function refuse(actor: SessionActor, place: MemberPlace): Promise<never> {
    if (!await hasLiveSession(database, actor.id)) throw unauthenticatedError();
    const { role } = await find(place);
    const own = await find({ ...place, userId: actor.user.id });
    const { OWNER: owners = 0 } = Object.fromEntries(
      (await countMembers(database, place.organizationId)).map((one) => [one.role, one.members]),
    );
    if (role === "OWNER" && owners === 1 && own.role === "OWNER") {
      throw new AppError(
        "last_owner",
        "An organization needs an owner. Make somebody else an owner first.",
      );
    }
    // An OWNER may: then somebody else has changed something in this very moment.
    throw own.role === "OWNER"
      ? unavailableError("The members were changed at this moment. Try again.")
      : forbiddenError();
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
