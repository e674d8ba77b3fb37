// The reverse proxy configuration that fits the settings: `gatehouse proxy` prints it, the documentation shows it, and
// `gatehouse check` suggests it.
import type { Config } from "../../config.ts";
import type { ProxiedApplication, ProxyPlacement } from "../../domain/meter/proxied_application.ts";
import { caddyBlock } from "./caddy.ts";
import { nginxBlock } from "./nginx.ts";
import { traefikBlock } from "./traefik.ts";

type ProxyConfig = Pick<Config, "baseUrl" | "secure" | "host" | "port">;

export const proxyNames = ["nginx", "caddy", "traefik"] as const;
export type ProxyName = (typeof proxyNames)[number];

const blocks: Readonly<
  Record<ProxyName, (placement: ProxyPlacement, applications: readonly ProxiedApplication[]) => string[]>
> = { nginx: nginxBlock, caddy: caddyBlock, traefik: traefikBlock };

/** True if browsers connect to something else than this program: TLS ends in front of it, or the port differs. */
export function isBehindProxy({ baseUrl, secure, port }: ProxyConfig): boolean {
  return secure || publicPort(baseUrl) !== port;
}

/** Returns the server's address for a proxy on the same machine, such as `127.0.0.1:8000`. */
export function upstreamOf({ host, port }: Pick<Config, "host" | "port">): string {
  // Those two stand for every address of the machine.
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}

/** Builds a proxy's whole configuration. Returns null when the system chooses the port, which no proxy can know. */
export function proxyBlock(
  name: ProxyName,
  config: ProxyConfig,
  applications: readonly ProxiedApplication[] = [],
): string | null {
  if (config.port === 0) return null;
  const { baseUrl, secure } = config;
  const placement = {
    host: baseUrl.hostname,
    secure,
    publicPort: publicPort(baseUrl),
    upstream: upstreamOf(config),
  };
  return blocks[name](placement, applications).join("\n");
}

function publicPort({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}
