// Output for the terminal.

/** Returns 0, the exit status of a command that only prints something. */
export function writeLine(text: string, stream: "stdout" | "stderr" = "stdout"): 0 {
  writeBytes(new TextEncoder().encode(`${text}\n`), stream);
  return 0;
}

export function writeBytes(bytes: Uint8Array, stream: "stdout" | "stderr" = "stdout"): void {
  const target = stream === "stdout" ? Deno.stdout : Deno.stderr;
  for (let at = 0; at < bytes.length;) at += target.writeSync(bytes.subarray(at));
}
