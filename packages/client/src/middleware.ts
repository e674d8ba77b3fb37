// Shared by the rules of the middlewares: the request, and the responses to those that they deny. A request passes
// only after Gatehouse said so: if Gatehouse can't be asked, it is denied.
import { ApiError, GatehouseError } from "./errors.ts";
import type { RequestHeaders } from "./session_cookie.ts";

/** The parts of a request that the rules read. */
export interface RequestView {
  readonly method: string;
  /** Absolute, as the server sees it. */
  readonly url: string;
  readonly headers: RequestHeaders;
  /** Of the client, if the framework says it. */
  readonly address?: string | undefined;
}

/** The response to a request that doesn't pass. */
export interface Denial {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** A request passes, with its sender and headers for its response, or gets another response. */
export type Decision<T> =
  | { readonly passed: T; readonly headers: Readonly<Record<string, string>>; readonly denial?: never }
  | Denied;

export interface Denied {
  readonly denial: Denial;
  readonly passed?: never;
  readonly headers?: never;
}

export type MaybePromise<T> = T | Promise<T>;
type NodeHeaders = Exclude<RequestHeaders, Pick<Headers, "get">>;

/** Denies the request if Gatehouse can't be reached. @throws For errors of this server itself, such as its operator token. */
export async function failClosed<T>(
  decide: () => Promise<Decision<T>>,
): Promise<Decision<T>> {
  try {
    return await decide();
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    const { status, code, message, requestId } = error;
    // Caused by the client: too many cookies, or too many kinds of usage or holds in its organization.
    if (
      error instanceof ApiError &&
      ["headers_too_large", "series_limit_reached", "hold_limit_reached"].includes(code)
    ) {
      const headers = status === 429 ? { "Retry-After": "5" } : {};
      return denied(status ?? 503, code, message, { headers, requestId });
    }
    if (status !== null && status < 500 && status !== 429) {
      // Express responds with the status of an error: the client would get 401 for this server's own token.
      throw new Error(`Gatehouse rejected the check of this request: ${message}`, { cause: error });
    }
    const seconds = Math.ceil((error instanceof ApiError ? error.retryAfterMs ?? 0 : 0) / 1000);
    const headers = { "Retry-After": String(Math.max(1, seconds)) };
    return denied(503, "unavailable", "Access can't be checked right now. Try again shortly.", {
      headers,
      requestId,
    });
  }
}

/**
 * @param switches Options that may be false.
 * @throws {TypeError} If an option is there but has no value, such as that of an unset variable: it would allow everyone.
 */
export function requireValues(options: object, switches: readonly string[] = []): void {
  for (const [name, value] of Object.entries(options)) {
    const isEmpty = value === undefined || value === null || value === "" ||
      (value === false && !switches.includes(name));
    if (isEmpty) throw new TypeError(`${name}: has no value`);
  }
}

/** Returns a header of a request. Repeated ones are joined. */
export function headerOf({ headers }: RequestView, name: string): string | undefined {
  const value = typeof headers.get === "function" ? headers.get(name) : (headers as NodeHeaders)[name];
  return typeof value === "string" ? value : value?.join(", ");
}

/** Responds with an error in the form of Gatehouse's own. */
export function denied(
  status: number,
  code: string,
  message: string,
  { headers = {}, details, requestId }: {
    headers?: Record<string, string>;
    details?: readonly unknown[];
    requestId?: string | null;
  } = {},
): Denied {
  const id = requestId ?? `req_${crypto.randomUUID().replaceAll("-", "")}`;
  const error = { code, message, ...(details === undefined ? {} : { details }) };
  return {
    denial: {
      status,
      headers: {
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "X-Request-Id": id,
        ...headers,
      },
      body: JSON.stringify({ error, requestId: id }),
    },
  };
}
