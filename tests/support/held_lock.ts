// Another process that holds the write lock of a data file.
import { poll } from "./poll.ts";

/** A lock that another process has taken. */
export interface HeldLock {
  /** Whether it was given back. */
  readonly isGivenBack: boolean;
  /** Asks the process to give it back, unless it does so by itself; waits for its end. */
  giveBack(): Promise<void>;
}

/**
 * @param path The data file.
 * @param options `forMs`: how long to hold the lock, in milliseconds; without it, until {@linkcode HeldLock.giveBack}.
 * @returns The lock, which is held by now.
 */
export async function holdLock(path: string, options: { forMs?: number } = {}): Promise<HeldLock> {
  const root = new URL("../../", import.meta.url).pathname;
  const program = new URL("hold_lock.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--cached-only", `--config=${root}deno.json`, "--allow-all", program, path]
      .concat(
        String(options.forMs ?? 0),
      ),
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let output = "";
  const collected = (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) output += text;
  })();
  await poll(() => output.includes("held"));
  let ended: Promise<unknown> | undefined;
  return {
    get isGivenBack() {
      return output.includes("given back");
    },
    async giveBack() {
      // Once is enough.
      ended ??= child.stdin.close().then(() => collected).then(() => child.status);
      await ended;
    },
  };
}
