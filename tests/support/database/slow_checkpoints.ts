// Another process whose checkpoints take a break where SQLite's WAL-reset fault needs one: between reading the log's header and
// the log (decision 64). SQLite makes a system call there only if it maps the file into memory: strace delays it.
import { Connection } from "../../../db/engine/connection.ts";
import { sql } from "../../../db/engine/database.ts";
import { poll } from "../runner/poll.ts";
import { thisRoot } from "../process/program.ts";

/** Longer than everything that the test does meanwhile. */
const breakMs = 400;
/** Deno's start needs fewer, and they must not be delayed. */
const fastCalls = 500;

/** How to checkpoint: see slow_checkpoints_program.ts. */
export type CheckpointOrder = "foreign" | "final";

export interface SlowCheckpoints {
  /** Reads the whole file, which maps it. */
  read(): Promise<void>;
  /** Starts a checkpoint. */
  start(order: CheckpointOrder): Promise<void>;
  /** Resolves with true when the checkpoint takes its break and has its lock, with false if it ends without a break. */
  hasBreak(): Promise<boolean>;
  /** Resolves with the result of the checkpoint. */
  ended(): Promise<string>;
  /** Kills the process. */
  stop(): Promise<void>;
}

/** @param path The data file. */
export async function startSlowCheckpoints(path: string): Promise<SlowCheckpoints> {
  const program = new URL("slow_checkpoints_program.ts", import.meta.url).pathname;
  const injection = `inject=munmap:delay_enter=${breakMs * 1000}:when=${fastCalls}+`;
  const child = new Deno.Command("strace", {
    args: ["-f", "-qq", "-o", "/dev/null", "-e", "trace=munmap", "-e", injection]
      .concat(Deno.execPath(), "run", "--no-prompt", "--cached-only", `--config=${thisRoot}deno.json`)
      .concat("--allow-all", program, path, String(breakMs)),
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines: string[] = [];
  const collected = (async () => {
    let rest = "";
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      lines.push(...parts);
    }
  })();
  const writer = child.stdin.getWriter();
  const order = (text: string) => writer.write(new TextEncoder().encode(`${text}\n`));
  const next = async () => {
    await poll(() => lines.length > 0);
    return lines.shift() as string;
  };
  const pid = await next();
  const isStopped = async () => /\) t /.test(await Deno.readTextFile(`/proc/${pid}/stat`));
  const probe = new Connection(path, { readOnly: false, isGuest: true });
  const isLocked = () => {
    const [row] = probe.all(sql`PRAGMA wal_checkpoint(PASSIVE)`) as { busy: number }[];
    return row?.busy === 1;
  };
  return {
    async read() {
      await order("read");
      await next();
    },
    async start(which) {
      await order(which);
      await next();
    },
    async hasBreak() {
      let hasBreak = false;
      await poll(async () => lines.length > 0 || (hasBreak = await isStopped() && isLocked()));
      return hasBreak;
    },
    ended: next,
    async stop() {
      probe.close();
      // An orderly end would take many breaks.
      Deno.kill(Number(pid), "SIGKILL");
      await writer.close().catch(() => {});
      await collected;
      await child.status;
    },
  };
}
