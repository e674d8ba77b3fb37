// `gatehouse move --to URL`: copies the database to a libSQL server or a file, and compares all rows. A file stays as it was; a libSQL
// server becomes read-only for all programs, until `gatehouse move --cancel`.
import { resolve } from "node:path";
import { type Config, type DatabaseTarget, parseConfig, type Settings } from "../config.ts";
import { Connection } from "../db/engine/connection.ts";
import { createIfMissing, lockDataFile } from "../db/engine/data_file.ts";
import { type Database, DatabaseError, type DatabaseReader, type Statement } from "../db/engine/database.ts";
import { moveDatabase, MoveError } from "../db/engine/move.ts";
import { checkSchema } from "../db/engine/migrate.ts";
import { raiseFence, removeFence } from "../db/engine/move_fence.ts";
import { openDatabase } from "../db/engine/open.ts";
import { groupDigits } from "../domain/number_text.ts";
import { moveRequestTimeoutMs } from "../domain/move_limits.ts";
import { moveHelp } from "./help.ts";
import { databaseFailure, databaseName } from "./open_database.ts";
import { ProgressLine } from "./progress.ts";
import { CommandError, exitStatus, readOptionFile, readSettings, usageError } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { parseVerbArguments } from "./verb_arguments.ts";

const forms = { move: { options: { to: "text", "to-token-file": "text", cancel: "flag" } } } as const;
type Close = () => void | Promise<void>;

export async function moveCommand(args: readonly string[], environment: Settings): Promise<number> {
  const parsed = parseVerbArguments("gatehouse", forms, ["move", ...args]);
  if (parsed === "help") return writeLine(moveHelp());
  const { texts, flags } = parsed.given;
  const config = readSettings(environment);
  if (flags.has("cancel")) {
    if (texts.size > 0) throw usageError("--cancel takes no other option.");
    return await cancel(config);
  }
  const from = databaseName(config);
  const database = readTarget(texts.get("to"), texts.get("to-token-file"));
  const to = databaseName({ database });
  if (from === to) throw usageError("--to is the database of the settings.");
  const closing: Close[] = [];
  const progress = new ProgressLine();
  let isReadOnly = false;
  try {
    const { source, server } = await openSource(config, closing);
    writeLine(`Moving ${from} to ${to}. Keep servers and commands stopped until it is done.`, "stderr");
    const target = await openTarget(database, closing);
    const makeReadOnly = server && (async () => {
      await raiseFence(server);
      isReadOnly = true;
    });
    const { tables, rows } = await moveDatabase({
      ...{ source, target, ...(makeReadOnly && { makeReadOnly }) },
      onProgress: ({ act, name, rows, rowsTotal }) =>
        progress.show(() => `${groupDigits(rows)} of ${groupDigits(rowsTotal)} rows, ${act} ${name}`),
    });
    progress.clear();
    writeLine(`Moved ${rows} rows of ${tables} tables to ${to}, and compared every row.`);
    writeLine(isReadOnly ? `${from} stays ${readOnlyUntil}` : `${from} is unchanged.`);
    return writeLine("Set DATABASE_URL to the new database before you start a server.");
  } catch (error) {
    progress.clear();
    const { message, status } = failure({ database }, error);
    throw new CommandError(isReadOnly ? `${message}\n${from} stays ${readOnlyUntil}` : message, status);
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

/** @throws {CommandError} */
function readTarget(to: string | undefined, tokenFile: string | undefined): DatabaseTarget {
  if (to === undefined) throw usageError("--to is required: libsql://…, https://…, http://… or file:PATH.");
  let token: string | undefined;
  if (tokenFile !== undefined) {
    token = readOptionFile("to-token-file", tokenFile).trim();
    if (token === "") throw new CommandError(`--to-token-file: ${tokenFile} is empty`, exitStatus.input);
  }
  const result = parseConfig(
    { DATABASE_URL: to, ...(token === undefined ? {} : { DATABASE_AUTH_TOKEN: token }) },
    { isTerminal: false },
  );
  if ("config" in result) return result.config.database;
  throw usageError(
    tokenFile !== undefined && to.startsWith("file:")
      ? "--to-token-file is only for a libSQL server."
      : "--to must be libsql://…, https://…, http://… or file:PATH. The token belongs in --to-token-file.",
  );
}

const readOnlyUntil = "read-only. Run gatehouse move --cancel to use it again instead of the new database.";

/** Lets servers use the libSQL server of the settings again. */
async function cancel(config: Config): Promise<number> {
  const { database: target } = config;
  if (target.kind === "file") {
    throw usageError("--cancel is only for a libSQL server: a move never changes a file.");
  }
  const closing: Close[] = [];
  try {
    const name = databaseName(config);
    const wasReadOnly = await removeFence(await openForMove(target, closing));
    return writeLine(wasReadOnly ? `Servers can use ${name} again.` : `${name} is not read-only.`);
  } catch (error) {
    throw failure(config, error);
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

/** Opens the database of the settings; a file so that nothing else changes it. A libSQL server has no lock that lasts. */
async function openSource(
  config: Config,
  closing: Close[],
): Promise<{ source: DatabaseReader; server: Database | undefined }> {
  const named = (error: unknown) => Promise.reject(failure(config, error));
  try {
    const server = config.database.kind === "file" ? undefined : await openForMove(config.database, closing);
    const source = config.database.kind === "file"
      ? holdFile(config.database.path, closing)
      : server as Database;
    if (!await checkSchema(source, { mayBeReadOnly: true })) {
      throw new MoveError(["The database has no tables yet."]);
    }
    const reader: DatabaseReader = {
      read: (statement) => source.read<never>(statement).catch(named),
      readFirst: (statement) => source.readFirst<never>(statement).catch(named),
    };
    return { source: reader, server };
  } catch (error) {
    return await named(error);
  }
}

function holdFile(path: string, closing: Close[]): DatabaseReader {
  createIfMissing(path, "nothing");
  lock(path, closing);
  const connection = new Connection(path, { readOnly: false, isGuest: true });
  closing.push(() => connection.close());
  // Locks out commands that write next to a running server. Closing the connection releases the lock.
  connection.exec("BEGIN IMMEDIATE");
  return {
    // deno-lint-ignore require-await -- reading is synchronous here; the interface is not
    read: async <T>(statement: Statement) => connection.all(statement) as T[],
    // deno-lint-ignore require-await -- as above
    readFirst: async <T>(statement: Statement) => connection.first(statement) as T | undefined,
  };
}

async function openTarget(target: DatabaseTarget, closing: Close[]): Promise<Database> {
  if (target.kind === "file") {
    createIfMissing(target.path, "file");
    lock(target.path, closing);
  }
  return await openForMove(target, closing);
}

async function openForMove(target: DatabaseTarget, closing: Close[]): Promise<Database> {
  const database = await openDatabase(target, { onFatal: () => {}, timeoutMs: moveRequestTimeoutMs });
  closing.push(() => database.close());
  return database;
}

/** @throws {CommandError} When a server has the lock. */
function lock(path: string, closing: Close[]): void {
  const unlock = lockDataFile(path);
  if (unlock === null) {
    throw new CommandError(`a server is running on ${resolve(path)}; stop it first`, exitStatus.busy);
  }
  closing.push(unlock);
}

function failure(where: { database: DatabaseTarget }, error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  if (error instanceof MoveError) return new CommandError(error.message, exitStatus.data);
  const { message, status } = databaseFailure(where, error);
  const advice = error instanceof DatabaseError && error.kind === "unavailable"
    ? ". Run the same command again to continue"
    : "";
  return new CommandError(message + advice, status);
}
