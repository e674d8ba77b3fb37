// Origins that are missing from ALLOWED_ORIGINS: named in the response and, once, in the log.
import assert from "node:assert/strict";
import { unlistedOriginsLoggedMax } from "../../domain/limits.ts";
import { assertError, type TestApp, testApp } from "../support/app/app.ts";

const settings = {
  BASE_URL: "https://auth.example.com",
  ALLOWED_ORIGINS: "https://app.example.com",
} as const;
const preflight = { "access-control-request-method": "POST" };

async function message(response: Response): Promise<string> {
  const text = (await response.clone().json()).error.message;
  await assertError(response, 403, "cross_site");
  return text;
}

function warnings(test: TestApp): string[] {
  return test.logged().split("\n").filter((line) => line.includes("ALLOWED_ORIGINS"));
}

testApp("names a missing origin in responses to writes and preflights, and logs it once", async (test) => {
  const origin = "https://new.example.com:8443";
  const named = `Origin ${origin} isn't in ALLOWED_ORIGINS.`;
  for (let i = 0; i < 3; i++) {
    const write = await test.send("/api/auth/sign-out", { method: "POST", headers: { origin } });
    assert.ok((await message(write)).startsWith(named));
    const preflighted = await test.send("/api/auth/sign-in", {
      method: "OPTIONS",
      headers: { origin, ...preflight },
    });
    assert.equal(preflighted.headers.get("access-control-allow-origin"), null);
    assert.ok((await message(preflighted)).startsWith(named));
    // Reads succeed, but the browser hides the response from the page.
    const read = await test.send("/api/auth/me", { headers: { origin } });
    assert.deepEqual([read.status, read.headers.get("access-control-allow-origin")], [200, null]);
    await read.body?.cancel();
  }
  const lines = warnings(test);
  assert.equal(lines.length, 1, lines.join("\n"));
  assert.ok(lines[0]?.includes(JSON.stringify(origin)));
}, settings);

testApp("doesn't log allowed origins, its own, or those of applications behind a proxy", async (test) => {
  for (const origin of [settings.BASE_URL, "https://app.example.com"]) {
    const response = await test.send("/api/auth/sign-out", { method: "POST", headers: { origin } });
    assert.equal(response.status, 204);
    const preflighted = await test.send("/api/auth/sign-out", {
      method: "OPTIONS",
      headers: { origin, ...preflight },
    });
    assert.equal(preflighted.status, 204);
  }
  const forward = await test.send("/api/auth/forward", { headers: { origin: "https://wiki.example.com" } });
  await assertError(forward, 401, "unauthenticated");
  const portal = await test.send("/portal/api-keys/new", {
    form: { name: "A" },
    headers: { origin: "https://wiki.example.com" },
  });
  assert.equal(portal.status, 403);
  assert.doesNotMatch(await portal.text(), /ALLOWED_ORIGINS/);
  assert.deepEqual(warnings(test), []);
}, settings);

testApp("neither shows nor logs invalid origins, and logs only some made-up ones", async (test) => {
  for (
    const origin of [
      "null",
      "https://evil.example/<b>path</b>",
      "https://evil.example level=error",
      "https://EVIL.example",
      `https://${"a".repeat(400)}.example`,
      "javascript:alert(1)",
    ]
  ) {
    const response = await test.send("/api/auth/sign-out", { method: "POST", headers: { origin } });
    assert.match(await message(response), /^This origin isn't in ALLOWED_ORIGINS\./, origin);
  }
  assert.deepEqual(warnings(test), []);
  // Valid ones that are made up fill neither the log nor the memory.
  for (let i = 0; i < unlistedOriginsLoggedMax + 50; i++) {
    const origin = `https://o${i}.example`;
    await (await test.send("/api/auth/me", { headers: { origin } })).body?.cancel();
  }
  const lines = warnings(test);
  assert.equal(lines.length, unlistedOriginsLoggedMax);
  assert.match(lines.at(-1) ?? "", /no more origins are logged/);
}, settings);
