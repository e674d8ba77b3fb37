// The configuration for Caddy, which obtains certificates, redirects from http and sets forwarding headers without configuration.
import { loopbackAddresses } from "../../domain/loopback.ts";
import { identityHeaderNames } from "../../domain/meter/forward_auth.ts";
import type { ProxiedApplication, ProxyPlacement } from "../../domain/meter/proxied_application.ts";

export function caddyBlock(placement: ProxyPlacement, applications: readonly ProxiedApplication[]): string[] {
  const site = (host: string) => siteAddress(placement, host);
  return [
    `${site(placement.host)} {`,
    ...bind(placement.host),
    "\t# Don't add encode: responses with secrets must not be compressed.",
    `\treverse_proxy ${placement.upstream}`,
    "}",
    ...(applications.length === 0 ? [] : snippets),
    ...applications.flatMap(({ host, address, query }) => [
      "",
      `${site(host)} {`,
      ...bind(host),
      "\troute {",
      "\t\timport gatehouse_before",
      `\t\tforward_auth ${placement.upstream} {`,
      `\t\t\turi /api/auth/forward?${query}`,
      `\t\t\tcopy_headers ${identityHeaderNames.join(" ")}`,
      "\t\t}",
      "\t\timport gatehouse_after",
      `\t\treverse_proxy ${address}`,
      "\t}",
      "}",
    ]),
  ];
}

/** Keeps other machines from a host that only this one reaches. */
function bind(host: string): string[] {
  const addresses = loopbackAddresses(host);
  return addresses === null ? [] : [`\tbind ${addresses.join(" ")}`];
}

function siteAddress({ secure, publicPort }: ProxyPlacement, host: string): string {
  const isUsual = publicPort === (secure ? 443 : 80);
  return `${secure ? "https" : "http"}://${host}${isUsual ? "" : `:${publicPort}`}`;
}

const snippets = [
  "",
  "(gatehouse_before) {",
  "\t# Only Gatehouse may set these headers. Many applications read Remote_User, and some Remote.User, as Remote-User.",
  "\trequest_header -Remote*",
  "\t# Reject clients that use Connection to have these headers removed.",
  "\t@hides header_regexp Connection (?i)remote",
  "\trespond @hides 400",
  "\t# Allow only WebSocket upgrades, and one Upgrade header: others could tunnel requests past Gatehouse.",
  "\t@upgrades {",
  "\t\theader Upgrade *",
  "\t\tnot header_regexp Upgrade (?i)^websocket$",
  "\t}",
  "\trequest_header @upgrades -Upgrade",
  "\t@sockets header Upgrade *",
  "\trequest_header @sockets Upgrade websocket",
  "}",
  "",
  "(gatehouse_after) {",
  "\t# Remove session tokens and API keys: with them, the application could act for its users.",
  '\trequest_header Cookie "(^|;)\\s*access_token=[^;]*" "$1 access_token=removed"',
  "\t@key header_regexp Authorization (?i)^bearer\\s+[a-z][a-z0-9]+_(live|test)_",
  "\trequest_header @key -Authorization",
  "}",
];
