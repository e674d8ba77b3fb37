// Which command a name means. Each resolves to an exit status, which `gatehouse --help` lists.
import deno from "../deno.json" with { type: "json" };
import { backupCommand, restoreCommand } from "./backup.ts";
import { checkCommand } from "./check/check.ts";
import { help } from "./help.ts";
import { migrateCommand } from "./migrate.ts";
import { openApiCommand } from "./openapi.ts";
import { proxyCommand } from "./proxy/proxy.ts";
import { serve } from "./serve/serve.ts";
import { exitUsage, readCommandLine } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { userCommand } from "./user/user.ts";

/** Of the program; also in the OpenAPI document. */
export const version: string = deno.version;

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
  if (name === "user") return await userCommand(rest, environment);
  if (name === "proxy") return proxyCommand(rest, environment);
  const isHelpAsked = rest.length === 1 && ["--help", "-h"].includes(rest[0] ?? "");
  const commands: Readonly<Record<string, () => number | Promise<number>>> = {
    serve: () => serve(environment, { version }),
    migrate: () => migrateCommand(environment),
    openapi: () => openApiCommand(environment, { version }),
    help: () => writeLine(help()),
    "--help": () => writeLine(help()),
    "-h": () => writeLine(help()),
    "--version": () => writeLine(`gatehouse ${version}`),
  };
  const withArguments: typeof commands = {
    check: () => checkCommand(rest, environment),
    backup: () => backupCommand({ args: rest, environment }),
    restore: () => restoreCommand({ args: rest, environment }),
  };
  const takesArguments = Object.hasOwn(withArguments, name);
  const command = takesArguments
    ? withArguments[name]
    : Object.hasOwn(commands, name)
    ? commands[name]
    : undefined;
  if (command !== undefined && isHelpAsked) return writeLine(help());
  if (command === undefined || (rest.length > 0 && !takesArguments)) {
    writeLine(`gatehouse: ${[name, ...rest].join(" ")} is not a command. Try gatehouse --help.`, "stderr");
    return exitUsage;
  }
  return await command();
}
