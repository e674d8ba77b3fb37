// A command of the program as a process of its own, run to its end.
import { programCommand, type ProgramOptions } from "./program.ts";

/** What a command printed, and how it ended. */
export interface CommandEnd {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * @param options The folder, the settings, and what to send to standard input, if anything.
 * @param args Such as `"backup", "file.db"`.
 * @returns What it printed, once it has ended; `bytes`: standard output as it came.
 */
export async function runCommand(
  options: ProgramOptions & { stdin?: string | Uint8Array<ArrayBuffer> },
  ...args: readonly string[]
): Promise<CommandEnd & { bytes: Uint8Array<ArrayBuffer> }> {
  const { stdin } = options;
  const child = programCommand({ ...options, args }, { stdin: stdin === undefined ? "null" : "piped" })
    .spawn();
  const output = child.output();
  // A command that rejects its arguments does not read to the end.
  if (stdin !== undefined) await new Blob([stdin]).stream().pipeTo(child.stdin).catch(() => {});
  const { code, stdout, stderr } = await output;
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { status: code, stdout: text(stdout), stderr: text(stderr), bytes: stdout };
}
