// `gatehouse user …` as a process of its own, beside whatever server the test has running.
import { type CommandEnd, runCommand } from "./command.ts";
import type { ProgramOptions } from "./program.ts";

export type { CommandEnd };

/**
 * @param options Of the server's program: the folder and the settings.
 * @param args After `gatehouse user`. @returns What it said, once it has ended; without the line that names the database.
 */
export async function userCommand(
  options: ProgramOptions & { stdin?: string },
  ...args: readonly string[]
): Promise<CommandEnd> {
  const end = await runCommand(options, "user", ...args);
  return { ...end, stderr: end.stderr.replace(/^Database: .*\n/, "") };
}
