// The conditions of requireSession for a request, and the redirect of a browser without a session.
import type { Role, SignedIn } from "./browser.d.ts";
import { rejectUnknown } from "./errors.ts";
import type { Gatehouse } from "./gatehouse.ts";
import {
  type Decision,
  type Denied,
  denied,
  failClosed,
  headerOf,
  type MaybePromise,
  type RequestView,
  requireValues,
} from "./middleware.ts";
import { sessionCookies } from "./session_cookie.ts";

/** Options of `requireSession`. `R` is the request as the framework passes it to middleware. */
export interface SessionOptions<R> {
  readonly gatehouse: Gatehouse;
  /** The minimum role in `organization`, or else in the user's active organization. */
  readonly role?: Role;
  /**
   * `true`: the user needs an active organization. An id, or a function that returns one: the user must be a member of this
   * organization, which doesn't have to be the active one.
   */
  readonly organization?: true | string | ((request: R) => MaybePromise<string | null | undefined>);
  /** The address of this server for browsers, such as `https://app.example.com`. Required behind a proxy that changes the URL. */
  readonly publicUrl?: string | URL;
  /** The address of the sign-in page for browsers. By default, `/sign-in` at the URL of `gatehouse`. */
  readonly signInUrl?: string | URL;
}

const roles: readonly Role[] = ["MEMBER", "ADMIN", "OWNER"];
/** The longest `return_to` that Gatehouse accepts. */
const returnToCharactersMax = 2_000;

/** Returns a function that decides whether a request has a session that meets the conditions. @throws {TypeError} */
export function sessionRule<R>(
  options: SessionOptions<R>,
): (request: R, view: RequestView) => Promise<Decision<SignedIn>> {
  requireValues(options);
  const { gatehouse, role, organization, publicUrl, signInUrl, ...unknown } = options;
  rejectUnknown(unknown, "requireSession");
  if (role !== undefined && !roles.includes(role)) throw new TypeError(`role: ${role} is not a role`);
  const addresses = {
    signIn: httpUrl(signInUrl ?? `${gatehouse.url}/sign-in`),
    site: publicUrl === undefined ? null : httpUrl(publicUrl),
  };
  return (request, view) =>
    failClosed(async () => {
      const session = await gatehouse.me(view.headers);
      if (session.authenticated !== true) return signInFirst(view, addresses);
      let membership: Pick<SignedIn, "organizationId" | "role"> | undefined = session;
      if (organization === true) {
        if (session.organizationId === null) return forbidden("This requires an organization.");
      } else if (organization !== undefined) {
        const required = typeof organization === "function" ? await organization(request) : organization;
        membership = session.memberships.find((one) => one.organizationId === required);
      }
      if (membership === undefined) return forbidden("This requires membership in another organization.");
      const { organizationId, role: ownRole } = membership;
      // Also denies roles that this version doesn't know.
      if (role !== undefined && (ownRole === null || roles.indexOf(ownRole) < roles.indexOf(role))) {
        return forbidden(`This requires at least the role ${role}.`);
      }
      return { passed: { ...session, organizationId, role: ownRole }, headers: {} };
    });
}

/** @throws {TypeError} If it isn't the URL of a site. */
function httpUrl(text: string | URL): URL {
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol)) throw new TypeError(`${text}: must begin with https:// or http://`);
  return url;
}

function forbidden(message: string): Denied {
  return denied(403, "forbidden", message);
}

/** Sends browsers that load a page to the sign-in page and back. */
function signInFirst(
  view: RequestView,
  { signIn, site }: { signIn: URL; site: URL | null },
): Denied {
  const page = isPageLoad(view) ? pageAddress(view, site) : null;
  // A page without https never gets a cookie of https: its browser would be redirected forever.
  if (
    page === null ||
    (signIn.protocol === "https:" && !page.startsWith("https:"))
  ) {
    return denied(401, "unauthenticated", "Sign in first.");
  }
  const address = new URL(signIn);
  address.searchParams.set("return_to", page);
  // Cookies of two users are no session. The sign-in page may see only one of them, and would send the browser back.
  if (sessionCookies(view.headers)?.includes(";")) {
    address.searchParams.set("conflict", "1");
  }
  const headers = { "Location": address.href, "Cache-Control": "no-store" };
  return { denial: { status: 302, headers, body: null } };
}

/** True if a browser loads a page in a tab, rather than a script, frame or WebSocket. */
function isPageLoad(view: RequestView): boolean {
  const isScript = ["upgrade", "x-requested-with", "hx-request"].some((name) =>
    headerOf(view, name) !== undefined
  );
  if (isScript || (view.method !== "GET" && view.method !== "HEAD")) return false;
  const mode = headerOf(view, "sec-fetch-mode");
  // Older browsers don't send this header.
  if (mode === undefined) return /\btext\/html\b/i.test(headerOf(view, "accept") ?? "");
  return mode === "navigate" && (headerOf(view, "sec-fetch-dest") ?? "document") === "document";
}

/** Returns the address of the page in the browser, shortened if it is too long. Null if there is none. */
function pageAddress({ url }: RequestView, site: URL | null): string | null {
  if (!URL.canParse(url) || !/^https?:/.test(url)) return null;
  const { origin, pathname, search } = new URL(url);
  // Appended to the origin, not resolved against it: a path such as `//evil.example` would be another host.
  const start = site === null ? origin : site.origin + site.pathname.replace(/\/+$/, "");
  return [pathname + search, pathname, "/"].map((path) => start + path)
    .find((address) => address.length <= returnToCharactersMax) ?? null;
}
