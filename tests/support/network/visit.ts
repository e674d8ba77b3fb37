// Sends requests to a local server with any host name and any headers, including those that `fetch` doesn't let you set.
import { request } from "node:http";

/** A request to one of the server's host names. */
export interface Visit {
  readonly host: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
}

/** A response. Multiple values of a header are joined. */
export interface Visited {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly setCookies: readonly string[];
  readonly body: string;
}

/** Sends a request to 127.0.0.1. @param port The server's port, also sent in the `Host` header. */
export function visit(port: number, given: Visit): Promise<Visited> {
  const { host, path = "/", method = "GET", headers = {}, body } = given;
  return new Promise((resolve, reject) => {
    const sent = request({
      host: "127.0.0.1",
      port,
      path,
      method,
      headers: {
        host: `${host}:${port}`,
        connection: "close",
        ...(body === undefined ? {} : { "content-length": String(new TextEncoder().encode(body).length) }),
        ...headers,
      },
    }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => text += part);
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(
            Object.entries(response.headers).map(([name, value]) => [name, String(value ?? "")]),
          ),
          setCookies: response.headers["set-cookie"] ?? [],
          body: text,
        }));
    });
    sent.setTimeout(10_000, () => sent.destroy(new Error(`no response to ${method} ${host}${path}`)));
    sent.on("error", reject);
    sent.end(body);
  });
}

/**
 * Opens a WebSocket (RFC 6455) and sends a short text.
 *
 * @returns The status of the response, and the text received, or null if the WebSocket didn't open.
 */
export async function visitSocket(
  port: number,
  given: Pick<Visit, "host" | "headers">,
  text: string,
): Promise<{ status: number; echo: string | null }> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  try {
    const lines = [
      "GET /socket HTTP/1.1",
      `Host: ${given.host}:${port}`,
      ...Object.entries(given.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
    let bytes = new Uint8Array();
    const until = async (isThere: () => boolean) => {
      while (!isThere()) {
        const part = new Uint8Array(4096);
        const count = await connection.read(part);
        if (count === null) throw new Error("the connection ended");
        bytes = new Uint8Array([...bytes, ...part.subarray(0, count)]);
      }
    };
    const latin = () => String.fromCharCode(...bytes);
    await until(() => latin().includes("\r\n\r\n"));
    const status = Number(latin().split(" ")[1]);
    if (status !== 101) return { status, echo: null };
    bytes = bytes.slice(latin().indexOf("\r\n\r\n") + 4);
    const payload = new TextEncoder().encode(text);
    // A final text frame, masked with zeros.
    await connection.write(new Uint8Array([0x81, 0x80 | payload.length, 0, 0, 0, 0, ...payload]));
    await until(() => bytes.length >= 2 && bytes.length >= 2 + ((bytes[1] ?? 0) & 0x7f));
    return { status, echo: new TextDecoder().decode(bytes.slice(2, 2 + ((bytes[1] ?? 0) & 0x7f))) };
  } finally {
    connection.close();
  }
}
