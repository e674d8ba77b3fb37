// Reads the settings: takes the environment as a record, and returns a checked Config or all faults.
import ipaddr from "ipaddr.js";
import { parse as parseDomain } from "tldts";
import { type AddressBlock, parseAddressBlock } from "./domain/address_block.ts";
import { parseAllowedOrigin, parseEmbedOrigin } from "./domain/allowed_origin.ts";
import { parseClientHost } from "./domain/oauth/client_document.ts";
import { type Settings, settings, SettingsReader } from "./domain/settings_reader.ts";
import { readKeys, readStream } from "./domain/stream_settings.ts";

export { fileSetting, secrets, type Settings, settings } from "./domain/settings_reader.ts";

export type DatabaseTarget =
  | { readonly kind: "file"; readonly path: string; readonly createFolder: boolean }
  | { readonly kind: "remote"; readonly url: string; readonly authToken: string | undefined };

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
    stream: readStream(reader, { isRemote: database.kind === "remote" }),
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

/** Returns undefined without `BACKUP_DIR`. */
function readBackups(reader: SettingsReader, database: DatabaseTarget) {
  const folder = reader.matching("BACKUP_DIR", (text) => !/\p{Cc}/u.test(text));
  const everyHours = reader.integer("BACKUP_EVERY_HOURS", { min: 1, max: 8760 });
  const keep = reader.integer("BACKUP_KEEP", { min: 1, max: 10_000 });
  if (folder === undefined) return undefined;
  if (database.kind === "remote") reader.reject("BACKUP_DIR", "a libSQL server makes its own backups");
  return { folder, everyHours, keep };
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
