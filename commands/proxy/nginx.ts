// The configuration for nginx. Its auth_request accepts only 401 and 403 and drops the other headers, hence the variables.
import {
  headerCharactersMax,
  responseHeaderCharactersMax,
  urlCharactersMax,
  usageBodyBytesMax,
} from "../../domain/limits.ts";
import { loopbackAddresses } from "../../domain/loopback.ts";
import { identityHeaderNames } from "../../domain/meter/forward_auth.ts";
import type { ProxiedApplication, ProxyPlacement } from "../../domain/meter/proxied_application.ts";

/** Returns the lines of a file for nginx's http block. */
export function nginxBlock(placement: ProxyPlacement, applications: readonly ProxiedApplication[]): string[] {
  const { host, secure, publicPort, upstream } = placement;
  const names = [host, ...applications.map((application) => application.host)];
  return [
    "# /etc/nginx/conf.d/gatehouse.conf",
    ...(secure
      ? [
        "# One certificate for all names below.",
        `ssl_certificate     /etc/letsencrypt/live/${host}/fullchain.pem;`,
        `ssl_certificate_key /etc/letsencrypt/live/${host}/privkey.pem;`,
      ]
      : []),
    `upstream gatehouse { server ${upstream}; keepalive 16; }`,
    ...(applications.length === 0 ? [] : maps),
    // A port other than 443 has no http counterpart to redirect from.
    ...(secure && publicPort === 443
      ? [
        `server { ${listen(names, 80)} server_name ${
          names.join(" ")
        }; return 301 https://$host$request_uri; }`,
      ]
      : []),
    ...ownServer(placement),
    ...applications.flatMap((application) => applicationServer(placement, application)),
  ];
}

/** Returns directives for all addresses, or for this machine's own if no host is reached from elsewhere. */
function listen(hosts: readonly string[], port: number, more = ""): string {
  const found = hosts.map(loopbackAddresses);
  const isLocal = found.every((addresses) => addresses !== null);
  const places = isLocal
    ? [...new Set(found.flat())].map((address) => `${address}:${port}`)
    : [port, `[::]:${port}`];
  return places.map((place) => `listen ${place}${more};`).join(" ");
}

function publicListen({ publicPort, secure }: ProxyPlacement, host: string): string {
  return listen([host], publicPort, secure ? " ssl" : "");
}

const bufferSize = `proxy_buffer_size ${kibibytes(responseHeaderCharactersMax)}k;`;

function ownServer(placement: ProxyPlacement): string[] {
  const headerSize = kibibytes(Math.max(urlCharactersMax, headerCharactersMax));
  return [
    "server {",
    `    ${publicListen(placement, placement.host)} server_name ${placement.host};`,
    `    client_max_body_size ${
      kibibytes(usageBodyBytesMax)
    }k; large_client_header_buffers 4 ${headerSize}k;`,
    "    gzip off; # Responses with secrets must not be compressed.",
    "    location / {",
    "        proxy_pass http://gatehouse;",
    `        proxy_http_version 1.1; ${header("Connection", '""')} ${bufferSize}`,
    `        ${header("Host", "$http_host")} ${header("X-Forwarded-For", "$remote_addr")} ${
      header("X-Forwarded-Proto", "$scheme")
    }`,
    "    }",
    "}",
  ];
}

/**
 * Removes session tokens, API keys, and upgrades other than WebSockets, which tunnel requests: no application may receive
 * them.
 */
const maps = [
  "map $http_cookie $gatehouse_cookie {",
  "    default $http_cookie;",
  '    "~(^|;)\\s*access_token=.*;\\s*access_token=" "";',
  '    "~^(?<cookies_before>(.*;)?)\\s*access_token=[^;]*(;\\s*)?(?<cookies_after>.*)$" $cookies_before$cookies_after;',
  "}",
  'map $http_authorization $gatehouse_authorization { default $http_authorization; "~*^bearer\\s+[a-z][a-z0-9]+_(live|test)_" ""; }',
  'map $http_upgrade $gatehouse_upgrade { default ""; "~*^websocket$" websocket; }',
  'map $gatehouse_upgrade $gatehouse_connection { default ""; websocket upgrade; }',
  "# If a request has cookies of two people, clear them for the domain and for the application's own host.",
  'map $gatehouse_cookies $gatehouse_clear_domain { default ""; "~^(?<cleared>access_token=;[^,]*)" $cleared; }',
  'map $gatehouse_cookies $gatehouse_clear_host { default ""; "~^access_token=;" "access_token=; Max-Age=0; Path=/"; }',
];

function applicationServer(
  placement: ProxyPlacement,
  { host, address, query, isMetered }: ProxiedApplication,
) {
  return [
    "server {",
    `    ${publicListen(placement, host)} server_name ${host};`,
    "    auth_request /.gatehouse;",
    "    # A location with its own proxy_set_header loses all of these, and clients could forge their identity.",
    ...identityHeaderNames.map(identityLine),
    `    ${header("Remote-Groups", '""')} proxy_http_version 1.1;`,
    `    ${header("Upgrade", "$gatehouse_upgrade")} ${header("Connection", "$gatehouse_connection")}`,
    `    ${header("Cookie", "$gatehouse_cookie")} ${header("Authorization", "$gatehouse_authorization")}`,
    `    ${header("Host", "$http_host")} ${header("X-Forwarded-Host", "$http_host")}`,
    `    ${header("X-Forwarded-For", "$remote_addr")} ${header("X-Forwarded-Proto", "$scheme")}`,
    `    location / { proxy_pass http://${address}; }`,
    "    location = /.gatehouse {",
    "        internal;",
    `        proxy_pass http://gatehouse/api/auth/forward?redirect=401&${query};`,
    `        proxy_pass_request_body off; ${header("Content-Length", '""')} ${header("Connection", '""')}`,
    `        ${header("X-Forwarded-Method", "$request_method")} ${header("X-Forwarded-Proto", "$scheme")}`,
    `        ${header("X-Forwarded-Host", "$http_host")} ${header("X-Forwarded-Uri", "$request_uri")}`,
    `        ${header("X-Forwarded-For", "$remote_addr")} ${bufferSize}`,
    ...(isMetered ? ["        proxy_next_upstream off; # Don't meter a request twice."] : []),
    "    }",
    "    auth_request_set $gatehouse_status $upstream_status; auth_request_set $gatehouse_location $upstream_http_location;",
    "    auth_request_set $gatehouse_cookies $upstream_http_set_cookie;",
    "    auth_request_set $gatehouse_retry_after $upstream_http_retry_after;",
    "    error_page 401 403 500 = @gatehouse_rejected;",
    "    location @gatehouse_rejected {",
    "        add_header Set-Cookie $gatehouse_clear_domain always; add_header Set-Cookie $gatehouse_clear_host always;",
    "        add_header Retry-After $gatehouse_retry_after always;",
    "        if ($gatehouse_location) { return 302 $gatehouse_location; }",
    "        if ($gatehouse_status = 401) { return 401; } if ($gatehouse_status = 403) { return 403; }",
    "        if ($gatehouse_status = 429) { return 429; } if ($gatehouse_status = 431) { return 431; }",
    "        return 503;",
    "    }",
    "}",
  ];
}

/** Replaces the client's header by the one of Gatehouse's response, even if that is empty. */
function identityLine(name: string): string {
  const variable = name.toLowerCase().replaceAll("-", "_").slice("remote_".length);
  return `    auth_request_set $gatehouse_${variable} $upstream_http_remote_${variable}; ${
    header(name, `$gatehouse_${variable}`)
  }`;
}

function header(name: string, value: string): string {
  return `proxy_set_header ${name} ${value};`;
}

function kibibytes(bytes: number): number {
  return Math.ceil(bytes / 1024);
}
