// Serves Gatehouse at auth.example.test and the example product at sibling domains, over TLS on one port.
import { respond as answerOfProduct } from "../../../examples/product/server.ts";
import { Gatehouse } from "../../../packages/client/src/index.ts";
import { startTestApp, type TestApp } from "../app/app.ts";
import { type BrowserContext, withBrowser } from "./browser.ts";
import { testAuthority } from "../network/smtp_tls.ts";
import { freePort } from "../database/sqld.ts";

/** A response from Gatehouse. */
export interface SeenAnswer {
  readonly origin: string | null;
  readonly request: string;
  readonly status: number;
  readonly headers: Headers;
}

/** The hosts, and a browser that resolves them. */
export interface Subdomains {
  readonly test: TestApp;
  readonly auth: string;
  readonly app: string;
  readonly docs: string;
  /** A sibling domain that is not allowed, and an unrelated domain. */
  readonly other: string;
  readonly evil: string;
  /** Responses from Gatehouse, oldest first. */
  readonly seen: SeenAnswer[];
  /** @returns A browser profile that accepts the test certificate. */
  profile(options?: { javaScriptEnabled?: boolean }): Promise<BrowserContext>;
}

/** Runs a test with the hosts. The origins `app` and `docs` are allowed, and siblings get the cookie. */
export async function withSubdomains(run: (subdomains: Subdomains) => Promise<void>): Promise<void> {
  const port = freePort();
  const origin = (host: string) => `https://${host}:${port}`;
  const auth = origin("auth.example.test");
  const authority = await testAuthority();
  const test = await startTestApp({
    BASE_URL: auth,
    ALLOWED_ORIGINS: `${origin("app.example.test")},${origin("docs.example.test")}`,
    COOKIE_DOMAIN: ".example.test",
  });
  const seen: SeenAnswer[] = [];

  async function answer(request: Request): Promise<Response> {
    const { host, pathname } = new URL(request.url);
    if (host.startsWith("auth.")) {
      const response = await test.app.fetch(request);
      const { status, headers } = response;
      seen.push({
        origin: request.headers.get("Origin"),
        request: `${request.method} ${pathname}`,
        status,
        headers,
      });
      return response;
    }
    // A product that redirects to another one.
    if (pathname === "/moved") return Response.redirect(`${origin("docs.example.test")}/?moved=1`, 302);
    const ask = (...given: Parameters<typeof fetch>) =>
      Promise.resolve(test.app.fetch(new Request(...given)));
    return await answerOfProduct(request, new Gatehouse({ url: auth, fetch: ask }));
  }

  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen() {}, ...await authority.certify("*.example.test") },
    answer,
  );
  try {
    await withBrowser((browser) =>
      run({
        test,
        auth,
        app: origin("app.example.test"),
        docs: origin("docs.example.test"),
        other: origin("other.example.test"),
        evil: origin("evil.test"),
        seen,
        profile: (options = {}) => browser.newContext({ ...options, ignoreHTTPSErrors: true }),
      })
    );
  } finally {
    await server.shutdown();
    await test.dispose();
    await authority.dispose();
  }
}
