// Finds the people behind a request from the session tokens in its cookies.
import { findSessions, type FoundSession, updateSessionSeen } from "../../db/access/sessions.ts";
import { sessionSeenIntervalMs, sessionTokensPerReadMax } from "../../domain/limits.ts";
import type { Session } from "../../domain/access/session.ts";
import type { BaseContext } from "../base_context.ts";
import { GatheredReads } from "../gathered_reads.ts";
import { sessionBounds, sessionMaxMs, wellFormedHash } from "./session_tokens.ts";

export interface FoundTokens {
  readonly session: Session | null;
  /** True if the valid tokens belong to different users, so that none is accepted. */
  readonly conflict: boolean;
  /** The tokens that belong to live sessions of anyone. */
  readonly known: readonly string[];
  /** The token of the session, and its latest possible end in milliseconds since 1970. */
  readonly accepted?: { readonly token: string; readonly expiresAt: number };
}

/** Finds sessions, and records when they were last used. */
export class SessionSearch {
  readonly #base: BaseContext;
  readonly #onBackgroundError: (error: unknown) => void;
  /** By the hash of their token. */
  readonly #reads: GatheredReads<string, ReadonlyMap<string, FoundSession>>;
  /** Sessions whose last use is being written: one of many concurrent requests does it. */
  readonly #updating = new Set<string>();

  constructor(base: BaseContext, parts: { onBackgroundError: (error: unknown) => void }) {
    this.#base = base;
    this.#onBackgroundError = parts.onBackgroundError;
    this.#reads = new GatheredReads(async (tokenHashes) => {
      const { config, database, clock } = base;
      const found = await findSessions(database, [...new Set(tokenHashes)], sessionBounds(config, clock()));
      return new Map(found.map((session) => [session.tokenHash, session]));
    }, sessionTokensPerReadMax);
  }

  /** Finds the session of the first valid token: stale or planted ones sign no one out. */
  async find(tokens: readonly string[]): Promise<FoundTokens> {
    const { config, clock } = this.#base;
    const hashes = tokens.map(wellFormedHash);
    const live = await this.#reads.find(hashes.filter((hash) => hash !== null));
    const known: string[] = [];
    let first: FoundSession | undefined;
    let conflict = false;
    for (let at = 0; at < tokens.length; at++) {
      const found = live.get(hashes[at] ?? "");
      if (found === undefined) continue;
      known.push(tokens[at] as string);
      first ??= found;
      if (found.session.user.id !== first.session.user.id) conflict = true;
    }
    if (first === undefined || conflict) return { session: null, conflict, known };
    const { session, lastSeenAt, createdAt } = first;
    const token = known[0] as string;
    const now = clock();
    if (now - lastSeenAt >= sessionSeenIntervalMs) this.#updateSeen(session.id, now);
    return {
      session,
      conflict: false,
      known,
      accepted: { token, expiresAt: createdAt + sessionMaxMs(config) },
    };
  }

  #updateSeen(sessionId: string, now: number): void {
    if (this.#updating.has(sessionId)) return;
    this.#updating.add(sessionId);
    this.#base.database.write([updateSessionSeen(sessionId, now)])
      .catch(this.#onBackgroundError)
      .finally(() => this.#updating.delete(sessionId));
  }
}
