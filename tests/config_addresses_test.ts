// Tests settings with addresses: base URL, cookie domain, allowed and embedding origins, databases and proxies. Accepting a wrong
// value here would give strangers access, or let them put pages in a frame.
import assert from "node:assert/strict";
import { parseAddressBlock } from "../domain/address_block.ts";
import { accepted, assertInvalid, faultsOf } from "./config_assert.ts";

Deno.test("BASE_URL defaults to PORT on localhost, and decides whether cookies are secure", () => {
  assert.equal(accepted({ PORT: "9000" }).baseUrl.origin, "http://localhost:9000");
  assert.equal(accepted({ BASE_URL: "http://localhost:1" }).secure, false);
  const config = accepted({ BASE_URL: "https://Auth.Example.com/" });
  assert.equal(config.baseUrl.origin, "https://auth.example.com");
  assert.equal(config.secure, true);
});

Deno.test("BASE_URL has no path, query, fragment or user", () => {
  for (
    const text of [
      "https://auth.example.com/sso",
      "https://auth.example.com/?a",
      "https://auth.example.com/#a",
      "https://user@auth.example.com",
      "https://:password@auth.example.com",
      "ftp://auth.example.com",
      "javascript:alert(1)",
      "auth.example.com",
      "//auth.example.com",
      "https://",
      "https://auth.example.com:99999",
    ]
  ) assertInvalid("BASE_URL", text);
});

Deno.test("COOKIE_DOMAIN is BASE_URL's host or a parent of it", () => {
  const at = (domain: string, base: string) =>
    accepted({ COOKIE_DOMAIN: domain, BASE_URL: base }).cookieDomain;
  assert.equal(at(".example.com", "https://auth.example.com"), ".example.com");
  assert.equal(at(".Example.COM", "https://a.b.example.com"), ".example.com");
  assert.equal(at(".b.example.com", "https://a.b.example.com"), ".b.example.com");
  assert.equal(at(".example.com", "https://example.com:8443"), ".example.com");
  assert.equal(at(".shop.co.uk", "https://auth.shop.co.uk"), ".shop.co.uk");
  assert.equal(at(".acme.github.io", "https://auth.acme.github.io"), ".acme.github.io");
  assert.equal(at(".www.ck", "https://auth.www.ck"), ".www.ck");
  assert.equal(at(".example.test", "https://auth.example.test"), ".example.test");
  assert.equal(at(".corp.internal", "https://auth.corp.internal"), ".corp.internal");
  for (
    const [domain, base] of [
      [".example.com", "https://auth.example.org"],
      [".example.com", "https://notexample.com"],
      [".example.com", "https://auth.example.com.evil.net"],
      [".auth.example.com", "https://example.com"],
      [".a.example.com", "https://b.example.com"],
    ] as const
  ) assert.match(assertInvalid("COOKIE_DOMAIN", domain, { BASE_URL: base }), /BASE_URL's host is/);
});

Deno.test("COOKIE_DOMAIN is never a public suffix", () => {
  for (
    const suffix of (
      "com co.uk org.uk com.au github.io GitHub.IO pages.dev vercel.app netlify.app herokuapp.com " +
      "s3.amazonaws.com test foo.ck internal localhost xn--p1ai xn--55qx5d.cn"
    ).split(" ")
  ) {
    const fault = assertInvalid("COOKIE_DOMAIN", `.${suffix}`, { BASE_URL: `https://auth.acme.${suffix}` });
    assert.match(fault, /\(\S+ is a public suffix\)$/, suffix);
  }
});

Deno.test("COOKIE_DOMAIN is never part of an IP address", () => {
  for (const domain of [".127.0.0.1", ".0.0.1", ".0.1", ".1"]) {
    assertInvalid("COOKIE_DOMAIN", domain, { BASE_URL: "http://127.0.0.1:8000" });
  }
  for (const base of ["http://[::1]:8000", "https://10.1.2.3", "https://0x7f.1", "https://2130706433"]) {
    assertInvalid("COOKIE_DOMAIN", ".example.com", { BASE_URL: base });
  }
  for (const domain of [".10.0.0.1", ".0x7f.1", ".1.2.3"]) {
    assertInvalid("COOKIE_DOMAIN", domain, { BASE_URL: "https://auth.example.com" });
  }
});

Deno.test("COOKIE_DOMAIN starts with a dot and has no characters that could end a header value", () => {
  for (
    const text of [
      "example.com",
      ".",
      "..example.com",
      ".example.com.",
      ".exa mple.com",
      ".example.com; Path=/x",
      ".example.com\r\nX: y",
      ".*.example.com",
      ".[::1]",
      ".bücher.example",
      "https://example.com",
    ]
  ) assertInvalid("COOKIE_DOMAIN", text, { BASE_URL: "https://auth.example.com" });
  // A trailing dot doesn't bypass the check.
  for (const text of [".com.", ".co.uk.", ".github.io.", ".example.com."]) {
    assertInvalid("COOKIE_DOMAIN", text, { BASE_URL: `https://auth${text}` });
  }
});

/** @returns The origins that an `ALLOWED_ORIGINS` setting allows. */
function allowed(setting: string, origins: readonly string[]): string[] {
  const { allowedOrigins } = accepted({ ALLOWED_ORIGINS: setting });
  return origins.filter((origin) => allowedOrigins.some((each) => each.matches(origin)));
}

Deno.test("ALLOWED_ORIGINS allows an exact origin and no other", () => {
  const other = [
    "http://app.example.com",
    "https://app.example.com:8443",
    "https://app.example.com.evil.net",
    "https://evil.com/https://app.example.com",
    "https://xapp.example.com",
    "https://x.app.example.com",
    "https://app.example.com/",
    "https://app.example.com@evil.com",
    "null",
    "",
  ];
  assert.deepEqual(allowed("https://app.example.com", ["https://app.example.com", ...other]), [
    "https://app.example.com",
  ]);
  assert.deepEqual(allowed("https://App.Example.com", ["https://app.example.com"]), [
    "https://app.example.com",
  ]);
});

Deno.test("ALLOWED_ORIGINS is a comma-separated list that ignores empty parts", () => {
  const texts = (setting: string) =>
    accepted({ ALLOWED_ORIGINS: setting }).allowedOrigins.map(({ text }) => text);
  assert.deepEqual(texts(" http://localhost:5173 ,, https://*.example.com, "), [
    "http://localhost:5173",
    "https://*.example.com",
  ]);
  assert.deepEqual(texts(" , "), []);
});

Deno.test("ALLOWED_ORIGINS: https://*.example.com allows exactly one label", () => {
  const good = ["https://a.example.com", "https://my-app-2.example.com", "https://xn--bcher-kva.example.com"];
  const bad = [
    "https://example.com",
    "https://.example.com",
    "https://a.b.example.com",
    "https://evil.com/.example.com",
    "https://evil.com?.example.com",
    "https://evil.com#.example.com",
    "https://evil.com\\.example.com",
    "https://evil@a.example.com",
    "https://evil.com:443.example.com",
    "https://evil.com%2f.example.com",
    "https://a\n.example.com",
    "https://aexample.com",
    "https://a.example.com.evil.net",
    "https://a.example.com:8443",
    "http://a.example.com",
    "http://app.example.com",
    "wss+x://app.example.com",
    "null",
    "",
    "https://",
  ];
  assert.deepEqual(allowed("https://*.example.com", [...good, ...bad]), good);
});

Deno.test("ALLOWED_ORIGINS: a pattern matches only its own scheme and port", () => {
  const origins = [
    "http://a.localhost:3000",
    "http://a.localhost",
    "https://a.localhost:3000",
    "http://a.localhost:30000",
  ];
  assert.deepEqual(allowed("http://*.localhost:3000", origins), ["http://a.localhost:3000"]);
  assert.deepEqual(allowed("HTTPS://*.Example.com", ["https://a.example.com"]), ["https://a.example.com"]);
  assert.deepEqual(allowed("https://*.acme.github.io", ["https://a.acme.github.io"]), [
    "https://a.acme.github.io",
  ]);
});

Deno.test("ALLOWED_ORIGINS rejects wildcards for everything, public suffixes and origins that no browser sends", () => {
  for (
    const text of [
      "*",
      "null",
      "https://*",
      "*.example.com",
      "https://*.com",
      "https://*.co.uk",
      "https://*.github.io",
      "https://*.com.",
      "https://*.example.com.",
      "https://*..com",
      "https://*.*.example.com",
      "https://a.*.example.com",
      "https://a*.example.com",
      "https://*.example.com/",
      "https://*.example.com:443",
      "http://*.example.com:80",
      "https://*.example.com:99999",
      "https://*.0.0.1",
      "ftp://*.example.com",
      "https://app.example.com/",
      "https://app.example.com/path",
      "https://app.example.com:443",
      "https://user@app.example.com",
      "app.example.com",
      "ftp://app.example.com",
      "javascript:alert(1)",
      "file:///etc/passwd",
      "https://a\u001b[31m\nb",
    ]
  ) {
    assertInvalid("ALLOWED_ORIGINS", text);
    assertInvalid("ALLOWED_ORIGINS", `https://fine.example.com, ${text}`);
  }
});

Deno.test("the error for an origin or domain in a nonstandard form suggests the standard form", () => {
  const origins = [
    ["https://app.example.com/", "https://app.example.com"],
    ["https://app.example.com:443", "https://app.example.com"],
    ["http://app.example.com:80/a?b", "http://app.example.com"],
    ["HTTPS://App.Example.com/", "https://app.example.com"],
    ["https://bücher.example", "https://xn--bcher-kva.example"],
  ] as const;
  for (const [text, meant] of origins) {
    assert.ok(assertInvalid("ALLOWED_ORIGINS", text).endsWith(`write it as ${meant})`), text);
  }
  assert.match(
    assertInvalid("ALLOWED_ORIGINS", "app.example.com"),
    /write it as scheme:\/\/host\[:port\]\)$/,
  );
  const domains = [
    ["example.com", ".example.com"],
    ["acme.org", ".acme.org"],
    [".Bücher.example", ".xn--bcher-kva.example"],
    [".exa mple.com", ".example.com"],
    [".acme.org; Path=/x", ".example.com"],
  ] as const;
  for (const [text, meant] of domains) {
    assert.ok(assertInvalid("COOKIE_DOMAIN", text).endsWith(`(write it as ${meant})`), text);
  }
});

Deno.test("EMBED_ORIGINS are exact origins on the site of BASE_URL", () => {
  const at = (origins: string, base: string) =>
    accepted({ EMBED_ORIGINS: origins, BASE_URL: base }).embedOrigins;
  const base = "https://auth.example.com";
  assert.deepEqual(at("https://app.example.com, https://a.b.example.com:8443", base), [
    "https://app.example.com",
    "https://a.b.example.com:8443",
  ]);
  assert.deepEqual(at("http://localhost:3000", "http://localhost:8000"), ["http://localhost:3000"]);
  assert.deepEqual(at("http://127.0.0.1:3000", "http://127.0.0.1:8000"), ["http://127.0.0.1:3000"]);
  assert.deepEqual(at("https://shop.acme.github.io", "https://auth.acme.github.io"), [
    "https://shop.acme.github.io",
  ]);
  for (
    const [text, base, reason] of [
      ["https://app.example.org", "https://auth.example.com", /another site/],
      ["http://app.example.com", "https://auth.example.com", /another site/],
      ["http://app.localhost:3000", "http://auth.localhost:8000", /another site/],
      ["https://acme.github.io", "https://other.github.io", /another site/],
      ["https://*.example.com", "https://auth.example.com", /list each origin/],
      ["https://app.example.com/", "https://auth.example.com", /write it as https:\/\/app\.example\.com/],
      ["https://app.example.com; script-src *", "https://auth.example.com", /list each|write it/],
      ["'self'", "https://auth.example.com", /write it as/],
    ] as const
  ) assert.match(assertInvalid("EMBED_ORIGINS", text, { BASE_URL: base }), reason);
});

Deno.test("DATABASE_URL names a file, and only the default's folder is created", () => {
  const database = (text: string) => accepted({ DATABASE_URL: text }).database;
  const file = (path: string) => ({ kind: "file", path, createFolder: false });
  assert.deepEqual(database("file:data.db"), file("data.db"));
  assert.deepEqual(database("file:./a b/data.db"), file("./a b/data.db"));
  assert.deepEqual(database("file:/var/lib/gatehouse/data.db"), file("/var/lib/gatehouse/data.db"));
  assert.deepEqual(database("file:///var/lib/gatehouse/data.db"), file("/var/lib/gatehouse/data.db"));
  // An in-memory database would silently lose all data.
  for (
    const text of [
      "file:",
      "file://host/a.db",
      "file:a.db?mode=ro",
      "file:a#b",
      "file:a\0b",
      "file::memory:",
      ":memory:",
      "a.db",
    ]
  ) {
    assertInvalid("DATABASE_URL", text);
  }
});

Deno.test("DATABASE_URL names a libSQL server, and the token has its own setting", () => {
  for (
    const url of [
      "libsql://db-acme.turso.io",
      "https://db.example.com",
      "http://127.0.0.1:8080",
      "libsql://[::1]:8080?tls=0",
    ]
  ) {
    assert.deepEqual(accepted({ DATABASE_URL: url }).database, { kind: "remote", url, authToken: undefined });
    assert.deepEqual(accepted({ DATABASE_URL: url, DATABASE_AUTH_TOKEN: "t" }).database, {
      kind: "remote",
      url,
      authToken: "t",
    });
  }
  for (
    const url of [
      "libsql://",
      "libsql:///x",
      "https:db.example.com",
      "ws://x",
      "postgres://x",
      "libsql://u@x",
      "libsql://:p@x",
    ]
  ) {
    assertInvalid("DATABASE_URL", url);
  }
  assertInvalid("DATABASE_URL", "libsql://x?authToken=t");
});

Deno.test("DATABASE_AUTH_TOKEN is rejected for a file, where it would have no effect", () => {
  assertInvalid("DATABASE_AUTH_TOKEN", "t");
  assertInvalid("DATABASE_AUTH_TOKEN", "t", { DATABASE_URL: "file:a.db" });
  assert.equal(faultsOf({ DATABASE_AUTH_TOKEN: "t", DATABASE_URL: "nonsense" }).length, 1);
});

for (
  const [text, block] of [
    ["127.0.0.1", "ipv4 127.0.0.1/32"],
    ["10.0.0.0/8", "ipv4 10.0.0.0/8"],
    ["10.1.2.3/8", "ipv4 10.1.2.3/8"],
    ["0.0.0.0/0", "ipv4 0.0.0.0/0"],
    ["::1", "ipv6 ::1/128"],
    ["2001:DB8::/32", "ipv6 2001:db8::/32"],
    ["fe80::/10", "ipv6 fe80::/10"],
    ["::/0", "ipv6 ::/0"],
    ["::ffff:192.0.2.1", "ipv4 192.0.2.1/32"],
    ["::ffff:c000:201", "ipv4 192.0.2.1/32"],
    ["::ffff:10.0.0.0/104", "ipv4 10.0.0.0/8"],
    ["::ffff:192.0.2.1/128", "ipv4 192.0.2.1/32"],
    ["::ffff:0:0/96", "ipv4 0.0.0.0/0"],
  ] as const
) {
  Deno.test(`parseAddressBlock() reads ${text} as ${block}`, () => {
    const [address, bits] = parseAddressBlock(text) ?? assert.fail("rejected");
    assert.equal(`${address.kind()} ${address.toString()}/${bits}`, block);
  });
}

Deno.test("parseAddressBlock() rejects invalid addresses and ambiguous short and octal forms", () => {
  const bad = [
    "",
    "10.0.0.0 /8",
    ..."localhost 10 10/8 10.1 10.0.0/8 256.0.0.1 1.2.3.4.5 010.0.0.1 0x7f.0.0.1 2130706433".split(" "),
    ..."10.0.0.0/33 10.0.0.0/-1 10.0.0.0/ /8 10.0.0.0/8/8 10.0.0.0/a 1.2.3.4:80".split(" "),
    ..."::1/129 ::g ::: [::1] 1:2:3:4:5:6:7:8:9 *".split(" "),
  ];
  for (const text of bad) assert.equal(parseAddressBlock(text), null, text);
});

Deno.test("TRUSTED_PROXIES is a list of blocks, and the error names each invalid part", () => {
  const { trustedProxies } = accepted({ TRUSTED_PROXIES: "127.0.0.1, 10.0.0.0/8,, fd00::/8," });
  assert.deepEqual(trustedProxies.map(([address, bits]) => `${address}/${bits}`), [
    "127.0.0.1/32",
    "10.0.0.0/8",
    "fd00::/8",
  ]);
  assert.match(
    assertInvalid("TRUSTED_PROXIES", "127.0.0.1, proxy"),
    /\("proxy": not an address or a block\)$/,
  );
  assert.equal(faultsOf({ TRUSTED_PROXIES: "a, b" }).length, 2);
});
