// Sessions that are: who they belong to, which there are, ending them, and the proof that somebody is still the same person.
import { insertAuditEvent } from "../db/audit.ts";
import {
  deleteSessionOfUser,
  deleteSessionsOfUser,
  findSessions,
  listSessionsOfUser,
  updateSessionOrganization,
  updateSessionProved,
  updateSessionSeen,
} from "../db/sessions.ts";
import { findUserCredentialsById, updateLastOrganization } from "../db/users.ts";
import type { SessionActor } from "../domain/actor.ts";
import { addressGroup } from "../domain/address_group.ts";
import { AppError, notFoundError, unauthenticatedError } from "../domain/errors.ts";
import { isId } from "../domain/id.ts";
import {
  sessionConflictNotedIntervalMs,
  sessionSeenIntervalMs,
  sessionsListedMax,
} from "../domain/limits.ts";
import type { Session } from "../domain/session.ts";
import { isoTime } from "../domain/usage_window.ts";
import type { ServiceContext } from "./context.ts";
import type { Credentials } from "./credentials.ts";
import { RateLimiter } from "./rate_limiter.ts";
import { sessionBounds, wellFormedHash } from "./session_tokens.ts";

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

/** What was found of the tokens that came along. */
export interface SessionSearch {
  readonly session: Session | null;
  readonly conflict: boolean;
  /** Those of the tokens that are of sessions, of whomever. */
  readonly known: readonly string[];
  /** The token that found it, and when the session ends at the latest, in milliseconds since 1970. */
  readonly held?: { readonly token: string; readonly expiresAt: number };
}

/** The verbs of sessions. */
export interface SessionService {
  /**
   * Says who is signed in, of all the tokens that came along: stale and planted ones among them sign nobody out.
   *
   * @param tokens Of several valid ones the first counts.
   * @returns The session; or null, with `conflict` when valid tokens of different users came together.
   */
  findSession(tokens: readonly string[]): Promise<SessionSearch>;
  /** @returns Whether two people's tokens from an address are to be told in the log: a minute's first ones are. */
  isConflictNews(address: string): boolean;
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
  /**
   * Takes the password once more, for sensitive acts.
   *
   * @throws {AppError} `invalid_credentials`, `rate_limited`, `unavailable`.
   */
  confirmPassword(actor: SessionActor, password: string): Promise<void>;
}

const dayMs = 24 * 3_600_000;

/**
 * @param context See {@linkcode ServiceContext}.
 * @param parts `onBackgroundError`: told when noting a session's last use failed.
 */
export function createSessionService(
  context: ServiceContext,
  parts: { credentials: Credentials; onBackgroundError: (error: unknown) => void },
): SessionService {
  const { config, database, clock } = context;
  const { credentials } = parts;
  /** Sessions whose last use is being noted: of many requests at once, one does it. */
  const beingSeen = new Set<string>();
  const conflicts = new RateLimiter({ points: 1, windowMs: sessionConflictNotedIntervalMs, clock });

  return {
    async findSession(tokens) {
      const now = clock();
      const hashes = tokens.map(wellFormedHash);
      const wellFormed = hashes.filter((one) => one !== null);
      const found = await findSessions(database, wellFormed, sessionBounds(config, now));
      const isFound = (hash: string | null | undefined) => found.some(({ tokenHash }) => tokenHash === hash);
      const known = tokens.filter((_token, at) => isFound(hashes[at]));
      const users = new Set(found.map(({ session }) => session.user.id));
      if (users.size > 1) return { session: null, conflict: true, known };
      const at = hashes.findIndex(isFound);
      const first = found.find(({ tokenHash }) => tokenHash === hashes[at]);
      if (first === undefined) return { session: null, conflict: false, known };
      const { session, lastSeenAt, createdAt } = first;
      if (now - lastSeenAt >= sessionSeenIntervalMs && !beingSeen.has(session.id)) {
        beingSeen.add(session.id);
        database.write([updateSessionSeen(session.id, now)])
          .catch(parts.onBackgroundError)
          .finally(() => beingSeen.delete(session.id));
      }
      const held = { token: tokens[at] ?? "", expiresAt: createdAt + config.sessionMaxDays * dayMs };
      return { session, conflict: false, known, held };
    },

    isConflictNews: (address) => conflicts.take(addressGroup(address)).isAllowed,

    async listSessions(actor) {
      const rows = await listSessionsOfUser(database, actor.user.id, {
        bounds: sessionBounds(config, clock()),
        always: actor.id,
        limit: sessionsListedMax,
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
      const [ended] = await database.write([
        deleteSessionOfUser(actor.user.id, id),
        insertAuditEvent(actor, entry, { now: clock() }).statement,
      ]);
      if (ended?.changes !== 1) throw notFoundError();
    },

    async endOtherSessions(actor) {
      await database.write([
        deleteSessionsOfUser(actor.user.id, { keep: actor.id }),
        insertAuditEvent(actor, { action: "session.others_ended" }, { now: clock() }).statement,
      ]);
    },

    async switchOrganization(actor, organizationId) {
      const membership = actor.memberships.find((one) => one.organizationId === organizationId);
      if (membership === undefined) throw notFoundError();
      const [changed] = await database.write([
        updateSessionOrganization({ id: actor.id, userId: actor.user.id }, organizationId),
        updateLastOrganization(actor.user.id, organizationId),
      ]);
      if (changed?.changes !== 1) throw notFoundError();
      return { ...actor, organization: membership };
    },

    async confirmPassword(actor, password) {
      const found = await findUserCredentialsById(database, actor.user.id);
      if (found === undefined) throw unauthenticatedError();
      await credentials.guess({
        subject: found.email,
        actor,
        refused: "password.refused",
        about: () => ({ organizationId: actor.organization?.organizationId ?? null }),
      }, async () => {
        if (!await credentials.isPassword(found, password)) {
          throw new AppError("invalid_credentials", "This is not your password.");
        }
        await database.write([
          credentials.forgetFailures(found.email),
          updateSessionProved(actor.id, clock()),
        ]);
      });
    },
  };
}
