// All settings with their defaults, and how single ones are read.

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

export type SettingName = keyof typeof settings;
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

/** Reads single settings and collects faults. An invalid setting gets a placeholder, which a fault keeps from being used. */
export class SettingsReader {
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
