// Runs a command of the program in its own process until it exits.
import { programCommand, type ProgramOptions } from "./program.ts";

export interface CommandEnd {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command.
 *
 * @param options The folder, the settings, and optional standard input.
 * @param args Such as `"backup", "file.db"`.
 * @returns Its output once it exits; `bytes` is the raw standard output.
 */
export async function runCommand(
  options: ProgramOptions & { stdin?: string | Uint8Array<ArrayBuffer> },
  ...args: readonly string[]
): Promise<CommandEnd & { bytes: Uint8Array<ArrayBuffer> }> {
  const { stdin } = options;
  const child = programCommand({ ...options, args }, { stdin: stdin === undefined ? "null" : "piped" })
    .spawn();
  const output = child.output();
  // A command that rejects its arguments doesn't read its input.
  if (stdin !== undefined) await new Blob([stdin]).stream().pipeTo(child.stdin).catch(() => {});
  const { code, stdout, stderr } = await output;
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { status: code, stdout: text(stdout), stderr: text(stderr), bytes: stdout };
}
