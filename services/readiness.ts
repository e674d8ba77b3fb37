// Finds out whether the program can do its work now, for health checks.
import type { Database } from "../db/engine/database.ts";
import { checkWritable, ping } from "../db/engine/diagnostics.ts";
import type { WriteProblem } from "../db/engine/write_state.ts";
import { readinessRecoveryWrites, readinessWaitMs, readinessWriteAgeMaxMs } from "../domain/check_limits.ts";
import type { BaseContext } from "./base_context.ts";
import { settlesWithin } from "./sleep.ts";

/** `write_delayed`: a write has been waiting for longer than a health check does. */
export const unreadyReasons = [
  "starting",
  "stopping",
  "database_unavailable",
  "disk_full",
  "database_locked",
  "write_failed",
  "write_delayed",
] as const;

export type UnreadyReason = typeof unreadyReasons[number];

/** Checks whether the database can be read and written. Each thread has its own. */
export class DatabaseReadiness {
  readonly #database: Database;
  readonly #clock: () => number;
  #writing: Promise<WriteProblem | null> | undefined;

  constructor({ database, clock }: Pick<BaseContext, "database" | "clock">) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Returns null if the database can be read and written. Writes only if the last write failed or was long ago: while others
   * write, a check costs nothing. Concurrent checks share their writes.
   *
   * @param options `mayWrite`: false to return how the last write ended instead.
   */
  async unreadyReason({ mayWrite = true } = {}): Promise<UnreadyReason | null> {
    if (!await ping(this.#database).then(() => true, () => false)) return "database_unavailable";
    const { problem = null, succeededAt = 0 } = this.#database.lastWrite ?? {};
    if (!mayWrite) return problem;
    const ageMs = this.#clock() - succeededAt;
    // A time in the future is from before the clock was set back. The first of several writes may have succeeded just now.
    const isFresh = problem === null && this.#writing === undefined && ageMs >= 0 &&
      ageMs < readinessWriteAgeMaxMs;
    if (isFresh) return null;
    const count = problem === null ? 1 : readinessRecoveryWrites;
    const writing = this.#writing ??= this.#write(count).finally(() => this.#writing = undefined);
    return await settlesWithin(readinessWaitMs, writing) ? await writing : problem ?? "write_delayed";
  }

  async #write(count: number): Promise<WriteProblem | null> {
    try {
      for (let n = 0; n < count; n++) await checkWritable(this.#database);
      return null;
    } catch {
      return this.#database.lastWrite?.problem ?? "write_failed";
    }
  }
}
