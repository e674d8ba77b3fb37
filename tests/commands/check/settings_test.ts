// Checks of settings against each other, and of clocks.
import assert from "node:assert/strict";
import type { Settings } from "../../../config.ts";
import type { Verdict } from "../../../domain/check_result.ts";
import { checkSettingNames } from "../../../commands/check/setting_names.ts";
import { checkSettings } from "../../../commands/check/settings.ts";
import { checkClock } from "../../../commands/check/time.ts";
import { accepted } from "../../config_assert.ts";

/** @returns The problems by what was checked. */
function problems(settings: Settings): Readonly<Record<string, { verdict: Verdict; words: string }>> {
  return Object.fromEntries(
    checkSettings(accepted(settings)).filter(({ verdict }) => verdict !== "ok")
      .map(({ about, verdict, saw, advice }) => [about, { verdict, words: `${saw} ${advice}` }]),
  );
}

const base = { BASE_URL: "https://auth.example.com", TRUSTED_PROXIES: "127.0.0.1" };

Deno.test("checkSettings() reports nothing for the documented deployments", () => {
  const origins =
    "https://app.example.com,https://*.docs.example.com,https://example.com,https://auth.example.com";
  assert.deepEqual(problems({ ...base, COOKIE_DOMAIN: ".example.com", ALLOWED_ORIGINS: origins }), {});
  assert.deepEqual(problems({}), {});
  assert.deepEqual(problems({ PORT: "0" }), {});
  assert.deepEqual(problems({ ALLOWED_ORIGINS: "http://localhost:3000" }), {});
});

Deno.test("checkSettings() warns about plain http, but not on this machine", () => {
  const found = problems({ BASE_URL: "http://auth.example.com:8000" })["BASE_URL"];
  assert.equal(found?.verdict, "warning");
  assert.match(found.words, /BASE_URL=https:\/\/auth\.example\.com$/);
  for (const host of ["localhost", "auth.localhost", "127.0.0.9", "[::1]"]) {
    assert.deepEqual(problems({ BASE_URL: `http://${host}:8000` }), {});
  }
  assert(problems({ BASE_URL: "http://notlocalhost:8000" })["BASE_URL"]);
});

Deno.test("checkSettings() warns about each origin that the cookie never reaches, and says why", () => {
  const found = problems({
    ...base,
    BASE_URL: "https://auth.eu.example.com",
    COOKIE_DOMAIN: ".eu.example.com",
    ALLOWED_ORIGINS:
      "https://app.eu.example.com,https://app.example.com,http://app.eu.example.com,https://example.org,https://*.noteu.example.com",
  });
  assert.deepEqual(Object.keys(found), [
    "Origin https://app.example.com",
    "Origin http://app.eu.example.com",
    "Origin https://example.org",
    "Origin https://*.noteu.example.com",
  ]);
  assert.match(
    found["Origin https://app.example.com"]?.words ?? "",
    /outside .*set COOKIE_DOMAIN=\.example\.com$/,
  );
  assert.match(found["Origin http://app.eu.example.com"]?.words ?? "", /mixes http and https/);
  assert.match(found["Origin https://example.org"]?.words ?? "", /another site/);
  const unset = problems({ ...base, ALLOWED_ORIGINS: "https://app.example.com" });
  assert.match(unset["Origin https://app.example.com"]?.words ?? "", /COOKIE_DOMAIN is not set/);
  const hosted = { BASE_URL: "https://auth.one.github.io", ALLOWED_ORIGINS: "https://app.one.github.io" };
  assert.deepEqual(problems({ ...base, ...hosted, COOKIE_DOMAIN: ".one.github.io" }), {});
  // Two customers of a hosting domain are two sites.
  const shared = problems({
    ...base,
    BASE_URL: "https://one.github.io",
    ALLOWED_ORIGINS: "https://two.github.io",
  });
  assert.match(shared["Origin https://two.github.io"]?.words ?? "", /another site/);
});

Deno.test("checkSettings() warns about a cookie domain without product origins", () => {
  const found = problems({ ...base, COOKIE_DOMAIN: ".example.com" });
  assert.deepEqual(Object.keys(found), ["ALLOWED_ORIGINS"]);
  assert.equal(found["ALLOWED_ORIGINS"]?.verdict, "warning");
  assert.match(
    found["ALLOWED_ORIGINS"].words,
    /no one returns to them .*ALLOWED_ORIGINS=https:\/\/app\.example\.com$/,
  );
  const own = { ...base, COOKIE_DOMAIN: ".example.com", ALLOWED_ORIGINS: "https://auth.example.com" };
  assert.deepEqual(Object.keys(problems(own)), ["ALLOWED_ORIGINS"]);
});

Deno.test("checkSettingNames() finds misspelled settings, also if the right one is set", () => {
  const found = (record: Settings) =>
    checkSettingNames(record).map(({ about, verdict, advice }) => `${verdict} ${about} ${advice}`);
  for (
    const [name, meant] of [
      ["ALLOWED_ORIGIN", "ALLOWED_ORIGINS"],
      ["ALOWED_ORIGINS", "ALLOWED_ORIGINS"],
      ["allowed_origins", "ALLOWED_ORIGINS"],
      ["ALLOWED-ORIGINS", "ALLOWED_ORIGINS"],
      ["COOKIE_DOMIAN", "COOKIE_DOMAIN"],
      ["TRUSTED_PROXY", "TRUSTED_PROXIES"],
      ["GATEHOUSE_BASE_URL", "BASE_URL"],
      ["SESSION_MAX_DAY", "SESSION_MAX_DAYS"],
      ["BASEURL", "BASE_URL"],
      ["SMTP_URI", "SMTP_URL"],
      ["SMTP_URI_FILE", "SMTP_URL_FILE"],
      ["SMTP_FROM", "MAIL_FROM"],
      ["DB_URL", "DATABASE_URL"],
      ["BACKUP_DIRECTORY", "BACKUP_DIR"],
      ["BACKUP_PATH", "BACKUP_DIR"],
      ["BACKUP_RETENTION", "BACKUP_KEEP"],
      ["METRICS_SECRET", "METRICS_TOKEN"],
      ["BILLING_TZ", "BILLING_TIMEZONE"],
      ["TRUST_PROXY", "TRUSTED_PROXIES"],
      ["HTTP_THREAD", "HTTP_THREADS"],
      ["PORTS", "PORT"],
    ] as const
  ) {
    assert.deepEqual(found({ [name]: "x" }), [
      `warning ${name} If it is for Gatehouse, rename it to ${meant}.`,
    ]);
    assert.deepEqual(found({ [name]: "x", [meant]: "y" }), [
      `warning ${name} If it is for Gatehouse, remove it: ${meant} is set.`,
    ]);
    assert.deepEqual(found({ [name]: "" }), []);
  }
  const usual = "HOME HOSTNAME PATH PWD SHELL LANG USER LOGNAME MAIL TERM TZ NODE_ENV DENO_DIR";
  const others = "DATABASE_NAME DATABASE_HOST DATABASE_PATH DB_PASSWORD REDIS_URL SMTP_HOST SMTP_PASSWORD " +
    "EMAIL_HOST LOG_DIR LOG_FILE BASE_DIR PUBLIC_URL API_KEY COOKIE_SECRET SESSION_TYPE SESSION_SECRET " +
    "XDG_SESSION_PATH HTTP_PROXY";
  const names = [...usual.split(" "), ...others.split(" ")];
  assert.deepEqual(found(Object.fromEntries(names.map((name) => [name, "x"]))), []);
});

Deno.test("checkSettings() asks for TRUSTED_PROXIES behind a proxy, and rejects trusting every address", () => {
  const warned = (settings: Settings) => problems(settings)["TRUSTED_PROXIES"];
  assert.equal(warned({ BASE_URL: "https://auth.example.com" })?.verdict, "warning");
  assert.match(warned({ BASE_URL: "http://localhost:80" })?.words ?? "", /TRUSTED_PROXIES=127\.0\.0\.1,::1$/);
  for (const all of ["0.0.0.0/0", "10.0.0.0/8,::/0"]) {
    assert.equal(warned({ ...base, TRUSTED_PROXIES: all })?.verdict, "wrong");
  }
});

Deno.test("checkClock() warns beyond 2 seconds, fails beyond 60, and allows for truncated seconds", () => {
  const at = 1_000_000_000_000;
  const verdict = (asked: number, answered = asked) =>
    checkClock("x", { at, askedAt: at + asked, answeredAt: at + answered }).verdict;
  assert.equal(verdict(0), "ok");
  assert.equal(verdict(999), "ok");
  assert.equal(verdict(3_000), "ok");
  assert.equal(verdict(-2_000), "ok");
  assert.equal(verdict(3_001), "warning");
  assert.equal(verdict(-2_001), "warning");
  assert.equal(verdict(61_000), "warning");
  assert.equal(verdict(61_001), "wrong");
  assert.equal(verdict(-60_001), "wrong");
  // The response took too long to tell.
  assert.equal(verdict(-5_000, 5_000), "ok");
  assert.match(
    checkClock("x", { at, askedAt: at - 90_000, answeredAt: at - 90_000 }).saw,
    /90 seconds ahead/,
  );
});

Deno.test("checkSettings() warns if every site can ask people for access", () => {
  const SECRETS_KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
  assert.deepEqual(problems({ OAUTH_CLIENT_HOSTS: "app.example.com", SECRETS_KEY }), {});
  assert.equal(
    problems({ OAUTH_CLIENT_HOSTS: "*", SECRETS_KEY })["OAUTH_CLIENT_HOSTS"]?.verdict,
    "warning",
  );
});
