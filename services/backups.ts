// Backs up the data file, on request and on the schedule of BACKUP_DIR, in a thread of its own.
import { basename, dirname, join } from "node:path";
import { BackupStopped, moveIntoPlace } from "../db/engine/backup.ts";
import type { BackupRequest, BackupResponse } from "../db/engine/backup_worker.ts";
import { backupAbandonedMs, backupPollIntervalMs, backupRetryMs } from "../domain/limits.ts";
import { requireDescriptorsForThread } from "./file_descriptors.ts";
import { sleep } from "./sleep.ts";

/**
 * Writes a checked copy of the data file at `path`, also while a server uses it, and returns its size in bytes. An existing
 * backup is replaced once the new one is complete. A failed or stopped backup leaves nothing behind.
 *
 * @throws {BackupStopped}
 * @throws {AppError} `unavailable` when too few file descriptors are free for the thread.
 */
export async function makeBackup(
  path: string,
  { file, signal }: { file: string; signal: AbortSignal },
): Promise<number> {
  requireDescriptorsForThread();
  const worker = new Worker(new URL("../db/engine/backup_worker.ts", import.meta.url), { type: "module" });
  const temporary = join(dirname(file), `${basename(file)}.${crypto.randomUUID().slice(0, 8)}.part`);
  try {
    const bytes = await inThread(worker, { path, temporary, signal });
    moveIntoPlace(temporary, file);
    return bytes;
  } catch (error) {
    await Deno.remove(temporary).catch(() => {});
    throw error;
  } finally {
    worker.terminate();
  }
}

function inThread(
  worker: Worker,
  { path, temporary, signal }: { path: string; temporary: string; signal: AbortSignal },
): Promise<number> {
  const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const stopped = () => reject(new BackupStopped("the backup was stopped"));
  let isCopied = false;
  const onAbort = () => {
    // While the thread copies, it must close the data file itself. While it checks the copy, it can stop at any time.
    if (isCopied) stopped();
    else Atomics.store(stop, 0, 1);
  };
  worker.onmessage = ({ data }: MessageEvent<BackupResponse>) => {
    if (data.type === "copied") {
      isCopied = true;
      if (signal.aborted) stopped();
    } else if (data.type === "checked") resolve(data.bytes);
    else if (data.type === "failed") reject(new Error(data.message));
    else stopped();
  };
  worker.onerror = (event) => {
    event.preventDefault();
    reject(new Error(event.message));
  };
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  worker.postMessage({ path, temporary, stop } satisfies BackupRequest);
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}

export interface BackupPlan {
  readonly folder: string;
  readonly everyHours: number;
  readonly keep: number;
}

/** The state of the schedule, for the metrics. `failures`: since the program started. */
export interface BackupState {
  /** The time of the newest backup; null for none. */
  readonly lastAt: number | null;
  readonly failures: number;
}

const nameForm = /^gatehouse-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/;
/** While SQLite writes the file, it keeps a journal next to it. */
const unfinishedForm = /^gatehouse-\d{8}T\d{6}Z\.db\.[0-9a-f]{8}\.part(-journal)?$/;

/** `path`: the data file. */
interface ScheduleOptions {
  readonly path: string;
  readonly plan: BackupPlan;
  readonly clock: () => number;
  readonly log: Record<"info" | "error", (message: string, values: Record<string, unknown>) => void>;
}

/** Makes backups when they are due. Its only state is the names of the files, so that restarts don't matter. */
export class BackupSchedule {
  readonly #options: ScheduleOptions;
  #lastAt: number | null = null;
  #failures = 0;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  get state(): BackupState {
    return { lastAt: this.#lastAt, failures: this.#failures };
  }

  /** @throws {Error} When the folder is missing or not writable. */
  async checkFolder(): Promise<void> {
    const dir = this.#options.plan.folder;
    await Deno.remove(await Deno.makeTempFile({ dir, prefix: "gatehouse-", suffix: ".probe" }));
    this.#lastAt = (await this.#files()).at(-1)?.at ?? null;
  }

  /** Runs until the signal, which also stops a running backup. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isFine = await this.#backUpIfDue(signal);
      await sleep(isFine ? backupPollIntervalMs : backupRetryMs, signal);
    }
  }

  /** Returns false after a failure. */
  async #backUpIfDue(signal: AbortSignal): Promise<boolean> {
    const { path, plan, clock, log } = this.#options;
    try {
      const files = await this.#files();
      this.#lastAt = files.at(-1)?.at ?? null;
      const now = clock();
      if (this.#lastAt !== null && now - this.#lastAt < plan.everyHours * 3_600_000) return true;
      const file = join(plan.folder, nameAt(now));
      const bytes = await makeBackup(path, { file, signal });
      this.#lastAt = now;
      log.info("backup written", { file, bytes, ms: clock() - now });
      await this.#prune();
      return true;
    } catch (error) {
      if (error instanceof BackupStopped) return true;
      this.#failures++;
      log.error("retrying failed backup", { folder: plan.folder, error });
      return false;
    }
  }

  /** Returns the files of the schedule, the newest last, without those of the future, from before a clock was set back. */
  async #files(): Promise<{ name: string; at: number }[]> {
    const now = this.#options.clock();
    const found: { name: string; at: number }[] = [];
    for await (const { name, isFile } of Deno.readDir(this.#options.plan.folder)) {
      const [match, year, month, day, ...time] = nameForm.exec(name) ?? [];
      if (isFile && match !== undefined) {
        found.push({ name, at: Date.parse(`${year}-${month}-${day}T${time.join(":")}Z`) });
      }
    }
    return found.filter(({ at }) => at <= now).sort((one, other) => one.at - other.at);
  }

  /** Removes old backups, and unfinished ones of crashed programs. */
  async #prune(): Promise<void> {
    const { folder, keep } = this.#options.plan;
    for (const { name } of (await this.#files()).slice(0, -keep)) await Deno.remove(join(folder, name));
    for await (const { name } of Deno.readDir(folder)) {
      if (!unfinishedForm.test(name)) continue;
      const file = join(folder, name);
      const changedAt = (await Deno.stat(file)).mtime?.getTime() ?? 0;
      if (Date.now() - changedAt > backupAbandonedMs) await Deno.remove(file);
    }
  }
}

/** Returns a name such as `gatehouse-20261122T054300Z.db`. Names sort by time. */
function nameAt(ms: number): string {
  return `gatehouse-${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z.db`;
}
