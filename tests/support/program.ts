// The real program in a process of its own, on a free port, in a folder of its own.
import { permissionFlags } from "./permissions.ts";
import { poll } from "./poll.ts";
import { freePort } from "./sqld.ts";

/** A running server. */
export interface Program {
  readonly baseUrl: string;
  readonly pid: number;
  /** Everything that it printed so far. */
  readonly output: () => string;
  kill(signal: Deno.Signal): void;
  /** @returns The exit status. */
  ended(): Promise<number>;
}

/** How to start the program: from its source, or a compiled binary by its path. */
export interface ProgramOptions {
  readonly folder: string;
  readonly binary?: string;
  readonly args?: readonly string[];
  /** A command with its own arguments that starts the program in its stead, such as `["nice"]`. */
  readonly through?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Nothing of this process's environment is passed on, but what a program cannot start without. */
  readonly bareEnvironment?: boolean;
}

const root = new URL("../../", import.meta.url).pathname;

/** The command that runs the program from its source. */
export const sourceCommand: readonly string[] = [
  Deno.execPath(),
  "run",
  "--cached-only",
  `--config=${root}deno.json`,
  ...permissionFlags,
  `${root}main.ts`,
];

/** @returns The command that starts the program. */
export function programCommand(
  options: ProgramOptions,
  { stdin }: { stdin: "null" | "piped" },
): Deno.Command {
  const [command = "", ...rest] = [
    ...options.through ?? [],
    ...options.binary === undefined ? sourceCommand : [options.binary],
    ...options.args ?? [],
  ];
  return new Deno.Command(command, {
    args: rest,
    cwd: options.folder,
    clearEnv: options.bareEnvironment ?? false,
    env: { LOG_FORMAT: "json", ...options.env },
    stdin,
    stdout: "piped",
    stderr: "piped",
  });
}

/** Starts the program without waiting for anything. */
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

/** Kills a program, if it still runs, and waits for its end. */
export async function killProgram(program: Program): Promise<void> {
  try {
    program.kill("SIGKILL");
  } catch (error) {
    // It has ended by itself.
    if (!(error instanceof TypeError)) throw error;
  }
  await program.ended();
}

/** Waits until a program answers. @throws When it ended instead. */
export async function isReady(program: Program): Promise<void> {
  let ended: number | undefined;
  program.ended().then((code) => ended = code);
  await poll(async () => {
    if (ended !== undefined) throw new Error(`the program ended with ${ended}:\n${program.output()}`);
    const answer = await fetch(`${program.baseUrl}/health/ready`).catch(() => null);
    await answer?.body?.cancel();
    return answer?.ok === true;
  });
}
