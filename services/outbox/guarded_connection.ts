// Connections to URLs that customers choose. `fetch` and `node:https` resolve names themselves or check certificates for the wrong
// name, so a request is written over a connection to an address that the guard returned.
import { type AddressGuard, hostOf } from "./address_guard.ts";

export interface ConnectionOptions {
  /** Parsed by {@linkcode AddressGuard.parse}. */
  readonly url: URL;
  /** Ends everything, from resolving the host to reading the response. */
  readonly signal: AbortSignal;
  /** The time until then. Each address but the last gets only its share of it. */
  readonly timeoutMs: number;
  /** Certificate authorities (PEM) to trust in addition to the default ones. */
  readonly caCerts?: readonly string[] | undefined;
}

const addressesTriedMax = 8;

/** Opens a connection, sends a request, lets `read` read the response, and closes the connection. */
export async function exchange<Result>(
  guard: AddressGuard,
  { request, ...options }: ConnectionOptions & { readonly request: Uint8Array },
  read: (connection: Deno.Conn) => Promise<Result>,
): Promise<Result> {
  const { url, signal, timeoutMs, caCerts = [] } = options;
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
    writeAll(connection, request).catch(() => {});
    return await read(connection);
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
 * @param request `headers`: in addition to `host`, `content-length` and `connection`.
 * @throws {TypeError} For names and values of headers that would break out of their line.
 */
export function requestBytes(
  url: URL,
  { method, headers, body }: {
    readonly method: "GET" | "POST";
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
): Uint8Array {
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
