// Runs a command in the thread of the test, which takes a small part of the time of a process. Not for commands that read standard
// input or depend on the current folder.
import { runCommand } from "../../../commands/run.ts";
import type { CommandEnd } from "./command.ts";
import type { ProgramOptions } from "./program.ts";

/**
 * Runs a command on the data file of a folder.
 *
 * @param options The folder and the settings. Other options have no effect.
 * @param args Such as `"operator", "list"`.
 */
export async function runHere(
  { folder, env = {} }: ProgramOptions,
  ...args: readonly string[]
): Promise<CommandEnd> {
  const settings = { DATABASE_URL: `file:${folder}/data/gatehouse.db`, ...env };
  const file = await Deno.makeTempFile({ prefix: "gatehouse-settings-" });
  const { writeSync: write } = Deno.stdout;
  const { writeSync: writeError } = Deno.stderr;
  const [stdout, stderr]: [string[], string[]] = [[], []];
  const into = (parts: string[]) => (bytes: Uint8Array) => {
    parts.push(new TextDecoder().decode(bytes));
    return bytes.length;
  };
  try {
    const lines = Object.entries(settings).map(([name, value]) => `${name}='${value}'\n`);
    await Deno.writeTextFile(file, lines.join(""));
    Deno.stdout.writeSync = into(stdout);
    Deno.stderr.writeSync = into(stderr);
    const status = await runCommand([...args, "--env-file", file]);
    return { status, stdout: stdout.join(""), stderr: stderr.join("") };
  } finally {
    Deno.stdout.writeSync = write;
    Deno.stderr.writeSync = writeError;
    await Deno.remove(file);
  }
}
