// `gatehouse user …`: accounts on the command line, for the first one and for emergencies, alongside a running server.
// Only links go to standard output, so that they can be piped; text about them goes to standard error.
import type { Settings } from "../../config.ts";
import { DatabaseError } from "../../db/engine/database.ts";
import type { OperatorActor } from "../../domain/actor.ts";
import { AppError, type ErrorCode, messageOf } from "../../domain/errors.ts";
import { nameCharactersMax, passwordCharactersMax } from "../../domain/limits.ts";
import { nameFault } from "../../domain/name.ts";
import { countOf } from "../../domain/number_text.ts";
import { roles } from "../../domain/sign_in/session.ts";
import { createUser } from "../../services/operator/new_user.ts";
import { type PasswordLink, resetUserPassword } from "../../services/operator/passwords.ts";
import { disableUser, enableUser } from "../../services/operator/users.ts";
import { allUsers } from "../../services/operator/user_list.ts";
import { createProcessParts } from "../../services/process_parts.ts";
import { createServices, type Services } from "../../services/services.ts";
import { userHelp } from "../help.ts";
import { databaseName, openForCommand } from "../open_database.ts";
import { CommandError, exitStatus, readSettings } from "../settings.ts";
import { writeLine } from "../terminal.ts";
import { parseUserArguments, type UserArguments, type UserVerb } from "./user_arguments.ts";
import { userTable } from "./user_table.ts";

/** A call of a subcommand. */
interface Call extends UserArguments {
  readonly services: Services;
  readonly actor: OperatorActor;
  /** From standard input, with `--password-stdin`. */
  readonly password: string | undefined;
}

const verbs: Readonly<Record<UserVerb, (call: Call) => Promise<void>>> = {
  create,
  list,
  disable,
  enable,
  "reset-password": resetPassword,
};

/**
 * Runs `gatehouse user`.
 *
 * @param args As typed, without `gatehouse user`.
 * @param environment See {@linkcode CommandLine}.
 * @returns 0.
 * @throws {CommandError}
 */
export async function userCommand(args: readonly string[], environment: Settings): Promise<number> {
  const parsed = parseUserArguments(args);
  if (parsed === "help") return writeLine(userHelp());
  try {
    await run(parsed, environment);
  } catch (error) {
    // The reader of the output has closed it, as head does.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw toCommandError(error);
  }
  return 0;
}

async function run(parsed: UserArguments, environment: Settings): Promise<void> {
  const { verb, flags } = parsed;
  if (verb === "create") toNewUser(parsed);
  const password = flags.has("password-stdin") ? await readPassword() : undefined;
  const config = readSettings(environment);
  const opened = await openForCommand(config, { isGuest: true, onlyReads: verb === "list" });
  writeLine(`Database: ${databaseName(config)}`, "stderr");
  const base = { config, database: opened.database, clock: Date.now };
  const onBackgroundError = () => {};
  const parts = createProcessParts(base, { onBackgroundError });
  const services = createServices(base, { parts, onBackgroundError });
  const client = { address: "", userAgent: `gatehouse user ${verb}`, requestId: null };
  try {
    await verbs[verb]({
      ...parsed,
      services,
      actor: { type: "operator", client, credential: { kind: "commandLine" } },
      password,
    });
  } finally {
    await services.close();
    await parts.close();
    await opened.close();
  }
}

/** More than any valid password, so that the rules for passwords report one that is too long. */
const passwordBytesMax = passwordCharactersMax * 256;

/**
 * Reads a password from standard input, because everyone on the machine can see the arguments of a command.
 *
 * @returns The password, without the line end that `echo` adds.
 * @throws {CommandError}
 */
async function readPassword(): Promise<string> {
  if (Deno.stdin.isTerminal()) {
    const problem = "--password-stdin reads a pipe or a file, because a terminal would show it.";
    throw new CommandError(problem, exitStatus.data);
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of Deno.stdin.readable) {
    size += part.length;
    if (size > passwordBytesMax) {
      throw new CommandError("the password on standard input is too long.", exitStatus.data);
    }
    parts.push(part);
  }
  try {
    const bytes = await new Blob(parts as BlobPart[]).bytes();
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch {
    throw new CommandError("the password on standard input is not UTF-8.", exitStatus.data);
  }
}

/** @returns The account to create. @throws {CommandError} */
function toNewUser({ email, texts }: UserArguments) {
  const name = nameOption(texts, "name");
  const organizationName = nameOption(texts, "organization");
  const organizationId = texts.get("join");
  const role = roles.find((one) => one === texts.get("role")?.toUpperCase());
  if (name === undefined) throw new CommandError("--name is required.", exitStatus.usage);
  if (organizationId !== undefined && organizationName !== undefined) {
    throw new CommandError("--organization and --join can't be combined.", exitStatus.usage);
  }
  if (texts.has("role") !== texts.has("join")) {
    throw new CommandError("--join and --role require each other.", exitStatus.usage);
  }
  if (organizationId === undefined) return { email, name, organizationName };
  if (role === undefined) {
    throw new CommandError(`--role must be one of ${roles.join(", ")}.`, exitStatus.usage);
  }
  return { email, name, join: { organizationId, role } };
}

function nameOption(texts: UserArguments["texts"], option: string): string | undefined {
  const name = texts.get(option)?.trim();
  if (name === undefined) return undefined;
  const isValid = name !== "" && [...name].length <= nameCharactersMax && !/\p{Cc}/u.test(name);
  const fault = isValid ? nameFault(name) : `must have 1 to ${nameCharactersMax} characters.`;
  if (fault !== null) throw new CommandError(`--${option} ${fault}`, exitStatus.data);
  return name;
}

async function create(call: Call): Promise<void> {
  const { services, actor, password } = call;
  const { link, organizationId } = await createUser(services, actor, { ...toNewUser(call), password });
  const created = `Created ${call.email} in ${organizationId}.`;
  if (link === null) writeLine(created);
  else writeLink(link, created);
}

async function list({ services, flags }: Call): Promise<void> {
  const table = userTable();
  for await (const users of allUsers(services)) {
    const lines = flags.has("json") ? users.map((user) => JSON.stringify(user)) : table(users);
    writeLine(lines.join("\n"));
  }
}

async function disable({ services, actor, email, flags }: Call): Promise<void> {
  const revokeKeys = flags.has("revoke-keys");
  const result = await disableUser(services, actor, { email, revokeKeys });
  const { wasDisabled, activeKeys, revokedKeys, revokedInvitations } = result;
  writeLine(wasDisabled ? "The account was already disabled." : "Disabled and signed out everywhere.");
  if (revokedInvitations > 0) writeLine(`Revoked ${countOf(revokedInvitations, "open invitation")}.`);
  if (revokeKeys) writeLine(`Revoked ${countOf(revokedKeys, "active API key")}.`);
  if (activeKeys > 0) {
    writeLine(`${countOf(activeKeys, "active API key")} still ${activeKeys === 1 ? "works" : "work"}.`);
  }
}

async function enable({ services, actor, email }: Call): Promise<void> {
  const { wasDisabled } = await enableUser(services, actor, { email });
  writeLine(wasDisabled ? "Enabled. They can sign in again." : "The account was not disabled.");
}

async function resetPassword({ services, actor, email, flags, password }: Call): Promise<void> {
  const turnOffTwoStep = flags.has("turn-off-two-step");
  const input = { email, password, turnOffTwoStep };
  const { link, hadTwoStep } = await resetUserPassword(services, actor, input);
  const twoStep = hadTwoStep ? "Turned off two-step sign-in." : "Two-step sign-in was not on.";
  const results = [
    ...(turnOffTwoStep ? [twoStep] : []),
    ...(link === null ? ["Set the password and signed out everywhere."] : []),
  ].join(" ");
  if (link === null) writeLine(results);
  else writeLink(link, results);
}

function writeLink({ address, expiresAt }: PasswordLink, before: string): void {
  const time = expiresAt.slice(0, 16).replace("T", " ");
  writeLine(`${before} Link to choose a password, once, until ${time} UTC:`.trim(), "stderr");
  writeLine(address);
}

const statuses: Partial<Record<ErrorCode, number>> = {
  not_found: exitStatus.noUser,
  email_taken: exitStatus.data,
  validation_failed: exitStatus.data,
  unavailable: exitStatus.busy,
};

function toCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  const message = messageOf(error);
  if (error instanceof AppError) {
    const isUnknown = error.code === "not_found";
    const reason = isUnknown ? "no account has this email address." : message;
    return new CommandError(reason, statuses[error.code] ?? exitStatus.internal);
  }
  return error instanceof DatabaseError && error.kind === "unavailable"
    ? new CommandError(`the database is busy or unavailable; try again: ${message}`, exitStatus.busy)
    : new CommandError(message, exitStatus.internal);
}
