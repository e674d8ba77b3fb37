// A browser's cookies: what it keeps of an answer from a host, and what it sends to another (RFC 6265), public suffixes
// and paths included.
// deno-lint-ignore no-import-prefix
import { CookieJar } from "npm:tough-cookie@6.1.0";
import type { SendOptions, TestApp } from "./app.ts";

/** Somebody's browser, over restarts of the service. */
export interface CookieBrowser {
  /** Sends a request to the service with the cookies that it gets, and keeps those that come back. */
  send(test: TestApp, path: string, options?: SendOptions): Promise<Response>;
  /** @returns The `Cookie` header that an address gets. */
  cookieFor(address: string): Promise<string>;
  /** Takes a `Set-Cookie` as if this address had answered with it. */
  take(address: string, setCookie: string): Promise<void>;
  /** @returns The session cookies that a host may get, by the host or, with a leading dot, the domain; then the path. */
  kept(origin: string): Promise<string[]>;
}

/** @returns A browser without cookies. */
export function cookieBrowser(): CookieBrowser {
  const jar = new CookieJar();
  const take = async (address: string, setCookie: string) => {
    // A browser takes no notice of those that it must not keep.
    await jar.setCookie(setCookie, address, { ignoreError: true });
  };
  return {
    async send(test, path, options = {}) {
      const address = `${test.config.baseUrl.origin}${path}`;
      const cookie = await jar.getCookieString(address);
      const answer = await test.send(path, { ...options, ...(cookie === "" ? {} : { cookie }) });
      // A browser takes no notice of those that it must not keep.
      for (const one of answer.headers.getSetCookie()) {
        await jar.setCookie(one, address, { ignoreError: true });
      }
      return answer;
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
