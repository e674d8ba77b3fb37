// One call of Gatehouse: its time-out, the retry after a lost connection, and errors from responses.
import process from "node:process";
import {
  ApiError,
  ConnectionError,
  type ErrorDetail,
  GatehouseError,
  RateLimitError,
  TimeoutError,
} from "./errors.ts";

export interface Service {
  /** Without a slash at the end. */
  readonly url: string;
  /** For the whole call, its retry included. */
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
}

export interface Call {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent with POST, as JSON unless it is a form. Without it, the call is a GET. */
  readonly body?: unknown;
  /** The field that tells Gatehouse's response from that of another service. */
  readonly expected: string;
  /** Its type. Default: `boolean`. */
  readonly expectedType?: "boolean" | "object";
}

/** More than any response that the client asks for. */
const responseBytesMax = 8 * 1024 * 1024;

/** Returns the service's URL without a slash at the end. @throws {TypeError} Without a URL, or with one that isn't http(s). */
export function serviceUrl(url: string | URL | undefined): string {
  const text = String(url ?? fromEnvironment("GATEHOUSE_URL") ?? "");
  if (text === "") throw new TypeError("Set the option url, or the environment variable GATEHOUSE_URL.");
  const parsed = URL.canParse(text) ? new URL(text) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username + parsed.password !== "") {
    throw new TypeError("url must be the address of your Gatehouse, such as https://auth.example.com.");
  }
  return parsed.origin + parsed.pathname.replace(/\/+$/, "");
}

/** Returns undefined for a variable that is unset, empty, or denied by Deno. */
export function fromEnvironment(name: string): string | undefined {
  try {
    return process.env[name] || undefined;
  } catch {
    return undefined;
  }
}

/**
 * Calls Gatehouse, and repeats the call if the connection is lost. Calls must be safe to repeat. Returns the response's JSON.
 *
 * @throws {GatehouseError}
 */
export async function call(
  service: Service,
  { path, headers, body, expected, expectedType = "boolean" }: Call,
): Promise<unknown> {
  const signal = AbortSignal.timeout(service.timeoutMs);
  const isForm = body instanceof URLSearchParams;
  const init: RequestInit = {
    method: body === undefined ? "GET" : "POST",
    headers: body === undefined || isForm ? headers : { ...headers, "Content-Type": "application/json" },
    // A redirect could go to a host that must not get the cookie or token.
    redirect: "manual",
    // Frameworks that replace `fetch` may otherwise keep responses, and a session or key that has ended.
    cache: "no-store",
    signal,
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  };
  const send = async () => {
    const response = await service.fetch(service.url + path, init);
    return { response, text: await readText(response) };
  };
  try {
    const attempts = send().catch((error) => {
      if (signal.aborted || error instanceof GatehouseError) throw error;
      return send();
    });
    const { response, text } = await untilAborted(signal, attempts);
    const content = contentOf(response, text);
    if (typeof content[expected] === expectedType && content[expected] !== null) return content;
    throw unexpected(response, `JSON without the field ${expected}. Check the option url`);
  } catch (error) {
    if (error instanceof GatehouseError) throw error;
    if (signal.aborted) {
      const message = `Gatehouse at ${service.url} didn't respond within ${service.timeoutMs} ms.`;
      throw new TimeoutError(message, { code: "timeout", cause: error });
    }
    const message = `No response from Gatehouse at ${service.url}: ${reasonOf(error)}`;
    throw new ConnectionError(message, { code: "connection_failed", cause: error });
  }
}

/** Waits for an exchange. @throws The signal's reason once it is aborted, even if a custom `fetch` ignores it. */
export async function untilAborted<T>(signal: AbortSignal, exchange: Promise<T>): Promise<T> {
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
  });
  return await Promise.race([exchange, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

/** Reads the body of a response. @throws {ApiError} If it is larger than any response of Gatehouse. */
export async function readText(response: Response): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // Leaving the loop early cancels the body.
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > responseBytesMax) throw unexpected(response, "a response that is too long");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function contentOf(response: Response, text: string): Readonly<Record<string, unknown>> {
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    throw unexpected(response, `a redirect to ${headers.get("location") ?? "nowhere"}. Check the option url`);
  }
  const content = parseObject(text);
  if (content === null) throw unexpected(response, `status ${status} without JSON`);
  if (response.ok) return content;
  throw errorOf(response, content);
}

/** Parses JSON. Returns null for anything but an object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value as Readonly<Record<string, unknown>> : null;
  } catch {
    return null;
  }
}

function errorOf(response: Response, content: Readonly<Record<string, unknown>>): ApiError {
  const error = content["error"] as { code?: unknown; message?: unknown; details?: unknown } | undefined;
  if (typeof error?.code !== "string") return unexpected(response, `status ${response.status}`);
  return apiError(response, String(error.message), {
    code: error.code,
    details: Array.isArray(error.details) ? error.details as ErrorDetail[] : [],
  });
}

function unexpected(response: Response, what: string): ApiError {
  return apiError(response, `Gatehouse returned ${what}.`, { code: "unexpected_response" });
}

function apiError(
  { status, headers }: Response,
  message: string,
  facts: { code: string; details?: readonly ErrorDetail[] },
): ApiError {
  const ErrorClass = status === 429 ? RateLimitError : ApiError;
  return new ErrorClass(message, {
    ...facts,
    status,
    requestId: headers.get("x-request-id"),
    retryAfterMs: retryAfterMs(headers.get("retry-after")),
  });
}

/** Returns the milliseconds of a `Retry-After` header, or null without a valid one. */
export function retryAfterMs(header: string | null): number | null {
  if (header === null) return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

/** Finds the reason, which Node.js has in `cause`. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message?: string };
  return cause?.code ?? cause?.message ?? message ?? String(error);
}
