// Checks settings against each other, without a network.
import { getDomain } from "tldts";
import type { Config } from "../../config.ts";
import type { AllowedOrigin } from "../../domain/allowed_origin.ts";
import { type CheckResult, resultsOf } from "../../domain/check_result.ts";
import { isLoopbackHost } from "../../domain/loopback.ts";
import { isBehindProxy } from "../proxy/configuration.ts";

export function checkSettings(config: Config): CheckResult[] {
  return [
    checkBaseUrl(config),
    checkCookieDomain(config),
    ...checkProductOrigins(config),
    ...config.allowedOrigins.map((origin) => checkOrigin(origin, config)),
    checkTrustedProxies(config),
    ...checkClientHosts(config),
    ...checkStream(config),
  ];
}

function checkStream({ stream }: Config): CheckResult[] {
  if (stream === undefined) return [];
  const result = resultsOf("BACKUP_STREAM_TO");
  if (stream.keys.length > 0) {
    return [
      result.ok(
        "The continuous backup is encrypted. Keep BACKUP_ENCRYPTION_KEY elsewhere too: without it, the backup is lost.",
      ),
    ];
  }
  if (stream.target.kind === "folder") return [result.ok("A continuous backup is made, without encryption.")];
  return [result.warning(
    "The continuous backup is stored without encryption: anyone who can read the bucket can read all password hashes.",
    "Set BACKUP_ENCRYPTION_KEY to a key from: openssl rand -base64 32. Keep it elsewhere too: without it, the backup is lost",
  )];
}

/** Returns an origin in a browser's form; for a wildcard, one that it matches. */
export function exampleOrigin({ text }: AllowedOrigin): URL {
  return new URL(text.replace("*", "check"));
}

function checkBaseUrl({ baseUrl, secure }: Config): CheckResult {
  const result = resultsOf("BASE_URL", { isForProxy: true });
  if (secure) return result.ok(`${baseUrl.origin}: cookies are Secure, and HSTS is sent.`);
  if (isLoopbackHost(baseUrl.hostname)) {
    return result.ok(`${baseUrl.origin}: plain http, which is fine on this machine.`);
  }
  return result.warning(
    `${baseUrl.origin} is plain http: anyone on the network path can read passwords and cookies, and applications can't sign people in.`,
    `Put a proxy with a certificate in front, and set BASE_URL=https://${baseUrl.hostname}`,
  );
}

function checkCookieDomain({ baseUrl, cookieDomain }: Config): CheckResult {
  return resultsOf("COOKIE_DOMAIN").ok(
    cookieDomain === undefined
      ? `Not set: browsers send the cookie only to ${baseUrl.hostname}.`
      : `${cookieDomain}: browsers send the cookie to every host under it.`,
  );
}

function checkProductOrigins({ baseUrl, cookieDomain, allowedOrigins }: Config): CheckResult[] {
  const result = resultsOf("ALLOWED_ORIGINS");
  if (allowedOrigins.some(({ text }) => text.toLowerCase() !== baseUrl.origin)) return [];
  if (cookieDomain === undefined) return [result.ok("No other origin can use the sign-in API.")];
  const port = baseUrl.port === "" ? "" : `:${baseUrl.port}`;
  return [result.warning(
    "COOKIE_DOMAIN is set but ALLOWED_ORIGINS lists no product, so product pages can't use the sign-in API, " +
      "and no one returns to them after signing in.",
    `Add the products' origins, such as ALLOWED_ORIGINS=${baseUrl.protocol}//app${cookieDomain}${port}`,
  )];
}

/** Checks whether browsers send the cookie from pages of this origin to the service, and to the origin's own server. */
function checkOrigin(origin: AllowedOrigin, { baseUrl, cookieDomain }: Config): CheckResult {
  const result = resultsOf(`Origin ${origin.text}`);
  const { hostname, protocol } = exampleOrigin(origin);
  const domain = getDomain(baseUrl.hostname, { allowPrivateDomains: true });
  const isSameHost = hostname === baseUrl.hostname;
  const isSameSite = isSameHost ||
    (domain !== null && getDomain(hostname, { allowPrivateDomains: true }) === domain);
  if (!isSameSite) {
    return result.warning(
      `Browsers treat it as another site than ${baseUrl.hostname} and never send the cookie from there.`,
      `Serve the product on a host under ${domain ?? "BASE_URL's domain"}, or remove the origin.`,
    );
  }
  if (protocol !== baseUrl.protocol) {
    return result.warning(
      `It mixes http and https: from ${protocol}// browsers don't send the cookie to ${baseUrl.origin}.`,
      `Use ${baseUrl.protocol}// for both.`,
    );
  }
  if (isSameHost || (cookieDomain !== undefined && `.${hostname}`.endsWith(cookieDomain))) {
    return result.ok("Browsers send the cookie from its pages and to its server.");
  }
  const reason = cookieDomain === undefined
    ? "COOKIE_DOMAIN is not set"
    : `it is outside COOKIE_DOMAIN=${cookieDomain}`;
  return result.warning(
    `The cookie never reaches the server of ${hostname}: ${reason}.`,
    domain === null
      ? "Serve the product on the host of BASE_URL."
      : `If that server needs to know who is signed in, set COOKIE_DOMAIN=.${domain}`,
  );
}

function checkTrustedProxies(config: Config): CheckResult {
  const result = resultsOf("TRUSTED_PROXIES");
  const { trustedProxies, host, baseUrl, port } = config;
  if (trustedProxies.some(([, bits]) => bits === 0)) {
    return result.wrong(
      "Every address is trusted, so anyone can fake their address in limits and in the audit log.",
      `List only the proxy: TRUSTED_PROXIES=${likelyProxy(host)}`,
    );
  }
  if (trustedProxies.length > 0) {
    const blocks = trustedProxies.map(([address, bits]) => `${address.toString()}/${bits}`);
    return result.ok(`X-Forwarded-For is trusted from ${blocks.join(", ")}.`);
  }
  if (!isBehindProxy(config)) return result.ok("Not set, and there seems to be no proxy.");
  return result.warning(
    `Port ${port} does not serve ${baseUrl.origin} itself, so there is a proxy. It is not trusted: limits and the ` +
      "audit log see only the proxy's address.",
    `List the proxy. If it runs on this machine: TRUSTED_PROXIES=${likelyProxy(host)}`,
  );
}

function checkClientHosts({ oauthClientHosts: hosts }: Config): CheckResult[] {
  const result = resultsOf("OAUTH_CLIENT_HOSTS");
  if (hosts.length === 0) return [];
  if (!hosts.includes("*")) {
    return [result.ok(`Applications of ${hosts.join(", ")} can ask people for access.`)];
  }
  return [
    result.warning(
      "Any site can ask people for access under a name of its choice.",
      "List the hosts of the applications that people use here.",
    ),
  ];
}

/** Returns the address that a proxy on this machine connects from. */
function likelyProxy(host: string): string {
  return isLoopbackHost(host) || host === "0.0.0.0" || host === "::" ? "127.0.0.1,::1" : host;
}
