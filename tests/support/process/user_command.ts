// Runs `gatehouse user …` in its own process, while a test's server may be running.
import { type CommandEnd, runCommand } from "./command.ts";
import type { ProgramOptions } from "./program.ts";

export type { CommandEnd };

/**
 * Runs a `gatehouse user` command.
 *
 * @param options The folder and settings of the server.
 * @param args The arguments after `gatehouse user`.
 * @returns Its output once it exits, without the line that names the database.
 */
export async function userCommand(
  options: ProgramOptions & { stdin?: string },
  ...args: readonly string[]
): Promise<CommandEnd> {
  const end = await runCommand(options, "user", ...args);
  return { ...end, stderr: end.stderr.replace(/^Database: .*\n/, "") };
}
