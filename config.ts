// Reads the settings: takes the environment as a record, and returns a checked Config or all faults.
import { Buffer } from "node:buffer";
import ipaddr from "ipaddr.js";
import { parse as parseDomain } from "tldts";
import { type AddressBlock, parseAddressBlock } from "./domain/address_block.ts";
import { parseAllowedOrigin, parseEmbedOrigin } from "./domain/allowed_origin.ts";
import { parseClientHost } from "./domain/oauth/client_document.ts";

export type DatabaseTarget =
  | { readonly kind: "file"; readonly path: string; readonly createFolder: boolean }
  | { readonly kind: "remote"; readonly url: string; readonly authToken: string | undefined };

/** Where continuous backups go. */
export type StreamTarget =
  | { readonly kind: "folder"; readonly folder: string }
  | {
    readonly kind: "s3";
    readonly bucket: string;
    /** Without slashes at its ends; may be empty. */
    readonly prefix: string;
    /** Undefined for Amazon S3. */
    readonly endpoint: string | undefined;
    readonly region: string;
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
  };

export type Settings = Readonly<Record<string, string | undefined>>;

/** Every setting with its default and the values that it accepts, for `--help` and the faults. */
export const settings = {
  PORT: { default: "8000", expected: "a whole number from 0 to 65535 (0: any free port)" },
  HOST: { default: "127.0.0.1", expected: "an IP address or host name to listen on" },
  HTTP_THREADS: { default: "auto", expected: "auto or a whole number from 1 to 64" },
  BASE_URL: { default: "http://localhost:<PORT>", expected: "an http or https URL without a path" },
  COOKIE_DOMAIN: {
    default: "",
    expected: "a domain with a leading dot that contains BASE_URL's host and isn't a public suffix",
  },
  ALLOWED_ORIGINS: {
    default: "",
    expected: "comma-separated origins, such as https://app.example.com or https://*.example.com",
  },
  EMBED_ORIGINS: { default: "", expected: "comma-separated origins on BASE_URL's site, without wildcards" },
  DATABASE_URL: {
    default: "file:./data/gatehouse.db",
    expected: "file:PATH in an existing folder, or the libsql, https or http URL of a libSQL server",
  },
  DATABASE_AUTH_TOKEN: { default: "", expected: "the token of the libSQL server in DATABASE_URL" },
  SIGN_UP: { default: "open", expected: "open, invite or closed" },
  SMTP_URL: { default: "", expected: "smtp://[user:password@]host[:port] or smtps://…" },
  MAIL_FROM: { default: "", expected: "an email address, alone or as Name <address>" },
  TRUSTED_PROXIES: { default: "", expected: "comma-separated IP addresses or CIDR blocks" },
  WEBHOOK_ALLOWED_HOSTS: { default: "", expected: "comma-separated host names, IP addresses or CIDR blocks" },
  DNS_SERVER: { default: "", expected: "the IP address of a DNS server, alone or with a port" },
  OAUTH_CLIENT_HOSTS: { default: "", expected: "comma-separated hosts, or * for all; requires SECRETS_KEY" },
  OPENID_WEBFINGER: { default: "", expected: "comma-separated domains, such as example.com" },
  SESSION_MAX_DAYS: { default: "30", expected: "a whole number from 1 to 365" },
  SESSION_IDLE_DAYS: { default: "7", expected: "a whole number from 1 to SESSION_MAX_DAYS" },
  USAGE_CATALOG: { default: "optional", expected: "optional or required" },
  USAGE_RETENTION_DAYS: { default: "400", expected: "a whole number from 36 to 36500" },
  BILLING_TIMEZONE: { default: "UTC", expected: "an IANA time zone, such as Europe/Berlin" },
  BRAND_NAME: { default: "Gatehouse", expected: "a name of 1 to 40 characters" },
  BRAND_LOGO: { default: "", expected: "the path of an SVG or PNG file of at most 100 KiB" },
  BRAND_COLOR: { default: "", expected: "a color such as #0e6652" },
  CURRENCY: { default: "", expected: "an ISO 4217 currency code, such as EUR" },
  STATEMENT_CLOSE_DAY: { default: "", expected: "a whole number from 1 to 28" },
  KEY_PREFIX: {
    default: "service",
    expected: "2 to 16 lowercase letters and digits, starting with a letter",
  },
  API_KEY_REQUESTS_PER_SECOND: { default: "1000", expected: "a whole number from 0 (no limit) to 1000000" },
  LEAKED_KEYS: { default: "revoke", expected: "revoke or notify" },
  GITHUB_KEYS_URL: {
    default: "https://api.github.com/meta/public_keys/secret_scanning",
    expected: "an https URL, or an http URL of this machine",
  },
  LOG_LEVEL: { default: "info", expected: "debug, info, warning or error" },
  LOG_FORMAT: { default: "text on a terminal, else json", expected: "json or text" },
  METRICS_TOKEN: { default: "", expected: "at least 16 printable ASCII characters without spaces" },
  SECRETS_KEY: {
    default: "",
    expected: "32 bytes in base64, or several of these separated by commas, the newest first",
  },
  BACKUP_DIR: { default: "", expected: "an existing folder for scheduled backups" },
  BACKUP_EVERY_HOURS: { default: "24", expected: "a whole number from 1 to 8760" },
  BACKUP_KEEP: { default: "7", expected: "a whole number from 1 to 10000" },
  BACKUP_STREAM_TO: {
    default: "",
    expected: "an existing folder or s3://BUCKET[/PREFIX], for continuous backup",
  },
  BACKUP_STREAM_SECONDS: { default: "1", expected: "a whole number from 1 to 3600" },
  BACKUP_STREAM_MB: { default: "1024", expected: "a whole number from 64 to 1000000" },
  BACKUP_ENCRYPTION_KEY: {
    default: "",
    expected: "32 bytes in base64, or several of these separated by commas, the newest first",
  },
  BACKUP_S3_ENDPOINT: { default: "", expected: "the http or https URL of an S3-compatible store" },
  BACKUP_S3_REGION: { default: "us-east-1", expected: "the region of the store" },
  BACKUP_S3_ACCESS_KEY_ID: { default: "", expected: "the ID of an access key of the store" },
  BACKUP_S3_SECRET_ACCESS_KEY: { default: "", expected: "the secret of BACKUP_S3_ACCESS_KEY_ID" },
} as const;

type SettingName = keyof typeof settings;
/** Settings whose values are never printed. Each can also be read from the file that NAME_FILE names. */
export const secrets = [
  "DATABASE_AUTH_TOKEN",
  "SMTP_URL",
  "METRICS_TOKEN",
  "SECRETS_KEY",
  "BACKUP_ENCRYPTION_KEY",
  "BACKUP_S3_ACCESS_KEY_ID",
  "BACKUP_S3_SECRET_ACCESS_KEY",
] as const;
/** Returns the name of the setting that names the file with a secret. */
export function fileSetting(secret: typeof secrets[number]): string {
  return `${secret}_FILE`;
}

/** All settings, read and checked. */
export interface Config extends Readonly<ReturnType<typeof readConfig>> {}

/**
 * Reads and checks every setting. An empty value counts as unset.
 *
 * @returns The checked settings, or one line for each fault: the setting, the expected and the given value.
 */
export function parseConfig(
  record: Settings,
  options: { isTerminal: boolean },
): { readonly config: Config } | { readonly faults: readonly string[] } {
  const reader = new SettingsReader(record);
  const config = readConfig(reader, options);
  return reader.faults.length > 0 ? { faults: reader.faults } : { config };
}

function readConfig(reader: SettingsReader, { isTerminal }: { isTerminal: boolean }) {
  const database = readDatabase(reader);
  return {
    ...readAddresses(reader),
    database,
    backups: readBackups(reader, database),
    stream: readStream(reader, database),
    ...readMail(reader),
    ...readSessions(reader),
    /** Everyone, invited people or no one can create an account. */
    signUp: reader.oneOf("SIGN_UP", ["open", "invite", "closed"]),
    /** With `required`, usage of products and metrics that aren't in the catalogue is rejected. */
    usageCatalog: reader.oneOf("USAGE_CATALOG", ["optional", "required"]),
    usageRetentionDays: reader.integer("USAGE_RETENTION_DAYS", { min: 36, max: 36500 }),
    ...readBilling(reader),
    brand: readBrand(reader),
    /** The prefix of new API keys. */
    keyPrefix: reader.matching("KEY_PREFIX", (text) => /^[a-z][a-z0-9]{1,15}$/.test(text)) ??
      settings.KEY_PREFIX.default,
    /** Rate limit of each API key; 0 for none. */
    apiKeyRequestsPerSecond: reader.integer("API_KEY_REQUESTS_PER_SECOND", { min: 0, max: 1_000_000 }),
    /** The response to a report of a leaked key. */
    leakedKeys: reader.oneOf("LEAKED_KEYS", ["revoke", "notify"]),
    /** The URL of the public keys that verify GitHub's reports. */
    githubKeysUrl: reader.matching("GITHUB_KEYS_URL", isGithubKeysUrl) ?? settings.GITHUB_KEYS_URL.default,
    logLevel: reader.oneOf("LOG_LEVEL", ["debug", "info", "warning", "error"]),
    logFormat: reader.oneOf("LOG_FORMAT", ["json", "text"], isTerminal ? "text" : "json"),
    metricsToken: reader.matching("METRICS_TOKEN", (text) => /^[\x21-\x7e]{16,}$/.test(text)),
    secretsKeys: readKeys(reader, "SECRETS_KEY"),
  };
}

/** Reads single settings and collects faults. An invalid setting gets a placeholder, which a fault keeps from being used. */
class SettingsReader {
  readonly faults: string[] = [];

  constructor(readonly record: Settings) {}

  text(name: SettingName): string | undefined {
    return this.record[name]?.trim() || undefined;
  }

  reject(name: SettingName, reason = ""): void {
    const value = this.record[name] ?? "";
    const isSecret = (secrets as readonly string[]).includes(name) || /:\/\/[^/]*@|authToken=/i.test(value);
    const shown = isSecret ? "a hidden value" : JSON.stringify(value);
    const got = this.text(name) === undefined ? "nothing" : shown;
    this.faults.push(`${name}: expected ${settings[name].expected}, got ${got}${reason && ` (${reason})`}`);
  }

  matching(name: SettingName, isValid: (text: string) => boolean): string | undefined {
    const text = this.text(name);
    if (text !== undefined && !isValid(text)) this.reject(name);
    return text;
  }

  integer(name: SettingName, { min, max }: { min: number; max: number }): number {
    const text = this.text(name) ?? settings[name].default;
    const value = Number(text);
    if (/^\d{1,9}$/.test(text) && value >= min && value <= max) return value;
    this.reject(name);
    // Settings that are checked against this one must not be reported as well.
    return Number(settings[name].default);
  }

  oneOf<T extends string>(name: SettingName, values: readonly [T, ...T[]], fallback?: T): T {
    const text = this.text(name) ?? fallback ?? settings[name].default;
    const value = values.find((one) => one === text);
    if (value === undefined) this.reject(name);
    return value ?? values[0];
  }

  /** @param parse Returns the value of an item, or why it is invalid. */
  list<T extends object>(name: SettingName, parse: (text: string) => T | string): T[] {
    const items = (this.text(name) ?? "").split(",").map((item) => item.trim()).filter((item) => item !== "");
    return items.flatMap((item) => {
      const value = parse(item);
      if (typeof value !== "string") return [value];
      const itemName = item.includes("@") ? "the one with a user name" : JSON.stringify(item);
      this.reject(name, `${itemName}: ${value}`);
      return [];
    });
  }
}

function readAddresses(reader: SettingsReader) {
  const port = reader.integer("PORT", { min: 0, max: 65535 });
  const host = reader.matching("HOST", (text) => /^[A-Za-z0-9.:_-]+$/.test(text)) ?? settings.HOST.default;
  const isAuto = (reader.text("HTTP_THREADS") ?? settings.HTTP_THREADS.default) === "auto";
  const httpThreads: number | "auto" = isAuto ? "auto" : reader.integer("HTTP_THREADS", { min: 1, max: 64 });
  const baseUrl = parseBaseUrl(reader.text("BASE_URL") ?? `http://localhost:${port}`);
  if (baseUrl === null) reader.reject("BASE_URL");

  const cookieDomain = reader.text("COOKIE_DOMAIN")?.toLowerCase();
  const cookieFault = cookieDomain === undefined ? null : cookieDomainFault(cookieDomain, baseUrl?.hostname);
  if (cookieFault !== null) reader.reject("COOKIE_DOMAIN", cookieFault);

  return {
    port,
    host,
    /** `auto`: one for each core, at most 8. */
    httpThreads,
    /** The origin of the service; the path is `/`. */
    baseUrl: baseUrl ?? new URL("http://localhost"),
    /** True if `BASE_URL` is https: cookies are `Secure` and HSTS is sent. */
    secure: baseUrl?.protocol === "https:",
    cookieDomain,
    allowedOrigins: reader.list("ALLOWED_ORIGINS", parseAllowedOrigin),
    /** Origins of products whose pages may have pages below `/embed` in a frame. */
    embedOrigins: reader.list("EMBED_ORIGINS", (text) => parseEmbedOrigin(text, baseUrl))
      .map(({ text }) => text),
    trustedProxies: reader.list(
      "TRUSTED_PROXIES",
      (text) => parseAddressBlock(text) ?? "not an address or a block",
    ),
    /** Private hosts and addresses that the program may reach for a customer, also by http. */
    webhookAllowedHosts: reader.list("WEBHOOK_ALLOWED_HOSTS", parseAllowedHost),
    /** Hosts whose applications may have a metadata document as their `client_id`; `*` for all. */
    oauthClientHosts: reader.list(
      "OAUTH_CLIENT_HOSTS",
      (text) => reader.text("SECRETS_KEY") === undefined ? "SECRETS_KEY is not set" : parseClientHost(text),
    ).map(({ host }) => host),
    /** Domains whose people WebFinger refers to this provider. */
    openidWebfinger: reader.list("OPENID_WEBFINGER", parseDomainName).map(({ host }) => host),
    /** The resolver for TXT records of domains; default: the system's. */
    dnsServer: parseDnsServer(reader.matching("DNS_SERVER", (text) => parseDnsServer(text) !== undefined)),
  };
}

function readDatabase(reader: SettingsReader): DatabaseTarget {
  const authToken = reader.text("DATABASE_AUTH_TOKEN");
  const database = parseDatabase(reader.text("DATABASE_URL"), authToken);
  if (database === null) reader.reject("DATABASE_URL");
  if (authToken !== undefined && database?.kind === "file") reader.reject("DATABASE_AUTH_TOKEN");
  return database ?? { kind: "file", path: "", createFolder: false };
}

/** Returns the keys that encrypt stored secrets or backups, the newest first; none if they are stored as they are. */
function readKeys(
  reader: SettingsReader,
  name: "SECRETS_KEY" | "BACKUP_ENCRYPTION_KEY",
): readonly Uint8Array[] {
  const items = reader.text(name)?.split(",").map((item) => item.trim()) ?? [];
  const keys = items.map((item) => Uint8Array.from(Buffer.from(item, "base64")));
  // Buffer skips characters that aren't base64. The values must not be printed.
  const wrong = keys.findIndex((key, n) =>
    key.length !== 32 || Buffer.from(key).toString("base64") !== items[n]
  );
  if (wrong !== -1) {
    reader.reject(name, keys.length === 1 ? "" : `key ${wrong + 1} of ${keys.length}`);
  }
  return keys;
}

/** Returns undefined without `BACKUP_DIR`. */
function readBackups(reader: SettingsReader, database: DatabaseTarget) {
  const folder = reader.matching("BACKUP_DIR", (text) => !/\p{Cc}/u.test(text));
  const everyHours = reader.integer("BACKUP_EVERY_HOURS", { min: 1, max: 8760 });
  const keep = reader.integer("BACKUP_KEEP", { min: 1, max: 10_000 });
  if (folder === undefined) return undefined;
  if (database.kind === "remote") reader.reject("BACKUP_DIR", "a libSQL server makes its own backups");
  return { folder, everyHours, keep };
}

/** Returns undefined without `BACKUP_STREAM_TO`. */
function readStream(reader: SettingsReader, database: DatabaseTarget) {
  const target = readStreamTarget(reader, reader.text("BACKUP_STREAM_TO"));
  const seconds = reader.integer("BACKUP_STREAM_SECONDS", { min: 1, max: 3600 });
  const spoolBytesMax = reader.integer("BACKUP_STREAM_MB", { min: 64, max: 1_000_000 }) * 1024 * 1024;
  const keys = readKeys(reader, "BACKUP_ENCRYPTION_KEY");
  const keepDays = Number(reader.text("BACKUP_KEEP") ?? settings.BACKUP_KEEP.default);
  if (target === undefined) return undefined;
  if (database.kind === "remote") reader.reject("BACKUP_STREAM_TO", "a libSQL server makes its own backups");
  return { target, seconds, spoolBytesMax, keys, keepDays };
}

/** @param to A folder or an `s3:` URL; commands take it as an argument. */
function readStreamTarget(reader: SettingsReader, to: string | undefined): StreamTarget | undefined {
  const endpoint = reader.matching("BACKUP_S3_ENDPOINT", (text) => parseBaseUrl(text) !== null);
  const region = reader.matching("BACKUP_S3_REGION", (text) => /^[a-z0-9-]+$/i.test(text)) ??
    settings.BACKUP_S3_REGION.default;
  if (to === undefined) return undefined;
  if (!/^[a-z0-9]+:\/\//i.test(to)) {
    if (/\p{Cc}/u.test(to)) reader.reject("BACKUP_STREAM_TO");
    return { kind: "folder", folder: to };
  }
  const [, bucket, prefix = ""] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,62})(?:\/+([A-Za-z0-9!_.*'()\/-]*?))?\/*$/.exec(to) ?? [];
  if (bucket === undefined) reader.reject("BACKUP_STREAM_TO");
  const [accessKeyId = "", secretAccessKey = ""] = ["BACKUP_S3_ACCESS_KEY_ID", "BACKUP_S3_SECRET_ACCESS_KEY"]
    .map(
      (name) => {
        const text = reader.text(name as SettingName);
        if (text === undefined) reader.reject(name as SettingName, "required with an s3:// URL");
        return text;
      },
    );
  return { kind: "s3", bucket: bucket ?? "", prefix, endpoint, region, accessKeyId, secretAccessKey };
}

/** Reads a target that a command names, with its settings from the environment. */
export function parseStreamTarget(to: string, record: Settings) {
  const reader = new SettingsReader({ ...record, BACKUP_STREAM_TO: to });
  const target = readStreamTarget(reader, to);
  const keys = readKeys(reader, "BACKUP_ENCRYPTION_KEY");
  const { faults } = reader;
  return faults.length > 0 || target === undefined ? { faults } : { target, keys };
}

function readBilling(reader: SettingsReader) {
  const timezone = reader.matching("BILLING_TIMEZONE", isTimezone);
  const isUnset = reader.text("STATEMENT_CLOSE_DAY") === undefined;
  const statementCloseDay = isUnset ? undefined : reader.integer("STATEMENT_CLOSE_DAY", { min: 1, max: 28 });
  return {
    /** The currency of all prices, an ISO 4217 code. */
    currency: reader.matching("CURRENCY", isCurrency) ?? null,
    /** The calendar by which months of statements end: an IANA name. */
    billingTimezone: timezone ?? settings.BILLING_TIMEZONE.default,
    /** The day on which the month before is closed; undefined to close months by hand. */
    statementCloseDay,
  };
}

function readBrand(reader: SettingsReader) {
  const name = reader.matching(
    "BRAND_NAME",
    (text) => /^(?=.*[\p{L}\p{N}])[^\p{Cc}\p{Bidi_C}]{1,40}$/u.test(text),
  );
  const color = reader.matching("BRAND_COLOR", (text) => /^#[0-9a-f]{6}$/i.test(text));
  return {
    name: name ?? settings.BRAND_NAME.default,
    /** The path of its file; in a running server, a `data:` URL of what is shown of it. */
    logo: reader.text("BRAND_LOGO"),
    color: color?.toLowerCase() ?? null,
  };
}

function readMail(reader: SettingsReader) {
  const smtpUrl = reader.matching("SMTP_URL", isSmtpUrl);
  const mailFrom = reader.matching("MAIL_FROM", isMailbox);
  if (smtpUrl !== undefined && mailFrom === undefined) reader.reject("MAIL_FROM", "required with SMTP_URL");
  if (mailFrom !== undefined && smtpUrl === undefined) reader.reject("SMTP_URL", "required with MAIL_FROM");
  return { smtpUrl, mailFrom };
}

function readSessions(reader: SettingsReader) {
  const sessionMaxDays = reader.integer("SESSION_MAX_DAYS", { min: 1, max: 365 });
  // The default idle time is never longer than a session.
  const sessionIdleDays = reader.text("SESSION_IDLE_DAYS") === undefined
    ? Math.min(Number(settings.SESSION_IDLE_DAYS.default), sessionMaxDays)
    : reader.integer("SESSION_IDLE_DAYS", { min: 1, max: sessionMaxDays });
  return { sessionMaxDays, sessionIdleDays };
}

function parseDnsServer(text: string | undefined): { ipAddr: string; port: number } | undefined {
  const [, bracketed, plain, port = "53"] =
    /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::(\d{1,5}))?$/i.exec(text ?? "") ?? [];
  const ipAddr = bracketed ?? plain ?? text ?? "";
  const isValid = ipaddr.isValid(ipAddr) && Number(port) > 0 && Number(port) <= 65535;
  return isValid ? { ipAddr, port: Number(port) } : undefined;
}

function parseAllowedHost(text: string): AddressBlock | { readonly host: string } | string {
  const block = parseAddressBlock(text);
  if (block !== null) return block;
  const host = text.toLowerCase();
  // Compared with the host of a URL, which has IPv4 addresses in one form.
  const isHost = /^(?=.*[a-z])[a-z0-9._-]+$/.test(host) && URL.parse(`http://${host}`)?.hostname === host;
  return isHost && !host.endsWith(".") ? { host } : "not a host name, an address or a block";
}

function parseDomainName(text: string): { readonly host: string } | string {
  const host = parseAllowedHost(text);
  return typeof host !== "string" && "host" in host ? host : "not a domain";
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
    // Suggests the form that browsers use: with a dot and in ASCII.
    const address = `https://${domain.replace(/^\.?/, "any.")}`;
    const meant = URL.canParse(address) ? new URL(address).hostname.slice("any".length) : "";
    return `write it as ${domainForm.test(meant) ? meant : ".example.com"}`;
  }
  const parsed = parseDomain(name, { allowPrivateDomains: true });
  if (parsed.isIp || (host !== undefined && ipaddr.isValid(host))) return "an IP address has no subdomains";
  if (parsed.publicSuffix === name) return `${domain} is a public suffix`;
  if (host !== undefined && host !== name && !host.endsWith(domain)) return `BASE_URL's host is ${host}`;
  return null;
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
  // The token belongs in DATABASE_AUTH_TOKEN, which is never printed.
  if (parsed.username !== "" || parsed.password !== "" || parsed.searchParams.has("authToken")) return null;
  return { kind: "remote", url, authToken };
}

function isSmtpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  // Options in the URL would be ignored.
  const hasMore = !/^\/?$/.test(url.pathname) || url.search !== "" || url.hash !== "";
  if (!/^smtps?:$/.test(url.protocol) || url.hostname === "" || hasMore) return false;
  if (url.username === "" && url.password !== "") return false;
  return [url.username, url.password].every((part) => /^([^%]|%[0-9a-f]{2})*$/i.test(part));
}

/** True for a URL whose response others can't change: they could report keys as GitHub. */
function isGithubKeysUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" ||
    (url.protocol === "http:" && /^(localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname));
}

/** True for IANA names. Plain offsets such as +01:00 are not accepted. */
function isTimezone(text: string): boolean {
  try {
    return /^[A-Za-z]/.test(text) && Temporal.Now.zonedDateTimeISO(text).timeZoneId !== "";
  } catch {
    return false;
  }
}

function isCurrency(text: string): boolean {
  return Intl.supportedValuesOf("currency").includes(text);
}

function isMailbox(text: string): boolean {
  return /^([^<>\p{Cc}]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/u.test(text);
}
