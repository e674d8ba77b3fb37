// A TCP proxy for tests and the benchmark. It delays or cuts connections, or loses a response after the request arrived,
// without knowing the protocol.

/** Which responses to lose. */
interface LostAnswers {
  readonly count: number;
  /** Only responses to requests that contain this text. Default: any request. */
  readonly toRequestsWith?: string;
  /** Only responses that begin with bytes containing this text. Default: any response. */
  readonly answersWith?: string;
}

export interface TcpProxy {
  readonly port: number;
  readonly url: string;
  /** Largest number of connections open at the same time. */
  readonly openConnectionsMax: number;
  /** Sets the delay each way, in milliseconds, for bytes sent from now on. */
  setDelay(delayMs: number): void;
  /** Closes all connections, and closes new ones immediately until {@linkcode restore}. */
  cut(): void;
  /** Lets connections through again. */
  restore(): void;
  /**
   * Loses the next responses: the target handles the request, but the connection is closed on both sides when the first
   * byte of the response arrives. A request is everything sent since the previous response.
   */
  loseAnswers(lost: LostAnswers): void;
  readonly answersToLose: number;
  close(): Promise<void>;
}

const readBytes = 64 * 1024;

/** State that all connections of a proxy share. */
interface Line {
  delayMs: number;
  toLose: number;
  toRequestsWith: string;
  answersWith: string;
}

/**
 * Starts a proxy on a free loopback port.
 *
 * @param options `targetPort`: of this machine. `delayMs`: each way, so a round trip takes twice as long.
 */
export function startTcpProxy(
  { targetPort, delayMs = 0 }: { targetPort: number; delayMs?: number },
): TcpProxy {
  const line: Line = { delayMs, toLose: 0, toRequestsWith: "", answersWith: "" };
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  const connections = new Set<ProxiedConnection>();
  const served: Set<Promise<void>> = new Set();
  let isCut = false;
  let openConnectionsMax = 0;

  async function serve(client: Deno.TcpConn): Promise<void> {
    const target = await Deno.connect({ hostname: "127.0.0.1", port: targetPort }).catch(() => null);
    if (target === null || isCut) {
      client.close();
      target?.close();
      return;
    }
    const connection = new ProxiedConnection({ client, target, line });
    connections.add(connection);
    openConnectionsMax = Math.max(openConnectionsMax, connections.size);
    await connection.carry();
    connections.delete(connection);
  }

  async function accept(): Promise<void> {
    for await (const client of listener) {
      if (isCut) {
        client.close();
        continue;
      }
      const serving = serve(client).finally(() => served.delete(serving));
      served.add(serving);
    }
  }

  function cut(): void {
    isCut = true;
    for (const connection of connections) connection.close();
  }

  const accepting = accept();
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get openConnectionsMax() {
      return openConnectionsMax;
    },
    get answersToLose() {
      return line.toLose;
    },
    setDelay: (delayMs) => {
      line.delayMs = delayMs;
    },
    cut,
    restore: () => {
      isCut = false;
    },
    loseAnswers: ({ count, toRequestsWith = "", answersWith = "" }) => {
      line.toLose = count;
      line.toRequestsWith = toRequestsWith;
      line.answersWith = answersWith;
    },
    async close() {
      listener.close();
      cut();
      await accepting;
      await Promise.all(served);
    },
  };
}

class ProxiedConnection {
  readonly #client: Deno.TcpConn;
  readonly #target: Deno.TcpConn;
  readonly #line: Line;
  readonly #closed = Promise.withResolvers<void>();
  #isClosed = false;
  /** What the client sent since the last response. Kept only while responses are lost by their request's text. */
  #request = "";

  constructor(parts: { client: Deno.TcpConn; target: Deno.TcpConn; line: Line }) {
    this.#client = parts.client;
    this.#target = parts.target;
    this.#line = parts.line;
    this.#client.setNoDelay(true);
    this.#target.setNoDelay(true);
  }

  /** Passes bytes on in both directions until both sides end or {@linkcode close} is called. */
  async carry(): Promise<void> {
    await Promise.all([
      this.#pump({ from: this.#client, to: this.#target, saw: (bytes) => this.#sawRequest(bytes) }),
      this.#pump({ from: this.#target, to: this.#client, saw: (bytes) => this.#sawAnswer(bytes) }),
    ]);
    this.close();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#client.close();
    this.#target.close();
    this.#closed.resolve();
  }

  #sawRequest(bytes: Uint8Array): void {
    if (this.#line.toLose > 0 && this.#line.toRequestsWith !== "") {
      this.#request += new TextDecoder("latin1").decode(bytes);
    }
  }

  #sawAnswer(bytes: Uint8Array): void {
    const { toLose, toRequestsWith, answersWith } = this.#line;
    const isLost = toLose > 0 && this.#request.includes(toRequestsWith) &&
      new TextDecoder("latin1").decode(bytes).includes(answersWith);
    this.#request = "";
    if (!isLost) return;
    this.#line.toLose--;
    this.close();
  }

  /** Reads immediately and writes later, so that the proxy adds latency without limiting bandwidth. */
  async #pump(
    { from, to, saw }: { from: Deno.TcpConn; to: Deno.TcpConn; saw: (bytes: Uint8Array) => void },
  ): Promise<void> {
    let written = Promise.resolve();
    const write = (act: () => Promise<unknown>) => {
      written = written.then(async () => {
        if (!this.#isClosed) await act();
      }).catch(() => this.close());
    };
    try {
      while (!this.#isClosed) {
        const buffer = new Uint8Array(readBytes);
        const length = await from.read(buffer);
        if (length === null) break;
        const bytes = buffer.subarray(0, length);
        saw(bytes);
        const at = performance.now() + this.#line.delayMs;
        write(async () => {
          await this.#until(at);
          for (let sent = 0; sent < bytes.length && !this.#isClosed;) {
            sent += await to.write(bytes.subarray(sent));
          }
        });
      }
    } catch {
      this.close();
    }
    write(() => to.closeWrite());
    await written;
  }

  /** Waits until `performance.now()` reaches a time, or the connection ends. */
  async #until(at: number): Promise<void> {
    const waitMs = at - performance.now();
    if (waitMs <= 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, waitMs));
    await Promise.race([late, this.#closed.promise]);
    clearTimeout(timer);
  }
}
