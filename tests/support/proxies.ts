// Debian's nginx and Caddy with the configurations of docs/recipes/, as they stand but for where things are.
import { programsMissing } from "./missing.ts";
import { poll } from "./poll.ts";
import { freePort } from "./sqld.ts";

/** What stands in a recipe, and what it is here. */
export interface Places {
  /** A folder for configurations, logs and temporary files. */
  readonly folder: string;
  readonly gatehousePort: number;
  readonly applicationPort: number;
  readonly organizationId: string;
}

/** A running proxy. */
export interface Proxy {
  readonly port: number;
  stop(): Promise<void>;
}

/** A proxy with a recipe. */
export interface ProxyKind {
  readonly name: "nginx" | "caddy";
  /** It is not on this machine. Under `CI=true` it must be. */
  readonly ignore: boolean;
  /** @param port Where it listens. */
  start(port: number, places: Places): Promise<Proxy>;
}

export const proxyKinds: readonly ProxyKind[] = [
  { name: "nginx", ignore: programsMissing("nginx"), start: startNginx },
  { name: "caddy", ignore: programsMissing("caddy"), start: startCaddy },
];

/** @returns The code blocks of one language in a recipe. */
export async function recipeBlocks(recipe: string, language: string): Promise<string[]> {
  const text = await Deno.readTextFile(new URL(`../../docs/recipes/${recipe}.md`, import.meta.url));
  return [...text.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(([, block = ""]) =>
    block
  );
}

/** @returns The settings of Gatehouse that the recipes name, for a proxy without TLS on this port. */
export async function recipeSettings(port: number): Promise<Record<string, string>> {
  const [block = ""] = await recipeBlocks("forward-auth", "sh");
  const here = block.replaceAll(/https:\/\/(\w+\.example\.com)/g, `http://$1:${port}`);
  return Object.fromEntries(here.trim().split("\n").map((line) => line.split("=", 2)));
}

function inPlace(text: string, places: Places): string {
  return text
    .replaceAll("127.0.0.1:8000", `127.0.0.1:${places.gatehousePort}`)
    .replaceAll("127.0.0.1:3000", `127.0.0.1:${places.applicationPort}`)
    .replaceAll(/org_[0-9a-f]{32}/g, places.organizationId);
}

async function startNginx(port: number, places: Places): Promise<Proxy> {
  const { folder } = places;
  await Deno.mkdir(`${folder}/conf.d`);
  await Deno.mkdir(`${folder}/snippets`);
  for (const block of await recipeBlocks("nginx", "nginx")) {
    const path = /^# \/etc\/nginx\/(\S+)\n/.exec(block)?.[1];
    if (path === undefined) throw new Error(`a block that names no file: ${block}`);
    const here = inPlace(block, places).replaceAll("/etc/nginx/", `${folder}/`)
      .replaceAll("listen 80;", `listen 127.0.0.1:${port};`);
    await Deno.writeTextFile(`${folder}/${path}`, here);
  }
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`);
  await Deno.writeTextFile(
    `${folder}/nginx.conf`,
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
    events {}
    http { access_log off; ${temporary.join(" ")} include ${folder}/conf.d/*.conf; }`,
  );
  return await started(port, "nginx", [
    "-p",
    folder,
    "-e",
    `${folder}/error.log`,
    "-c",
    `${folder}/nginx.conf`,
  ]);
}

async function startCaddy(port: number, places: Places): Promise<Proxy> {
  const { folder } = places;
  const [block = ""] = await recipeBlocks("caddy", "caddyfile");
  const here = inPlace(block, places)
    .replaceAll(/^(\w+\.example\.com) \{$/gm, `http://$1:${port} {`);
  const config = `${folder}/Caddyfile`;
  const globals = `{\n\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n}\n`;
  await Deno.writeTextFile(config, globals + here);
  return await started(port, "caddy", ["run", "--config", config, "--adapter", "caddyfile"], {
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  });
}

async function started(
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
    if (hasEnded) throw new Error(`${program} ended: ${await said}`);
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return true;
    } catch {
      return false;
    }
  });
  return {
    port,
    async stop() {
      if (!hasEnded) child.kill("SIGTERM");
      await child.status;
      await said;
    },
  };
}

/** What an application got. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A small application that answers with what it got, and sends back what a WebSocket sends it. */
export interface EchoApplication {
  readonly port: number;
  /** Every request, oldest first. */
  readonly received: readonly ReceivedRequest[];
  stop(): Promise<void>;
}

/** Starts an application that believes every header. */
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
