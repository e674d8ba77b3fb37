// `gatehouse user …`: accounts from the command line, for the first one and for emergencies, beside a running server.
// A link goes to standard output alone, so that it can be piped; words about it go to standard error.
import type { Settings } from "../../config.ts";
import { DatabaseError } from "../../db/engine/database.ts";
import type { OperatorActor } from "../../domain/actor.ts";
import { AppError, type ErrorCode } from "../../domain/errors.ts";
import { nameCharactersMax } from "../../domain/limits.ts";
import { nameFault } from "../../domain/name.ts";
import { type Role, roles } from "../../domain/sign_in/session.ts";
import { listUsers } from "../../services/operator/user_list.ts";
import {
  createUser,
  disableUser,
  enableUser,
  type PasswordLink,
  resetUserPassword,
} from "../../services/operator/users.ts";
import { createServices, type Services } from "../../services/services.ts";
import { userHelp } from "../help.ts";
import { databaseName, openBesideServer } from "../open_database.ts";
import { readPassword } from "./password_input.ts";
import {
  CommandError,
  exitBusy,
  exitConfig,
  exitData,
  exitFault,
  exitNoUser,
  exitUsage,
  readSettings,
} from "../settings.ts";
import { writeLine } from "../terminal.ts";
import { parseUserArguments, type UserArguments, type UserVerb } from "./user_arguments.ts";
import { userTable } from "./user_table.ts";

/** What a verb has to work with. */
interface Call extends UserArguments {
  readonly services: Services;
  readonly actor: OperatorActor;
  /** From standard input, if it was to come from there. */
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
 * @param args As typed, without `gatehouse user`.
 * @param environment See {@linkcode CommandLine}.
 * @returns The exit status; see {@linkcode userHelp}.
 */
export async function userCommand(args: readonly string[], environment: Settings): Promise<number> {
  const parsed = parseUserArguments(args);
  if (parsed === "help") return writeLine(userHelp());
  try {
    if ("fault" in parsed) throw new CommandError(parsed.fault, exitUsage);
    return await run(parsed, environment);
  } catch (error) {
    // Whoever reads the output has enough of it, as head does.
    if (error instanceof Deno.errors.BrokenPipe) return 0;
    const { message, status } = toCommandError(error);
    const [verb = ""] = args;
    const name = "fault" in parsed ? "gatehouse user" : `gatehouse user ${verb}`;
    writeLine(`${name}: ${message.replaceAll(/\s+/g, " ")}`, "stderr");
    return status;
  }
}

async function run(parsed: UserArguments, environment: Settings): Promise<number> {
  if (parsed.verb === "create") newAccount(parsed);
  const password = parsed.flags.has("password-stdin") ? await readPassword() : undefined;
  if (typeof password === "object") throw new CommandError(password.fault, exitData);
  const config = readSettings(environment);
  if (config === null) return exitConfig;
  const opened = await openBesideServer(config, { onlyReads: parsed.verb === "list" });
  if (typeof opened === "number") return opened;
  writeLine(`Database: ${databaseName(config)}`, "stderr");
  const context = { config, database: opened.database, clock: Date.now };
  const services = createServices(context, { onBackgroundError: () => {} });
  const client = { address: "", userAgent: `gatehouse user ${parsed.verb}`, requestId: null };
  try {
    await verbs[parsed.verb]({
      ...parsed,
      services,
      actor: { type: "operator", client },
      password,
    });
    return 0;
  } finally {
    await services.close();
    await opened.close();
  }
}

/** @returns The account that is asked for. @throws {CommandError} */
function newAccount({ email, texts }: UserArguments) {
  const name = nameOf(texts, "name");
  const organizationName = nameOf(texts, "organization");
  const organizationId = texts.get("join");
  const role = roles.find((one) => one === texts.get("role")?.toUpperCase());
  if (name === undefined) throw new CommandError("--name is missing.", exitUsage);
  if (organizationId !== undefined && organizationName !== undefined) {
    throw new CommandError("--organization and --join do not go together.", exitUsage);
  }
  if ((organizationId === undefined) !== !texts.has("role")) {
    throw new CommandError("--join and --role go together.", exitUsage);
  }
  if (organizationId !== undefined && role === undefined) {
    throw new CommandError(`--role must be ${roles.join(", ")}.`, exitUsage);
  }
  const join = organizationId === undefined ? undefined : { organizationId, role: role as Role };
  return { email, name, organizationName, join };
}

function nameOf(texts: UserArguments["texts"], option: string): string | undefined {
  const name = texts.get(option)?.trim();
  if (name === undefined) return undefined;
  if (name === "" || [...name].length > nameCharactersMax || /\p{Cc}/u.test(name)) {
    throw new CommandError(`--${option} must have 1 to ${nameCharactersMax} characters.`, exitData);
  }
  const fault = nameFault(name);
  if (fault !== null) throw new CommandError(`--${option} ${fault}`, exitData);
  return name;
}

async function create(call: Call): Promise<void> {
  const { services, actor, password } = call;
  const { link, organizationId } = await createUser(services, actor, { ...newAccount(call), password });
  const made = `Made ${call.email} in ${organizationId}.`;
  if (link === null) writeLine(made);
  else giveLink(link, `${made} They choose a password with this link,`);
}

async function list({ services, flags }: Call): Promise<void> {
  const table = userTable();
  for await (const users of listUsers(services)) {
    const lines = flags.has("json") ? users.map((user) => JSON.stringify(user)) : table(users);
    writeLine(lines.join("\n"));
  }
}

async function disable({ services, actor, email, flags }: Call): Promise<void> {
  const revokeKeys = flags.has("revoke-keys");
  const { wasDisabled, activeKeys, revokedKeys, revokedInvitations } = await disableUser(services, actor, {
    email,
    revokeKeys,
  });
  writeLine(wasDisabled ? "They were disabled already." : "Disabled: they are signed out everywhere.");
  if (revokedInvitations > 0) {
    writeLine(
      `Revoked ${revokedInvitations} open invitation${revokedInvitations === 1 ? "" : "s"} of theirs.`,
    );
  }
  if (revokeKeys) writeLine(`Revoked ${counted(revokedKeys)} that they made.`);
  if (activeKeys > 0) {
    writeLine(`${counted(activeKeys)} that they made still ${activeKeys === 1 ? "works" : "work"}.`);
  }
}

async function enable({ services, actor, email }: Call): Promise<void> {
  const { wasDisabled } = await enableUser(services, actor, email);
  writeLine(wasDisabled ? "Enabled: they can sign in again." : "They were not disabled.");
}

async function resetPassword({ services, actor, email, flags, password }: Call): Promise<void> {
  const turnOffTwoStep = flags.has("turn-off-two-step");
  const { link, hadTwoStep } = await resetUserPassword(services, actor, {
    email,
    password,
    turnOffTwoStep,
  });
  const twoStep = !turnOffTwoStep
    ? ""
    : hadTwoStep
    ? "Two-step sign-in is off. "
    : "Two-step sign-in was not on. ";
  if (link === null) writeLine(`${twoStep}The password is set; they are signed out everywhere.`);
  else giveLink(link, `${twoStep}They choose a new password with this link,`);
}

function giveLink({ address, expiresAt }: PasswordLink, words: string): void {
  writeLine(`${words} once, until ${expiresAt.slice(0, 16).replace("T", " ")} UTC:`, "stderr");
  writeLine(address);
}

function counted(keys: number): string {
  return keys === 1 ? "1 active API key" : `${keys} active API keys`;
}

const statuses: Partial<Record<ErrorCode, number>> = {
  not_found: exitNoUser,
  email_taken: exitData,
  validation_failed: exitData,
  unavailable: exitBusy,
};

function toCommandError(error: unknown): { message: string; status: number } {
  if (error instanceof CommandError) return error;
  if (error instanceof AppError) {
    const message = error.code === "not_found" ? "no account has this email address." : error.message;
    return { message, status: statuses[error.code] ?? exitFault };
  }
  const isBusy = error instanceof DatabaseError && error.kind === "unavailable";
  const reason = error instanceof Error ? error.message : String(error);
  return isBusy
    ? { message: `the database is busy or out of reach, try again: ${reason}`, status: exitBusy }
    : { message: reason, status: exitFault };
}
