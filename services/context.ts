// What every verb may use. Time comes from here, so that tests never sleep.
import type { Config } from "../config.ts";
import type { Database, DatabaseReader, Statement, WriteResult } from "../db/engine/database.ts";
import type { SessionActor } from "../domain/actor.ts";
import type { Permit } from "./organization/membership.ts";

/** The same for the whole life of the program. */
export interface ServiceContext {
  readonly config: Config;
  readonly database: Database;
  /** @returns Milliseconds since 1970. */
  readonly clock: () => number;
}

/**
 * Writes a batch for a session. Nothing is written unless the session is live and, with a permit, the role allows the act.
 *
 * @param by The session, or the {@linkcode Permit} that it has in an organization.
 * @returns One result for each statement, in order.
 * @throws {AppError} `unauthenticated`, `forbidden`, or the permit's error for people who are not members; `unavailable`
 *   when too many batches of the same person are waiting.
 * @throws {DatabaseError}
 */
export type WriteAs = (
  by: SessionActor | Permit,
  batch: readonly Statement[],
) => Promise<readonly WriteResult[]>;

/** For verbs of signed-in people: they can write only as the session that asks for it. */
export interface SessionContext extends Omit<ServiceContext, "database"> {
  readonly database: DatabaseReader;
  readonly writeAs: WriteAs;
}
