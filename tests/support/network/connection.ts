// A raw TCP connection, to act as clients that `fetch` can't imitate: silent, slow or never finishing.

export interface Connection {
  readonly received: () => string;
  readonly isClosed: () => boolean;
  send(text: string): Promise<void>;
  close(): void;
}

/** Connects to a server. @param text Sent immediately. */
export async function connectTo(baseUrl: string, text = ""): Promise<Connection> {
  const port = Number(new URL(baseUrl).port);
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  let received = "";
  let isClosed = false;
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of connection.readable) received += decoder.decode(chunk, { stream: true });
  })();
  const ended = () => {
    isClosed = true;
  };
  // A server that closes a connection with unread input resets it, which also counts as closed.
  reading.then(ended, ended);
  const writer = connection.writable.getWriter();
  const send = async (more: string) => await writer.write(new TextEncoder().encode(more));
  if (text !== "") await send(text);
  return {
    received: () => received,
    isClosed: () => isClosed,
    send,
    close: () => {
      try {
        connection.close();
      } catch {
        // The server closed it first.
      }
    },
  };
}

/** @returns A request in HTTP/1.1 wire format. */
export function requestText(
  method: string,
  path: string,
  options: { headers?: Readonly<Record<string, string>>; body?: string } = {},
): string {
  const headers = { host: "localhost", ...options.headers };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${options.body ?? ""}`;
}
