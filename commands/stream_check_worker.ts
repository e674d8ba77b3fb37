// A thread that checks a restored database: either the file, or sums that are stored more than once.
import { compareStatements } from "../db/billing/mod.ts";
import { checkPages, readMigrations } from "../db/engine/backup.ts";
import { DatabaseError } from "../db/engine/database.ts";
import { lacksMigrations } from "../db/engine/migrate.ts";
import { openReader } from "../db/engine/open.ts";
import type { CheckedFile } from "../db/engine/stream/restore_stream.ts";
import { compareCounters, compareRecords, compareRollups } from "../db/meter/mod.ts";
import { messageOf } from "../domain/errors.ts";

export interface CheckRequest {
  readonly path: string;
  readonly part: "file" | "sums";
}

/** `share`: how much is done, up to 1; null if it isn't known. `found`: null if the file is intact. */
export type CheckResponse =
  | { readonly type: "progress"; readonly about: string; readonly share: number | null }
  | { readonly type: "checked"; readonly found: CheckedFile | null }
  | { readonly type: "failed"; readonly message: string; readonly isData: boolean };

interface WorkerScope {
  onmessage: ((event: MessageEvent<CheckRequest>) => void) | null;
  postMessage(response: CheckResponse): void;
}

const sumsOfUsage = [["Comparing records", compareRecords], ["Comparing sums", compareRollups]] as const;
/** Not in a database with an older schema. */
const sumsOfOthers = [
  ["Comparing limits", compareCounters],
  ["Comparing statements", compareStatements],
] as const;

async function check({ path, part }: CheckRequest, scope: WorkerScope): Promise<CheckResponse> {
  try {
    if (part === "sums") return { type: "checked", found: await compareSums(path, scope) };
    scope.postMessage({ type: "progress", about: "Checking the file", share: null });
    checkPages(path);
    return { type: "checked", found: null };
  } catch (error) {
    const isData = !(error instanceof DatabaseError) || error.kind === "fault";
    return { type: "failed", message: messageOf(error), isData };
  }
}

async function compareSums(path: string, scope: WorkerScope): Promise<CheckedFile> {
  const isOlder = lacksMigrations(readMigrations(path));
  const database = await openReader({ kind: "file", path });
  for (const [about, compare] of isOlder ? sumsOfUsage : [...sumsOfUsage, ...sumsOfOthers]) {
    const problem = await compare(
      database,
      (share) => scope.postMessage({ type: "progress", about, share }),
    );
    if (problem !== null) return { isOlder, problem };
  }
  await database.close();
  return { isOlder, problem: null };
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const scope = globalThis as unknown as WorkerScope;
  scope.onmessage = async ({ data }) => scope.postMessage(await check(data, scope));
}
