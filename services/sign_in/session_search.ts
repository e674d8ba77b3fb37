// Who is behind a request: the session of the tokens that came along.
import { findSessions, updateSessionSeen } from "../../db/sign_in/sessions.ts";
import { addressGroup } from "../../domain/address_group.ts";
import { sessionConflictNotedIntervalMs, sessionSeenIntervalMs } from "../../domain/limits.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { BaseContext } from "../base_context.ts";
import { RateLimiter } from "../rate_limiter.ts";
import { sessionBounds, wellFormedHash } from "./session_tokens.ts";

/** What was found of the tokens that came along. */
export interface SessionSearch {
  readonly session: Session | null;
  readonly conflict: boolean;
  /** Those of the tokens that are of sessions, of whomever. */
  readonly known: readonly string[];
  /** The token that found it, and when the session ends at the latest, in milliseconds since 1970. */
  readonly held?: { readonly token: string; readonly expiresAt: number };
}

/** Finds sessions. */
export interface SessionSearchService {
  /**
   * Says who is signed in, of all the tokens that came along: stale and planted ones among them sign nobody out.
   *
   * @param tokens Of several valid ones the first counts.
   * @returns The session; or null, with `conflict` when valid tokens of different users came together.
   */
  findSession(tokens: readonly string[]): Promise<SessionSearch>;
  /** @returns Whether two people's tokens from an address are to be told in the log: a minute's first ones are. */
  isConflictNews(address: string): boolean;
}

const dayMs = 24 * 3_600_000;

/**
 * @param context See {@linkcode BaseContext}.
 * @param parts `onBackgroundError`: told when noting a session's last use failed.
 */
export function createSessionSearchService(
  { config, database, clock }: BaseContext,
  parts: { onBackgroundError: (error: unknown) => void },
): SessionSearchService {
  /** Sessions whose last use is being noted: of many simultaneous requests, one does it. */
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
  };
}
