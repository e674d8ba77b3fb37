// Sends a POST request to a URL that a customer chose, and reads only the head of the response.
import type { DeliveryFault } from "../../domain/outbox/delivery.ts";
import { type AddressGuard, BlockedAddressError } from "./address_guard.ts";
import { exchange, requestBytes } from "./guarded_connection.ts";

export interface PostRequest {
  /** Parsed by {@linkcode AddressGuard.parse}. */
  readonly url: URL;
  /** In addition to `host`, `content-length` and `connection`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For everything, from resolving the host to the head of the response. */
  readonly timeoutMs: number;
  /** Ends the attempt early, which is reported as `timeout`. */
  readonly signal?: AbortSignal | undefined;
  /** Certificate authorities (PEM) to trust in addition to the default ones. */
  readonly caCerts?: readonly string[] | undefined;
}

export interface PostResult {
  /** Null without a valid response. */
  readonly status: number | null;
  /** The header `Retry-After`. */
  readonly retryAfter: string | null;
  /** Null for a 2xx. */
  readonly code: DeliveryFault | null;
  readonly durationMs: number;
}

/** Maximum size of the response's head, including informational responses before it. */
const headBytesMax = 16 * 1024;
/** A server that sends its head in more pieces keeps the event loop busy. */
const headReadsMax = 100;

/** Sends one request and reads the head of the response. Never follows a redirect, and never throws. */
export async function post(guard: AddressGuard, request: PostRequest): Promise<PostResult> {
  const startedAt = performance.now();
  const attempt = new AbortController();
  const end = () => attempt.abort();
  const timer = setTimeout(end, request.timeoutMs);
  request.signal?.addEventListener("abort", end);
  if (request.signal?.aborted) end();
  let result: Omit<PostResult, "durationMs">;
  try {
    const bytes = requestBytes(request.url, { method: "POST", ...request });
    const options = { ...request, signal: attempt.signal, request: bytes };
    const { status, retryAfter } = await exchange(guard, options, readHead);
    result = { status, retryAfter, code: status >= 200 && status < 300 ? null : "status" };
  } catch (error) {
    result = { status: null, retryAfter: null, code: attempt.signal.aborted ? "timeout" : faultOf(error) };
  } finally {
    clearTimeout(timer);
    request.signal?.removeEventListener("abort", end);
  }
  return { ...result, durationMs: Math.round(performance.now() - startedAt) };
}

function faultOf(error: unknown): DeliveryFault {
  if (error instanceof BlockedAddressError) return "blocked";
  // Deno reports all certificate and protocol errors in this way.
  return error instanceof Deno.errors.InvalidData ? "tls" : "refused";
}

interface ResponseHead {
  readonly status: number;
  readonly retryAfter: string | null;
}

async function readHead(connection: Deno.Conn): Promise<ResponseHead> {
  const buffer = new Uint8Array(headBytesMax);
  let length = 0;
  for (let reads = 0; reads < headReadsMax && length < headBytesMax; reads++) {
    const read = await connection.read(buffer.subarray(length));
    if (read === null) break;
    length += read;
    const head = parseHead(new TextDecoder("latin1").decode(buffer.subarray(0, length)));
    if (head !== null) return head;
  }
  throw new Error("no valid response");
}

/** Parses the first response that isn't informational. Returns null if it isn't complete. @throws If it isn't HTTP. */
function parseHead(text: string): ResponseHead | null {
  for (const part of text.split(/\r?\n\r?\n/).slice(0, -1)) {
    const [line = "", ...headers] = part.split(/\r?\n/);
    const status = Number(/^HTTP\/1\.[01] ([1-5]\d\d)(?: |$)/.exec(line)?.[1]);
    if (Number.isNaN(status)) throw new Error("no valid response");
    if (status < 200 && status !== 101) continue;
    const value = headers.find((header) => /^retry-after:/i.test(header))?.slice("retry-after:".length)
      .trim();
    return { status, retryAfter: value || null };
  }
  return null;
}
