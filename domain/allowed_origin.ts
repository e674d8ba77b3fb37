// Origins of products.
import { parse as parseDomain } from "tldts";

/** An origin that may use the sign-in API from browsers. Its first label may be a wildcard. */
export interface AllowedOrigin {
  readonly text: string;
  /** True for an `Origin` header that matches. */
  readonly matches: (origin: string) => boolean;
}

/** Returns the origin, or why it is invalid. */
export function parseAllowedOrigin(text: string): AllowedOrigin | string {
  if (text === "*") return "list each origin instead";
  const pattern = /^(https?:\/\/)\*\.([a-z0-9-]+(?:\.[a-z0-9-]+)*)(:\d+)?$/.exec(text.toLowerCase());
  if (pattern !== null) {
    const [, scheme = "", domain = "", port = ""] = pattern;
    // Rejects origins that no browser sends: default ports, invalid ports, the end of an IPv4 address.
    const example = `${scheme}any.${domain}${port}`;
    if (!URL.canParse(example) || new URL(example).origin !== example) {
      return "write it as scheme://*.domain[:port]";
    }
    const parsed = parseDomain(domain, { allowPrivateDomains: true });
    if (parsed.publicSuffix === domain && domain !== "localhost") return "the domain is a public suffix";
    const ending = `.${domain}${port}`;
    return {
      text,
      matches: (origin) =>
        origin.startsWith(scheme) && origin.endsWith(ending) &&
        /^[a-z0-9-]+$/.test(origin.slice(scheme.length, -ending.length)),
    };
  }
  if (text.includes("*")) return "* is only allowed as the whole first label";
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return "write it as scheme://host[:port]";
  // Browsers send origins without a trailing slash or default port, and in ASCII.
  if (url.origin !== text.toLowerCase()) return `write it as ${url.origin}`;
  return { text, matches: (origin) => origin === url.origin };
}

/** Browsers send a cookie to a frame only if the whole page is of one site: the same scheme and registrable domain. */
export function parseEmbedOrigin(text: string, baseUrl: URL | null): { readonly text: string } | string {
  const parsed = text.includes("*") ? "list each origin instead" : parseAllowedOrigin(text);
  if (typeof parsed === "string" || baseUrl === null) return parsed;
  const { protocol, hostname, origin } = new URL(text);
  const siteOf = (host: string) => parseDomain(host, { allowPrivateDomains: true }).domain ?? host;
  return protocol === baseUrl.protocol && siteOf(hostname) === siteOf(baseUrl.hostname)
    ? { text: origin }
    : `another site than ${baseUrl.origin}, so browsers would not send the session's cookie`;
}
