// Connects names below localhost to this machine, as browsers do (RFC 6761). Most resolvers don't know these names, and fetch
// can't be given an address, so its requests for them go through a SOCKS server in this process.
import type { Send } from "./request.ts";

const loopbackAddresses = ["127.0.0.1", "::1"] as const;
/** Version 5 without authentication, and the responses to a request to connect (RFC 1928). */
const noAuthentication = new Uint8Array([5, 0]);
const connected = new Uint8Array([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
const connectionRefused = new Uint8Array([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]);

/** Calls `act` with a `fetch` that finds names below localhost. */
export async function withLocalhostNames<T>(act: (send: Send) => Promise<T>): Promise<T> {
  const server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const client = Deno.createHttpClient({
    proxy: { transport: "socks5", url: `socks5h://127.0.0.1:${(server.addr as Deno.NetAddr).port}` },
  });
  const serving = serve(server);
  try {
    return await act((address, init) =>
      new URL(address).hostname.endsWith(".localhost")
        ? fetch(address, { ...init, client } as RequestInit)
        : fetch(address, init)
    );
  } finally {
    client.close();
    server.close();
    await serving;
  }
}

async function serve(server: Deno.Listener<Deno.TcpConn>): Promise<void> {
  const connections: Promise<void>[] = [];
  for await (const client of server) connections.push(relay(client).catch(() => {}));
  await Promise.all(connections);
}

/** Connects a client of the SOCKS server. Its messages are short and come from this process, so each arrives whole. */
async function relay(client: Deno.TcpConn): Promise<void> {
  using _client = client;
  const message = new Uint8Array(512);
  await client.read(message);
  await client.write(noAuthentication);
  const length = await client.read(message) ?? 0;
  const port = new DataView(message.buffer).getUint16(Math.max(length - 2, 0));
  const server = await connect(port);
  await client.write(server === null ? connectionRefused : connected);
  if (server === null) return;
  await Promise.allSettled([
    client.readable.pipeTo(server.writable),
    server.readable.pipeTo(client.writable),
  ]);
}

async function connect(port: number): Promise<Deno.TcpConn | null> {
  for (const hostname of loopbackAddresses) {
    const connection = await Deno.connect({ hostname, port }).catch(() => null);
    if (connection !== null) return connection;
  }
  return null;
}
