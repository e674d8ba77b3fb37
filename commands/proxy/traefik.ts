// Traefik's block, for its file provider. No test runs it.
import type { ProxiedApplication } from "../../domain/proxied_application.ts";
import type { ProxyPlace } from "./placement.ts";

/** @returns The lines of a YAML file. */
export function traefikBlock(place: ProxyPlace, applications: readonly ProxiedApplication[]): string[] {
  const { host, upstream } = place;
  // A client that has the identity removed on the way to the application, and upgrades that tunnel more requests.
  const guards = "!HeaderRegexp(`Connection`, `(?i)remote`) && !HeaderRegexp(`Upgrade`, `(?i)h2c`)";
  return [
    "# A file of Traefik's file provider.",
    "http:",
    "  routers:",
    ...router(place, { name: "gatehouse", rule: `Host(\`${host}\`)`, middlewares: [] }),
    ...applications.flatMap((application) => {
      const name = nameOf(application.host);
      return router(place, {
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
      "        # Replaces what the client says under these names, Remote_User and Remote.User too.",
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

/** An application behind keys alone needs no `Authorization` header of its own. */
function isKeyOnly({ query }: ProxiedApplication): boolean {
  return new URLSearchParams(query).get("accept") === "key";
}

function nameOf(host: string): string {
  return `app-${host.replaceAll(".", "-")}`;
}

function router(
  { secure }: ProxyPlace,
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
