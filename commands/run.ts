// Finds and runs the command for a name. Each returns an exit status; `gatehouse --help` lists them.
import deno from "../deno.json" with { type: "json" };
import { backupCommand, restoreCommand } from "./backup.ts";
import { checkCommand } from "./check/check.ts";
import { help } from "./help.ts";
import { migrateCommand } from "./migrate.ts";
import { openApiCommand } from "./openapi.ts";
import { operatorCommand } from "./operator.ts";
import { proxyCommand } from "./proxy/proxy.ts";
import { serve } from "./serve/serve.ts";
import { CommandError, type CommandLine, exitStatus, readCommandLine, SettingsError } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { tokenCommand } from "./token.ts";
import { usageCommand } from "./usage.ts";
import { userCommand } from "./user.ts";

/** The version of the program. */
export const version: string = deno.version;

const withOwnHelp = new Set(["user", "operator", "token", "usage", "proxy"]);
const withArguments = new Set([...withOwnHelp, "check", "backup", "restore"]);

/**
 * Runs one command to its end.
 *
 * @param given As typed, without the program's name.
 * @returns The exit status.
 */
export async function runCommand(given: readonly string[]): Promise<number> {
  let program = "gatehouse";
  try {
    const { args, environment } = readCommandLine(given);
    const [name = "serve", ...rest] = args;
    const command = findCommand(name, { args: rest, environment });
    const asksForHelp = rest.length === 1 && ["--help", "-h"].includes(rest[0] ?? "");
    if (command !== undefined && asksForHelp && !withOwnHelp.has(name)) return writeLine(help());
    if (command === undefined || (rest.length > 0 && !withArguments.has(name))) {
      const problem = `${args.join(" ")} is not a command. Try gatehouse --help.`;
      throw new CommandError(problem, exitStatus.usage);
    }
    program = `gatehouse ${name}`;
    return await command();
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const line = `${program}: ${error.message.replaceAll(/\s+/g, " ")}`;
    writeLine(error instanceof SettingsError ? error.message : line, "stderr");
    return error.status;
  }
}

function findCommand(name: string, line: CommandLine): (() => number | Promise<number>) | undefined {
  const { args, environment } = line;
  const showHelp = () => writeLine(help());
  const commands: Readonly<Record<string, () => number | Promise<number>>> = {
    serve: () => serve(environment, { version }),
    user: () => userCommand(args, environment),
    operator: () => operatorCommand(args, environment),
    token: () => tokenCommand(args, environment),
    usage: () => usageCommand(args, environment),
    migrate: () => migrateCommand(environment),
    check: () => checkCommand(args, environment),
    proxy: () => proxyCommand(args, environment),
    backup: () => backupCommand(line),
    restore: () => restoreCommand(line),
    openapi: () => openApiCommand(environment, { version }),
    help: showHelp,
    "--help": showHelp,
    "-h": showHelp,
    "--version": () => writeLine(`gatehouse ${version}`),
  };
  return Object.hasOwn(commands, name) ? commands[name] : undefined;
}
