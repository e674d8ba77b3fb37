// The thread that makes one backup, so that neither requests nor the writer wait for it.
import { filesReleased } from "./connection.ts";
import { BackupStopped, checkBackup, copyDataFile } from "./backup.ts";

/** What the thread is to do. */
export interface BackupRequest {
  readonly path: string;
  /** Written to, and left for the other thread to rename or remove. */
  readonly aside: string;
  /** One number: other than 0 when the copying must stop. */
  readonly stop: Int32Array;
}

/** `copied`: the data file is no longer in use. One of the others follows, or comes alone. */
export type BackupResponse =
  | { readonly type: "copied" }
  | { readonly type: "stopped" }
  | { readonly type: "checked"; readonly bytes: number }
  | { readonly type: "failed"; readonly message: string };

/** The part of a worker's global scope that is used here. */
interface WorkerScope {
  onmessage: ((event: MessageEvent<BackupRequest>) => void) | null;
  postMessage(response: BackupResponse): void;
}

async function makeBackup(
  { path, aside, stop }: BackupRequest,
  scope: WorkerScope,
): Promise<BackupResponse> {
  try {
    const bytes = copyDataFile(path, { to: aside, isStopped: () => Atomics.load(stop, 0) !== 0 });
    await filesReleased();
    scope.postMessage({ type: "copied" });
    checkBackup(aside);
    return { type: "checked", bytes };
  } catch (error) {
    if (error instanceof BackupStopped) return { type: "stopped" };
    return { type: "failed", message: error instanceof Error ? error.message : String(error) };
  } finally {
    await filesReleased();
  }
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const scope = globalThis as unknown as WorkerScope;
  scope.onmessage = async ({ data }) => scope.postMessage(await makeBackup(data, scope));
}
