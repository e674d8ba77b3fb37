// Invitations: one address, one role, one use, seven days.
import { insertAuditEvent } from "../../db/audit.ts";
import {
  findInvitation,
  findInvitationByToken,
  findInvitationObstacles,
  findInvitations,
  insertInvitation,
  type InvitationRow,
  markInvitationAccepted,
  markInvitationRevoked,
  renewInvitation,
} from "../../db/organization/invitations.ts";
import { deleteLinks } from "../../db/mail/link_tokens.ts";
import { insertMembership } from "../../db/organization/memberships.ts";
import { updateSessionOrganization } from "../../db/sign_in/sessions.ts";
import { updateLastOrganization } from "../../db/account/users.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { canonicalEmail } from "../../domain/mail/email.ts";
import {
  AppError,
  invalidTokenError,
  notFoundError,
  unavailableError,
  validationError,
} from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { membershipsPerUserMax, openInvitationsMax } from "../../domain/limits.ts";
import { linkLifetimesMs } from "../../domain/mail/mail.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { isoTime } from "../../domain/meter/usage_window.ts";
import type { SessionContext } from "../context.ts";
import { createInvitationMails } from "./invitation_limits.ts";
import type { LimitMails } from "../mail/mail_limit_audit.ts";
import type { Mail } from "../mail/mail.ts";
import type { MailBudgets } from "../mail/mail_budgets.ts";
import { type Permit, requireMembership } from "./membership.ts";
import { membershipLimitError } from "./organizations.ts";
import { requireRecentAuthentication } from "../sign_in/recent_authentication.ts";
import { wellFormedHash } from "../sign_in/session_tokens.ts";

/** An invitation as the organization sees it. Times are ISO 8601 UTC. */
export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly status: "pending" | "accepted" | "revoked" | "expired";
  readonly invitedBy: { readonly id: string; readonly name: string } | null;
  readonly createdAt: string;
  /** When its latest mail was asked for. */
  readonly sentAt: string;
  readonly expiresAt: string;
  readonly acceptedAt: string | null;
}

/** What an invitation's link shows to whoever holds it. */
export interface InvitationOffer {
  readonly organization: { readonly id: string; readonly name: string };
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string | null;
  /** The address has an account: sign in rather than make one. */
  readonly hasAccount: boolean;
}

/** Which invitation of which organization. */
export interface InvitationPlace {
  readonly organizationId: string;
  readonly id: string;
}

/** The verbs of invitations. */
export interface InvitationService {
  /**
   * @returns Invitations newest first; with `onlyOpen` those that nobody accepted or revoked, with `onlyEnded` the others.
   * @throws {AppError} `not_found`, `forbidden`, `validation_failed` for a cursor that is none.
   */
  listInvitations(
    actor: SessionActor,
    organizationId: string,
    page: { limit: number; cursor?: string | undefined; onlyOpen?: boolean; onlyEnded?: boolean },
  ): Promise<{ invitations: Invitation[]; nextCursor: string | null }>;
  /** @throws {AppError} `not_found`, `forbidden`. */
  getInvitation(actor: SessionActor, place: InvitationPlace): Promise<Invitation>;
  /**
   * Invites an address. To be an OWNER takes a young proof, as making a member one does.
   *
   * @throws {AppError} `not_found`, `forbidden`, `proof_required`, `validation_failed`, `already_member`, `already_invited`,
   *   `limit_reached`, `rate_limited`, `mail_unavailable`.
   */
  createInvitation(
    actor: SessionActor,
    organizationId: string,
    input: { email: string; role: Role },
  ): Promise<Invitation>;
  /** Sends a new link, and seven days more; the old link ends. @throws {AppError} As createInvitation, and `not_found`. */
  resendInvitation(actor: SessionActor, place: InvitationPlace): Promise<Invitation>;
  /** Ends an open invitation and its links at once. @throws {AppError} `not_found`, `forbidden`. */
  revokeInvitation(actor: SessionActor, place: InvitationPlace): Promise<void>;
  /** @returns What a link offers, or null when it does not work; looking does not use it up. */
  findOffer(token: string): Promise<InvitationOffer | null>;
  /**
   * Joins, once; the organization becomes the active one.
   *
   * @returns The organization's id.
   * @throws {AppError} `invalid_token`, `wrong_account`, `email_unverified`, `already_member`, `limit_reached`.
   */
  acceptInvitation(actor: SessionActor, token: string): Promise<{ organizationId: string }>;
}

/** @param context See {@linkcode SessionContext}. */
export function createInvitationService(
  { database, clock, writeAs }: SessionContext,
  { mail, budgets, limited }: { mail: Mail; budgets: MailBudgets; limited: LimitMails },
): InvitationService {
  const mails = createInvitationMails(clock);

  /** Takes an email of every budget for an act that writes it. @throws {AppError} `rate_limited`, or what the act throws. */
  async function withMail(
    actor: SessionActor,
    invitation: { organizationId: string; email: string },
    act: () => Promise<void>,
  ): Promise<void> {
    const { organizationId, email: to } = invitation;
    const about = () => ({ organizationId, target: { id: null, name: to } });
    const subject = `${actor.user.id} ${organizationId}`;
    await limited(async () => {
      mails.take(actor, invitation);
      const isSenderUnverified = !actor.user.emailVerified;
      await budgets.spend({ kind: "invitation", to, isSenderUnverified }, act);
    }, { subject, actor, about });
  }

  function requireRecentAuthenticationToGive(actor: SessionActor, role: Role): void {
    if (role === "OWNER") requireRecentAuthentication(actor, clock());
  }

  async function find({ organizationId, id }: InvitationPlace): Promise<InvitationRow> {
    const row = isId("inv", id) ? await findInvitation(database, organizationId, id) : undefined;
    if (row === undefined) throw notFoundError();
    return row;
  }

  /** An open invitation that the actor may change, and the permit to do so. */
  async function findManaged(
    actor: SessionActor,
    place: InvitationPlace,
  ): Promise<{ row: InvitationRow; permit: Permit }> {
    const { organizationId } = place;
    requireMembership(actor, { organizationId, act: "members.manage" });
    const row = await find(place);
    const permit = requireMayGive(actor, { organizationId, role: row.role });
    if (row.acceptedAt !== null || row.revokedAt !== null) throw notFoundError();
    return { row, permit };
  }

  async function whyNotInvited(
    { organizationId, email }: { organizationId: string; email: string },
  ): Promise<AppError> {
    const obstacles = await findInvitationObstacles(database, { organizationId, email, now: clock() });
    if (obstacles.invited > 0) {
      return new AppError("already_invited", "This address is invited already. Send the mail again instead.");
    }
    if (obstacles.members > 0) {
      return new AppError("already_member", "Somebody with this address is a member already.");
    }
    return obstacles.pending >= openInvitationsMax
      ? openLimitError()
      : unavailableError("The invitations were changed by someone else just now. Try again.");
  }

  return {
    async listInvitations(actor, organizationId, { limit, cursor, onlyOpen = false, onlyEnded = false }) {
      requireMembership(actor, { organizationId, act: "members.manage" });
      if (cursor !== undefined && !isId("inv", cursor)) {
        throw validationError([{ path: "cursor", message: "must be a “nextCursor” of this list." }]);
      }
      const rows = await findInvitations(database, organizationId, {
        limit: limit + 1,
        before: cursor,
        isOpen: onlyOpen ? true : onlyEnded ? false : undefined,
      });
      const now = clock();
      const invitations = rows.slice(0, limit).map((row) => shown(row, now));
      return { invitations, nextCursor: rows.length > limit ? invitations.at(-1)?.id ?? null : null };
    },

    async getInvitation(actor, place) {
      requireMembership(actor, { organizationId: place.organizationId, act: "members.manage" });
      return shown(await find(place), clock());
    },

    async createInvitation(actor, organizationId, input) {
      const permit = requireMayGive(actor, { organizationId, role: input.role });
      mail.requireMail();
      const email = canonicalEmail(input.email);
      if (email === null) {
        throw validationError([{
          path: "email",
          message: "Enter an e-mail address such as ada@example.com.",
        }]);
      }
      requireRecentAuthenticationToGive(actor, input.role);
      const now = clock();
      const id = newId("inv");
      const expiresAt = now + linkLifetimesMs.invitation;
      const entry = {
        action: "invitation.created",
        organizationId,
        target: { id, name: email },
        details: { role: input.role },
      } as const;
      const audit = insertAuditEvent(actor, entry, { now });
      const invitation = {
        id,
        organizationId,
        email,
        role: input.role,
        invitedBy: actor.user.id,
        now,
        expiresAt,
      };
      const fields = { organization: permit.name, inviter: actor.user.name, role: input.role };
      await withMail(actor, { organizationId, email }, async () => {
        const [, inserted] = await writeAs(permit, [
          ...insertInvitation(invitation, { pendingMax: openInvitationsMax }),
          audit.statement,
          ...mail.outgoing({ kind: "invitation", to: email, subject: id, fields }, {
            now,
            audited: audit.id,
          }),
        ]);
        if (inserted?.changes !== 1) throw await whyNotInvited({ organizationId, email });
      });
      mail.wake();
      return shown(await find({ organizationId, id }), now);
    },

    async resendInvitation(actor, place) {
      const { row, permit } = await findManaged(actor, place);
      mail.requireMail();
      // An invitation that ran out is alive again by this.
      requireRecentAuthenticationToGive(actor, row.role);
      const now = clock();
      const entry = {
        action: "invitation.resent",
        organizationId: place.organizationId,
        target: { id: row.id, name: row.email },
      } as const;
      const audit = insertAuditEvent(actor, entry, { now });
      const audited = { now, audited: audit.id };
      const { organizationId } = place;
      const { email } = row;
      const fields = { organization: row.organizationName, inviter: actor.user.name, role: row.role };
      await withMail(actor, { organizationId, email }, async () => {
        const [renewed] = await writeAs(permit, [
          renewInvitation({
            ...place,
            now,
            expiresAt: now + linkLifetimesMs.invitation,
          }, { pendingMax: openInvitationsMax }),
          audit.statement,
          ...deleteLinks(row.id, { purposes: ["invitation"], audited: audit.id }),
          ...mail.outgoing({ kind: "invitation", to: email, subject: row.id, fields }, audited),
        ]);
        if (renewed?.changes !== 1) {
          const { pending } = await findInvitationObstacles(database, { organizationId, email, now });
          throw row.expiresAt <= now && pending >= openInvitationsMax ? openLimitError() : notFoundError();
        }
      });
      mail.wake();
      return shown(await find(place), now);
    },

    async revokeInvitation(actor, place) {
      const { row, permit } = await findManaged(actor, place);
      const now = clock();
      const entry = {
        action: "invitation.revoked",
        organizationId: place.organizationId,
        target: { id: row.id, name: row.email },
      } as const;
      const audit = insertAuditEvent(actor, entry, { now });
      const [revoked] = await writeAs(permit, [
        markInvitationRevoked({ ...place, now }),
        audit.statement,
        ...deleteLinks(row.id, { purposes: ["invitation"], audited: audit.id }),
      ]);
      if (revoked?.changes !== 1) throw notFoundError();
    },

    async findOffer(token) {
      const tokenHash = wellFormedHash(token);
      const row = tokenHash === null ? undefined : await findInvitationByToken(database, tokenHash, clock());
      if (row === undefined) return null;
      return {
        organization: { id: row.organizationId, name: row.organizationName },
        email: row.email,
        role: row.role,
        invitedBy: row.invitedByName,
        hasAccount: row.hasAccount === 1,
      };
    },

    async acceptInvitation(actor, token) {
      const tokenHash = wellFormedHash(token);
      const now = clock();
      const row = tokenHash === null ? undefined : await findInvitationByToken(database, tokenHash, now);
      if (row === undefined || tokenHash === null) throw invalidTokenError();
      const { user } = actor;
      if (row.email !== user.email) {
        throw new AppError(
          "wrong_account",
          `This invitation is for ${row.email}, and you are signed in as ${user.email}.`,
        );
      }
      if (!user.emailVerified) {
        throw new AppError(
          "email_unverified",
          "Confirm your address first: open the link in the mail that we sent you, then accept the invitation.",
        );
      }
      const { id, organizationId, role } = row;
      if (actor.memberships.some((one) => one.organizationId === organizationId)) {
        throw new AppError("already_member", `You belong to ${row.organizationName} already.`);
      }
      const userId = user.id;
      const entry = {
        action: "member.joined",
        organizationId,
        target: { id: userId, name: user.name },
        details: { role },
      } as const;
      const audit = insertAuditEvent(actor, entry, { now });
      const [accepted] = await writeAs(actor, [
        markInvitationAccepted({ id, tokenHash, userId, now }, { membershipsMax: membershipsPerUserMax }),
        audit.statement,
        insertMembership({ userId, organizationId, role, now }, audit.id),
        ...deleteLinks(id, { purposes: ["invitation"], audited: audit.id }),
        updateSessionOrganization({ id: actor.id, userId }, organizationId),
        updateLastOrganization(userId, organizationId),
      ]);
      if (accepted?.changes !== 1) {
        throw actor.memberships.length >= membershipsPerUserMax
          ? membershipLimitError()
          : invalidTokenError();
      }
      return { organizationId };
    },
  };
}

function openLimitError(): AppError {
  return new AppError(
    "limit_reached",
    `${openInvitationsMax} invitations are open, which is the most. Revoke one first.`,
  );
}

/** ADMINs give no role above their own. @throws {AppError} `not_found`, `forbidden`. */
function requireMayGive(
  actor: SessionActor,
  { organizationId, role }: { organizationId: string; role: Role },
): Permit {
  return requireMembership(actor, {
    organizationId,
    act: role === "OWNER" ? "owners.manage" : "members.manage",
  });
}

function shown(row: InvitationRow, now: number): Invitation {
  const status = row.acceptedAt !== null
    ? "accepted"
    : row.revokedAt !== null
    ? "revoked"
    : row.expiresAt <= now
    ? "expired"
    : "pending";
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    status,
    invitedBy: row.invitedById === null ? null : { id: row.invitedById, name: row.invitedByName ?? "" },
    createdAt: isoTime(row.createdAt),
    sentAt: isoTime(row.sentAt),
    expiresAt: isoTime(row.expiresAt),
    acceptedAt: row.acceptedAt === null ? null : isoTime(row.acceptedAt),
  };
}
