// The configuration for Traefik's file provider. No test runs it.
import type { ProxiedApplication, ProxyPlacement } from "../../domain/meter/proxied_application.ts";

export function traefikBlock(
  placement: ProxyPlacement,
  applications: readonly ProxiedApplication[],
): string[] {
  const { host, upstream } = placement;
  // Rejects clients that make the proxy drop the identity headers, and upgrades that tunnel further requests.
  const guards = "!HeaderRegexp(`Connection`, `(?i)remote`) && !HeaderRegexp(`Upgrade`, `(?i)h2c`)";
  return [
    "# Load this file with Traefik's file provider.",
    "http:",
    "  routers:",
    ...router(placement, { name: "gatehouse", rule: `Host(\`${host}\`)`, middlewares: [] }),
    ...applications.flatMap((application) => {
      const name = nameOf(application.host);
      return router(placement, {
        name,
        rule: `Host(\`${application.host}\`) && ${guards}`,
        middlewares: [name, ...(isKeyOnly(application) ? ["without-key"] : [])],
      });
    }),
    ...(applications.length === 0 ? [] : ["  middlewares:"]),
    ...applications.flatMap((application) => [
      `    ${nameOf(application.host)}:`,
      "      forwardAuth:",
      `        address: "http://${upstream}/api/auth/forward?${application.query}"`,
      "        # Replaces the client's headers of these names, including Remote_User and Remote.User.",
      '        authResponseHeadersRegex: "(?i)^remote"',
    ]),
    ...(applications.some(isKeyOnly)
      ? ["    without-key:", "      headers:", "        customRequestHeaders:", '          Authorization: ""']
      : []),
    "  services:",
    ...service("gatehouse", upstream),
    ...applications.flatMap(({ host, address }) => service(nameOf(host), address)),
  ];
}

/** True for an application that accepts only API keys: it needs no `Authorization` header of its own. */
function isKeyOnly({ query }: ProxiedApplication): boolean {
  return new URLSearchParams(query).get("accept") === "key";
}

function nameOf(host: string): string {
  return `app-${host.replaceAll(".", "-")}`;
}

function router(
  { secure }: ProxyPlacement,
  { name, rule, middlewares }: { name: string; rule: string; middlewares: readonly string[] },
): string[] {
  return [
    `    ${name}:`,
    `      rule: "${rule}"`,
    `      entryPoints: [${secure ? "websecure" : "web"}]`,
    ...(middlewares.length === 0 ? [] : [`      middlewares: [${middlewares.join(", ")}]`]),
    `      service: ${name}`,
    ...(secure ? ["      tls: { certResolver: letsencrypt }"] : []),
  ];
}

function service(name: string, address: string): string[] {
  return [
    `    ${name}:`,
    "      loadBalancer:",
    "        servers:",
    `          - url: "http://${address}"`,
  ];
}
