// Settings: a record of texts (the environment) in, one checked Config out, or every fault at once.
import ipaddr from "ipaddr.js";
import { parse as parseDomain } from "tldts";

/** Who may make an account: anybody, invited people, nobody. */
export type SignUpPolicy = "open" | "invite" | "closed";

/** Where the data is: one file, or a libSQL server. */
export type DatabaseTarget =
  | { readonly kind: "file"; readonly path: string; readonly createFolder: boolean }
  | { readonly kind: "remote"; readonly url: string; readonly authToken: string | undefined };

/** An origin that may use the sign-in API from a browser: exact, or with one wildcard label. */
export interface AllowedOrigin {
  readonly text: string;
  /** Says whether an `Origin` header is this origin. */
  readonly matches: (origin: string) => boolean;
}

/** A block of addresses, as ipaddr.js reads it. */
export type AddressBlock = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** The checked settings. */
export interface Config {
  readonly port: number;
  readonly host: string;
  /** Without a slash at the end. */
  readonly baseUrl: URL;
  /** `https` in `BASE_URL`: cookies are `Secure` and HSTS is sent. */
  readonly secure: boolean;
  readonly cookieDomain: string | undefined;
  readonly allowedOrigins: readonly AllowedOrigin[];
  readonly database: DatabaseTarget;
  readonly signUp: SignUpPolicy;
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string | undefined;
  readonly trustedProxies: readonly AddressBlock[];
  readonly sessionMaxDays: number;
  readonly sessionIdleDays: number;
  readonly usageRetentionDays: number;
  /** Requests that one API key may make in a second; 0 for no limit. */
  readonly apiKeyRequestsPerSecond: number;
  readonly logLevel: "debug" | "info" | "warning" | "error";
  readonly logFormat: "json" | "text";
  readonly metricsToken: string | undefined;
  /** Scheduled backups of the data file; undefined without `BACKUP_DIR`. */
  readonly backups:
    | { readonly folder: string; readonly everyHours: number; readonly keep: number }
    | undefined;
}

/** Settings as texts: the environment. */
export type Settings = Readonly<Record<string, string | undefined>>;

/** Every setting with its default and what it takes; `--help` and the README's table are held against it. */
export const settings = {
  PORT: { default: "8000", takes: "a whole number from 0 to 65535 (0: any free port)" },
  HOST: { default: "127.0.0.1", takes: "an IP address or host name to listen on" },
  BASE_URL: { default: "http://localhost:<PORT>", takes: "an http or https address without a path" },
  COOKIE_DOMAIN: {
    default: "",
    takes: "a domain with a leading dot that is a parent of BASE_URL's host, and not a public suffix",
  },
  ALLOWED_ORIGINS: {
    default: "",
    takes: "origins separated by commas, such as https://app.example.com or https://*.example.com",
  },
  DATABASE_URL: {
    default: "file:./data/gatehouse.db",
    takes: "file:PATH in a folder that exists, or libsql://, https:// or http:// of a libSQL server",
  },
  DATABASE_AUTH_TOKEN: { default: "", takes: "the libSQL server's token (only with a remote DATABASE_URL)" },
  SIGN_UP: { default: "open", takes: "open, invite or closed" },
  SMTP_URL: { default: "", takes: "smtp://[user:password@]host[:port] or smtps://…" },
  MAIL_FROM: { default: "", takes: "an e-mail address, alone or as Name <address>" },
  TRUSTED_PROXIES: { default: "", takes: "IP addresses or CIDR blocks separated by commas" },
  SESSION_MAX_DAYS: { default: "30", takes: "a whole number from 1 to 365" },
  SESSION_IDLE_DAYS: { default: "7", takes: "a whole number from 1 to SESSION_MAX_DAYS" },
  USAGE_RETENTION_DAYS: { default: "400", takes: "a whole number from 36 to 36500" },
  API_KEY_REQUESTS_PER_SECOND: { default: "1000", takes: "a whole number from 0 (no limit) to 1000000" },
  LOG_LEVEL: { default: "info", takes: "debug, info, warning or error" },
  LOG_FORMAT: { default: "text on a terminal, else json", takes: "json or text" },
  METRICS_TOKEN: { default: "", takes: "at least 16 printable characters without spaces" },
  BACKUP_DIR: { default: "", takes: "a folder that exists, for scheduled backups of the data file" },
  BACKUP_EVERY_HOURS: { default: "24", takes: "a whole number from 1 to 8760" },
  BACKUP_KEEP: { default: "7", takes: "a whole number from 1 to 10000" },
} as const;

type SettingName = keyof typeof settings;
/** Their values are never printed; each can also come from the file that the setting NAME_FILE names. */
export const secrets = ["DATABASE_AUTH_TOKEN", "SMTP_URL", "METRICS_TOKEN"] as const;
/** @returns The setting that names the file with a secret. */
export function fileSetting(secret: typeof secrets[number]): string {
  return `${secret}_FILE`;
}

/** What {@linkcode parseConfig} needs to know beyond the settings. */
export interface ConfigOptions {
  /** Standard output is a terminal. */
  readonly isTerminal: boolean;
}

/** Either the settings are all good, or `faults` has a line for each that is not. */
export type ConfigResult = { readonly config: Config } | { readonly faults: readonly string[] };

/**
 * Reads and checks every setting.
 *
 * @param record The environment. An empty text counts as unset.
 * @param options See {@linkcode ConfigOptions}.
 * @returns The checked settings, or one line per fault, naming the setting, what it got and what it takes.
 */
export function parseConfig(record: Settings, options: ConfigOptions): ConfigResult {
  const faults: string[] = [];
  const given = (name: SettingName): string | undefined => record[name]?.trim() || undefined;
  const refuse = (name: SettingName, why = ""): void => {
    const isSecret = (secrets as readonly string[]).includes(name) ||
      /:\/\/[^/]*@|authToken=/i.test(record[name] ?? "");
    const value = given(name) === undefined ? "nothing" : JSON.stringify(record[name]);
    const got = isSecret && value !== "nothing" ? "(its value is not shown)" : value;
    faults.push(`${name}: got ${got}, takes ${settings[name].takes}${why && ` (${why})`}`);
  };
  const whole = (name: SettingName, min: number, max: number): number => {
    const text = given(name) ?? settings[name].default;
    const value = Number(text);
    if (/^\d{1,9}$/.test(text) && value >= min && value <= max) return value;
    refuse(name);
    // So that one fault does not show again in what is derived from it.
    return Number(settings[name].default);
  };
  const oneOf = <T extends string>(name: SettingName, values: readonly T[], fallback: T): T => {
    const found = values.find((value) => value === (given(name) ?? fallback));
    if (found === undefined) refuse(name);
    return found ?? fallback;
  };

  const port = whole("PORT", 0, 65535);
  const host = given("HOST") ?? settings.HOST.default;
  if (!/^[A-Za-z0-9.:_-]+$/.test(host)) refuse("HOST");

  const baseUrl = parseBaseUrl(given("BASE_URL") ?? `http://localhost:${port}`);
  if (baseUrl === null) refuse("BASE_URL");

  const cookieDomain = given("COOKIE_DOMAIN")?.toLowerCase();
  if (cookieDomain !== undefined) {
    const why = cookieDomainFault(cookieDomain, baseUrl?.hostname);
    if (why !== null) refuse("COOKIE_DOMAIN", why);
  }

  const allowedOrigins: AllowedOrigin[] = [];
  for (const text of list(given("ALLOWED_ORIGINS"))) {
    const origin = parseAllowedOrigin(text);
    const which = text.includes("@") ? "the one with a user" : JSON.stringify(text);
    if (typeof origin === "string") refuse("ALLOWED_ORIGINS", `${which}: ${origin}`);
    else allowedOrigins.push(origin);
  }

  const authToken = given("DATABASE_AUTH_TOKEN");
  const database = parseDatabase(given("DATABASE_URL"), authToken);
  if (database === null) refuse("DATABASE_URL");
  if (authToken !== undefined && database?.kind === "file") refuse("DATABASE_AUTH_TOKEN");

  const trustedProxies: AddressBlock[] = [];
  for (const text of list(given("TRUSTED_PROXIES"))) {
    const block = parseAddressBlock(text);
    if (block === null) refuse("TRUSTED_PROXIES", `${JSON.stringify(text)} is neither`);
    else trustedProxies.push(block);
  }

  const smtpUrl = given("SMTP_URL");
  if (smtpUrl !== undefined && !isSmtpUrl(smtpUrl)) refuse("SMTP_URL");
  const mailFrom = given("MAIL_FROM");
  if (mailFrom !== undefined && !isMailbox(mailFrom)) refuse("MAIL_FROM");
  // Neither does anything without the other.
  if (smtpUrl !== undefined && mailFrom === undefined) refuse("MAIL_FROM", "SMTP_URL needs it");
  if (mailFrom !== undefined && smtpUrl === undefined) refuse("SMTP_URL", "MAIL_FROM needs it");

  const sessionMaxDays = whole("SESSION_MAX_DAYS", 1, 365);
  // An idle time that nobody chose follows a shorter life in all.
  const sessionIdleDays = given("SESSION_IDLE_DAYS") === undefined
    ? Math.min(Number(settings.SESSION_IDLE_DAYS.default), sessionMaxDays)
    : whole("SESSION_IDLE_DAYS", 1, sessionMaxDays);

  const folder = given("BACKUP_DIR");
  const everyHours = whole("BACKUP_EVERY_HOURS", 1, 8760);
  const keep = whole("BACKUP_KEEP", 1, 10_000);
  if (folder !== undefined && /\p{Cc}/u.test(folder)) refuse("BACKUP_DIR");
  if (folder !== undefined && database?.kind === "remote") {
    refuse("BACKUP_DIR", "a libSQL server makes its own backups");
  }

  const metricsToken = given("METRICS_TOKEN");
  if (metricsToken !== undefined && !/^[\x21-\x7e]{16,}$/.test(metricsToken)) refuse("METRICS_TOKEN");

  const rest = {
    signUp: oneOf("SIGN_UP", ["open", "invite", "closed"], "open"),
    usageRetentionDays: whole("USAGE_RETENTION_DAYS", 36, 36500),
    apiKeyRequestsPerSecond: whole("API_KEY_REQUESTS_PER_SECOND", 0, 1_000_000),
    logLevel: oneOf("LOG_LEVEL", ["debug", "info", "warning", "error"], "info"),
    logFormat: oneOf("LOG_FORMAT", ["json", "text"], options.isTerminal ? "text" : "json"),
  } as const;
  if (faults.length > 0 || baseUrl === null || database === null) return { faults };
  return {
    config: {
      port,
      host,
      baseUrl,
      secure: baseUrl.protocol === "https:",
      cookieDomain,
      allowedOrigins,
      database,
      smtpUrl,
      mailFrom,
      trustedProxies,
      sessionMaxDays,
      sessionIdleDays,
      metricsToken,
      backups: folder === undefined ? undefined : { folder, everyHours, keep },
      ...rest,
    },
  };
}

/**
 * Reads one address or CIDR block.
 *
 * @returns The block (a single address is a block of itself), or null.
 */
export function parseAddressBlock(text: string): AddressBlock | null {
  try {
    // Without this, 010.0.0.1 would be octal and 10 would be 0.0.0.10.
    if (!text.includes(":") && !/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){3}(\/\d+)?$/.test(text)) return null;
    if (text.includes("/")) {
      const [address, bits] = ipaddr.parseCIDR(text);
      // Clients' addresses are compared as IPv4 when they are IPv4, however they are written.
      return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
        ? [address.toIPv4Address(), bits - 96]
        : [address, bits];
    }
    const address = ipaddr.process(text);
    return [address, address.kind() === "ipv4" ? 32 : 128];
  } catch {
    return null;
  }
}

function list(text: string | undefined): string[] {
  return (text ?? "").split(",").map((part) => part.trim()).filter((part) => part !== "");
}

function parseBaseUrl(text: string): URL | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const bare = url.pathname === "/" && url.search === "" && url.hash === "" && url.username === "" &&
    url.password === "";
  return bare && /^https?:$/.test(url.protocol) ? url : null;
}

const domainForm = /^\.[a-z0-9-]+(\.[a-z0-9-]+)*$/;

function cookieDomainFault(domain: string, host: string | undefined): string | null {
  const name = domain.slice(1);
  if (!domainForm.test(domain)) {
    // The form that browsers know, of a name without the dot or with letters beyond ASCII.
    const address = `https://${domain.replace(/^\.?/, "any.")}`;
    const meant = URL.canParse(address) ? new URL(address).hostname.slice("any".length) : "";
    return `write it as ${domainForm.test(meant) ? meant : ".example.com"}`;
  }
  const parsed = parseDomain(name, { allowPrivateDomains: true });
  if (parsed.isIp || (host !== undefined && ipaddr.isValid(host))) return "an address has no subdomains";
  if (parsed.publicSuffix === name) return `everybody can have a name under ${domain}`;
  if (host !== undefined && host !== name && !host.endsWith(domain)) return `BASE_URL's host is ${host}`;
  return null;
}

function parseAllowedOrigin(text: string): AllowedOrigin | string {
  if (text === "*") return "every origin is not an origin";
  const pattern = /^(https?:\/\/)\*\.([a-z0-9-]+(?:\.[a-z0-9-]+)*)(:\d+)?$/.exec(text.toLowerCase());
  if (pattern !== null) {
    const [, scheme = "", domain = "", port = ""] = pattern;
    // Not a form that browsers send: a default port, a port too high, the end of an IPv4 address.
    const example = `${scheme}any.${domain}${port}`;
    if (!URL.canParse(example) || new URL(example).origin !== example) {
      return "write it as scheme://*.domain[:port]";
    }
    const parsed = parseDomain(domain, { allowPrivateDomains: true });
    if (parsed.publicSuffix === domain && domain !== "localhost") return "its domain is a public suffix";
    const ending = `.${domain}${port}`;
    return {
      text,
      matches: (origin) =>
        origin.startsWith(scheme) && origin.endsWith(ending) &&
        /^[a-z0-9-]+$/.test(origin.slice(scheme.length, -ending.length)),
    };
  }
  if (text.includes("*")) return "only one * is allowed, as the whole first label";
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return "write it as scheme://host[:port]";
  // As browsers write it: without a slash, a default port or letters beyond ASCII.
  if (url.origin !== text.toLowerCase()) return `write it as ${url.origin}`;
  return { text, matches: (origin) => origin === url.origin };
}

function parseDatabase(text: string | undefined, authToken: string | undefined): DatabaseTarget | null {
  const url = text ?? settings.DATABASE_URL.default;
  if (url.startsWith("file:")) {
    const path = url.slice("file:".length).replace(/^\/\/(?=\/)/, "");
    if (path === "" || path === ":memory:" || path.startsWith("//") || /[?#\p{Cc}]/u.test(path)) return null;
    return { kind: "file", path, createFolder: text === undefined };
  }
  if (!/^(libsql|https?):\/\/[^/]/.test(url) || !URL.canParse(url)) return null;
  const parsed = new URL(url);
  // Secrets have a setting of their own, which is never printed.
  if (parsed.username !== "" || parsed.password !== "" || parsed.searchParams.has("authToken")) return null;
  return { kind: "remote", url, authToken };
}

function isSmtpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  // Nothing but where and who: options in the address would be left aside.
  const hasMore = /^\/?$/.test(url.pathname) === false || url.search !== "" || url.hash !== "";
  if (!/^smtps?:$/.test(url.protocol) || url.hostname === "" || hasMore) return false;
  if (url.username === "" && url.password !== "") return false;
  return [url.username, url.password].every((part) => /^([^%]|%[0-9a-f]{2})*$/i.test(part));
}

function isMailbox(text: string): boolean {
  return /^([^<>\p{Cc}]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/u.test(text);
}
