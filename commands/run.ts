// Which command a name means. Each resolves to an exit status: 0 done, 64 no such command, 70 a fault, 78 settings or data
// that do not fit; `check` has 1 for what it found wrong. See also `gatehouse user --help` and `gatehouse proxy --help`.
import deno from "../deno.json" with { type: "json" };
import { checkCommand } from "./check.ts";
import { help } from "./help.ts";
import { migrateCommand } from "./migrate.ts";
import { openApiCommand } from "./openapi.ts";
import { proxyCommand } from "./proxy.ts";
import { serve } from "./serve.ts";
import { exitUsage } from "./settings.ts";
import { writeLine } from "./terminal.ts";
import { userCommand } from "./user.ts";

/** Of the program; also in the OpenAPI document. */
export const version: string = deno.version;

/**
 * Runs one command to its end.
 *
 * @param args As typed, without the program's name.
 * @returns The exit status.
 */
export async function runCommand(args: readonly string[]): Promise<number> {
  const [name = "serve", ...rest] = args;
  if (name === "user") return await userCommand(rest);
  if (name === "proxy") return proxyCommand(rest);
  const isHelpAsked = rest.length === 1 && ["--help", "-h"].includes(rest[0] ?? "");
  if (name === "check" && !isHelpAsked) return await checkCommand(rest);
  const commands: Readonly<Record<string, () => number | Promise<number>>> = {
    serve: () => serve({ version }),
    migrate: () => migrateCommand(),
    openapi: () => openApiCommand({ version }),
    check: () => checkCommand([]),
    help: () => writeLine(help()),
    "--help": () => writeLine(help()),
    "-h": () => writeLine(help()),
    "--version": () => writeLine(`gatehouse ${version}`),
  };
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command !== undefined && isHelpAsked) return writeLine(help());
  if (command === undefined || rest.length > 0) {
    writeLine(`gatehouse: ${[name, ...rest].join(" ")} is no command. Try gatehouse --help.`, "stderr");
    return exitUsage;
  }
  return await command();
}
