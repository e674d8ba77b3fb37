// The thread that checks a restored database: the file first, then sums that are stored more than once.
import { compareStatements } from "../db/billing/mod.ts";
import { checkBackup } from "../db/engine/backup.ts";
import { DatabaseError } from "../db/engine/database.ts";
import { lacksMigrations } from "../db/engine/migrate.ts";
import { openReader } from "../db/engine/open.ts";
import { compareCounters, compareRecords, compareRollups } from "../db/meter/mod.ts";
import { messageOf } from "../domain/errors.ts";

/** `share`: how much is done, up to 1; null if it isn't known. */
export type CheckResponse =
  | { readonly type: "progress"; readonly about: string; readonly share: number | null }
  | { readonly type: "checked"; readonly isOlder: boolean; readonly problem: string | null }
  | { readonly type: "failed"; readonly message: string; readonly isData: boolean };

interface WorkerScope {
  onmessage: ((event: MessageEvent<string>) => void) | null;
  postMessage(response: CheckResponse): void;
}

const sumsOfUsage = [["Comparing records", compareRecords], ["Comparing sums", compareRollups]] as const;
/** Not in a database with an older schema. */
const sumsOfOthers = [
  ["Comparing limits", compareCounters],
  ["Comparing statements", compareStatements],
] as const;

async function check(path: string, scope: WorkerScope): Promise<CheckResponse> {
  try {
    scope.postMessage({ type: "progress", about: "Checking the file", share: null });
    const isOlder = lacksMigrations(checkBackup(path));
    const database = await openReader({ kind: "file", path });
    for (const [about, compare] of isOlder ? sumsOfUsage : [...sumsOfUsage, ...sumsOfOthers]) {
      const problem = await compare(
        database,
        (share) => scope.postMessage({ type: "progress", about, share }),
      );
      if (problem !== null) return { type: "checked", isOlder, problem };
    }
    await database.close();
    return { type: "checked", isOlder, problem: null };
  } catch (error) {
    const isData = !(error instanceof DatabaseError) || error.kind === "fault";
    return { type: "failed", message: messageOf(error), isData };
  }
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const scope = globalThis as unknown as WorkerScope;
  scope.onmessage = async ({ data }) => scope.postMessage(await check(data, scope));
}
