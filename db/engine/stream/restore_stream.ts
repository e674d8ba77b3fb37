// Restores a continuous backup to a new file, and checks all of it.
import { checkBackup, finishCopy, syncFolder } from "../backup.ts";
import { Connection } from "../connection.ts";
import { openTemporary, removeIfExists } from "../data_file.ts";
import { DatabaseError, sql } from "../database.ts";
import { lacksMigrations } from "../migrate.ts";
import { dirname } from "node:path";
import type { EncryptionKeys } from "./envelope.ts";
import { replay, type ReplayPlan } from "./replay.ts";
import type { Target } from "./target.ts";

interface RestoreOptions {
  readonly target: Target;
  readonly keys: EncryptionKeys;
  /** Ends everything that people and applications are signed in with: what was ended since works again otherwise. */
  readonly endsSessions: boolean;
  readonly onProgress: (done: number, all: number) => void;
}

/**
 * Writes the database of a point to a new file.
 *
 * @returns Its size in bytes, and true if it lacks migrations.
 * @throws {DatabaseError} `fault` when the result is damaged.
 * @throws {MigrationError} When it is newer than this program.
 */
export async function restoreStream(
  plan: ReplayPlan,
  to: string,
  { endsSessions, ...options }: RestoreOptions,
): Promise<{ bytes: number; isOlder: boolean }> {
  const temporary = `${to}.restoring`;
  const all = ["", "-wal", "-shm", "-journal"].map((end) => `${temporary}${end}`);
  all.forEach(removeIfExists);
  try {
    let bytes = 0;
    {
      using file = openTemporary(temporary);
      await replay(plan, { ...options, file });
      bytes = finishCopy(file);
    }
    const isOlder = lacksMigrations(checkBackup(temporary));
    requireOwnSums(temporary);
    if (endsSessions) {
      endSessions(temporary);
      using file = Deno.openSync(temporary, { read: true, write: true });
      finishCopy(file);
    }
    placeNew(temporary, to);
    syncFolder(dirname(to));
    return { bytes, isOlder };
  } finally {
    all.forEach(removeIfExists);
  }
}

/** Gives a file its name, and never replaces another. */
function placeNew(temporary: string, to: string): void {
  try {
    Deno.linkSync(temporary, to);
    removeIfExists(temporary);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) throw error;
    // The file system has no links. The caller has looked for a file before.
    Deno.renameSync(temporary, to);
  }
}

/** Compares how many records each series has by quarters of an hour, hours and months, and in the records that are kept. */
function requireOwnSums(path: string): void {
  const connection = new Connection(path, { readOnly: true });
  try {
    const wrong = connection.first(sql`WITH
      quarters AS (SELECT series, sum(count) AS count FROM usage_rollups GROUP BY series),
      hours AS (SELECT series, sum(count) AS count FROM usage_rollups_hourly GROUP BY series),
      months AS (SELECT series, sum(count) AS count FROM usage_rollups_monthly GROUP BY series),
      records AS (SELECT r.series, count(*) AS count FROM usage_records r
        WHERE NOT EXISTS (SELECT 1 FROM usage_voids v WHERE v.seq = r.seq) GROUP BY r.series)
      SELECT series FROM quarters FULL JOIN hours USING (series) FULL JOIN months USING (series) FULL JOIN records USING (series)
      WHERE quarters.count IS NOT hours.count OR quarters.count IS NOT months.count OR records.count > quarters.count
        OR (records.count IS NOT NULL AND quarters.count IS NULL) LIMIT 1`) as { series: number } | undefined;
    if (wrong !== undefined) {
      throw new DatabaseError("fault", `the sums of series ${wrong.series} are not those of its records`);
    }
  } finally {
    connection.close();
  }
}

function endSessions(path: string): void {
  const connection = new Connection(path, { readOnly: false });
  try {
    connection.exec("BEGIN IMMEDIATE");
    for (
      const table of [
        "sessions",
        "portal_sessions",
        "pending_sign_ins",
        "oauth_codes",
        "oauth_devices",
        "oauth_grants",
      ]
    ) connection.exec(`DELETE FROM ${table}`);
    connection.exec("COMMIT");
    connection.checkpoint({ busyTimeoutMs: 0 });
  } finally {
    connection.close();
  }
}
