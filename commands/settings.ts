// Reads the settings for a command: the only place that reads the environment.
import { type Config, parseConfig, settings } from "../config.ts";
import { writeLine } from "./terminal.ts";

/** Exit status for a command line that is none (EX_USAGE of sysexits.h). */
export const exitUsage = 64;
/** Exit status for what was asked for with values that do not do (EX_DATAERR of sysexits.h). */
export const exitData = 65;
/** Exit status for an address that nobody has (EX_NOUSER of sysexits.h). */
export const exitNoUser = 67;
/** Exit status when trying again later makes sense (EX_TEMPFAIL of sysexits.h). */
export const exitBusy = 75;
/** Exit status for a configuration error (EX_CONFIG of sysexits.h). */
export const exitConfig = 78;
/** Exit status for an internal fault (EX_SOFTWARE of sysexits.h). */
export const exitFault = 70;

/** @returns The checked settings, or null after every fault was told, one line each. */
export function readSettings(): Config | null {
  const record = Object.fromEntries(Object.keys(settings).map((name) => [name, Deno.env.get(name)]));
  const result = parseConfig(record, { isTerminal: Deno.stdout.isTerminal() });
  if ("config" in result) return result.config;
  for (const fault of result.faults) writeLine(fault, "stderr");
  return null;
}
