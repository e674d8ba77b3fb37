// `gatehouse backup FILE` copies the data file, also while a server is running. `gatehouse restore FILE` puts a backup back
// while none is.
import { basename, dirname, join, resolve } from "node:path";
import type { Config } from "../config.ts";
import { BackupStopped } from "../db/engine/backup.ts";
import { DatabaseError } from "../db/engine/database.ts";
import { createIfMissing, lockDataFile } from "../db/engine/data_file.ts";
import { MigrationError } from "../db/engine/migrate.ts";
import { restoreDataFile } from "../db/engine/restore.ts";
import { messageOf } from "../domain/errors.ts";
import { makeBackup } from "../services/backups.ts";
import { withProgress } from "./progress.ts";
import { CommandError, type CommandLine, exitStatus, readSettings, usageError } from "./settings.ts";
import { writeLine } from "./terminal.ts";

/** `-` stands for standard input or output. */
interface Files {
  readonly path: string;
  readonly file: string;
}

/** @param line With the arguments after `gatehouse backup`. */
export async function backupCommand(line: CommandLine): Promise<number> {
  const stream = await import("./stream.ts");
  if (stream.isStreamBackup(line.args)) return await stream.streamBackupCommand(line);
  return await run(line, "output", async ({ path, file }) => {
    try {
      createIfMissing(path, "nothing");
    } catch (error) {
      throw new CommandError(`${resolve(path)}: ${messageOf(error)}`, exitStatus.config);
    }
    writeLine(`Database: ${resolve(path)}`, "stderr");
    if (file === "-") return await backUpToOutput(path);
    for (const end of ["", "-wal", "-shm", ".lock"]) await requireOtherFile(`${path}${end}`, file);
    const bytes = await backUp(path, file);
    writeLine(`Wrote ${resolve(file)} (${megabytes(bytes)}).`);
  });
}

/** Writes a file first: a slow reader of the output must not keep the database's log from being reused. */
async function backUpToOutput(path: string): Promise<void> {
  if (Deno.stdout.isTerminal()) throw usageError("standard output is a terminal");
  const temporary = join(dirname(path), `${basename(path)}.${crypto.randomUUID().slice(0, 8)}.output`);
  try {
    await backUp(path, temporary);
    const file = await Deno.open(temporary, { read: true });
    await file.readable.pipeTo(Deno.stdout.writable, { preventClose: true });
  } finally {
    await Deno.remove(temporary).catch(() => {});
  }
}

async function backUp(path: string, file: string): Promise<number> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const signals = ["SIGTERM", "SIGINT"] as const;
  for (const signal of signals) Deno.addSignalListener(signal, stop);
  try {
    return await withProgress(
      "Copying and checking the database",
      () => makeBackup(path, { file, signal: stopping.signal }),
    );
  } catch (error) {
    const status = error instanceof BackupStopped ? exitStatus.busy : exitStatus.io;
    throw new CommandError(messageOf(error), status);
  } finally {
    for (const signal of signals) Deno.removeSignalListener(signal, stop);
  }
}

/** @param line With the arguments after `gatehouse restore`. */
export async function restoreCommand(line: CommandLine): Promise<number> {
  const stream = await import("./stream.ts");
  if (stream.isStreamRestore(line.args)) return await stream.restoreStreamCommand(line);
  return await run(line, "input", async (files, { database }) => {
    const { path } = files;
    const backup = await openBackup(files);
    if (database.kind === "file" && database.createFolder) {
      await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    }
    const unlock = lockDataFile(path);
    if (unlock === null) {
      await backup.cancel();
      throw new CommandError(`a server is running on ${resolve(path)}; stop it first`, exitStatus.busy);
    }
    try {
      const { bytes, former, isOlder } = await withProgress(
        "Copying and checking the backup",
        () => restoreDataFile(path, { backup, now: Date.now() }),
      );
      writeLine(`Restored ${resolve(path)} (${megabytes(bytes)}).`);
      if (former !== null) writeLine(`The former database is ${resolve(former)}.`);
      if (isOlder) {
        writeLine("The backup has an older schema. The next start or gatehouse migrate updates it.");
      }
    } catch (error) {
      throw restoreError(error, files);
    } finally {
      unlock();
    }
  });
}

async function openBackup({ path, file }: Files): Promise<ReadableStream<Uint8Array>> {
  if (file === "-") {
    if (Deno.stdin.isTerminal()) throw usageError("standard input is a terminal");
    return Deno.stdin.readable;
  }
  await requireOtherFile(path, file);
  const log = await Deno.stat(`${file}-wal`).catch(() => null);
  if (log !== null && log.size > 0) {
    const message =
      `${file} is a copy of a database in use: ${file}-wal belongs to it. Use gatehouse backup instead`;
    throw new CommandError(message, exitStatus.data);
  }
  try {
    return (await Deno.open(file, { read: true })).readable;
  } catch (error) {
    throw new CommandError(`cannot read ${file}: ${messageOf(error)}`, exitStatus.input);
  }
}

function restoreError(error: unknown, { path, file }: Files): CommandError {
  const name = file === "-" ? "standard input" : file;
  if (error instanceof MigrationError) return new CommandError(`${name}: ${error.message}`, exitStatus.data);
  if (!(error instanceof DatabaseError)) return new CommandError(messageOf(error), exitStatus.io);
  return error.kind === "unavailable"
    ? new CommandError(`${resolve(path)}: ${error.message}`, exitStatus.busy)
    : new CommandError(`${name} is not a usable backup: ${error.message}`, exitStatus.data);
}

async function run(
  { args, environment }: CommandLine,
  standardFile: "output" | "input",
  act: (files: Files, config: Config) => Promise<void>,
): Promise<number> {
  try {
    const [file = "", ...rest] = args;
    if (file === "" || rest.length > 0 || /^-./.test(file)) {
      throw usageError(`expected one file, or - for standard ${standardFile}`);
    }
    const config = readSettings(environment);
    if (config.database.kind === "remote") {
      const problem = "DATABASE_URL is a libSQL server, which makes its own backups";
      throw new CommandError(problem, exitStatus.config);
    }
    await act({ path: config.database.path, file }, config);
    return 0;
  } catch (error) {
    throw error instanceof CommandError ? error : new CommandError(messageOf(error), exitStatus.io);
  }
}

/** @throws {CommandError} When both names are of the same file. */
async function requireOtherFile(path: string, file: string): Promise<void> {
  const [one, other] = await Promise.all([path, file].map((name) => Deno.stat(name).catch(() => null)));
  if (typeof one?.ino === "number" && one.ino === other?.ino && one.dev === other.dev) {
    throw usageError(`${file} is the database itself`);
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
