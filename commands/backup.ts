// `gatehouse backup FILE`: a consistent copy of the data file, also while a server is running. `gatehouse restore FILE`: puts
// one back, while none is.
import { basename, dirname, join, resolve } from "node:path";
import type { Config } from "../config.ts";
import { BackupStopped } from "../db/engine/backup.ts";
import { DatabaseError } from "../db/engine/database.ts";
import { lockDataFile, requireDataFile } from "../db/engine/embedded.ts";
import { MigrationError } from "../db/engine/migrate.ts";
import { restoreDataFile } from "../db/engine/restore.ts";
import { makeBackup } from "../services/backups.ts";
import {
  type CommandLine,
  exitBusy,
  exitConfig,
  exitData,
  exitInput,
  exitIo,
  exitUsage,
  readSettings,
  Refusal,
} from "./settings.ts";
import { writeLine } from "./terminal.ts";

/** @param line See {@linkcode CommandLine}; arguments after `gatehouse backup`. @returns The exit status. */
export function backupCommand(line: CommandLine): Promise<number> {
  return run("backup", line, async (path, file) => {
    try {
      requireDataFile(path);
    } catch (error) {
      throw new Refusal(`${resolve(path)}: ${messageOf(error)}`, exitConfig);
    }
    writeLine(`Database: ${resolve(path)}`, "stderr");
    if (file === "-") return await backUpToOutput(path);
    for (const end of ["", "-wal", "-shm", ".lock"]) {
      if (await isSameFile(`${path}${end}`, file)) {
        throw new Refusal(`${file} is the database itself`, exitUsage);
      }
    }
    const bytes = await backUp(path, file);
    writeLine(`Wrote ${resolve(file)} (${megabytes(bytes)}).`);
  });
}

/** A slow reader of the output must not keep the database's log from being reused: hence a file in between. */
async function backUpToOutput(path: string): Promise<void> {
  if (Deno.stdout.isTerminal()) throw new Refusal("standard output is a terminal", exitUsage);
  const aside = join(dirname(path), `${basename(path)}.${crypto.randomUUID().slice(0, 8)}.output`);
  try {
    await backUp(path, aside);
    const file = await Deno.open(aside, { read: true });
    await file.readable.pipeTo(Deno.stdout.writable, { preventClose: true });
  } finally {
    await Deno.remove(aside).catch(() => {});
  }
}

async function backUp(path: string, file: string): Promise<number> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, stop);
  try {
    return await makeBackup(path, { file, signal: stopping.signal });
  } catch (error) {
    throw new Refusal(messageOf(error), error instanceof BackupStopped ? exitBusy : exitIo);
  } finally {
    for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.removeSignalListener(signal, stop);
  }
}

/** @param line See {@linkcode CommandLine}; arguments after `gatehouse restore`. @returns The exit status. */
export function restoreCommand(line: CommandLine): Promise<number> {
  return run("restore", line, async (path, file, config) => {
    const { database } = config;
    const backup = await openBackup(path, file);
    if (database.kind === "file" && database.createFolder) {
      await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    }
    const unlock = lockDataFile(path);
    if (unlock === null) {
      await backup.cancel();
      throw new Refusal(`a server is running on ${resolve(path)}; stop it first`, exitBusy);
    }
    try {
      const { bytes, former, isOlder } = await restoreDataFile(path, { backup, now: Date.now() });
      writeLine(`Restored ${resolve(path)} (${megabytes(bytes)}).`);
      if (former !== null) writeLine(`The former database is ${resolve(former)}.`);
      if (isOlder) {
        writeLine("It has an older schema: the next start, or gatehouse migrate, brings it up to date.");
      }
    } catch (error) {
      throw restoreRefusal(error, { path, file });
    } finally {
      unlock();
    }
  });
}

async function openBackup(path: string, file: string): Promise<ReadableStream<Uint8Array>> {
  if (file === "-") {
    if (Deno.stdin.isTerminal()) throw new Refusal("standard input is a terminal", exitUsage);
    return Deno.stdin.readable;
  }
  if (await isSameFile(path, file)) throw new Refusal(`${file} is the database itself`, exitUsage);
  const log = await Deno.stat(`${file}-wal`).catch(() => null);
  if (log !== null && log.size > 0) {
    throw new Refusal(
      `${file}-wal belongs to ${file}, so that is not a finished backup but a copy of a database in use; ` +
        "make one with gatehouse backup",
      exitData,
    );
  }
  try {
    return (await Deno.open(file, { read: true })).readable;
  } catch (error) {
    throw new Refusal(`cannot read ${file}: ${messageOf(error)}`, exitInput);
  }
}

function restoreRefusal(error: unknown, { path, file }: { path: string; file: string }): Refusal {
  const name = file === "-" ? "standard input" : file;
  if (error instanceof MigrationError) return new Refusal(`${name}: ${error.message}`, exitData);
  if (!(error instanceof DatabaseError)) return new Refusal(messageOf(error), exitIo);
  return error.kind === "unavailable"
    ? new Refusal(`${resolve(path)}: ${error.message}`, exitBusy)
    : new Refusal(`${name} is not a usable backup: ${error.message}`, exitData);
}

async function run(
  command: "backup" | "restore",
  { args, environment }: CommandLine,
  act: (path: string, file: string, config: Config) => Promise<void>,
): Promise<number> {
  try {
    const [file, ...rest] = args;
    if (file === undefined || file === "" || rest.length > 0 || /^-./.test(file)) {
      throw new Refusal(
        `give one file, or - for standard ${command === "backup" ? "output" : "input"}`,
        exitUsage,
      );
    }
    const config = readSettings(environment);
    if (config === null) return exitConfig;
    if (config.database.kind === "remote") {
      throw new Refusal("DATABASE_URL names a libSQL server, which has backups of its own", exitConfig);
    }
    await act(config.database.path, file, config);
    return 0;
  } catch (error) {
    const status = error instanceof Refusal ? error.status : exitIo;
    writeLine(`gatehouse ${command}: ${messageOf(error).replaceAll(/\s+/g, " ")}`, "stderr");
    return status;
  }
}

async function isSameFile(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([one, other].map((file) => Deno.stat(file).catch(() => null)));
  return first !== null && first !== undefined && second !== null && second !== undefined &&
    first.ino !== null &&
    first.ino === second.ino && first.dev === second.dev;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
