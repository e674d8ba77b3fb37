// `gatehouse move --to URL`: copies the database to a libSQL server or a file, compares all rows, and leaves the source as it was.
import { resolve } from "node:path";
import { type Config, type DatabaseTarget, parseConfig, type Settings } from "../config.ts";
import { Connection } from "../db/engine/connection.ts";
import { createIfMissing, lockDataFile } from "../db/engine/data_file.ts";
import { type Database, DatabaseError, type DatabaseReader, type Statement } from "../db/engine/database.ts";
import { moveDatabase, MoveError } from "../db/engine/move.ts";
import { checkSchema } from "../db/engine/migrate.ts";
import { openDatabase } from "../db/engine/open.ts";
import { groupDigits } from "../domain/number_text.ts";
import { moveRequestTimeoutMs } from "../domain/move_limits.ts";
import { moveHelp } from "./help.ts";
import { databaseFailure, databaseName } from "./open_database.ts";
import { ProgressLine } from "./progress.ts";
import { CommandError, exitStatus, readOptionFile, readSettings, usageError } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { parseVerbArguments } from "./verb_arguments.ts";

const forms = { move: { options: { to: "text", "to-token-file": "text" } } } as const;
type Close = () => void | Promise<void>;

export async function moveCommand(args: readonly string[], environment: Settings): Promise<number> {
  const parsed = parseVerbArguments("gatehouse", forms, ["move", ...args]);
  if (parsed === "help") return writeLine(moveHelp());
  const { texts } = parsed.given;
  const config = readSettings(environment);
  const from = databaseName(config);
  const database = readTarget(texts.get("to"), texts.get("to-token-file"));
  const to = databaseName({ database });
  if (from === to) throw usageError("--to is the database of the settings.");
  const closing: Close[] = [];
  const progress = new ProgressLine();
  try {
    const source = await openSource(config, closing);
    writeLine(`Moving ${from} to ${to}. Keep servers and commands stopped until it is done.`, "stderr");
    const target = await openTarget(database, closing);
    const { tables, rows } = await moveDatabase({
      source,
      target,
      onProgress: ({ act, name, rows, rowsTotal }) =>
        progress.show(() => `${groupDigits(rows)} of ${groupDigits(rowsTotal)} rows, ${act} ${name}`),
    });
    progress.clear();
    writeLine(`Moved ${rows} rows of ${tables} tables to ${to}, and compared every row.`);
    return writeLine(`${from} is unchanged. Set DATABASE_URL to the new database before you start a server.`);
  } catch (error) {
    progress.clear();
    throw failure({ database }, error);
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

/** Opens the database of the settings so that nothing else changes it. A libSQL server has no lock that lasts. */
async function openSource(config: Config, closing: Close[]): Promise<DatabaseReader> {
  const named = (error: unknown) => Promise.reject(failure(config, error));
  try {
    const source = config.database.kind === "file"
      ? holdFile(config.database.path, closing)
      : await openForMove(config.database, closing);
    if (!await checkSchema(source)) throw new MoveError(["The database has no tables yet."]);
    return {
      read: (statement) => source.read<never>(statement).catch(named),
      readFirst: (statement) => source.readFirst<never>(statement).catch(named),
    };
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
