// Runs commands that act as the operator alongside a running server, and turns their errors into exit statuses.
import type { Settings } from "../config.ts";
import { DatabaseError } from "../db/engine/database.ts";
import type { OperatorActor } from "../domain/access/actor.ts";
import { AppError, type ErrorCode, messageOf } from "../domain/errors.ts";
import { nameFault } from "../domain/name.ts";
import { createProcessParts } from "../services/process_parts.ts";
import { createServices, type Services } from "../services/services.ts";
import { databaseName, openForCommand } from "./open_database.ts";
import { CommandError, exitStatus, readSettings } from "./settings.ts";
import { readPassword, writeLine } from "./terminal.ts";
import { parseVerbArguments, type VerbArguments, type VerbForm } from "./verb_arguments.ts";

interface AdministrationOptions {
  /** Such as `gatehouse user list`, for the audit log. */
  readonly command: string;
  readonly environment: Settings;
  /** It changes nothing, so a server may start meanwhile. */
  readonly onlyReads: boolean;
  /** The message for an object that doesn't exist, and the exit status. */
  readonly unknown: { readonly message: string; readonly status: number };
}

interface AdministrationParts {
  readonly services: Services;
  readonly actor: OperatorActor;
}

/** A parsed subcommand, and the parts with which it acts. */
export interface Subcommand extends VerbArguments, AdministrationParts {
  /** From standard input, with `--password-stdin`. */
  readonly password: string | undefined;
}

/** A verb of a command, such as `create` of `gatehouse user`. */
interface Verb extends VerbForm {
  readonly act: (subcommand: Subcommand) => Promise<void>;
  /** Reports invalid arguments before the database is opened. @throws {CommandError} */
  readonly check?: (given: VerbArguments) => unknown;
  readonly onlyReads?: boolean;
}

/** Creates a command with verbs, such as `gatehouse user`. Its first argument is the verb. */
export function verbCommand(
  program: string,
  { verbs, help, unknown }: Pick<AdministrationOptions, "unknown"> & {
    verbs: Readonly<Record<string, Verb>>;
    help: () => string;
  },
) {
  return async (args: readonly string[], environment: Settings): Promise<number> => {
    const parsed = parseVerbArguments(program, verbs, args);
    if (parsed === "help") return writeLine(help());
    const { given, form: { act, check, onlyReads = false } } = parsed;
    check?.(given);
    const password = given.flags.has("password-stdin") ? await readPassword() : undefined;
    const options = { command: `${program} ${args[0]}`, environment, onlyReads, unknown };
    return await administer(options, (parts) => act({ ...given, ...parts, password }));
  };
}

/** Acts on the database as the operator on the command line, also alongside a server. Returns 0. @throws {CommandError} */
export async function administer(
  options: AdministrationOptions,
  act: (parts: AdministrationParts) => Promise<void>,
): Promise<number> {
  try {
    await run(options, act);
  } catch (error) {
    throw error instanceof Deno.errors.BrokenPipe ? error : toCommandError(error, options);
  }
  return 0;
}

async function run(
  { command, environment, onlyReads }: AdministrationOptions,
  act: (parts: AdministrationParts) => Promise<void>,
): Promise<void> {
  const config = readSettings(environment);
  const opened = await openForCommand(config, { isGuest: true, onlyReads });
  writeLine(`Database: ${databaseName(config)}`, "stderr");
  const { applied } = opened;
  if (applied.length > 0) writeLine(`Applied migrations: ${applied.join(", ")}.`, "stderr");
  const base = { config, database: opened.database, clock: Date.now };
  const onBackgroundError = () => {};
  const parts = createProcessParts(base, { onBackgroundError });
  const services = createServices(base, { parts, onBackgroundError });
  const client = { address: "", userAgent: command, requestId: null };
  try {
    await act({ services, actor: { type: "operator", client, credential: { kind: "commandLine" } } });
  } finally {
    await services.close();
    await parts.close();
    await opened.close();
  }
}

const statuses: Partial<Record<ErrorCode, number>> = {
  email_taken: exitStatus.data,
  validation_failed: exitStatus.data,
  provider_taken: exitStatus.data,
  secrets_key_missing: exitStatus.data,
  mapping_taken: exitStatus.data,
  resource_taken: exitStatus.data,
  nothing_to_record: exitStatus.data,
  limit_reached: exitStatus.data,
  unavailable: exitStatus.busy,
};

function toCommandError(error: unknown, { unknown }: AdministrationOptions): CommandError {
  if (error instanceof CommandError) return error;
  if (error instanceof AppError) {
    return error.code === "not_found"
      ? new CommandError(unknown.message, unknown.status)
      : new CommandError(messageOf(error), statuses[error.code] ?? exitStatus.internal);
  }
  return error instanceof DatabaseError && error.kind === "unavailable"
    ? new CommandError(`the database is busy or unavailable; try again: ${messageOf(error)}`, exitStatus.busy)
    : new CommandError(messageOf(error), exitStatus.internal);
}

export const unknownAccount = {
  message: "no account has this email address.",
  status: exitStatus.noUser,
} as const;

/** Returns the name, trimmed. @param label Its name in an error, such as `--name`. @throws {CommandError} */
export function nameArgument(
  text: string,
  { label, charactersMax }: { label: string; charactersMax: number },
): string {
  const name = text.trim();
  const isValid = name !== "" && [...name].length <= charactersMax && !/\p{Cc}/u.test(name);
  const fault = isValid ? nameFault(name) : `must have 1 to ${charactersMax} characters.`;
  if (fault !== null) throw new CommandError(`${label} ${fault}`, exitStatus.data);
  return name;
}
