// Runs nginx and Caddy with the configuration that `gatehouse proxy` prints for a guide's command.
import { installGatehouse, runLines } from "../runner/guides.ts";
import { isMissing } from "../runner/needs.ts";
import { poll } from "../runner/poll.ts";
import { freePort } from "../database/sqld.ts";

/** The settings and command that a recipe shows. */
export interface ProxyRecipe {
  /** Gatehouse settings, one per line. */
  readonly settings: string;
  /** The command that prints the configuration of nginx for four applications. */
  readonly command: string;
}

/** The values that replace those of the recipe. */
export interface Places {
  readonly recipe: ProxyRecipe;
  /** A folder for configuration, logs and temporary files. */
  readonly folder: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly applicationPort: number;
  readonly organizationId: string;
}

export interface Proxy {
  stop(): Promise<void>;
}

export interface ProxyKind {
  readonly name: "nginx" | "caddy";
  /** Whether it is not installed. `CI=true` requires it. */
  readonly ignore: boolean;
  /** Runs it with a printed configuration. @param port Where that listens. */
  run(folder: string, options: { port: number; block: string }): Promise<Proxy>;
}

export const proxyKinds: readonly ProxyKind[] = [
  { name: "nginx", ignore: isMissing("nginx"), run: runNginx },
  { name: "caddy", ignore: isMissing("caddy"), run: runCaddy },
];

/** @returns The recipe's Gatehouse settings, changed for a proxy without TLS on this port. */
export function recipeSettings({ settings }: ProxyRecipe, port: number): Record<string, string> {
  const here = settings.replaceAll(/https:\/\/(\w+\.example\.com)/g, `http://$1:${port}`);
  return Object.fromEntries(here.trim().split("\n").map((line) => line.split("=", 2)));
}

/** Starts a proxy with what the recipe's command prints for this test's port and organization. */
export async function startProxy(kind: ProxyKind, port: number, places: Places): Promise<Proxy> {
  const { recipe, folder, settings, applicationPort, organizationId } = places;
  const command = recipe.command
    .replace("gatehouse proxy nginx", `gatehouse proxy ${kind.name}`)
    .replaceAll("127.0.0.1:3000", `127.0.0.1:${applicationPort}`)
    .replaceAll(/org_[0-9a-f]{32}/g, organizationId);
  const bin = await installGatehouse(folder);
  const env = { ...settings, PATH: `${bin}:${Deno.env.get("PATH")}` };
  return await kind.run(folder, { port, block: await runLines(command, { cwd: folder, env }) });
}

/** @returns The text around the `http` block of a configuration of nginx, which needs no other folder. */
export function nginxConfiguration(folder: string, http: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`);
  return `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
    events {}
    http { access_log off; ${temporary.join(" ")}\n${http}\n}\n`;
}

async function runNginx(
  folder: string,
  { port, block }: { port: number; block: string },
): Promise<Proxy> {
  const file = `${folder}/nginx.conf`;
  await Deno.writeTextFile(file, nginxConfiguration(folder, block));
  return await started(port, "nginx", ["-p", folder, "-e", "stderr", "-c", file]);
}

async function runCaddy(
  folder: string,
  { port, block }: { port: number; block: string },
): Promise<Proxy> {
  const file = `${folder}/Caddyfile`;
  await Deno.writeTextFile(file, `{\n\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n}\n${block}`);
  return await started(port, "caddy", ["run", "--config", file, "--adapter", "caddyfile"], {
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  });
}

/** Starts a proxy, and waits until it accepts connections. */
export async function started(
  port: number,
  program: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Proxy> {
  const child = new Deno.Command(program, { args, env, stdin: "null", stdout: "null", stderr: "piped" })
    .spawn();
  const said = new Response(child.stderr).text();
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  await poll(async () => {
    if (hasEnded) throw new Error(`${program} exited: ${await said}`);
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return true;
    } catch {
      return false;
    }
  });
  return {
    async stop() {
      if (!hasEnded) child.kill("SIGTERM");
      await child.status;
      await said;
    },
  };
}

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A small application that records requests, greets their user and echoes WebSocket messages. */
export interface EchoApplication {
  readonly port: number;
  /** Every request, oldest first. */
  readonly received: readonly ReceivedRequest[];
  stop(): Promise<void>;
}

/** Starts an application that trusts every header. */
export function startEchoApplication(): EchoApplication {
  const port = freePort();
  const received: ReceivedRequest[] = [];
  const server = Deno.serve({ port, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const isSocket = request.headers.get("upgrade") === "websocket";
    received.push({
      method: request.method,
      path: pathname + search,
      headers: Object.fromEntries(request.headers),
      body: isSocket ? "" : await request.text(),
    });
    if (!isSocket) {
      const user = request.headers.get("remote-user");
      return new Response(`<!doctype html><title>Application</title><h1>Hello ${user}</h1>`, {
        headers: { "content-type": "text/html" },
      });
    }
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onmessage = ({ data }) => socket.send(`echo ${data}`);
    return response;
  });
  return { port, received, stop: () => server.shutdown() };
}
