// Tests which settings are valid, and that errors report all invalid ones together without secrets. Settings with
// addresses are in config_addresses_test.ts.
import assert from "node:assert/strict";
import { type Settings, settings } from "../config.ts";
import { accepted, assertInvalid, faultsOf } from "./config_assert.ts";

Deno.test("parseConfig() requires no settings", () => {
  const { baseUrl, ...rest } = accepted({});
  assert.equal(baseUrl.href, "http://localhost:8000/");
  assert.deepEqual(rest, {
    port: 8000,
    host: "127.0.0.1",
    httpThreads: "auto",
    secure: false,
    cookieDomain: undefined,
    allowedOrigins: [],
    embedOrigins: [],
    database: { kind: "file", path: "./data/gatehouse.db", createFolder: true },
    signUp: "open",
    smtpUrl: undefined,
    mailFrom: undefined,
    trustedProxies: [],
    webhookAllowedHosts: [],
    oauthClientHosts: [],
    openidWebfinger: [],
    sessionMaxDays: 30,
    sessionIdleDays: 7,
    usageCatalog: "optional",
    usageRetentionDays: 400,
    keyPrefix: "service",
    apiKeyRequestsPerSecond: 1000,
    leakedKeys: "revoke",
    githubKeysUrl: "https://api.github.com/meta/public_keys/secret_scanning",
    logLevel: "info",
    logFormat: "json",
    metricsToken: undefined,
    secretsKeys: [],
    backups: undefined,
    stream: undefined,
    billingTimezone: "UTC",
    brand: { name: "Gatehouse", logo: undefined, color: null },
    currency: null,
    dnsServer: undefined,
    statementCloseDay: undefined,
  });
});

Deno.test("parseConfig() treats an empty or blank value as unset for every setting", () => {
  for (const blank of ["", "  ", "\t\n"]) {
    const record = Object.fromEntries(Object.keys(settings).map((name) => [name, blank]));
    assert.deepEqual(accepted(record), accepted({}));
  }
});

Deno.test("parseConfig() accepts every documented default with the same result as unset", () => {
  const record = Object.fromEntries(
    Object.entries(settings).filter(([name]) => name !== "BASE_URL" && name !== "LOG_FORMAT")
      .map(([name, { default: value }]) => [name, value]),
  );
  const { database, ...rest } = accepted({
    ...record,
    BASE_URL: "http://localhost:8000",
    LOG_FORMAT: "json",
  });
  const { database: _, ...defaults } = accepted({});
  assert.deepEqual(rest, defaults);
  assert.deepEqual(database, { kind: "file", path: "./data/gatehouse.db", createFolder: false });
});

Deno.test("parseConfig() trims values and ignores other variables", () => {
  assert.equal(accepted({ PORT: " 9000\n", PATH: "/bin" }).port, 9000);
});

Deno.test("parseConfig() reports all faults together, one line each", () => {
  const bad: Settings = {
    PORT: "70000",
    HOST: "a b",
    HTTP_THREADS: "0",
    BASE_URL: "ftp://x",
    COOKIE_DOMAIN: "example.com",
    ALLOWED_ORIGINS: "*, nonsense, https://fine.example.com",
    EMBED_ORIGINS: "nonsense",
    DATABASE_URL: "mysql://x",
    SIGN_UP: "maybe",
    SMTP_URL: "http://x",
    MAIL_FROM: "nobody",
    TRUSTED_PROXIES: "everyone",
    SESSION_MAX_DAYS: "0",
    SESSION_IDLE_DAYS: "-1",
    USAGE_RETENTION_DAYS: "35",
    BILLING_TIMEZONE: "+01:00",
    BRAND_NAME: "x".repeat(41),
    BRAND_COLOR: "red",
    CURRENCY: "eur",
    STATEMENT_CLOSE_DAY: "29",
    KEY_PREFIX: "Acme",
    API_KEY_REQUESTS_PER_SECOND: "many",
    LEAKED_KEYS: "ignore",
    GITHUB_KEYS_URL: "http://api.github.com/",
    LOG_LEVEL: "trace",
    LOG_FORMAT: "xml",
    METRICS_TOKEN: "short",
    SECRETS_KEY: "short",
  };
  const names = faultsOf(bad).map((fault) => fault.slice(0, fault.indexOf(":")));
  const wanted = Object.keys(bad).flatMap((name) => name === "ALLOWED_ORIGINS" ? [name, name] : [name]);
  assert.deepEqual(names.sort(), wanted.sort());
});

Deno.test("parseConfig() reports a fault once, and not for settings derived from it", () => {
  assertInvalid("PORT", "http");
  assertInvalid("PORT", "65536");
  assertInvalid("SESSION_MAX_DAYS", "0");
  assertInvalid("SESSION_MAX_DAYS", "never", { SESSION_IDLE_DAYS: "9" });
});

const secret = "canary-7f3a91";
for (
  const [promise, name, record] of [
    ["a token without a remote database", "DATABASE_AUTH_TOKEN", { DATABASE_AUTH_TOKEN: secret }],
    ["a password in a database's address", "DATABASE_URL", {
      DATABASE_URL: `libsql://u:${secret}@db.example.com`,
    }],
    ["a token in a database's address", "DATABASE_URL", {
      DATABASE_URL: `libsql://db.example.com?authToken=${secret}`,
    }],
    ["a token in an address of another scheme", "DATABASE_URL", {
      DATABASE_URL: `wss://db.x/?tls=1&authToken=${secret}`,
    }],
    ["a password in BASE_URL", "BASE_URL", { BASE_URL: `https://user:${secret}@auth.example.com` }],
    ["a password in ALLOWED_ORIGINS", "ALLOWED_ORIGINS", {
      ALLOWED_ORIGINS: `https://user:${secret}@app.example.com`,
    }],
    ["a password in SMTP_URL", "SMTP_URL", { SMTP_URL: `smpt://user:${secret}@mail.example.com` }],
    ["anything in SMTP_URL", "SMTP_URL", { SMTP_URL: secret }],
    ["a short metrics token", "METRICS_TOKEN", { METRICS_TOKEN: secret }],
    ["an invalid key of secrets", "SECRETS_KEY", { SECRETS_KEY: `${"A".repeat(43)}=,${secret}` }],
    ["valid secrets next to another fault", "PORT", { PORT: "x", METRICS_TOKEN: secret.repeat(2) }],
  ] as const
) {
  Deno.test(`parseConfig() never prints ${promise}`, () => {
    const faults = faultsOf(record);
    assert.ok(faults[0]?.startsWith(`${name}: `));
    assert.ok(!faults.join("\n").includes(secret), faults.join("\n"));
  });
}

for (
  const [name, key, good, bad] of [
    ["PORT", "port", { "0": 0, "1": 1, "443": 443, "65535": 65535 }, [
      "65536",
      "-1",
      "8000.0",
      "1e3",
      "0x50",
      "٣",
      "80 80",
    ]],
    ["SESSION_MAX_DAYS", "sessionMaxDays", { "1": 1, "365": 365 }, [
      "0",
      "366",
      "1.5",
      "-1",
      "Infinity",
      "NaN",
    ]],
    ["USAGE_CATALOG", "usageCatalog", { required: "required" }, ["Required", "yes"]],
    ["USAGE_RETENTION_DAYS", "usageRetentionDays", { "36": 36, "36500": 36500 }, ["35", "36501", "400d"]],
    ["BILLING_TIMEZONE", "billingTimezone", { UTC: "UTC", "Europe/Berlin": "Europe/Berlin" }, [
      "Berlin",
      "+02:00",
      "Mars/Olympus",
    ]],
    ["CURRENCY", "currency", { EUR: "EUR", JPY: "JPY" }, ["eur", "Euro", "€", "ZZZ"]],
    ["STATEMENT_CLOSE_DAY", "statementCloseDay", { "1": 1, "28": 28 }, ["0", "29", "1.5", "first"]],
    ["API_KEY_REQUESTS_PER_SECOND", "apiKeyRequestsPerSecond", { "0": 0, "1000000": 1_000_000 }, [
      "1000001",
      "-0",
    ]],
    ["LEAKED_KEYS", "leakedKeys", { revoke: "revoke", notify: "notify" }, ["Revoke", "true"]],
    ["GITHUB_KEYS_URL", "githubKeysUrl", {
      "https://proxy.example.com/keys?x=1": "https://proxy.example.com/keys?x=1",
      "http://127.0.0.1:9000/keys": "http://127.0.0.1:9000/keys",
      "http://[::1]/": "http://[::1]/",
    }, ["http://10.0.0.1/", "ftp://localhost/", "localhost", "https://user:password@api.github.com/"]],
    ["KEY_PREFIX", "keyPrefix", { service: "service", a1: "a1", abcdefghijklmnop: "abcdefghijklmnop" }, [
      "a",
      "1a",
      "Acme",
      "acme_",
      "abcdefghijklmnopq",
    ]],
    ["SIGN_UP", "signUp", { open: "open", invite: "invite", closed: "closed" }, [
      "Open",
      "yes",
      "constructor",
    ]],
    ["LOG_LEVEL", "logLevel", { debug: "debug", info: "info", warning: "warning", error: "error" }, [
      "warn",
      "INFO",
    ]],
    ["LOG_FORMAT", "logFormat", { json: "json", text: "text" }, ["pretty"]],
    ["HOST", "host", { "0.0.0.0": "0.0.0.0", "::1": "::1", localhost: "localhost" }, [
      "a b",
      "a/b",
      "[::1]:80",
    ]],
  ] as const
) {
  Deno.test(`parseConfig() accepts only the documented values of ${name}`, () => {
    for (const [text, value] of Object.entries(good)) assert.equal(accepted({ [name]: text })[key], value);
    for (const text of bad) assertInvalid(name, text);
  });
}

Deno.test("LOG_FORMAT defaults to text on a terminal and json elsewhere", () => {
  assert.equal(accepted({}, true).logFormat, "text");
  assert.equal(accepted({}, false).logFormat, "json");
  assert.equal(accepted({ LOG_FORMAT: "json" }, true).logFormat, "json");
});

Deno.test("DNS_SERVER is an IP address, alone or with a port", () => {
  const port53 = { ipAddr: "10.0.0.53", port: 53 };
  assert.deepEqual(accepted({ DNS_SERVER: "10.0.0.53" }).dnsServer, port53);
  assert.deepEqual(accepted({ DNS_SERVER: "10.0.0.53:5353" }).dnsServer, { ...port53, port: 5353 });
  assert.deepEqual(accepted({ DNS_SERVER: "[::1]:53" }).dnsServer, { ipAddr: "::1", port: 53 });
  for (const text of ["dns.example", "10.0.0.53:0", "10.0.0.53:99999", "[::1"]) {
    assertInvalid("DNS_SERVER", text);
  }
});

Deno.test("SESSION_IDLE_DAYS is at most SESSION_MAX_DAYS, and so is its default", () => {
  assert.equal(accepted({ SESSION_IDLE_DAYS: "30" }).sessionIdleDays, 30);
  assert.equal(accepted({ SESSION_MAX_DAYS: "3" }).sessionIdleDays, 3);
  assert.equal(accepted({ SESSION_MAX_DAYS: "90" }).sessionIdleDays, 7);
  assert.equal(accepted({ SESSION_MAX_DAYS: "90", SESSION_IDLE_DAYS: "90" }).sessionIdleDays, 90);
  assertInvalid("SESSION_IDLE_DAYS", "31");
  assertInvalid("SESSION_IDLE_DAYS", "4", { SESSION_MAX_DAYS: "3" });
  assertInvalid("SESSION_IDLE_DAYS", "0");
});

Deno.test("METRICS_TOKEN is at least 16 printable characters without spaces", () => {
  assert.equal(accepted({ METRICS_TOKEN: "0123456789abcdef" }).metricsToken, "0123456789abcdef");
  for (
    const text of ["0123456789abcde", "01234567 89abcdef", "0123456789abcdé\u00e9f", "0123456789abcde\u007f"]
  ) {
    assertInvalid("METRICS_TOKEN", text);
  }
});

Deno.test("SECRETS_KEY is one or several keys of 32 bytes in base64", () => {
  const [one, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const [first, second] = [one.toBase64(), other.toBase64()];
  assert.deepEqual(accepted({ SECRETS_KEY: first }).secretsKeys, [one]);
  assert.deepEqual(accepted({ SECRETS_KEY: `${second}, ${first}` }).secretsKeys, [other, one]);
  for (const text of [",", `${first},`, `${first} ${second}`, first.slice(1), `${first}A`, one.toHex()]) {
    assertInvalid("SECRETS_KEY", text);
  }
  // Another base64 encoder would return other characters for these bytes.
  assertInvalid("SECRETS_KEY", first.replace(/.=$/, "F="));
  assert.match(assertInvalid("SECRETS_KEY", `${first},x`), /a hidden value \(key 2 of 2\)$/);
});

Deno.test("parseConfig() accepts scheduled backups only for a data file", () => {
  assert.deepEqual(accepted({ BACKUP_DIR: "/srv/kept", BACKUP_EVERY_HOURS: "6" }).backups, {
    folder: "/srv/kept",
    everyHours: 6,
    keep: 7,
  });
  for (const value of ["0", "8761", "1.5", "x"]) assertInvalid("BACKUP_EVERY_HOURS", value);
  for (const value of ["0", "10001", "-1"]) assertInvalid("BACKUP_KEEP", value);
  assertInvalid("BACKUP_DIR", "/srv/ke\u0007pt");
  assertInvalid("BACKUP_DIR", "/srv/kept", { DATABASE_URL: "https://db.example.com" });
});

Deno.test("parseConfig() accepts continuous backups to a folder or an S3 store, only for a data file", () => {
  const plan = { seconds: 1, spoolBytesMax: 1024 ** 3, keys: [], keepDays: 7 };
  assert.deepEqual(accepted({ BACKUP_STREAM_TO: "/srv/copies" }).stream, {
    ...plan,
    target: { kind: "folder", folder: "/srv/copies" },
  });
  assert.equal(accepted({}).stream, undefined);
  const credentials = { BACKUP_S3_ACCESS_KEY_ID: "id", BACKUP_S3_SECRET_ACCESS_KEY: "secret" };
  const store = { ...credentials, BACKUP_STREAM_SECONDS: "5", BACKUP_KEEP: "30" };
  assert.deepEqual(accepted({ ...store, BACKUP_STREAM_TO: "s3://copies/gatehouse/eu/" }).stream, {
    ...plan,
    seconds: 5,
    keepDays: 30,
    target: {
      kind: "s3",
      bucket: "copies",
      prefix: "gatehouse/eu",
      endpoint: undefined,
      region: "us-east-1",
      accessKeyId: "id",
      secretAccessKey: "secret",
    },
  });
  const to = { BACKUP_STREAM_TO: "s3://copies" };
  assert.match(faultsOf(to).join("\n"), /^BACKUP_S3_ACCESS_KEY_ID: .*\nBACKUP_S3_SECRET_ACCESS_KEY: /);
  for (
    const value of [
      "s3://",
      "s3://UPPER",
      "s3://copies/a?b",
      "s3://copies/../other",
      "s3://copies/a/./b",
      "gs://copies",
    ]
  ) {
    assertInvalid("BACKUP_STREAM_TO", value, credentials);
  }
  assertInvalid("BACKUP_STREAM_TO", "/srv/copies", { DATABASE_URL: "https://db.example.com" });
  assertInvalid("BACKUP_S3_ENDPOINT", "minio:9000");
  assertInvalid("BACKUP_S3_REGION", "eu west");
  for (const value of ["0", "3601"]) assertInvalid("BACKUP_STREAM_SECONDS", value);
  for (const value of ["63", "1000001"]) assertInvalid("BACKUP_STREAM_MB", value);
  assertInvalid("BACKUP_ENCRYPTION_KEY", "short");
});

Deno.test("parseConfig() accepts a brand, and colors only as six digits", () => {
  const { brand } = accepted({ BRAND_NAME: "Acmé Maps", BRAND_COLOR: "#7C3AED", BRAND_LOGO: "logo.svg" });
  assert.deepEqual(brand, { name: "Acmé Maps", logo: "logo.svg", color: "#7c3aed" });
  for (const color of ["7c3aed", "#7c3", "#7c3aed80", "#7c3aeg", "rebeccapurple"]) {
    assert.match(
      faultsOf({ BRAND_COLOR: color }).join(),
      /^BRAND_COLOR: expected a color such as #0e6652, got /,
    );
  }
  for (const name of ["\u202eevil", "a\tb", "\u2800"]) {
    assert.match(faultsOf({ BRAND_NAME: name }).join(), /^BRAND_NAME/);
  }
});
