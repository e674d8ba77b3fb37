// Sends a POST request to a URL that a customer chose. `fetch` and `node:https` resolve names themselves or check certificates for
// the wrong name, so this speaks HTTP/1.1 over a connection to an address that the guard returned.
import type { DeliveryFault } from "../../domain/webhooks/delivery.ts";
import { type AddressGuard, BlockedAddressError, hostOf } from "./address_guard.ts";

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
  /** Certificate authorities (PEM) to trust besides the usual ones. */
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

/** Of the response, which also bounds informational responses before it. */
const headBytesMax = 16 * 1024;
/** A server that sends its head in more pieces keeps the event loop busy. */
const headReadsMax = 100;
const addressesTriedMax = 8;

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
    const { status, retryAfter } = await exchange(guard, request, attempt.signal);
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
  // Deno reports all faults of certificates and of the protocol in this way.
  return error instanceof Deno.errors.InvalidData ? "tls" : "refused";
}

interface ResponseHead {
  readonly status: number;
  readonly retryAfter: string | null;
}

async function exchange(
  guard: AddressGuard,
  request: PostRequest,
  signal: AbortSignal,
): Promise<ResponseHead> {
  signal.throwIfAborted();
  const { url, timeoutMs, caCerts = [] } = request;
  const isSecure = url.protocol === "https:";
  const port = Number(url.port || (isSecure ? 443 : 80));
  const addresses = await guard.addressesOf(url, signal);
  const tcp = await connect(addresses, { port, timeoutMs, signal });
  // Otherwise the request waits until the server has confirmed the end of the handshake, often for 40 ms.
  tcp.setNoDelay();
  let connection: Deno.Conn = tcp;
  const close = () => {
    try {
      connection.close();
    } catch {
      // It is closed already.
    }
  };
  signal.addEventListener("abort", close);
  try {
    if (isSecure) {
      const tls = await Deno.startTls(tcp, {
        hostname: hostOf(url),
        caCerts: [...caCerts],
      });
      connection = tls;
      signal.throwIfAborted();
      await tls.handshake();
    }
    signal.throwIfAborted();
    // A server may respond and close the connection before it has read everything.
    writeAll(connection, requestBytes(request)).catch(() => {});
    return await readHead(connection);
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}

/** Connects to the first address that accepts. Each but the last gets only its share of the time. */
async function connect(
  addresses: readonly string[],
  { port, timeoutMs, signal }: { port: number; timeoutMs: number; signal: AbortSignal },
): Promise<Deno.TcpConn> {
  const tried = addresses.slice(0, addressesTriedMax);
  for (const [index, hostname] of tried.entries()) {
    const isLast = index === tried.length - 1;
    const share = AbortSignal.timeout(timeoutMs / tried.length);
    try {
      return await Deno.connect({
        hostname,
        port,
        signal: isLast ? signal : AbortSignal.any([signal, share]),
      });
    } catch (error) {
      if (isLast || signal.aborted) throw error;
    }
  }
  throw new Error("the host has no address");
}

function requestBytes({ url, headers, body }: PostRequest): Uint8Array {
  // Rejects names and values that would break out of their line.
  const lines = [...new Headers(headers)].map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = new TextEncoder().encode(body);
  const head = new TextEncoder().encode(
    `POST ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join("")}` +
      `content-length: ${bytes.length}\r\nconnection: close\r\n\r\n`,
  );
  const request = new Uint8Array(head.length + bytes.length);
  request.set(head);
  request.set(bytes, head.length);
  return request;
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await connection.write(bytes.subarray(written));
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
