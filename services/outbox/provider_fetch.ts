// Requests to identity providers and applications, in the form of `fetch`. Operators choose providers of the whole service, which may be in
// a private network. Organizations and strangers choose the others, so those requests go only to addresses that the guard allows.
import { messageOf } from "../../domain/errors.ts";
import { checkJsonBounds } from "../../domain/json_bounds.ts";
import { isLoopbackHost } from "../../domain/loopback.ts";
import type { AddressGuard } from "./address_guard.ts";
import { RequestTimeoutError, sendRequest } from "./guarded_request.ts";
import { ResponseError } from "./http_response.ts";

/** The part of `fetch` that `openid-client` uses for `customFetch`. Both methods take bodies of text and forms only. */
export type ProviderFetch = (url: string, options?: ProviderFetchOptions) => Promise<Response>;

export interface ProviderFetchOptions {
  readonly method?: string | undefined;
  readonly headers?: Record<string, string> | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export interface ProviderFetchParts {
  readonly addressGuard: AddressGuard;
  /** Certificate authorities (PEM) to trust in addition to the default ones, with a guard. */
  readonly caCerts?: readonly string[] | undefined;
  /** For everything, from resolving the host to the end of the body. 5 seconds by default. */
  readonly timeoutMs?: number;
}

/** Reports a provider without a valid response. The message continues a sentence that begins with its address. */
export class ProviderUnreachableError extends Error {
  override readonly name = "ProviderUnreachableError";
}

const defaultTimeoutMs = 5_000;
const bodyBytesMax = 64 * 1024;

/**
 * Returns a function that sends one request and reads at most 64 KB within 5 seconds, with the bounds of JSON bodies. It never follows a
 * redirect. It takes http only for loopback hosts, and with a guard as that does, so callers may let `openid-client` send any URL.
 * It throws a {@linkcode ProviderUnreachableError} if there is no valid response.
 *
 * @param options `isGuarded`: not for a provider of the whole service.
 */
export function providerFetch(
  parts: ProviderFetchParts,
  { isGuarded }: { readonly isGuarded: boolean },
): ProviderFetch {
  const { addressGuard, caCerts, timeoutMs = defaultTimeoutMs } = parts;
  return async (text, { method = "GET", headers = {}, body, signal } = {}) => {
    try {
      const response = await sendRequest(isGuarded ? addressGuard : null, {
        url: isGuarded ? addressGuard.parse(text) : parseTrusted(text),
        method: method === "POST" ? "POST" : "GET",
        headers: { "user-agent": "Gatehouse", ...headers },
        body: body === undefined || body === null ? "" : String(body),
        timeoutMs,
        signal,
        caCerts,
        bodyBytesMax,
      });
      checkShape(await response.clone().text());
      return response;
    } catch (error) {
      const isLate = error instanceof RequestTimeoutError && signal?.aborted !== true;
      const reason = isLate
        ? `didn't respond within ${timeoutMs / 1000} seconds`
        : reasonOf(error, { isGuarded });
      throw new ProviderUnreachableError(reason, { cause: error });
    }
  };
}

/** Parses a URL of a provider of the whole service. */
function parseTrusted(text: string): URL {
  const url = new URL(text);
  if (url.protocol === "https:" || url.protocol === "http:" && isLoopbackHost(url.hostname)) return url;
  throw new Error("its URL must begin with “https://”");
}

/** Checks JSON before it is parsed. @throws {ResponseError} If it is beyond the bounds of bodies. */
function checkShape(text: string): void {
  try {
    checkJsonBounds(text);
  } catch (error) {
    throw new ResponseError("has a response with too many levels, names or values", { cause: error });
  }
}

/**
 * Customers don't learn why a host can't be reached: it would reveal names and addresses of this network.
 *
 * @param options `isGuarded`: others chose the host.
 */
function reasonOf(error: unknown, { isGuarded }: { isGuarded: boolean }): string {
  if (error instanceof ResponseError) return error.message;
  if (isGuarded) {
    return error instanceof Deno.errors.InvalidData
      ? "has no valid certificate"
      : "can't be reached. Its host must be found in DNS and have only public addresses";
  }
  // The caller names the address.
  const message = messageOf(error).replace(/^error sending request for url \(.*?\): /, "");
  return `can't be reached: ${message.replaceAll(/\s+/g, " ").slice(0, 300)}`;
}
