// The lines for a reverse proxy that fit these settings. Pure: a test gives them to the real Caddy and nginx.
import type { Config } from "../config.ts";
import {
  answerHeaderCharactersMax,
  headerCharactersMax,
  urlCharactersMax,
  usageBodyBytesMax,
} from "../domain/limits.ts";

/** The settings that say where the proxy stands. */
export type ProxyConfig = Pick<Config, "baseUrl" | "secure" | "host" | "port">;

/** The same block for each proxy. */
export interface ProxyBlocks {
  readonly caddy: string;
  readonly nginx: string;
}

/**
 * @returns Whether what the browser asks is not this program itself: TLS ends before it, or the port is another one.
 */
export function isBehindProxy({ baseUrl, secure, port }: ProxyConfig): boolean {
  return secure || publicPort(baseUrl) !== port;
}

/** @returns The server's address as a proxy on the same machine reaches it, such as `127.0.0.1:8000`. */
export function upstreamOf({ host, port }: Pick<Config, "host" | "port">): string {
  // Those two mean every address of the machine.
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}

/** @returns The blocks; null when the port is any free one, which no proxy can know. */
export function proxyBlocks(config: ProxyConfig): ProxyBlocks | null {
  if (config.port === 0) return null;
  return { caddy: caddyBlock(config), nginx: nginxBlock(config) };
}

/** Caddy fetches the certificate, redirects from http and sets the forwarding headers by itself. */
function caddyBlock(config: ProxyConfig): string {
  return [
    `${config.baseUrl.origin} {`,
    "\t# No encode here: answers with secrets must not be compressed.",
    `\treverse_proxy ${upstreamOf(config)}`,
    "}",
  ].join("\n");
}

function nginxBlock(config: ProxyConfig): string {
  const { baseUrl, secure } = config;
  const { hostname: name, origin } = baseUrl;
  const port = publicPort(baseUrl);
  const listen = (port: number, more: string) => [
    `    listen ${port}${more};`,
    `    listen [::]:${port}${more};`,
    `    server_name ${name};`,
  ];
  // On a port of its own there is no http beside it to lead away from.
  const redirect = secure && port === 443
    ? ["server {", ...listen(80, ""), `    return 301 ${origin}$request_uri;`, "}"]
    : [];
  const certificate = [
    `    ssl_certificate     /etc/letsencrypt/live/${name}/fullchain.pem;`,
    `    ssl_certificate_key /etc/letsencrypt/live/${name}/privkey.pem;`,
  ];
  return [
    ...redirect,
    "server {",
    ...listen(port, secure ? " ssl" : ""),
    ...(secure ? certificate : []),
    `    client_max_body_size ${kibibytes(usageBodyBytesMax)}k;`,
    `    large_client_header_buffers 4 ${kibibytes(Math.max(urlCharactersMax, headerCharactersMax))}k;`,
    `    proxy_buffer_size ${kibibytes(answerHeaderCharactersMax)}k;`,
    "    # Answers with secrets must not be compressed.",
    "    gzip off;",
    "    location / {",
    `        proxy_pass http://${upstreamOf(config)};`,
    "        proxy_http_version 1.1;",
    '        proxy_set_header Connection "";',
    "        proxy_set_header Host $http_host;",
    "        proxy_set_header X-Forwarded-For $remote_addr;",
    "        proxy_set_header X-Forwarded-Proto $scheme;",
    "    }",
    "}",
  ].join("\n");
}

function publicPort({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

function kibibytes(bytes: number): number {
  return Math.ceil(bytes / 1024);
}
