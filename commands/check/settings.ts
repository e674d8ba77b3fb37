// What the settings say about each other: rules without a network.
import { getDomain } from "tldts";
import type { AllowedOrigin, Config } from "../../config.ts";
import type { Finding } from "../../domain/check_result.ts";
import { isBehindProxy } from "../proxy/configuration.ts";

/** The settings that these rules read. */
export type CheckedSettings = Pick<
  Config,
  "baseUrl" | "secure" | "host" | "port" | "cookieDomain" | "allowedOrigins" | "trustedProxies"
>;

/** @returns What fits and what does not in settings that are each good alone. */
export function settingsFindings(config: CheckedSettings): Finding[] {
  return [
    addressFinding(config),
    cookieFinding(config),
    ...noOriginFindings(config),
    ...config.allowedOrigins.map((origin) => originFinding(origin, config)),
    ...proxyFindings(config),
  ];
}

/** @returns An origin as a browser would send it: for a wildcard, one that it stands for. */
export function exampleOrigin({ text }: AllowedOrigin): URL {
  return new URL(text.replace("*", "check"));
}

function addressFinding({ baseUrl, secure }: CheckedSettings): Finding {
  const about = "BASE_URL";
  if (secure) {
    return { about, verdict: "ok", saw: `${baseUrl.origin}: cookies are Secure, and HSTS is sent.` };
  }
  if (isThisMachine(baseUrl.hostname)) {
    return { about, verdict: "ok", saw: `${baseUrl.origin}: plain http, which is fine on this machine.` };
  }
  return {
    about,
    verdict: "warning",
    saw: `${baseUrl.origin} is plain http: whoever is on the line reads passwords and cookies.`,
    advice: `Put a proxy with a certificate in front, and set BASE_URL=https://${baseUrl.hostname}`,
    isForProxy: true,
  };
}

function cookieFinding({ baseUrl, cookieDomain }: CheckedSettings): Finding {
  const about = "COOKIE_DOMAIN";
  const saw = cookieDomain === undefined
    ? `Not set: the browser sends the cookie to ${baseUrl.hostname} alone.`
    : `${cookieDomain}: the browser sends the cookie to every host under it.`;
  return { about, verdict: "ok", saw };
}

/** A cookie for other hosts, and none of them may make use of it. */
function noOriginFindings({ baseUrl, cookieDomain, allowedOrigins }: CheckedSettings): Finding[] {
  const about = "ALLOWED_ORIGINS";
  const isForOthers = allowedOrigins.some(({ text }) => text.toLowerCase() !== baseUrl.origin);
  if (isForOthers) return [];
  if (cookieDomain === undefined) {
    return [{ about, verdict: "ok", saw: "No page of another origin can ask who is signed in." }];
  }
  const port = baseUrl.port === "" ? "" : `:${baseUrl.port}`;
  return [{
    about,
    verdict: "warning",
    saw:
      "There is a COOKIE_DOMAIN, and no product's origin: their pages cannot ask who is signed in, and nobody is " +
      "led back to them after signing in.",
    advice:
      `Name the products' origins, such as ALLOWED_ORIGINS=${baseUrl.protocol}//app${cookieDomain}${port}`,
  }];
}

/** Whether the cookie gets from pages of this origin to the service, and to the origin's own server. */
function originFinding(origin: AllowedOrigin, { baseUrl, cookieDomain }: CheckedSettings): Finding {
  const about = `Origin ${origin.text}`;
  const url = exampleOrigin(origin);
  const domain = getDomain(baseUrl.hostname, { allowPrivateDomains: true });
  const isSameHost = url.hostname === baseUrl.hostname;
  const isSameSite = isSameHost ||
    (domain !== null && getDomain(url.hostname, { allowPrivateDomains: true }) === domain);
  if (!isSameSite) {
    return {
      about,
      verdict: "warning",
      saw:
        `For a browser this is another site than ${baseUrl.hostname}: it never sends the cookie from there.`,
      advice: `Serve the product on a host under ${domain ?? "BASE_URL's domain"}, or take the origin out.`,
    };
  }
  if (url.protocol !== baseUrl.protocol) {
    return {
      about,
      verdict: "warning",
      saw:
        `http and https are mixed: from ${url.protocol}// a browser does not send the cookie to ${baseUrl.origin}.`,
      advice: `Use ${baseUrl.protocol}// for both.`,
    };
  }
  const isCovered = isSameHost || (cookieDomain !== undefined && `.${url.hostname}`.endsWith(cookieDomain));
  if (isCovered) {
    return { about, verdict: "ok", saw: "The browser sends the cookie from its pages and to its server." };
  }
  const why = cookieDomain === undefined
    ? "COOKIE_DOMAIN is not set"
    : `it lies outside of COOKIE_DOMAIN=${cookieDomain}`;
  return {
    about,
    verdict: "warning",
    saw: `The cookie never reaches the server of ${url.hostname}: ${why}.`,
    advice: domain === null
      ? "Serve the product on the host of BASE_URL."
      : `If that server is to know who is signed in, set COOKIE_DOMAIN=.${domain}`,
  };
}

function proxyFindings(config: CheckedSettings): Finding[] {
  const about = "TRUSTED_PROXIES";
  const { trustedProxies, host, baseUrl, port } = config;
  if (trustedProxies.some(([, bits]) => bits === 0)) {
    return [{
      about,
      verdict: "wrong",
      saw: "Every address is trusted: anybody can claim to be any address, in limits and in the audit log.",
      advice: `Name only the proxy: TRUSTED_PROXIES=${likelyProxy(host)}`,
    }];
  }
  if (trustedProxies.length > 0) {
    const blocks = trustedProxies.map(([address, bits]) => `${address.toString()}/${bits}`);
    return [{ about, verdict: "ok", saw: `X-Forwarded-For is believed from ${blocks.join(", ")}.` }];
  }
  if (!isBehindProxy(config)) {
    return [{ about, verdict: "ok", saw: "Not set, and no proxy seems to be in front." }];
  }
  return [{
    about,
    verdict: "warning",
    saw:
      `${baseUrl.origin} is not served by port ${port} itself, so a proxy is in front. It is not trusted: in limits ` +
      "and in the audit log every address is the proxy's.",
    advice: `Name the proxy. When it is on this machine: TRUSTED_PROXIES=${likelyProxy(host)}`,
    isForProxy: true,
  }];
}

/** From where a proxy on this machine connects to the address that is listened on. */
function likelyProxy(host: string): string {
  return isThisMachine(host) || host === "0.0.0.0" || host === "::" ? "127.0.0.1,::1" : host;
}

function isThisMachine(host: string): boolean {
  return /^(.*\.)?localhost$/.test(host) || host === "[::1]" || host === "::1" ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
