// Restores a continuous backup to a new file, and checks all of it.
import { finishCopy, syncFolder } from "../backup.ts";
import { Connection } from "../connection.ts";
import { openTemporary, removeIfExists } from "../data_file.ts";
import type { Statement } from "../database.ts";
import { dirname } from "node:path";
import type { EncryptionKeys } from "./envelope.ts";
import { replay, type ReplayPlan } from "./replay.ts";
import type { Target } from "./target.ts";

interface RestoreOptions {
  readonly target: Target;
  readonly keys: EncryptionKeys;
  /** Applied to the file once it is checked. */
  readonly changes: readonly Statement[];
  readonly onProgress: (done: number, all: number) => void;
  /** Checks the file before it gets its name. */
  readonly check: (path: string) => Promise<CheckedFile>;
}

export interface CheckedFile {
  /** True if it lacks migrations. */
  readonly isOlder: boolean;
  /** Names what doesn't add up in an intact file; null if everything does. */
  readonly problem: string | null;
}

/**
 * Writes the database of a point to a new file.
 *
 * @returns Its size in bytes, and what the check found. The only copy of a server is worth keeping even if its sums don't match.
 */
export async function restoreStream(
  plan: ReplayPlan,
  to: string,
  { changes, check, ...options }: RestoreOptions,
): Promise<CheckedFile & { bytes: number }> {
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
    const checked = await check(temporary);
    if (changes.length > 0) {
      apply(changes, temporary);
      using file = Deno.openSync(temporary, { read: true, write: true });
      finishCopy(file);
    }
    placeNew(temporary, to);
    syncFolder(dirname(to));
    return { bytes, ...checked };
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

function apply(changes: readonly Statement[], path: string): void {
  const connection = new Connection(path, { readOnly: false });
  try {
    connection.exec("BEGIN IMMEDIATE");
    for (const change of changes) connection.run(change);
    connection.exec("COMMIT");
    connection.checkpoint({ busyTimeoutMs: 0 });
  } finally {
    connection.close();
  }
}
