// Finds who is behind a request, from the session tokens in its cookies.
import { findSessions, updateSessionSeen } from "../../db/sign_in/sessions.ts";
import { sessionSeenIntervalMs } from "../../domain/limits.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { BaseContext } from "../base_context.ts";
import { sessionBounds, sessionMaxMs, wellFormedHash } from "./session_tokens.ts";

/** What the tokens of a request belong to. */
export interface FoundTokens {
  /** The person who is signed in, or null. */
  readonly session: Session | null;
  /** The valid tokens belong to different users, so none is accepted. */
  readonly conflict: boolean;
  /** The tokens that belong to live sessions of anyone. */
  readonly known: readonly string[];
  /** The token of the session, and when the session ends at the latest, in milliseconds since 1970. */
  readonly accepted?: { readonly token: string; readonly expiresAt: number };
}

/** Finds sessions, and records when they were last used. */
export class SessionSearch {
  readonly #base: BaseContext;
  readonly #onBackgroundError: (error: unknown) => void;
  /** Sessions whose last use is being written: one of many concurrent requests does it. */
  readonly #updating = new Set<string>();

  constructor(base: BaseContext, parts: { onBackgroundError: (error: unknown) => void }) {
    this.#base = base;
    this.#onBackgroundError = parts.onBackgroundError;
  }

  /** @param tokens All that came with the request. The first valid one counts: stale or planted ones sign nobody out. */
  async find(tokens: readonly string[]): Promise<FoundTokens> {
    const { config, database, clock } = this.#base;
    const now = clock();
    const hashes = tokens.map(wellFormedHash);
    const wellFormed = hashes.filter((hash) => hash !== null);
    const found = await findSessions(database, wellFormed, sessionBounds(config, now));
    const isFound = (hash: string | null | undefined) => found.some(({ tokenHash }) => tokenHash === hash);
    const known = tokens.filter((_token, at) => isFound(hashes[at]));
    const users = new Set(found.map(({ session }) => session.user.id));
    if (users.size > 1) return { session: null, conflict: true, known };
    const at = hashes.findIndex(isFound);
    const first = found.find(({ tokenHash }) => tokenHash === hashes[at]);
    if (first === undefined) return { session: null, conflict: false, known };
    const { session, lastSeenAt, createdAt } = first;
    if (now - lastSeenAt >= sessionSeenIntervalMs) this.#updateSeen(session.id, now);
    const accepted = { token: tokens[at] ?? "", expiresAt: createdAt + sessionMaxMs(config) };
    return { session, conflict: false, known, accepted };
  }

  #updateSeen(sessionId: string, now: number): void {
    if (this.#updating.has(sessionId)) return;
    this.#updating.add(sessionId);
    this.#base.database.write([updateSessionSeen(sessionId, now)])
      .catch(this.#onBackgroundError)
      .finally(() => this.#updating.delete(sessionId));
  }
}
