// A person's own sessions: listing and ending them, and switching the organization.
import { insertAuditEvent } from "../../db/audit.ts";
import {
  deleteSessionOfUser,
  deleteSessionsOfUser,
  listSessionsOfUser,
  updateSessionOrganization,
} from "../../db/sign_in/sessions.ts";
import { updateLastOrganization } from "../../db/account/users.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { sessionsPerUserMax } from "../../domain/limits.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import { isoTime } from "../../domain/meter/usage_window.ts";
import type { SessionContext } from "../context.ts";
import { requireMembership } from "../organization/membership.ts";
import { sessionBounds } from "./session_tokens.ts";

/** A session in a person's own list. Times are ISO 8601 UTC. */
export interface SessionInfo {
  readonly id: string;
  /** The session that asks. */
  readonly current: boolean;
  readonly createdAt: string;
  readonly lastSeenAt: string;
  readonly expiresAt: string;
  readonly address: string;
  readonly userAgent: string;
}

/** The verbs of sessions. */
export interface SessionService {
  /** @returns The person's own sessions, the last used first; of very many those, and the one that asks. */
  listSessions(actor: SessionActor): Promise<SessionInfo[]>;
  /** Ends one of the person's own sessions at once. @throws {AppError} `not_found`. */
  endSession(actor: SessionActor, id: string): Promise<void>;
  /** Ends every session of the person but the one that asks. */
  endOtherSessions(actor: SessionActor): Promise<void>;
  /**
   * Makes another organization the active one, now and at the next sign-in.
   *
   * @throws {AppError} `not_found` when the person does not belong to it.
   */
  switchOrganization(actor: SessionActor, organizationId: string): Promise<Session>;
}

const dayMs = 24 * 3_600_000;

/** @param context See {@linkcode SessionContext}. */
export function createSessionService(
  { config, database, clock, writeAs }: SessionContext,
): SessionService {
  return {
    async listSessions(actor) {
      const rows = await listSessionsOfUser(database, actor.user.id, {
        bounds: sessionBounds(config, clock()),
        always: actor.id,
        limit: sessionsPerUserMax,
      });
      rows.sort((a, b) => b.lastSeenAt - a.lastSeenAt || (a.id < b.id ? 1 : -1));
      return rows.map((row) => ({
        id: row.id,
        current: row.id === actor.id,
        createdAt: isoTime(row.createdAt),
        lastSeenAt: isoTime(row.lastSeenAt),
        expiresAt: isoTime(
          Math.min(
            row.createdAt + config.sessionMaxDays * dayMs,
            row.lastSeenAt + config.sessionIdleDays * dayMs,
          ),
        ),
        address: row.address,
        userAgent: row.userAgent,
      }));
    },

    async endSession(actor, id) {
      if (!isId("ses", id)) throw notFoundError();
      // One's own is signing out, by whatever way.
      const target = id === actor.id ? {} : { target: { id, name: null } };
      const entry = { action: "session.ended", ...target } as const;
      const [ended] = await writeAs(actor, [
        deleteSessionOfUser(actor.user.id, id),
        insertAuditEvent(actor, entry, { now: clock() }).statement,
      ]);
      if (ended?.changes !== 1) throw notFoundError();
    },

    async endOtherSessions(actor) {
      await writeAs(actor, [
        deleteSessionsOfUser(actor.user.id, { keep: actor.id }),
        insertAuditEvent(actor, { action: "session.others_ended" }, { now: clock() }).statement,
      ]);
    },

    async switchOrganization(actor, organizationId) {
      const permit = requireMembership(actor, { organizationId, act: "members.read" });
      await writeAs(permit, [
        updateSessionOrganization({ id: actor.id, userId: actor.user.id }, organizationId),
        updateLastOrganization(actor.user.id, organizationId),
      ]);
      const { name, role } = permit;
      return { ...actor, organization: { organizationId, name, role } };
    },
  };
}
