// Sends one request to a URL that customers or operators chose, within a time and a size, and never follows a redirect. `fetch` resolves
// names itself, and `node:https` can't be given an address, so a request to a customer's URL is written over a connection to an address
// that the guard returned. See decision 110.
import { type AddressGuard, hostOf } from "./address_guard.ts";
import { readResponse, tooLarge } from "./http_response.ts";

export interface OutgoingRequest {
  /** For a guard, parsed by {@linkcode AddressGuard.parse}. */
  readonly url: URL;
  readonly method: "GET" | "POST";
  /** In addition to `host`, `content-length` and `connection`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For everything, from resolving the host to reading the response. */
  readonly timeoutMs: number;
  /** Ends the request early, as the time does. */
  readonly signal?: AbortSignal | undefined;
  /** Certificate authorities (PEM) to trust in addition to the default ones. Only for requests with a guard. */
  readonly caCerts?: readonly string[] | undefined;
  /** Null to read only the head of the response. */
  readonly bodyBytesMax: number | null;
}

/** Reports a request that took too long or was ended by its signal. */
export class RequestTimeoutError extends Error {
  override readonly name = "RequestTimeoutError";
}

const addressesTriedMax = 8;

/**
 * Sends a request and reads the response.
 *
 * @param guard Null for a URL of operators, which may be in a private network.
 * @throws {RequestTimeoutError} At the end of the time or the signal.
 * @throws {BlockedAddressError} If an address of the host isn't allowed.
 * @throws {ResponseError} For an invalid or too large response. Other errors are those of the connection: `Deno.errors.InvalidData` for
 *   certificates and TLS.
 */
export async function sendRequest(guard: AddressGuard | null, request: OutgoingRequest): Promise<Response> {
  const attempt = new AbortController();
  const end = () => attempt.abort();
  const timer = setTimeout(end, request.timeoutMs);
  request.signal?.addEventListener("abort", end);
  if (request.signal?.aborted) end();
  try {
    if (guard === null) return await fetchWhole(request, attempt.signal);
    return await exchange(guard, request, attempt.signal);
  } catch (error) {
    throw attempt.signal.aborted ? new RequestTimeoutError("it took too long", { cause: error }) : error;
  } finally {
    clearTimeout(timer);
    request.signal?.removeEventListener("abort", end);
  }
}

/** Reads JSON of at most 256 KB within 5 seconds from a URL of operators. @throws Any error if there is none. */
export async function getJson(url: string): Promise<unknown> {
  const headers = { accept: "application/json", "user-agent": "Gatehouse" };
  const request = { url: new URL(url), method: "GET", headers, timeoutMs: 5_000 } as const;
  const response = await sendRequest(null, { ...request, bodyBytesMax: 256 * 1024 });
  if (!response.ok) throw new Error(`the response has the status ${response.status}`);
  return await response.json();
}

async function fetchWhole(
  { url, method, headers, body = "", bodyBytesMax }: OutgoingRequest,
  signal: AbortSignal,
): Promise<Response> {
  const init = { method, headers, signal, redirect: "manual" } as const;
  const response = await fetch(url, method === "POST" ? { ...init, body } : init);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > (bodyBytesMax ?? 0)) throw tooLarge();
    chunks.push(chunk);
  }
  return new Response(response.body === null ? null : new Blob(chunks), response);
}

/** Opens a connection, sends the request, reads the response, and closes the connection. */
async function exchange(
  guard: AddressGuard,
  request: OutgoingRequest,
  signal: AbortSignal,
): Promise<Response> {
  const { url, timeoutMs, caCerts = [], bodyBytesMax } = request;
  const bytes = requestBytes(request);
  signal.throwIfAborted();
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
    writeAll(connection, bytes).catch(() => {});
    return await readResponse(connection, { bodyBytesMax });
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

/**
 * Returns a request of HTTP/1.1 after which the server closes the connection.
 *
 * @throws {TypeError} For names and values of headers that would break out of their line.
 */
function requestBytes({ url, method, headers, body = "" }: OutgoingRequest): Uint8Array {
  const lines = [...new Headers(headers)].map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = new TextEncoder().encode(body);
  const length = method === "GET" ? "" : `content-length: ${bytes.length}\r\n`;
  const head = new TextEncoder().encode(
    `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join("")}` +
      `${length}connection: close\r\n\r\n`,
  );
  const request = new Uint8Array(head.length + bytes.length);
  request.set(head);
  request.set(bytes, head.length);
  return request;
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await connection.write(bytes.subarray(written));
}
