// Runs the gateways of examples/ with the real program and an application behind them, and creates customers with API keys.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { freePort } from "../database/sqld.ts";
import { sendJson } from "../process/journey.ts";
import type { Program } from "../process/program.ts";
import { onServer } from "../process/scene.ts";
import { isMissing, type Need } from "../runner/needs.ts";
import { nginxConfiguration, type Proxy, started } from "./proxies.ts";

/** Where the files of an example are, and the ports to use instead of those that they name. */
interface Places {
  readonly folder: string;
  readonly port: number;
  readonly gatehousePort: number;
  readonly applicationPort: number;
  /** Of an operator, as `gatehouse token create` prints it. */
  readonly token: string;
}

/** A gateway with the configuration in its folder of examples/. */
export interface KeyProxy {
  readonly name: "nginx" | "caddy" | "haproxy" | "apache";
  /** True if something that it needs is not installed. */
  readonly ignore: boolean;
  /** The files of the example, the configuration first. */
  readonly files: readonly string[];
  /** The metric that it records or holds of the product `files`. */
  readonly metric: string;
  /** Writes the files that the example's own need, and starts the gateway. */
  run(places: Places): Promise<Proxy>;
}

const needed = (...needs: readonly Need[]) => isMissing(...needs);

export const keyProxies: readonly KeyProxy[] = [
  {
    name: "nginx",
    ignore: needed("nginx", "libnginx-mod-http-lua", "lua-cjson"),
    files: ["api.conf", "gatehouse.lua"],
    metric: "bytes",
    run: runNginx,
  },
  { name: "caddy", ignore: needed("caddy"), files: ["Caddyfile"], metric: "requests", run: runCaddy },
  {
    name: "haproxy",
    ignore: needed("haproxy"),
    files: ["haproxy.cfg", "gatehouse.lua"],
    metric: "requests",
    run: runHaproxy,
  },
  {
    name: "apache",
    ignore: needed("apache2", "lua-socket"),
    files: ["api.conf", "gatehouse.lua"],
    metric: "requests",
    run: runApache,
  },
];

export function keyProxy(name: KeyProxy["name"]): KeyProxy {
  return keyProxies.find((one) => one.name === name) ?? assert.fail(name);
}

export function readExample(name: KeyProxy["name"], file: string): Promise<string> {
  return Deno.readTextFile(new URL(`../../../examples/${name}/${file}`, import.meta.url));
}

/** Writes the example's files for this machine. @returns The path of the first. */
async function writeExample({ name, files }: KeyProxy, places: Places): Promise<string> {
  const { folder, port, gatehousePort, applicationPort } = places;
  for (const file of files) {
    const text = (await readExample(name, file))
      .replaceAll(/127\.0\.0\.1:8000\b/g, `127.0.0.1:${gatehousePort}`)
      .replaceAll("port = 8000", `port = ${gatehousePort}`)
      .replaceAll(/127\.0\.0\.1:3000\b/g, `127.0.0.1:${applicationPort}`)
      .replaceAll(/\/etc\/(nginx\/gatehouse|haproxy|apache2)\//g, `${folder}/`)
      .replace("/var/log/nginx/", `${folder}/`)
      .replace("listen 80;", `listen 127.0.0.1:${port};`)
      .replace("bind :80", `bind 127.0.0.1:${port}`)
      .replace("<VirtualHost *:80>", `<VirtualHost *:${port}>`)
      .replace("https://api.example.com", `http://api.example.com:${port}`);
    await Deno.writeTextFile(`${folder}/${file}`, text);
  }
  return `${folder}/${files[0]}`;
}

const nginxOptions = `permissions = { "files:read" }, passes_key = true, expires_in = 5`;

async function runNginx(places: Places): Promise<Proxy> {
  const { folder, port, token } = places;
  await Deno.writeTextFile(`${folder}/token`, token);
  const written = await Deno.readTextFile(await writeExample(keyProxy("nginx"), places));
  // Other locations: one with the other options, and one whose application can't be reached.
  const http = written.replace(/ {4}location \/ \{.*?^ {4}\}\n/ms, (location) =>
    [
      location.replace("location /", "location /options/").replace("seconds = 60", nginxOptions),
      location.replace("location /", "location /unreached/").replace(/http:\S+/, "http://127.0.0.1:1;"),
      location,
    ].join(""));
  const modules = ["ndk_http_module", "ngx_http_lua_module"]
    .map((name) => `load_module /usr/lib/nginx/modules/${name}.so;`);
  // With workers of their own, so that they can be replaced.
  const text = nginxConfiguration(folder, http).replace(
    "master_process off;",
    `${modules.join(" ")} worker_processes 2; user ${Deno.env.get("USER") ?? "root"};`,
  );
  const logged = text.replace("error_log stderr", `error_log ${folder}/error.log`);
  await Deno.writeTextFile(`${folder}/nginx.conf`, logged);
  return await started(port, "nginx", ["-p", folder, "-e", "stderr", "-c", `${folder}/nginx.conf`]);
}

async function runCaddy(places: Places): Promise<Proxy> {
  const { folder, port } = places;
  const file = await writeExample(keyProxy("caddy"), places);
  const options = "{\n\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n}\n";
  await Deno.writeTextFile(file, options + await Deno.readTextFile(file));
  const args = ["run", "--config", file, "--adapter", "caddyfile"];
  return await started(port, "caddy", args, { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder });
}

async function runHaproxy(places: Places): Promise<Proxy> {
  const file = await writeExample(keyProxy("haproxy"), places);
  return await started(places.port, "haproxy", ["-db", "-f", file]);
}

async function runApache(places: Places): Promise<Proxy> {
  const { folder, port } = places;
  const site = await writeExample(keyProxy("apache"), places);
  const modules = ["mpm_event", "authz_core", "lua", "proxy", "proxy_http", "headers"]
    .map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so\n`);
  const text = `${modules.join("")}Listen 127.0.0.1:${port}
ServerName 127.0.0.1
DefaultRuntimeDir ${folder}
PidFile ${folder}/pid
ErrorLog /dev/stderr
Include ${site}\n`;
  await Deno.writeTextFile(`${folder}/apache.conf`, text);
  return await started(port, "apache2", ["-D", "FOREGROUND", "-d", folder, "-f", `${folder}/apache.conf`]);
}

/** A request that reached the application. Values of a repeated header are joined. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A customer with an API key. */
export interface KeyCustomer {
  readonly organizationId: string;
  readonly keyId: string;
  readonly key: string;
}

/** A gateway with Gatehouse and an application behind it. */
export interface KeyProxyScene {
  readonly proxy: KeyProxy;
  /** The folder of the gateway's files. */
  readonly folder: string;
  readonly port: number;
  readonly program: Program;
  /** Every request that reached the application, oldest first. */
  readonly received: readonly Received[];
  newCustomer(): Promise<KeyCustomer>;
  /** Sends a request as an operator, and asserts that it succeeds. @returns The JSON of the response. */
  // deno-lint-ignore no-explicit-any
  operate(method: string, path: string, json?: unknown): Promise<any>;
  /** Starts Gatehouse again at the same address. */
  restart(): Promise<Program>;
  /** @returns The sum of a metric of the product `files`. */
  usageOf(customer: KeyCustomer, metric: string): Promise<number>;
}

/**
 * Starts everything, runs a test, and stops everything.
 *
 * @param options `application`: handles the requests that pass. `settings`: more of Gatehouse, such as `PORT=1`, one a line.
 */
export async function withKeyProxy(
  proxy: KeyProxy,
  { application, settings = "" }: {
    application: (request: Request) => Response | Promise<Response>;
    settings?: string;
  },
  test: (scene: KeyProxyScene) => Promise<void>,
): Promise<void> {
  const [port, gatehousePort, applicationPort] = [freePort(), freePort(), freePort()];
  const more = settings.trim().split("\n").filter(Boolean).map((line) => line.split("=", 2));
  const env = { ...Object.fromEntries(more), PORT: String(gatehousePort) };
  await onServer({ env }, async (gatehouse) => {
    const { folder, baseUrl } = gatehouse;
    const newToken = async (scopes: string) =>
      (await gatehouse.run("token", "create", "Gateway", "--scope", scopes)).stdout;
    const own = await newToken("keys:verify");
    const token = (await newToken("keys:write,organizations:write,usage:read")).trim();
    const operate = async (method: string, path: string, json?: unknown) => {
      const response = await sendJson(baseUrl, `/api/operator/${path}`, { method, json, apiKey: token });
      const text = await response.text();
      assert(response.ok, `${method} ${path}: ${response.status} ${text}`);
      return text === "" ? null : JSON.parse(text);
    };
    const received: Received[] = [];
    const server = Deno.serve(
      { port: applicationPort, hostname: "127.0.0.1", onListen() {} },
      async (request) => {
        const { pathname, search } = new URL(request.url);
        const body = await request.clone().text();
        const headers = Object.fromEntries(request.headers);
        received.push({ method: request.method, path: pathname + search, headers, body });
        return await application(request);
      },
    );
    const places = { folder, port, gatehousePort, applicationPort, token: own };
    let running: Proxy | undefined;
    try {
      running = await proxy.run(places);
      await test({
        proxy,
        folder,
        port,
        get program() {
          return gatehouse.program;
        },
        received,
        operate,
        restart: () => gatehouse.start(),
        async newCustomer() {
          const { organization: { id } } = await operate("POST", "organizations", { name: "Northwind" });
          const json = { name: "Production", permissions: ["usage:read", "usage:write"] };
          const { apiKey, fullKey } = await operate("POST", `organizations/${id}/api-keys`, json);
          return { organizationId: id, keyId: apiKey.id, key: fullKey };
        },
        async usageOf({ key }, metric) {
          const path = `/api/v1/usage?window=month&groupBy=metric&productSlug=files&metric=${metric}`;
          const { data } = await (await sendJson(baseUrl, path, { apiKey: key })).json();
          return data[0]?.sum ?? 0;
        },
      });
    } finally {
      await running?.stop();
      await server.shutdown();
    }
  });
}

/** A response as it was sent. */
export interface RawResponse {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/**
 * Sends a request of these header lines, byte by byte, and reads the response to its end. Of each character, only the lowest 8 bits
 * are sent.
 *
 * @param more `from`: the address to connect from.
 */
export function sendRaw(
  port: number,
  lines: readonly string[],
  { start = "GET / HTTP/1.1", body = "", from = "127.0.0.1" }: {
    start?: string;
    body?: string;
    from?: string;
  } = {},
): Promise<RawResponse> {
  const length = body === "" ? [] : [`Content-Length: ${body.length}`];
  const all = [start, `Host: api.example.com:${port}`, ...lines, ...length, "Connection: close"];
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, localAddress: from });
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (part: string) => text += part);
    socket.on("error", (error: Error & { code?: string }) => {
      // A gateway may close the connection of a request that it doesn't read to its end.
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.on("close", () => {
      const [head = "", ...rest] = text.split("\r\n\r\n");
      resolve({ status: Number(head.split(" ")[1] ?? 400), head, body: rest.join("\r\n\r\n") });
    });
    socket.write(`${all.join("\r\n")}\r\n\r\n${body}`, "latin1");
  });
}
