// `gatehouse restore --from URL` restores a continuous backup; `gatehouse backup status|verify URL` looks at one.
import { join } from "node:path";
import { parseStreamTarget } from "../domain/stream_settings.ts";
import { DatabaseError } from "../db/engine/database.ts";
import { lockDataFile, missingFolder } from "../db/engine/data_file.ts";
import { MigrationError } from "../db/engine/migrate.ts";
import { DamagedObject } from "../db/engine/stream/envelope.ts";
import { NoSuchPoint, planReplay, type WantedPoint } from "../db/engine/stream/replay.ts";
import { type CheckedFile, restoreStream } from "../db/engine/stream/restore_stream.ts";
import { listManifests, listSegments } from "../db/engine/stream/snapshots.ts";
import { openTarget, type Target } from "../db/engine/stream/target.ts";
import { endAllSessions } from "../db/oauth/mod.ts";
import { messageOf } from "../domain/errors.ts";
import { type OnStep, withSteps } from "./progress.ts";
import {
  CommandError,
  type CommandLine,
  exitStatus,
  SettingsError,
  usageError,
  withSecretFiles,
} from "./settings.ts";
import type { CheckRequest, CheckResponse } from "./stream_check_worker.ts";
import { writeLine } from "./terminal.ts";
import { parseVerbArguments } from "./verb_arguments.ts";

const restoreForms = {
  restore: { subject: "new file", options: { from: "text", at: "text", "keep-sessions": "flag" } },
} as const;
const backupForms = {
  status: { subject: "folder or s3:// URL", options: {} },
  verify: { subject: "folder or s3:// URL", options: {} },
} as const;

/** True if the arguments after `gatehouse restore` are for a continuous backup. */
export function isStreamRestore(args: readonly string[]): boolean {
  return args.some((arg) => /^--(from|at)(=|$)/.test(arg));
}

export function isStreamBackup([verb = "", ...rest]: readonly string[]): boolean {
  return Object.hasOwn(backupForms, verb) && rest.length > 0;
}

export async function restoreStreamCommand({ args, environment }: CommandLine): Promise<number> {
  const parsed = parseVerbArguments("gatehouse", restoreForms, ["restore", ...args]);
  if (parsed === "help") throw usageError("Try gatehouse --help.");
  const { subject: file, texts, flags } = parsed.given;
  const from = texts.get("from");
  if (from === undefined) throw usageError("--at requires --from.");
  const at = texts.get("at");
  const wanted = at === undefined ? null : wantedPoint(at);
  const endsSessions = wanted !== null && !flags.has("keep-sessions");
  const { target, keys } = openNamed(from, environment);
  const folder = missingFolder(join(file, ".."));
  if (folder !== null) throw new CommandError(folder, exitStatus.io);
  // Also a server that is running without its file keeps others from it.
  const unlock = lockDataFile(file);
  if (unlock === null) throw new CommandError(`a server is running on ${file}`, exitStatus.busy);
  try {
    for (const end of ["", "-wal"]) {
      if (await Deno.lstat(`${file}${end}`).then(() => true, () => false)) {
        throw new CommandError(
          `${file}${end} exists; move it away, or restore to another file`,
          exitStatus.io,
        );
      }
    }
    const { point, bytes, isOlder, problem } = await restoreTo(file, { target, keys, wanted, endsSessions });
    const ended = new Date(point.endedAt).toISOString();
    writeLine(`Restored ${file} (${megabytes(bytes)}) to segment ${point.number}, which ended at ${ended}.`);
    if (endsSessions) {
      writeLine(
        "All sessions, portal sessions and grants have ended. Keys revoked since then work again: revoke them again.",
      );
    }
    if (isOlder) writeLine("The backup has an older schema. The next start or gatehouse migrate updates it.");
    if (problem !== null) throw new CommandError(`The file is intact, but ${problem}.`, exitStatus.data);
    return 0;
  } finally {
    unlock();
  }
}

export async function streamBackupCommand({ args, environment }: CommandLine): Promise<number> {
  const parsed = parseVerbArguments("gatehouse backup", backupForms, args);
  if (parsed === "help") throw usageError("Try gatehouse --help.");
  const opened = openNamed(parsed.given.subject, environment);
  return parsed.form === backupForms.status ? await showStatus(opened) : await verify(opened);
}

async function showStatus({ target, keys }: Opened): Promise<number> {
  return await withFailures(async () => {
    const manifests = await listManifests(target);
    const newest = await planReplay(target, keys, null);
    const { endedAt, number } = newest.point;
    const seconds = Math.max(0, Math.round((Date.now() - endedAt) / 1000));
    writeLine(
      `Newest point: segment ${number}, ended at ${new Date(endedAt).toISOString()}, ${seconds} seconds ago.`,
    );
    writeLine(
      "With a server that runs, only what was committed since is missing. An idle server writes no segments.",
    );
    const chains = new Set(manifests.map(({ chain }) => chain));
    writeLine(
      `Complete snapshots: ${manifests.length}, in ${chains.size} uninterrupted ${
        chains.size === 1 ? "copy" : "copies"
      }.`,
    );
    const [oldest] = manifests;
    if (oldest !== undefined) {
      writeLine(`Oldest point: segment ${oldest.number}, about ${new Date(oldest.endedAt).toISOString()}.`);
    }
    const segments = await listSegments(target);
    const back = segments.find(({ endedAt: at }, n) => at < (segments[n - 1]?.endedAt ?? 0));
    if (back !== undefined) {
      writeLine(
        `The clock was set back before segment ${back.number}: use its number with --at around that time.`,
      );
    }
    return 0;
  });
}

/** Restores the newest point to a temporary file, and removes that. */
async function verify({ target, keys }: Opened): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-verify-" });
  try {
    const file = join(folder, "verified.db");
    const { point, bytes, problem } = await restoreTo(file, {
      ...{ target, keys, wanted: null, endsSessions: false },
    });
    if (problem !== null) {
      throw new CommandError(`Segment ${point.number} can be restored, but ${problem}.`, exitStatus.data);
    }
    writeLine(`Segment ${point.number} can be restored (${megabytes(bytes)}).`);
    return 0;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function restoreTo(
  file: string,
  { target, keys, wanted, endsSessions }: Opened & { wanted: WantedPoint; endsSessions: boolean },
) {
  return await withFailures(() =>
    withSteps(async (onStep) => {
      const plan = await planReplay(target, keys, wanted);
      const onProgress = (done: number, all: number) => onStep("Restoring", done / all);
      const check = (path: string) => checkInThreads(path, onStep);
      // What was ended since would work again.
      const changes = endsSessions ? endAllSessions : [];
      const restored = await restoreStream(plan, file, { target, keys, changes, onProgress, check });
      return { ...restored, point: plan.point };
    })
  );
}

/** Checks the file and the sums of a restored database at the same time, while this thread shows the progress. */
async function checkInThreads(path: string, onStep: OnStep): Promise<CheckedFile> {
  const file = startCheck({ path, part: "file" }, onStep);
  let sums: Check | undefined;
  try {
    // Threads that load modules at the same time can hang.
    await Promise.race([file.started, file.found]);
    sums = startCheck({ path, part: "sums" }, onStep);
    sums.found.then(() => onStep("Checking the file", null), () => {});
    // If the file is damaged, what its sums say means nothing.
    await file.found;
    return await sums.found as CheckedFile;
  } finally {
    file.worker.terminate();
    sums?.worker.terminate();
  }
}

interface Check {
  readonly worker: Worker;
  /** Resolves when it has loaded its modules. */
  readonly started: Promise<void>;
  readonly found: Promise<CheckedFile | null>;
}

function startCheck(request: CheckRequest, onStep: OnStep): Check {
  const worker = new Worker(new URL("../commands/stream_check_worker.ts", import.meta.url), {
    type: "module",
  });
  const started = Promise.withResolvers<void>();
  const found = Promise.withResolvers<CheckedFile | null>();
  worker.onmessage = ({ data }: MessageEvent<CheckResponse>) => {
    started.resolve();
    if (data.type === "progress") onStep(data.about, data.share);
    else if (data.type === "checked") found.resolve(data.found);
    else found.reject(new CommandError(data.message, data.isData ? exitStatus.data : exitStatus.io));
  };
  worker.onerror = (event) => {
    event.preventDefault();
    found.reject(new Error(event.message));
  };
  worker.postMessage(request);
  return { worker, started: started.promise, found: found.promise };
}

interface Opened {
  readonly target: Target;
  readonly keys: readonly Uint8Array[];
}

function openNamed(to: string, environment: CommandLine["environment"]): Opened {
  const { settings, faults } = withSecretFiles(environment);
  const found = parseStreamTarget(to, settings);
  const problems = [...faults, ..."faults" in found ? found.faults : []];
  if ("faults" in found || problems.length > 0) throw new SettingsError(problems.join("\n"));
  if (found.target.kind === "folder") {
    const problem = missingFolder(found.target.folder);
    if (problem !== null) throw new CommandError(problem, exitStatus.input);
  }
  return { target: openTarget(found.target), keys: found.keys };
}

function wantedPoint(text: string): WantedPoint {
  if (/^\d{1,12}$/.test(text)) return { number: Number(text) };
  const time = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) throw usageError("--at requires a time such as 2026-11-29T14:30:00Z, or a number.");
  return { time };
}

async function withFailures<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const isData = [DamagedObject, NoSuchPoint, MigrationError].some((kind) => error instanceof kind) ||
      (error instanceof DatabaseError && error.kind === "fault");
    throw new CommandError(messageOf(error), isData ? exitStatus.data : exitStatus.io);
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
