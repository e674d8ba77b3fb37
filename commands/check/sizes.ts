// Whether what is large comes through a proxy: cookies on the way there, and addresses to return to on both ways.
import type { Finding } from "../../domain/check_result.ts";
import {
  answerHeaderCharactersMax,
  headerCharactersMax,
  returnToCharactersMax,
} from "../../domain/limits.ts";
import { attempt, emptied, type PublicSettings, type Send } from "./request.ts";

/** Two lines of padding, a cookie, and what every request has beside them are more than the server takes; without the cookie not. */
const paddingCharacters = Math.floor(headerCharactersMax * 0.3);
const paddingCookieCharacters = headerCharactersMax - 2 * paddingCharacters;

/**
 * Whether cookies reach the server: nothing that is public depends on one, but with a cookie of the right length the headers are
 * more than the server takes, and it says so.
 */
export async function arrivalFinding({ baseUrl }: PublicSettings, send: Send): Promise<Finding> {
  return await attempt("Cookies of requests", async (found) => {
    const padding = {
      "X-Padding-1": "x".repeat(paddingCharacters),
      "X-Padding-2": "x".repeat(paddingCharacters),
    };
    const cookie = `padding=${"x".repeat(paddingCookieCharacters)}`;
    const address = `${baseUrl.origin}/api/auth/me`;
    const [without, withCookie] = await Promise.all([
      emptied(send(address, { headers: padding })),
      emptied(send(address, { headers: { ...padding, Cookie: cookie } })),
    ]);
    const isOurs = withCookie.headers.get("x-request-id") !== null;
    if (without.status === 200 && withCookie.status === 431 && isOurs) {
      return found("ok", "They reach the server.");
    }
    if (without.status === 200 && withCookie.status === 200) {
      return found(
        "wrong",
        "They do not reach the server: nobody stays signed in.",
        "Let the proxy pass Cookie on.",
      );
    }
    return found(
      "ok",
      `Not known: what stands before the server takes smaller headers than it does (${withCookie.status}).`,
    );
  });
}

/** Whether the way through signing in comes through, for a page whose address is long: it is in the headers of a redirect. */
export async function longRedirectFinding({ baseUrl }: PublicSettings, send: Send): Promise<Finding> {
  return await attempt("Long redirects", async (found) => {
    const target = "/portal?".padEnd(returnToCharactersMax, "&");
    const address = `${baseUrl.origin}/sign-in/continue?return_to=${encodeURIComponent(target)}`;
    const { status, headers } = await emptied(send(address));
    return headers.get("location")?.endsWith(encodeURIComponent(target)) === true
      ? found("ok", "They come through: people get back to pages with long addresses.")
      : found(
        "warning",
        `One that leads back to a page with a long address answers ${status}.`,
        `Let the proxy take addresses and answers' headers of ${answerHeaderCharactersMax / 1024} KiB ` +
          "(nginx: proxy_buffer_size).",
      );
  });
}
