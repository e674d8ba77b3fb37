// The thread that writes backups, so that neither requests nor the writer wait for them.
import { messageOf } from "../../domain/errors.ts";
import { BackupStopped, checkBackup, copyDataFile } from "./backup.ts";

export interface BackupRequest {
  readonly path: string;
  /** The temporary file to write; the caller renames or removes it. */
  readonly temporary: string;
  /** One number; not 0 once the copying must stop. */
  readonly stop: Int32Array;
}

/** `copied`: the data file is no longer in use; `checked` or `failed` follows. */
export type BackupResponse =
  | { readonly type: "copied" }
  | { readonly type: "stopped" }
  | { readonly type: "checked"; readonly bytes: number }
  | { readonly type: "failed"; readonly message: string };

interface WorkerScope {
  onmessage: ((event: MessageEvent<BackupRequest>) => void) | null;
  postMessage(response: BackupResponse): void;
}

async function backUp(
  { path, temporary, stop }: BackupRequest,
  scope: WorkerScope,
): Promise<BackupResponse> {
  try {
    const bytes = await copyDataFile(path, { to: temporary, isStopped: () => Atomics.load(stop, 0) !== 0 });
    scope.postMessage({ type: "copied" });
    checkBackup(temporary);
    return { type: "checked", bytes };
  } catch (error) {
    if (error instanceof BackupStopped) return { type: "stopped" };
    return { type: "failed", message: messageOf(error) };
  }
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const scope = globalThis as unknown as WorkerScope;
  scope.onmessage = async ({ data }) => scope.postMessage(await backUp(data, scope));
}
