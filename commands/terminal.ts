// The standard streams.
import { passwordCharactersMax } from "../domain/limits.ts";
import { CommandError, exitStatus } from "./settings.ts";

/** Returns 0, the exit status of a command that only prints something. */
export function writeLine(text: string, stream: "stdout" | "stderr" = "stdout"): 0 {
  writeBytes(new TextEncoder().encode(`${text}\n`), stream);
  return 0;
}

export function writeBytes(bytes: Uint8Array, stream: "stdout" | "stderr" = "stdout"): void {
  const target = stream === "stdout" ? Deno.stdout : Deno.stderr;
  for (let at = 0; at < bytes.length;) at += target.writeSync(bytes.subarray(at));
}

/** More than any valid password, so that the rules for passwords report one that is too long. */
const passwordBytesMax = passwordCharactersMax * 256;

/**
 * Reads a password from standard input, because everyone on the machine can see the arguments of a command. Removes the line
 * end that `echo` adds.
 *
 * @throws {CommandError}
 */
export async function readPassword(): Promise<string> {
  if (Deno.stdin.isTerminal()) {
    const problem = "--password-stdin reads a pipe or a file, because a terminal would show it.";
    throw new CommandError(problem, exitStatus.data);
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of Deno.stdin.readable) {
    size += part.length;
    if (size > passwordBytesMax) {
      throw new CommandError("the password on standard input is too long.", exitStatus.data);
    }
    parts.push(part);
  }
  try {
    const bytes = await new Blob(parts as BlobPart[]).bytes();
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch {
    throw new CommandError("the password on standard input is not UTF-8.", exitStatus.data);
  }
}
