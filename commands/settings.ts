// Reads the settings for a command: the only place that reads the environment.
import { parseEnv } from "node:util";
import { type Config, fileSetting, parseConfig, secrets, type Settings } from "../config.ts";
import { writeLine } from "./terminal.ts";

/** Exit status for a command line that is none (EX_USAGE of sysexits.h). */
export const exitUsage = 64;
/** Exit status for what was asked for with values that do not do (EX_DATAERR of sysexits.h). */
export const exitData = 65;
/** Exit status for a file that cannot be read (EX_NOINPUT of sysexits.h). */
export const exitInput = 66;
/** Exit status when reading or writing failed (EX_IOERR of sysexits.h). */
export const exitIo = 74;
/** Exit status for an address that nobody has (EX_NOUSER of sysexits.h). */
export const exitNoUser = 67;
/** Exit status when trying again later makes sense (EX_TEMPFAIL of sysexits.h). */
export const exitBusy = 75;
/** Exit status for a configuration error (EX_CONFIG of sysexits.h). */
export const exitConfig = 78;
/** Exit status for an internal fault (EX_SOFTWARE of sysexits.h). */
export const exitFault = 70;

/** Why a command ends early: one line, and an exit status. */
export class Refusal extends Error {
  constructor(message: string, readonly status: number) {
    super(message);
  }
}

/** What a command starts with. */
export interface CommandLine {
  /** Without `--env-file`. */
  readonly args: readonly string[];
  /** The environment, and what the file adds to it. */
  readonly environment: Settings;
}

/**
 * Takes `--env-file FILE` out of the arguments, wherever it stands, and reads that file.
 *
 * @returns The rest; or `fault`, a line that says why it cannot be used.
 */
export function readCommandLine(given: readonly string[]): CommandLine | { fault: string; status: number } {
  const args: string[] = [];
  let file: string | undefined;
  for (let n = 0; n < given.length; n++) {
    const word = given[n] ?? "";
    const [, attached] = /^--env-file=(.*)$/s.exec(word) ?? [];
    if (word !== "--env-file" && attached === undefined) {
      args.push(word);
      continue;
    }
    if (file !== undefined) return { fault: "--env-file was given twice.", status: exitUsage };
    file = attached ?? given[++n] ?? "";
    if (file === "") return { fault: "--env-file needs a file.", status: exitUsage };
  }
  const environment = Deno.env.toObject();
  if (file === undefined) return { args, environment };
  try {
    const text = Deno.readTextFileSync(file);
    const line = strangeLine(text);
    if (line !== null) {
      return { fault: `--env-file: line ${line} of ${file} isn't NAME=VALUE`, status: exitConfig };
    }
    return { args, environment: withFile(environment, parseEnv(text)) };
  } catch (error) {
    return { fault: `--env-file: cannot read ${file}: ${messageOf(error)}`, status: exitConfig };
  }
}

/** @returns The number of the first line that sets nothing and is no comment: the parser drops those without a word. */
function strangeLine(text: string): number | null {
  // A quoted value may have several lines.
  const unquoted = text.replaceAll(
    /=\s*("[^"]*"|'[^']*'|`[^`]*`)/g,
    (value) => `=${"\n#".repeat(value.split("\n").length - 1)}`,
  );
  const lines = unquoted.split("\n").map((line) => line.trim());
  const index = lines.findIndex((line) => !/^$|^[#;]|^(export\s+)?[A-Za-z_]\w*\s*=/.test(line));
  return index === -1 ? null : index + 1;
}

/** The environment comes before the file; an empty value counts as unset, as it does everywhere. */
function withFile(environment: Settings, file: Settings): Settings {
  const set = Object.entries(environment).filter(([, value]) => value?.trim() !== "");
  return { ...file, ...Object.fromEntries(set) };
}

/** @returns The checked settings, or null after every fault was printed, one line each. */
export function readSettings(environment: Settings): Config | null {
  const { settings, faults } = withSecretFiles(environment);
  const result = parseConfig(settings, { isTerminal: Deno.stdout.isTerminal() });
  if ("config" in result && faults.length === 0) return result.config;
  for (const fault of [...faults, ..."faults" in result ? result.faults : []]) writeLine(fault, "stderr");
  return null;
}

/** Reads each secret that comes from a file. */
function withSecretFiles(environment: Settings): { settings: Settings; faults: string[] } {
  const found: Record<string, string> = {};
  const faults: string[] = [];
  for (const secret of secrets) {
    const name = fileSetting(secret);
    const file = environment[name]?.trim() || undefined;
    if (file === undefined) continue;
    if (environment[secret]?.trim()) {
      faults.push(`${name}: ${secret} is set, too; keep one of them`);
      continue;
    }
    try {
      found[secret] = Deno.readTextFileSync(file).replace(/\r?\n$/, "");
      if (found[secret]?.trim() === "") faults.push(`${name}: ${file} is empty`);
    } catch (error) {
      faults.push(`${name}: cannot read ${JSON.stringify(file)}: ${messageOf(error)}`);
    }
  }
  return { settings: { ...environment, ...found }, faults };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
