// Reads a password from standard input, because everyone on the machine can see the arguments of a command.
import { passwordCharactersMax } from "../../domain/limits.ts";
import { CommandError, exitStatus } from "../settings.ts";

/** More than any valid password, so that the rules for passwords report one that is too long. */
const bytesMax = passwordCharactersMax * 256;

/**
 * Reads standard input to its end.
 *
 * @returns The password, without the line end that `echo` adds.
 * @throws {CommandError}
 */
export async function readPassword(): Promise<string> {
  if (Deno.stdin.isTerminal()) {
    throw new CommandError(
      "--password-stdin reads a pipe or a file, because a terminal would show it.",
      exitStatus.data,
    );
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of Deno.stdin.readable) {
    size += part.length;
    if (size > bytesMax) {
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
