// A password from standard input: arguments can be read by everybody on the machine.
import { passwordCharactersMax } from "../../domain/limits.ts";

/** More than any password, so that one that is too long is told so by the rules. */
const bytesMax = passwordCharactersMax * 256;

/**
 * Reads standard input to its end.
 *
 * @returns The password, without the one line end that `echo` adds; or `fault`, a line that says why there is none.
 */
export async function readPassword(): Promise<string | { fault: string }> {
  if (Deno.stdin.isTerminal()) {
    return { fault: "--password-stdin takes the password from a pipe or a file: it would be seen here." };
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of Deno.stdin.readable) {
    size += part.length;
    if (size > bytesMax) return { fault: "the password on standard input is too long." };
    parts.push(part);
  }
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    const text = parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
    return text.replace(/\r?\n$/, "");
  } catch {
    return { fault: "the password on standard input is not UTF-8." };
  }
}
