// The command line, the settings and the exit statuses of all commands. Only this file reads the environment.
import { parseEnv } from "node:util";
import { type Config, fileSetting, parseConfig, secrets, type Settings } from "../config.ts";
import { messageOf } from "../domain/errors.ts";

/** Exit statuses from sysexits.h, such as EX_USAGE. `gatehouse --help` explains them. */
export const exitStatus = {
  usage: 64,
  data: 65,
  input: 66,
  noUser: 67,
  internal: 70,
  io: 74,
  busy: 75,
  config: 78,
} as const;

/** Ends a command. The message is printed on one line, after the name of the command. */
export class CommandError extends Error {
  constructor(message: string, readonly status: number) {
    super(message);
  }
}

export function usageError(message: string): CommandError {
  return new CommandError(message, exitStatus.usage);
}

/** Invalid settings. The message has one line for each. */
export class SettingsError extends CommandError {
  constructor(message: string) {
    super(message, exitStatus.config);
  }
}

/** The arguments without `--env-file`, and the environment, completed from its file. */
export interface CommandLine {
  readonly args: readonly string[];
  readonly environment: Settings;
}

/** Finds `--env-file FILE` anywhere in the arguments and reads that file. @throws {CommandError} */
export function readCommandLine(given: readonly string[]): CommandLine {
  const args: string[] = [];
  let file: string | undefined;
  for (let n = 0; n < given.length; n++) {
    const word = given[n] ?? "";
    const [, attached] = /^--env-file=(.*)$/s.exec(word) ?? [];
    if (word !== "--env-file" && attached === undefined) {
      args.push(word);
      continue;
    }
    if (file !== undefined) throw usageError("--env-file is given twice.");
    file = attached ?? given[++n] ?? "";
    if (file === "") throw usageError("--env-file requires a file.");
  }
  const environment = Deno.env.toObject();
  if (file === undefined) return { args, environment };
  const text = readOptionFile("env-file", file, exitStatus.config);
  const line = invalidLine(text);
  if (line !== null) {
    throw new CommandError(`--env-file: line ${line} of ${file} isn't NAME=VALUE`, exitStatus.config);
  }
  // Values of the environment override the file, unless they are empty.
  const set = Object.entries(environment).filter(([, value]) => value.trim() !== "");
  return { args, environment: { ...parseEnv(text), ...Object.fromEntries(set) } };
}

/** Reads a file that an option names. @throws {CommandError} */
export function readOptionFile(option: string, path: string, status: number = exitStatus.input): string {
  try {
    return readText(path);
  } catch (error) {
    throw new CommandError(`--${option}: cannot read ${path}: ${messageOf(error)}`, status);
  }
}

/** Reads a file without its byte-order mark, which editors and spreadsheets on Windows write. */
function readText(path: string): string {
  return new TextDecoder().decode(Deno.readFileSync(path));
}

/** Returns the number of the first line that is neither a setting nor a comment. The parser silently skips these. */
function invalidLine(text: string): number | null {
  // Quoted values may span lines.
  const unquoted = text.replaceAll(
    /=\s*("[^"]*"|'[^']*'|`[^`]*`)/g,
    (value) => `=${"\n#".repeat(value.split("\n").length - 1)}`,
  );
  const lines = unquoted.split("\n").map((line) => line.trim());
  const index = lines.findIndex((line) => !/^$|^[#;]|^(export\s+)?[A-Za-z_]\w*\s*=/.test(line));
  return index === -1 ? null : index + 1;
}

/** @throws {SettingsError} */
export function readSettings(environment: Settings): Config {
  return readAllSettings(environment).config;
}

/** Returns the checked settings, and their source, with the secrets that are in files. @throws {SettingsError} */
export function readAllSettings(environment: Settings): { config: Config; settings: Settings } {
  const { settings, faults } = withSecretFiles(environment);
  const result = parseConfig(settings, { isTerminal: Deno.stdout.isTerminal() });
  if ("config" in result && faults.length === 0) return { config: result.config, settings };
  throw new SettingsError([...faults, ..."faults" in result ? result.faults : []].join("\n"));
}

/** Reads the secrets that are in files. */
export function withSecretFiles(environment: Settings): { settings: Settings; faults: string[] } {
  const found: Record<string, string> = {};
  const faults: string[] = [];
  for (const secret of secrets) {
    const name = fileSetting(secret);
    const file = environment[name]?.trim() || undefined;
    if (file === undefined) continue;
    if (environment[secret]?.trim()) {
      faults.push(`${name}: ${secret} is also set; remove one of them`);
      continue;
    }
    try {
      found[secret] = readText(file).replace(/\r?\n$/, "");
      if (found[secret]?.trim() === "") faults.push(`${name}: ${file} is empty`);
    } catch (error) {
      faults.push(`${name}: cannot read ${JSON.stringify(file)}: ${messageOf(error)}`);
    }
  }
  return { settings: { ...environment, ...found }, faults };
}
