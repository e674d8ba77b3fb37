// The servers to measure, each with its own database, started when first needed.
import { runCommand } from "../tests/support/process/command.ts";
import { sendJson } from "../tests/support/process/journey.ts";
import { poll } from "../tests/support/runner/poll.ts";
import { isReady, sourceCommand, startProgram } from "../tests/support/process/program.ts";
import { freePort, type Sqld, sqldMissing, startSqld } from "../tests/support/database/sqld.ts";
import { type Account, signUp } from "./account.ts";
import { type Filled, openFilled } from "./filled.ts";
import { SetUpError } from "./settings.ts";

/**
 * `echo`: the bare Hono server. `verifiers`: other ways to verify a key. `one` and `two`: a new data file, with as many HTTP
 * threads. `limited`: like `two`, with three limits on each series. `before`: like `two`, but the program of BENCH_BEFORE.
 * `full`: BENCH_RECORDS records. `small`: 100,000 records. `remote`: a libSQL server on this machine. `far`: the same behind a
 * delay. The last four have the default number of HTTP threads.
 */
export type SiteName =
  | "echo"
  | "verifiers"
  | "one"
  | "two"
  | "limited"
  | "before"
  | "full"
  | "small"
  | "remote"
  | "far";

/** A running server. */
export interface Site {
  readonly origin: string;
  readonly pid: number;
  readonly account: Account;
  /** Of Gatehouse. */
  readonly databaseUrl?: string;
  /** Only for `full` and `small`. */
  readonly filled?: Filled;
}

/** Options of {@linkcode Sites}. */
export interface SiteOptions {
  readonly folder: string;
  readonly records: number;
  readonly kept: string | undefined;
  /** The folder of an older checkout, for `before`. */
  readonly before: string | undefined;
  readonly print: (line: string) => void;
  /** Where servers write a CPU profile when they exit. Default: none. */
  readonly profileFolder?: string;
}

/** Number of records of the site `small`. */
export const smallRecords = 100_000;
/** Round-trip delay of the site `far`, in milliseconds. */
export const delayMs = 50;

/** Thrown for a site that can't run on this machine. */
export class SiteMissing extends SetUpError {}

/** Starts and stops sites. */
export class Sites {
  readonly #options: SiteOptions;
  readonly #sites = new Map<SiteName, Promise<Site>>();
  readonly #endings: (() => Promise<void>)[] = [];

  /** @param options See {@linkcode SiteOptions}. */
  constructor(options: SiteOptions) {
    this.#options = options;
  }

  /** @returns The running site with an account. @throws {SiteMissing} When it can't run here. */
  open(name: SiteName): Promise<Site> {
    let site = this.#sites.get(name);
    if (site === undefined) this.#sites.set(name, site = this.#start(name));
    return site;
  }

  /** Stops all sites, the last one first. */
  async close(): Promise<void> {
    for (const end of this.#endings.splice(0).reverse()) await end();
  }

  async #start(name: SiteName): Promise<Site> {
    const { folder, records, kept, before, print } = this.#options;
    switch (name) {
      case "echo":
        return await this.#startOther("echo.ts", (await this.open("one")).account.sessionUser);
      case "verifiers":
        return await this.#startOther("verifiers.ts", folder);
      case "one":
      case "two":
        return await this.#startServer(`file:${folder}/${name}.db`, { threads: name === "one" ? 1 : 2 });
      case "limited": {
        const site = await this.#startServer(`file:${folder}/limited.db`, { threads: 2 });
        await limitUsage(site);
        return site;
      }
      case "before":
        if (before === undefined) throw new SiteMissing("BENCH_BEFORE is not set");
        return await this.#startServer(`file:${folder}/before.db`, { threads: 2, root: `${before}/` });
      case "full":
      case "small": {
        const filled = await openFilled(
          name === "full" ? { records, folder, kept } : { records: smallRecords, folder },
        );
        print(
          `${filled.records.toLocaleString("en")} records put there by the recorder, ${
            Math.round(filled.perSecond).toLocaleString("en")
          } a second`,
        );
        return await this.#startServer(`file:${filled.path}`, { filled });
      }
      case "remote":
        return await this.#startServer((await this.#startSqld()).url);
      case "far": {
        const { url } = await this.#startSqld();
        return await this.#startServer(`http://127.0.0.1:${await this.#startProxy(new URL(url).port)}`);
      }
    }
  }

  async #startServer(
    databaseUrl: string,
    { threads, root, filled }: { threads?: number; root?: string; filled?: Filled } = {},
  ): Promise<Site> {
    const { folder, profileFolder } = this.#options;
    const [binary = "", ...args] = sourceCommand({
      ...(root === undefined ? {} : { root }),
      flags: profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`],
    });
    const env = { DATABASE_URL: databaseUrl, API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "warning" };
    const server = startProgram({
      folder,
      binary,
      args,
      env: { ...env, ...(threads === undefined ? {} : { HTTP_THREADS: String(threads) }) },
    });
    this.#endings.push(async () => {
      server.kill("SIGTERM");
      await server.ended();
    });
    await isReady(server);
    const account = filled?.account ?? await signUp(server.baseUrl, { keys: 1 });
    const origin = server.baseUrl.replace("localhost", "127.0.0.1");
    return { origin, pid: server.pid, account, databaseUrl, ...(filled === undefined ? {} : { filled }) };
  }

  /** @param argument The second one of a server that isn't Gatehouse. */
  async #startOther(file: string, argument: string): Promise<Site> {
    const { account } = await this.open("one");
    const port = freePort();
    const child = this.#spawn(file, [String(port), argument], "null");
    const origin = `http://127.0.0.1:${port}`;
    await poll(() =>
      fetch(origin).then(async (response) => {
        await response.body?.cancel();
        return true;
      }, () => false)
    ).catch(() => {
      throw new SiteMissing(`${file} doesn't start; it may need packages from npm`);
    });
    return { origin, pid: child.pid, account: { ...account, apiKeys: [] } };
  }

  async #startSqld(): Promise<Sqld> {
    const reason = sqldMissing();
    if (reason !== null) throw new SiteMissing(`no libSQL server: ${reason}`);
    const sqld = await startSqld().catch((error) => {
      throw new SiteMissing(`no libSQL server: ${error.message}`);
    });
    this.#endings.push(() => sqld.stop());
    return sqld;
  }

  async #startProxy(targetPort: string): Promise<number> {
    const child = this.#spawn("delay_proxy.ts", [targetPort, String(delayMs / 2)], "piped");
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let line = "";
    while (!line.includes("\n")) line += (await reader.read()).value ?? "\n";
    reader.releaseLock();
    return Number(line);
  }

  #spawn(file: string, args: string[], stdout: "null" | "piped"): Deno.ChildProcess {
    const path = new URL(file, import.meta.url).pathname;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", "--no-lock", "--allow-all", path, ...args],
      stdin: "null",
      stdout,
      // It would report connections that close in the middle of a request.
      stderr: "null",
    }).spawn();
    this.#endings.push(async () => {
      child.kill("SIGKILL");
      await child.status;
    });
    return child;
  }
}

/** Creates an operator token. @returns The full token. */
export async function createToken(
  { databaseUrl = "" }: Pick<Site, "databaseUrl">,
  scope: "keys:verify" | "organizations:write",
): Promise<string> {
  const { stdout, stderr, status } = await runCommand(
    { folder: Deno.cwd(), env: { DATABASE_URL: databaseUrl } },
    ...["token", "create", "Benchmark", "--scope", scope],
  );
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

/** Sets three hard limits that the benchmark doesn't reach. */
async function limitUsage(site: Site): Promise<void> {
  const { organizationId } = JSON.parse(site.account.sessionUser) as { organizationId: string };
  const limits = ["minute", "day", "month"].map((per) => ({
    ...{ productSlug: "tiles", metric: "requests", per, quantity: 1e12, mode: "hard" },
  }));
  // The address that the server knows itself by.
  const baseUrl = site.origin.replace("127.0.0.1", "localhost");
  const response = await sendJson(baseUrl, `/api/operator/organizations/${organizationId}`, {
    method: "PATCH",
    apiKey: await createToken(site, "organizations:write"),
    json: { overrides: { limits } },
  });
  if (response.status !== 200) throw new Error(await response.text());
  await response.body?.cancel();
}
