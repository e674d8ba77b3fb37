// Runs the real program in its own process and folder, on a free port.
import { permissionFlags } from "./permissions.ts";
import { poll } from "../runner/poll.ts";
import { freePort } from "../database/sqld.ts";

export interface Program {
  readonly baseUrl: string;
  readonly pid: number;
  readonly output: () => string;
  kill(signal: Deno.Signal): void;
  /** @returns The exit status. */
  ended(): Promise<number>;
}

/** How to start the program: from its source, or from a compiled binary. */
export interface ProgramOptions {
  readonly folder: string;
  readonly binary?: string;
  readonly args?: readonly string[];
  /** The path of a configuration to use instead of deno.json. Not for a binary. */
  readonly config?: string | undefined;
  /** A wrapper command that starts the program, such as `["nice"]`. */
  readonly through?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether to pass only the environment variables that a program can't start without. */
  readonly bareEnvironment?: boolean;
}

/** Numbers of HTTP threads with which the fault tests run. */
export const httpThreads = ["2", "4"] as const;

/** Runs a test that mostly waits with several numbers of HTTP threads at the same time. @throws The first failure, at the end. */
export async function withThreadCounts(
  counts: readonly string[],
  test: (HTTP_THREADS: string) => Promise<void>,
): Promise<void> {
  for (const result of await Promise.allSettled(counts.map(test))) {
    if (result.status === "rejected") throw result.reason;
  }
}

export const thisRoot = new URL("../../../", import.meta.url).pathname;
/** The same program as one bundle, which starts faster. `./denow task test` makes it. */
const bundled = Deno.env.get("TEST_PROGRAM");

/**
 * The command that runs the program from its source, or from the bundle of it.
 *
 * @param options `root`: the folder of another checkout, with a slash at its end. `flags`: more flags of `deno run`.
 * `config`: see {@linkcode ProgramOptions}.
 */
export function sourceCommand(
  { root = thisRoot, flags = [], config }: {
    root?: string;
    flags?: readonly string[];
    config?: string | undefined;
  } = {},
): string[] {
  const all = [`--config=${config ?? `${root}deno.json`}`, ...flags, ...permissionFlags];
  // Another configuration replaces modules.
  const isBundled = root === thisRoot && config === undefined;
  const main = isBundled && bundled !== undefined ? bundled : `${root}main.ts`;
  return [Deno.execPath(), "run", "--cached-only", ...all, main];
}

/** @returns The command that starts the program. */
export function programCommand(
  options: ProgramOptions,
  { stdin }: { stdin: "null" | "piped" },
): Deno.Command {
  const [command = "", ...rest] = [
    ...options.through ?? [],
    ...options.binary === undefined ? sourceCommand(options) : [options.binary],
    ...options.args ?? [],
  ];
  return new Deno.Command(command, {
    args: rest,
    cwd: options.folder,
    clearEnv: options.bareEnvironment ?? false,
    // The mark lets the runner find it if a test leaves it behind.
    env: { LOG_FORMAT: "json", TEST_RUN: Deno.env.get("TEST_RUN") ?? "", ...options.env },
    stdin,
    stdout: "piped",
    stderr: "piped",
  });
}

/** Starts the program without waiting until it is ready. */
export function startProgram(options: ProgramOptions): Program {
  const port = options.env?.["PORT"] ?? String(freePort());
  const child = programCommand({ ...options, env: { PORT: port, ...options.env } }, { stdin: "null" })
    .spawn();
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) output += text;
  };
  const collected = Promise.all([collect(child.stdout), collect(child.stderr)]);
  return {
    baseUrl: `http://localhost:${port}`,
    pid: child.pid,
    output: () => output,
    kill: (signal) => child.kill(signal),
    async ended() {
      const { code } = await child.status;
      await collected;
      return code;
    },
  };
}

/** Kills a program if it is still running, and waits for its end. */
export async function killProgram(program: Program): Promise<void> {
  try {
    program.kill("SIGKILL");
  } catch (error) {
    // It has already exited.
    if (!(error instanceof TypeError)) throw error;
  }
  await program.ended();
}

/** Waits until a program is ready. @throws When it exits instead, or with its last response and its output. */
export async function isReady(program: Program): Promise<void> {
  await untilReadiness(program, ({ ok }) => ok);
}

/** Waits until a program has started, even if it can't write. @throws As {@linkcode isReady}. */
export async function hasStarted(program: Program): Promise<void> {
  await untilReadiness(program, ({ ok }, text) => ok || /"reason":"(?!starting)/.test(text));
}

async function untilReadiness(
  program: Program,
  isEnough: (response: Response, text: string) => boolean,
): Promise<void> {
  let ended: number | undefined;
  let last = "nothing";
  program.ended().then((code) => ended = code);
  const ask = async () => {
    if (ended !== undefined) throw new Error(`the program exited with ${ended}:\n${program.output()}`);
    const response = await fetch(`${program.baseUrl}/health/ready`).catch((error) => last = String(error));
    if (typeof response === "string") return false;
    const text = await response.text();
    last = `${response.status} ${text}`;
    return isEnough(response, text);
  };
  await poll(ask).catch((error) => {
    throw new Error(`not ready: ${last}\n${program.output()}`, { cause: error });
  });
}
