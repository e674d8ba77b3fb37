// Starts another process that holds the write lock of a data file.
import { poll } from "../runner/poll.ts";

/** A lock held by another process. */
export interface HeldLock {
  /** Whether the process has released it. */
  readonly isReleased: boolean;
  /** Asks the process to release the lock, if it still holds it, and waits for its end. */
  release(): Promise<void>;
}

/**
 * Takes the lock.
 *
 * @param path The data file.
 * @param options `forMs`: how long to hold the lock, in milliseconds. Default: until {@linkcode HeldLock.release}.
 * @returns The held lock.
 */
export async function holdLock(path: string, options: { forMs?: number } = {}): Promise<HeldLock> {
  const root = new URL("../../../", import.meta.url).pathname;
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
    get isReleased() {
      return output.includes("released");
    },
    async release() {
      ended ??= child.stdin.close().then(() => collected).then(() => child.status);
      await ended;
    },
  };
}
