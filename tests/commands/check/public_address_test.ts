// Checks of the public address: the real app behind a proxy with one fault at a time.
import assert from "node:assert/strict";
import { checkPublicAddress, isServerRunning } from "../../../commands/check/public_address.ts";
import type { Send } from "../../../commands/check/request.ts";
import { startTestApp, type TestApp } from "../../support/app/app.ts";

const settings = {
  BASE_URL: "https://auth.example.com",
  COOKIE_DOMAIN: ".example.com",
  ALLOWED_ORIGINS: "https://app.example.com,https://*.docs.example.com",
};

/** What a proxy does to requests and responses. */
interface Proxy {
  readonly dropped?: readonly string[];
  /** Changes response headers, or returns a response of its own. */
  readonly answer?: (request: Request, headers: Headers) => Response | void;
  readonly sendsAddress?: boolean;
}

function through(test: TestApp, proxy: Proxy = {}): Send {
  return async (address, init) => {
    if (address.startsWith("http://")) {
      const location = address.replace("http:", "https:");
      const plain = proxy.answer?.(new Request(address), new Headers());
      return plain ?? new Response(null, { status: 301, headers: { location } });
    }
    const headers = new Headers(init?.headers);
    if (proxy.sendsAddress !== false) headers.set("X-Forwarded-For", "203.0.113.9");
    for (const name of proxy.dropped ?? []) headers.delete(name);
    const request = new Request(address, { ...init, headers });
    const response = await test.app.fetch(request, { remoteAddr: { hostname: "127.0.0.1" } });
    const changed = new Headers(response.headers);
    // As the runtime's server does; the app has the test's clock.
    changed.set("date", new Date().toUTCString());
    const body = await response.arrayBuffer();
    if (!changed.has("content-length")) changed.set("content-length", String(body.byteLength));
    const own = proxy.answer?.(request, changed);
    return own ?? new Response([204, 304].includes(response.status) ? null : body, {
      status: response.status,
      headers: changed,
    });
  };
}

/** @returns The problems by what was checked. */
async function problems(proxy: Proxy, more: Record<string, string> = {}): Promise<Record<string, string>> {
  const test = await startTestApp({ ...settings, ...more });
  try {
    const options = { isRunning: Promise.resolve(true), send: through(test, proxy) };
    const results = await checkPublicAddress(test.config, options);
    for (const { advice, verdict } of results) assert.equal(advice === undefined, verdict === "ok");
    return Object.fromEntries(
      results.filter(({ verdict }) => verdict !== "ok")
        .map(({ about, verdict, saw, advice = "" }) => [
          about,
          `${verdict}: ${saw}${/set BASE_URL=\S+$/.test(advice) ? ` ${advice}` : ""}`,
        ]),
    );
  } finally {
    await test.dispose();
  }
}

Deno.test("checkPublicAddress() reports nothing for a proxy that forwards everything", async () => {
  assert.deepEqual(await problems({}), {});
  assert.deepEqual(await problems({}, { BASE_URL: "https://auth.example.com:8443" }), {});
});

Deno.test("checkPublicAddress() reports cookies that don't arrive, and nothing when the proxy limits headers", async () => {
  assert.deepEqual(await problems({ dropped: ["cookie"] }), {
    "Cookies of requests": "wrong: They don't reach the server, so no one stays signed in.",
  });
  const small = (request: Request) =>
    (request.headers.get("cookie") ?? "").length > 4000 ? new Response(null, { status: 400 }) : undefined;
  assert.deepEqual(await problems({ answer: small }), {});
});

Deno.test("checkPublicAddress() reports a proxy that rejects large response headers", async () => {
  const found = await problems({
    answer: (_request, headers) =>
      (headers.get("location") ?? "").length > 4_000 ? new Response(null, { status: 502 }) : undefined,
  });
  assert.deepEqual(found, {
    "Long redirects": "warning: A redirect to a page with a long address fails with status 502.",
  });
});

Deno.test("checkPublicAddress() reports response headers that are removed, changed or duplicated", async () => {
  const without = (name: string) =>
    problems({ answer: (_request, headers) => void headers.delete(name) }).then(Object.keys);
  assert.deepEqual(await without("strict-transport-security"), ["Headers of pages"]);
  assert.deepEqual(await without("content-security-policy"), ["Headers of pages"]);
  assert.deepEqual(await without("cache-control"), ["Headers of pages"]);
  assert.deepEqual(await without("set-cookie"), ["Cookie"]);
  assert.deepEqual(await without("x-request-id"), ["Public address"]);
  const cors = ["CORS for https://app.example.com", "CORS for https://*.docs.example.com"];
  assert.deepEqual(await without("vary"), cors);
  assert.deepEqual(await without("access-control-allow-credentials"), cors);
  const own = await problems({
    answer: (_request, headers) => headers.append("access-control-allow-origin", "*"),
  });
  assert.deepEqual(Object.keys(own), ["Other origins", ...cors]);
  const policy = await problems({
    answer: (_request, headers) => headers.append("content-security-policy", "default-src *"),
  });
  assert.deepEqual(Object.keys(policy), ["Headers of pages"]);
});

Deno.test("checkPublicAddress() names the attributes that a cookie lacks", async () => {
  const rewritten = (from: RegExp, to: string) =>
    problems({
      answer(_request, headers) {
        const cookies = headers.getSetCookie();
        headers.delete("set-cookie");
        for (const cookie of cookies) headers.append("set-cookie", cookie.replace(from, to));
      },
    });
  assert.deepEqual(await rewritten(/; Secure/, ""), { "Cookie": "wrong: It lacks Secure." });
  assert.deepEqual(await rewritten(/; HttpOnly/, ""), { "Cookie": "wrong: It lacks HttpOnly." });
  assert.deepEqual(await rewritten(/SameSite=Lax/, "SameSite=None"), {
    "Cookie": "wrong: It lacks SameSite=Lax.",
  });
  // The cookie that clears the host's own cookie has no Domain.
  assert.deepEqual(await rewritten(/Path=\//, "Path=/; Domain=.example.com"), {
    "Cookie": "wrong: It lacks Domain=.example.com on one of two.",
  });
  assert.deepEqual(await rewritten(/Domain=\.example\.com/, "Domain=example.org"), {
    "Cookie": "wrong: It lacks Domain=.example.com on one of two.",
  });
});

Deno.test("checkPublicAddress() reports compression, http without a redirect, and a missing X-Forwarded-For", async () => {
  const packed = await problems({
    answer(request, headers) {
      if (request.headers.get("accept-encoding")?.includes("gzip")) headers.delete("content-length");
    },
  });
  assert.deepEqual(Object.keys(packed), ["Compression"]);
  assert.match(packed["Compression"] ?? "", /^warning/);
  const plain = await problems({
    answer: (request) => request.url.startsWith("http:") ? new Response("hello") : undefined,
  });
  assert.deepEqual(Object.keys(plain), ["Plain http"]);
  const elsewhere = await problems({
    answer: (request) =>
      request.url.startsWith("http:") ? Response.redirect("https://auth.example.com.evil.org/") : undefined,
  });
  assert.deepEqual(Object.keys(elsewhere), ["Plain http"]);
  const nameless = await problems({ sendsAddress: false });
  assert.deepEqual(Object.keys(nameless), ["X-Forwarded-For"]);
  // With a token, the metrics show nothing about the proxy.
  const test = await startTestApp({ ...settings, METRICS_TOKEN: "m".repeat(16) });
  const options = { isRunning: Promise.resolve(true), send: through(test, { sendsAddress: false }) };
  const results = await checkPublicAddress(test.config, options);
  assert(!results.some(({ about }) => about === "X-Forwarded-For"));
  await test.dispose();
});

Deno.test("checkPublicAddress() reports another site, a redirect, a wrong clock and a broken connection", async () => {
  const other = await problems({ answer: () => new Response("Welcome") });
  assert.match(other["Public address"] ?? "", /^wrong: .*returns 200: another server responds/);
  const led = await problems({
    answer: () => new Response(null, { status: 302, headers: { location: "https://example.com/login" } }),
  });
  assert.match(led["Public address"] ?? "", /returns 302 and redirects to https:\/\/example\.com\/login/);
  assert.doesNotMatch(led["Public address"] ?? "", /BASE_URL/);
  // The proxy redirects to https, to www or to another name: the settings are outdated.
  const moved = await problems({
    answer: () =>
      new Response(null, { status: 308, headers: { location: "https://www.auth.example.com/health/ready" } }),
  });
  assert.match(
    moved["Public address"] ?? "",
    /redirects to .*set BASE_URL=https:\/\/www\.auth\.example\.com$/,
  );
  const late = await problems({
    answer: (_request, headers) => headers.set("date", new Date(Date.now() - 3_600_000).toUTCString()),
  });
  assert.match(late["Clock of the public address"] ?? "", /^wrong: It is 3\d{3} seconds behind/);
  let requests = 0;
  const cut = await problems({
    answer() {
      if (++requests > 1) throw new Error("cut");
    },
  });
  assert.match(cut["Cookie"] ?? "", /^wrong: No response: cut/);
});

Deno.test("checkPublicAddress() warns when no server runs, and fails when only the way to it is broken", async () => {
  const test = await startTestApp(settings);
  try {
    const send = () => Promise.reject(new Error("refused"));
    assert.equal(await isServerRunning(test.config, send), false);
    assert.equal(await isServerRunning(test.config, () => Promise.resolve(new Response("another"))), false);
    const found = async (running: boolean) =>
      (await checkPublicAddress(test.config, { isRunning: Promise.resolve(running), send })).map((
        { verdict },
      ) => verdict);
    assert.deepEqual(await found(false), ["warning"]);
    assert.deepEqual(await found(true), ["wrong"]);
  } finally {
    await test.dispose();
  }
});
