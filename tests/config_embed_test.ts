// Tests EMBED_ORIGINS. Accepting a wrong value would let strangers put pages in a frame, or give customers an empty one.
import assert from "node:assert/strict";
import { accepted, assertInvalid } from "./config_assert.ts";

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
