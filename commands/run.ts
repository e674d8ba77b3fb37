// Finds and runs the command for a name. Each returns an exit status; `gatehouse --help` lists them.
import deno from "../deno.json" with { type: "json" };
import { help } from "./help.ts";
import { CommandError, type CommandLine, readCommandLine, SettingsError, usageError } from "./settings.ts";
import { writeLine } from "./terminal.ts";

export const version: string = deno.version;

const withOwnHelp = new Set([
  "user",
  "operator",
  "token",
  "provider",
  "client",
  "keys",
  "mapping",
  "usage",
  "import",
  "export",
  "move",
  "proxy",
]);
const withArguments = new Set([...withOwnHelp, "check", "backup", "restore", "--version"]);

export async function runCommand(given: readonly string[]): Promise<number> {
  let program = "gatehouse";
  try {
    const { args, environment } = readCommandLine(given);
    const [name = "serve", ...rest] = args;
    const command = findCommand(name, { args: rest, environment });
    const asksForHelp = rest.length === 1 && ["--help", "-h"].includes(rest[0] ?? "");
    if (command !== undefined && asksForHelp && !withOwnHelp.has(name)) return writeLine(help());
    if (command === undefined || (rest.length > 0 && !withArguments.has(name))) {
      throw usageError(`${args.join(" ")} is not a command. Try gatehouse --help.`);
    }
    program = `gatehouse ${name}`;
    return await (name === "serve" ? command() : untilCut(command));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const line = `${program}: ${error.message.replaceAll(/\s+/g, " ")}`;
    writeLine(error instanceof SettingsError ? error.message : line, "stderr");
    return error.status;
  }
}

/** Returns 0 also if the reader of the output has closed it, as head does. */
async function untilCut(command: () => number | Promise<number>): Promise<number> {
  try {
    return await command();
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return 0;
    throw error;
  }
}

function findCommand(name: string, line: CommandLine): (() => number | Promise<number>) | undefined {
  const { args, environment } = line;
  const showHelp = () => writeLine(help());
  // A command loads only what it needs, which makes it start in half the time or less.
  const commands: Readonly<Record<string, () => number | Promise<number>>> = {
    serve: async () => (await import("./serve/serve.ts")).serve(environment, { version }),
    user: async () => (await import("./user.ts")).userCommand(args, environment),
    operator: async () => (await import("./operator.ts")).operatorCommand(args, environment),
    token: async () => (await import("./token.ts")).tokenCommand(args, environment),
    provider: async () => (await import("./provider.ts")).providerCommand(args, environment),
    client: async () => (await import("./client.ts")).clientCommand(args, environment),
    keys: async () => (await import("./keys.ts")).keysCommand(args, environment),
    mapping: async () => (await import("./mapping.ts")).mappingCommand(args, environment),
    usage: async () => (await import("./usage.ts")).usageCommand(args, environment),
    import: async () => (await import("./import/import.ts")).importCommand(args, environment),
    export: async () => (await import("./export.ts")).exportCommand(args, environment),
    migrate: async () => (await import("./migrate.ts")).migrateCommand(environment),
    check: async () => (await import("./check/check.ts")).checkCommand(args, environment),
    proxy: async () => (await import("./proxy/proxy.ts")).proxyCommand(args, environment),
    backup: async () => (await import("./backup.ts")).backupCommand(line),
    move: async () => (await import("./move.ts")).moveCommand(args, environment),
    restore: async () => (await import("./backup.ts")).restoreCommand(line),
    openapi: async () => (await import("./openapi.ts")).openApiCommand(environment, { version }),
    help: showHelp,
    "--help": showHelp,
    "-h": showHelp,
    "--version": async () => (await import("./version.ts")).versionCommand(args, version),
  };
  return Object.hasOwn(commands, name) ? commands[name] : undefined;
}
