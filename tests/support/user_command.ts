// `gatehouse user …` as a process of its own, beside whatever server the test has running.
import { programCommand, type ProgramOptions } from "./program.ts";

/** What a command said, and how it ended. */
export interface CommandEnd {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * @param options Of the server's program: the folder and the settings.
 * @param args After `gatehouse user`. @returns What it said, once it has ended.
 */
export async function userCommand(
  options: ProgramOptions & { stdin?: string },
  ...args: readonly string[]
): Promise<CommandEnd> {
  const child = programCommand({ ...options, args: ["user", ...args] }, {
    stdin: options.stdin === undefined ? "null" : "piped",
  }).spawn();
  if (options.stdin !== undefined) {
    await new Blob([options.stdin]).stream().pipeTo(child.stdin);
  }
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { status: code, stdout: text(stdout), stderr: text(stderr) };
}
