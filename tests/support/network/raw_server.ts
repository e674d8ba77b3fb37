// A TCP server whose connections a test handles itself.

export interface RawServer extends AsyncDisposable {
  readonly port: number;
  readonly connections: () => number;
  /** Stops it, and closes all connections. */
  stop(): Promise<void>;
}

/** Starts a server on 127.0.0.1. @param handle Gets each connection with the first bytes that arrive. Default: never responds. */
export function startRawServer(
  handle: (connection: Deno.Conn, received: string) => void | Promise<void> = () => {},
): RawServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open: Deno.Conn[] = [];
  const serve = async (connection: Deno.Conn) => {
    const buffer = new Uint8Array(64 * 1024);
    const read = await connection.read(buffer) ?? 0;
    await handle(connection, new TextDecoder().decode(buffer.subarray(0, read)));
  };
  const accepting = (async () => {
    for await (const connection of listener) {
      open.push(connection);
      serve(connection).catch(() => {});
    }
  })();
  const stop = async () => {
    listener.close();
    await accepting;
    for (const connection of open) {
      try {
        connection.close();
      } catch {
        // It was closed by the test.
      }
    }
  };
  return {
    port: listener.addr.port,
    connections: () => open.length,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
