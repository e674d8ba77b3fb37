// Finds and runs the command for a name. Each returns an exit status; `gatehouse --help` lists them.
import deno from "../deno.json" with { type: "json" };
import { backupCommand, restoreCommand } from "./backup.ts";
import { checkCommand } from "./check/check.ts";
import { help } from "./help.ts";
import { migrateCommand } from "./migrate.ts";
import { openApiCommand } from "./openapi.ts";
import { proxyCommand } from "./proxy/proxy.ts";
import { serve } from "./serve/serve.ts";
import { exitStatus, readCommandLine } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { userCommand } from "./user/user.ts";

/** The version of the program. */
export const version: string = deno.version;

const withOwnHelp = new Set(["user", "proxy"]);
const withArguments = new Set([...withOwnHelp, "check", "backup", "restore"]);

/**
 * Runs one command to its end.
 *
 * @param args As typed, without the program's name.
 * @returns The exit status.
 */
export async function runCommand(args: readonly string[]): Promise<number> {
  const line = readCommandLine(args);
  if ("fault" in line) {
    writeLine(`gatehouse: ${line.fault}`, "stderr");
    return line.status;
  }
  const { environment } = line;
  const [name = "serve", ...rest] = line.args;
  const showHelp = () => writeLine(help());
  const commands: Readonly<Record<string, () => number | Promise<number>>> = {
    serve: () => serve(environment, { version }),
    user: () => userCommand(rest, environment),
    migrate: () => migrateCommand(environment),
    check: () => checkCommand(rest, environment),
    proxy: () => proxyCommand(rest, environment),
    backup: () => backupCommand({ args: rest, environment }),
    restore: () => restoreCommand({ args: rest, environment }),
    openapi: () => openApiCommand(environment, { version }),
    help: showHelp,
    "--help": showHelp,
    "-h": showHelp,
    "--version": () => writeLine(`gatehouse ${version}`),
  };
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  const asksForHelp = rest.length === 1 && ["--help", "-h"].includes(rest[0] ?? "");
  if (command !== undefined && asksForHelp && !withOwnHelp.has(name)) return showHelp();
  if (command === undefined || (rest.length > 0 && !withArguments.has(name))) {
    writeLine(`gatehouse: ${line.args.join(" ")} is not a command. Try gatehouse --help.`, "stderr");
    return exitStatus.usage;
  }
  return await command();
}
