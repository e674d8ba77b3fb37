// The browser's half of signing in with a provider: keeps cookies and follows redirects between the app and providers.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix
import { CookieJar } from "npm:tough-cookie@6.1.0";
import type { SendOptions, TestApp } from "../app/app.ts";

/** A page, or a redirect that wasn't followed. */
export interface Visited {
  /** Where the browser is. */
  readonly url: URL;
  readonly status: number;
  /** Where a redirect that wasn't followed leads to. */
  readonly location: URL | null;
  readonly html: string;
  readonly headers: Headers;
  /** The origins and paths of all requests of the visit. */
  readonly hops: readonly string[];
}

/** A browser without scripts. */
export interface Visitor {
  /**
   * Opens an address of the app or of a provider, or submits a form to it, and follows redirects.
   *
   * @param options `from`: the origin that the visit comes from, for cookies; the app's by default, as if the user had typed it.
   * `stopAt`: doesn't follow a redirect to such an address.
   */
  open(address: string | URL, options?: VisitOptions): Promise<Visited>;
  /** Signs in with a provider, from one of our pages. */
  signInWith(slug: string, options?: { returnTo?: string }): Promise<Visited>;
  /** Begins to sign in with a provider, and stops when it is about to send the browser back. @returns The address of the callback. */
  untilCallback(slug: string, options?: { returnTo?: string }): Promise<URL>;
  /** The `Cookie` header for the app's own pages. */
  cookie(path?: string): Promise<string>;
  /** True if the browser is signed in. */
  isSignedIn(): Promise<boolean>;
  /** Stores the cookies of another browser, as someone does who plants them. */
  take(setCookie: string): Promise<void>;
}

export interface VisitOptions {
  readonly form?: Readonly<Record<string, string>>;
  readonly from?: string;
  readonly stopAt?: (url: URL) => boolean;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const redirectsMax = 10;
/** Headers of browsers that follow a link on one of our pages. */
const fromOwnPage = { "sec-fetch-site": "same-origin" };
let visitors = 0;

/** Returns a browser without cookies, with its own address. */
export function newVisitor(test: TestApp): Visitor {
  const jar = new CookieJar();
  const own = test.config.baseUrl.origin;
  const number = ++visitors;
  const peerAddress = `10.3.${number >> 8}.${number & 255}`;

  /** Sends one request. @param isCrossSite It began at another site: cookies with SameSite=Strict stay away. */
  const request = async (url: URL, options: SendOptions, isCrossSite: boolean): Promise<Response> => {
    const context = { sameSiteContext: isCrossSite ? "lax" as const : "strict" as const };
    const cookie = await jar.getCookieString(url.href, context);
    const more = cookie === "" ? {} : { cookie };
    const response = url.origin === own
      ? await test.send(`${url.pathname}${url.search}`, { ...options, ...more, peerAddress })
      : await fetch(url, {
        redirect: "manual",
        headers: { ...options.headers, ...more },
        // Another server's pages send their forms to it.
        ...(options.form === undefined ? {} : {
          method: "POST",
          headers: { ...options.headers, ...more, origin: url.origin },
          body: new URLSearchParams(options.form),
        }),
      });
    for (const one of response.headers.getSetCookie()) {
      await jar.setCookie(one, url.href, { ignoreError: true, sameSiteContext: "lax" });
    }
    return response;
  };

  const visitor: Visitor = {
    async open(address, { form, from = own, stopAt, method, headers = {} } = {}) {
      let url = new URL(address, own);
      let options: SendOptions = {
        headers,
        ...(form === undefined ? {} : { form }),
        ...(method === undefined ? {} : { method }),
      };
      let isCrossSite = new URL(from).hostname !== url.hostname;
      const hops: string[] = [];
      for (;;) {
        hops.push(`${url.origin}${url.pathname}`);
        assert.ok(hops.length <= redirectsMax, `too many redirects: ${hops.join(" ")}`);
        const response = await request(url, options, isCrossSite);
        const to = response.headers.get("location");
        const location = to === null ? null : new URL(to, url);
        if (location === null || stopAt?.(location)) {
          const html = await response.text();
          return { url, status: response.status, location, html, headers: response.headers, hops };
        }
        await response.body?.cancel();
        isCrossSite ||= location.hostname !== url.hostname;
        [url, options] = [location, { headers }];
      }
    },
    signInWith: (slug, { returnTo } = {}) => visitor.open(startOf(slug, returnTo), { headers: fromOwnPage }),
    async untilCallback(slug, { returnTo } = {}) {
      const isCallback = (url: URL) =>
        url.origin === own && /^\/sign-in\/with\/[^/]+\/callback$/.test(url.pathname);
      const visited = await visitor.open(startOf(slug, returnTo), {
        stopAt: isCallback,
        headers: fromOwnPage,
      });
      assert.ok(visited.location, `${visited.status} at ${visited.url}: ${visited.html.slice(0, 500)}`);
      return visited.location;
    },
    cookie: (path = "/") => jar.getCookieString(`${own}${path}`),
    async isSignedIn() {
      const response = await test.send("/api/auth/me", { cookie: await visitor.cookie() });
      return (await response.json()).authenticated === true;
    },
    async take(setCookie) {
      await jar.setCookie(setCookie, own, { ignoreError: true });
    },
  };
  return visitor;
}

function startOf(slug: string, returnTo: string | undefined): string {
  return `/sign-in/with/${slug}${returnTo === undefined ? "" : `?return_to=${encodeURIComponent(returnTo)}`}`;
}
