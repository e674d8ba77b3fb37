// Checks whether cookies and long addresses get through a proxy.
import type { Config } from "../../config.ts";
import type { CheckResult } from "../../domain/check_result.ts";
import {
  headerCharactersMax,
  responseHeaderCharactersMax,
  returnToCharactersMax,
} from "../../domain/limits.ts";
import { attempt, type Send, withoutBody } from "./request.ts";

/** Two padding headers and the cookie exceed the server's limit for headers; the padding alone does not. */
const paddingCharacters = Math.floor(headerCharactersMax * 0.3);
const paddingCookieCharacters = headerCharactersMax - 2 * paddingCharacters;

/**
 * Checks whether cookies reach the server. No public response depends on a cookie, but the server rejects headers that are
 * too long, so a long cookie that arrives changes the status.
 */
export async function checkCookiesArrive({ baseUrl }: Config, send: Send): Promise<CheckResult> {
  return await attempt("Cookies of requests", async (result) => {
    const padding = "x".repeat(paddingCharacters);
    const headers = { "X-Padding-1": padding, "X-Padding-2": padding };
    const cookie = `padding=${"x".repeat(paddingCookieCharacters)}`;
    const address = `${baseUrl.origin}/api/auth/me`;
    const [without, withCookie] = await Promise.all([
      withoutBody(send(address, { headers })),
      withoutBody(send(address, { headers: { ...headers, Cookie: cookie } })),
    ]);
    const isOurs = withCookie.headers.get("x-request-id") !== null;
    if (without.status === 200 && withCookie.status === 431 && isOurs) {
      return result.ok("They reach the server.");
    }
    if (without.status === 200 && withCookie.status === 200) {
      const saw = "They don't reach the server, so no one stays signed in.";
      return result.wrong(saw, "Configure the proxy to forward Cookie.");
    }
    return result.ok(
      `Unknown: the proxy has a lower limit for headers than the server (${withCookie.status}).`,
    );
  });
}

/** Checks whether a redirect with a long address gets through, as after signing in. */
export async function checkLongRedirect({ baseUrl }: Config, send: Send): Promise<CheckResult> {
  return await attempt("Long redirects", async (result) => {
    const kibibytes = responseHeaderCharactersMax / 1024;
    const target = encodeURIComponent("/portal?".padEnd(returnToCharactersMax, "&"));
    const response = await withoutBody(send(`${baseUrl.origin}/sign-in/continue?return_to=${target}`));
    return response.headers.get("location")?.endsWith(target) === true
      ? result.ok("They get through, so people return to pages with long addresses.")
      : result.warning(
        `A redirect to a page with a long address fails with status ${response.status}.`,
        `Configure the proxy to accept addresses and response headers of ${kibibytes} KiB (nginx: proxy_buffer_size).`,
      );
  });
}
