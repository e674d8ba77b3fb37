// A folder with the servers and commands that a test runs in it. Servers end with the test, also when it fails.
import assert from "node:assert/strict";
import { runCommand } from "./command.ts";
import { poll } from "../runner/poll.ts";
import { isReady, killProgram, type Program, type ProgramOptions, startProgram } from "./program.ts";

type Settings = Readonly<Record<string, string>>;

/** Options of a server besides the folder. `env` adds to the settings of the scene. */
type StartOptions = Partial<Omit<ProgramOptions, "folder">>;

/** What a test runs in its folder. */
export interface Scene {
  readonly folder: string;
  /** The path of the data file. */
  readonly path: string;
  /** The folder and the settings of all programs. */
  readonly options: ProgramOptions & { readonly env: Settings };
  /** The server that was started last. */
  readonly program: Program;
  readonly baseUrl: string;
  /** Starts a server, and waits until it is ready. */
  start(more?: StartOptions): Promise<Program>;
  /** Starts a server without waiting. */
  begin(more?: StartOptions): Program;
  /** Runs a command to its end. */
  run(...args: readonly string[]): ReturnType<typeof runCommand>;
}

/** Runs a test in a new folder. @param options Of all its programs. They have one HTTP thread by default. */
export async function inScene(
  { folder: given, ...options }: StartOptions & { folder?: string },
  test: (scene: Scene) => Promise<void>,
): Promise<void> {
  const folder = given ?? await Deno.makeTempDir({ prefix: "gatehouse-process-" });
  const all = { ...options, folder, env: { HTTP_THREADS: "1", ...options.env } };
  const programs: Program[] = [];
  const last = () => programs.at(-1) ?? assert.fail("no server was started");
  const begin = (more: StartOptions = {}) => {
    const program = startProgram({ ...all, ...more, env: { ...all.env, ...more.env } });
    programs.push(program);
    return program;
  };
  try {
    await test({
      folder,
      path: `${folder}/data/gatehouse.db`,
      options: all,
      get program() {
        return last();
      },
      get baseUrl() {
        return last().baseUrl;
      },
      begin,
      async start(more) {
        const program = begin(more);
        await isReady(program);
        return program;
      },
      run: (...args) => runCommand(all, ...args),
    });
  } finally {
    for (const program of programs) await killProgram(program);
    if (given === undefined) await Deno.remove(folder, { recursive: true });
  }
}

/** Runs a test with a server in a new folder. @param options Of all its programs. They have one HTTP thread by default. */
export function onServer(options: StartOptions, test: (scene: Scene) => Promise<void>): Promise<void> {
  return inScene(options, async (scene) => {
    await scene.start();
    await test(scene);
  });
}

/** Stops a server in an orderly way, and asserts that it says so. */
export async function stop(program: Program): Promise<void> {
  program.kill("SIGTERM");
  await endsWith(program, 0);
}

/** Waits until a program ends, and asserts its exit status. */
export async function endsWith(program: Program, expected: number): Promise<void> {
  let status: number | undefined;
  program.ended().then((code) => status = code);
  await poll(() => status !== undefined).catch(() => assert.fail(`still running:\n${program.output()}`));
  assert.equal(status, expected, program.output());
}
