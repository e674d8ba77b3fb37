// Backups of the data file: one that is asked for, and the schedule of BACKUP_DIR. The work is done in a thread of its own.
import { basename, dirname, join } from "node:path";
import { BackupStopped, moveIntoPlace } from "../db/engine/backup.ts";
import type { BackupRequest, BackupResponse } from "../db/engine/backup_worker.ts";
import { backupAbandonedMs, backupPollIntervalMs, backupRetryMs } from "../domain/limits.ts";
import { sleep } from "./sleep.ts";

/** Where backups are made. Holds no thread until it is started, or once a fault has ended it. */
export interface BackupThread {
  worker: Worker | undefined;
}

/** Starts the thread. Deno ends the whole program when no file descriptor is free for a new one. */
export function startBackupThread(thread: BackupThread): Worker {
  const url = new URL("../db/engine/backup_worker.ts", import.meta.url);
  return thread.worker ??= new Worker(url, { type: "module" });
}

/**
 * Writes a checked copy of the data file, also while a server uses it. An existing file is replaced once the new one is
 * complete.
 *
 * @param path The data file.
 * @param options `file`: the backup. `signal`: stops it; what was written so far is removed. `thread`: for more
 *   than one backup, one after the other; the caller ends it. By default one for this backup alone.
 * @returns Its size in bytes.
 * @throws {BackupStopped}
 * @throws {Error} When it could not be made; nothing is left of it.
 */
export async function makeBackup(
  path: string,
  { file, signal, thread }: { file: string; signal: AbortSignal; thread?: BackupThread },
): Promise<number> {
  const own: BackupThread = { worker: undefined };
  const aside = join(dirname(file), `${basename(file)}.${crypto.randomUUID().slice(0, 8)}.part`);
  try {
    const bytes = await inThread(path, { aside, signal, thread: thread ?? own });
    moveIntoPlace(aside, file);
    return bytes;
  } catch (error) {
    await Deno.remove(aside).catch(() => {});
    throw error;
  } finally {
    own.worker?.terminate();
  }
}

function inThread(
  path: string,
  { aside, signal, thread }: { aside: string; signal: AbortSignal; thread: BackupThread },
): Promise<number> {
  const worker = startBackupThread(thread);
  const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const stopped = () => reject(new BackupStopped("the backup was stopped"));
  let isCopied = false;
  const onAbort = () => {
    // While it copies, the thread itself must let go of the data file; checking the copy can end at any moment.
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
    thread.worker = undefined;
    reject(new Error(event.message));
  };
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  worker.postMessage({ path, aside, stop } satisfies BackupRequest);
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}

/** When to back up, and what to keep. */
export interface BackupPlan {
  readonly folder: string;
  readonly everyHours: number;
  /** The newest so many are kept. */
  readonly keep: number;
}

/** What the schedule tells the metrics. */
export interface BackupState {
  /** Of the newest backup in the folder, in milliseconds since 1970; null when there is none. */
  readonly lastAt: number | null;
  /** Since the program started. */
  readonly failures: number;
}

/** Where the schedule tells what happens. */
export interface BackupLog {
  info(message: string, values: Record<string, unknown>): void;
  error(message: string, values: Record<string, unknown>): void;
}

const nameForm = /^gatehouse-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/;
const asideForm = /^gatehouse-\d{8}T\d{6}Z\.db\.[0-9a-f]{8}\.part$/;

/** Makes backups when they are due. The names of the files are its only memory, so a restart changes nothing. */
export class BackupSchedule {
  readonly #path: string;
  readonly #plan: BackupPlan;
  readonly #clock: () => number;
  readonly #log: BackupLog;
  #lastAt: number | null = null;
  #failures = 0;

  /** @param options `path`: the data file. `clock`: milliseconds since 1970. */
  constructor(options: { path: string; plan: BackupPlan; clock: () => number; log: BackupLog }) {
    this.#path = options.path;
    this.#plan = options.plan;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** See {@linkcode BackupState}. */
  get state(): BackupState {
    return { lastAt: this.#lastAt, failures: this.#failures };
  }

  /** @throws {Error} When the folder is missing or cannot be written to. */
  async checkFolder(): Promise<void> {
    await Deno.remove(
      await Deno.makeTempFile({ dir: this.#plan.folder, prefix: "gatehouse-", suffix: ".probe" }),
    );
    this.#lastAt = (await this.#files()).at(-1)?.at ?? null;
  }

  /** Runs until the signal; a backup that is under way then is given up. */
  async run(signal: AbortSignal): Promise<void> {
    // Before the first client: none can take the file descriptors that a new thread needs.
    const thread: BackupThread = { worker: undefined };
    startBackupThread(thread);
    while (!signal.aborted) {
      const isFine = await this.#backUpIfDue({ signal, thread });
      await sleep(isFine ? backupPollIntervalMs : backupRetryMs, signal);
    }
    thread.worker?.terminate();
  }

  /** @returns False after a failure. */
  async #backUpIfDue(options: { signal: AbortSignal; thread: BackupThread }): Promise<boolean> {
    try {
      const files = await this.#files();
      this.#lastAt = files.at(-1)?.at ?? null;
      const now = this.#clock();
      // After the clock was set back the newest is of a time to come: that counts as now.
      const sinceLastMs = this.#lastAt === null ? Infinity : now - Math.min(this.#lastAt, now);
      if (sinceLastMs < this.#plan.everyHours * 3_600_000) return true;
      const file = join(this.#plan.folder, nameAt(now));
      const bytes = await makeBackup(this.#path, { file, ...options });
      this.#lastAt = now;
      this.#log.info("backup written", { file, bytes, ms: this.#clock() - now });
      await this.#prune();
      return true;
    } catch (error) {
      if (error instanceof BackupStopped) return true;
      this.#failures++;
      this.#log.error("the backup failed; it is tried again", { folder: this.#plan.folder, error });
      return false;
    }
  }

  /** @returns The schedule's own files, the newest last. */
  async #files(): Promise<{ name: string; at: number }[]> {
    const found: { name: string; at: number }[] = [];
    for await (const { name, isFile } of Deno.readDir(this.#plan.folder)) {
      const [match, year, month, day, ...time] = nameForm.exec(name) ?? [];
      if (isFile && match !== undefined) {
        found.push({ name, at: Date.parse(`${year}-${month}-${day}T${time.join(":")}Z`) });
      }
    }
    return found.filter(({ at }) => !Number.isNaN(at)).sort((one, other) => one.at - other.at);
  }

  /** Removes older backups, and what a crash left of one. */
  async #prune(): Promise<void> {
    const files = await this.#files();
    for (const { name } of files.slice(0, -this.#plan.keep)) await Deno.remove(join(this.#plan.folder, name));
    for await (const { name } of Deno.readDir(this.#plan.folder)) {
      if (!asideForm.test(name)) continue;
      const file = join(this.#plan.folder, name);
      const changedAt = (await Deno.stat(file)).mtime?.getTime() ?? 0;
      if (Date.now() - changedAt > backupAbandonedMs) await Deno.remove(file);
    }
  }
}

/** Such as `gatehouse-20261122T054300Z.db`: names sort by time. */
function nameAt(ms: number): string {
  return `gatehouse-${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z.db`;
}
