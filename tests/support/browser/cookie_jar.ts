// A browser's cookie jar (RFC 6265): which cookies it stores and sends, including public suffixes and paths.
// deno-lint-ignore no-import-prefix
import { CookieJar } from "npm:tough-cookie@6.1.0";
import type { SendOptions, TestApp } from "../app/app.ts";

/** A browser whose cookies survive restarts of the service. */
export interface CookieBrowser {
  /** Sends a request with the matching cookies, and stores the cookies of the response. */
  send(test: TestApp, path: string, options?: SendOptions): Promise<Response>;
  /** @returns The `Cookie` header for an address. */
  cookieFor(address: string): Promise<string>;
  /** Stores a `Set-Cookie` header as if it came from this address. */
  take(address: string, setCookie: string): Promise<void>;
  /** @returns The session cookies that are sent to an origin, each as host (or `.domain`) and path. */
  kept(origin: string): Promise<string[]>;
}

/** @returns A browser without cookies. */
export function cookieBrowser(): CookieBrowser {
  const jar = new CookieJar();
  const take = async (address: string, setCookie: string) => {
    // Browsers silently ignore invalid cookies.
    await jar.setCookie(setCookie, address, { ignoreError: true });
  };
  return {
    async send(test, path, options = {}) {
      const address = `${test.config.baseUrl.origin}${path}`;
      const cookie = await jar.getCookieString(address);
      const response = await test.send(path, { ...options, ...(cookie === "" ? {} : { cookie }) });
      for (const one of response.headers.getSetCookie()) {
        await jar.setCookie(one, address, { ignoreError: true });
      }
      return response;
    },
    cookieFor: (address) => jar.getCookieString(address),
    take,
    async kept(origin) {
      const cookies = await jar.getCookies(origin, { allPaths: true });
      return cookies.filter(({ key }) => key === "access_token")
        .map(({ domain, hostOnly, path }) => `${hostOnly ? "" : "."}${domain}${path}`).sort();
    },
  };
}
