// The configuration for a reverse proxy that fits the settings: `gatehouse proxy` prints it, the documents show it and
// `gatehouse check` advises it. Pure: tests give it to the real Caddy and nginx.
import type { Config } from "../../config.ts";
import type { ProxiedApplication } from "../../domain/proxied_application.ts";
import { caddyBlock } from "./caddy.ts";
import { nginxBlock } from "./nginx.ts";
import type { ProxyPlace } from "./placement.ts";
import { traefikBlock } from "./traefik.ts";

/** The settings that say where the proxy stands. */
export type ProxyConfig = Pick<Config, "baseUrl" | "secure" | "host" | "port">;

/** The proxies that blocks can be made for. */
export const proxyNames = ["nginx", "caddy", "traefik"] as const;
export type ProxyName = (typeof proxyNames)[number];

const blocks: Readonly<
  Record<ProxyName, (place: ProxyPlace, applications: readonly ProxiedApplication[]) => string[]>
> = { nginx: nginxBlock, caddy: caddyBlock, traefik: traefikBlock };

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

/**
 * @param name Of the proxy.
 * @param config The settings.
 * @param applications What Gatehouse protects beside being served itself.
 * @returns The whole configuration; null when the port is any free one, which no proxy can know.
 */
export function proxyBlock(
  name: ProxyName,
  config: ProxyConfig,
  applications: readonly ProxiedApplication[] = [],
): string | null {
  if (config.port === 0) return null;
  const { baseUrl, secure } = config;
  const place = {
    host: baseUrl.hostname,
    secure,
    publicPort: publicPort(baseUrl),
    upstream: upstreamOf(config),
  };
  return blocks[name](place, applications).join("\n");
}

function publicPort({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}
