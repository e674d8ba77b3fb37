// Keeps the port open for one thread. Deno.serve stops accepting connections when the process runs out of file descriptors: the
// listener notices, opens the port again, and closes connections without a request in progress.
import { setTimeout as delay } from "node:timers/promises";
import {
  descriptorsToListenMin,
  listenCheckIntervalMs,
  openDescriptorsMax,
  retiredServerTimeoutMs,
  shutdownCheckIntervalMs,
  shutdownFlushMs,
} from "../../domain/limits.ts";
import {
  areDescriptorsFree,
  countFileDescriptors,
  findSockets,
  isOpenSocket,
  type Socket,
} from "../../services/file_descriptors.ts";
import { settlesWithin } from "../../services/sleep.ts";
import type { ProgramLog } from "./log.ts";

export type Handler = Deno.ServeHandler<Deno.NetAddr>;

/** Until Deno 2.9, responses are compressed by default, and its types lack the option. */
export const servingOptions: object = { automaticCompression: true };

interface ListenOptions {
  readonly hostname: string;
  /** 0 for any free port, which then stays the same. */
  readonly port: number;
  /** True if other threads of this process listen on the same port. */
  readonly sharesPort?: boolean;
  readonly log: Pick<ProgramLog, "info" | "warn" | "error">;
  /** Open descriptors of the process beyond which idle connections are closed. */
  readonly descriptorsMax?: number;
}

/** A `Deno.serve` with its connections. */
interface Server {
  readonly http: Deno.HttpServer<Deno.NetAddr>;
  readonly abort: AbortController;
  /** Its listening socket. If other threads opened sockets at the same time, those as well; none where it can't be found. */
  sockets: readonly Socket[];
  /** It has reported that it stopped. Deno 2.7 reports this only when it has no connections left. */
  hasStopped: boolean;
  /** The number of requests without a complete response. */
  requests: number;
  /** Counts one of them as completed. */
  readonly completed: () => void;
  /** No longer accepts connections: each response closes its connection. */
  isRetired: boolean;
}

/** Listens on one address until shutdown. */
export class Listener {
  readonly #handler: Handler;
  readonly #options: ListenOptions;
  /** Every server that may still have connections. */
  readonly #servers = new Set<Server>();
  readonly #checking: ReturnType<typeof setInterval>;
  readonly #address: Deno.NetAddr;
  #current: Server | null;
  #isOutage = false;
  #isCrowded = false;
  #isClosing = false;

  /** @throws When the port cannot be opened. */
  constructor(handler: Handler, options: ListenOptions) {
    this.#handler = handler;
    this.#options = options;
    this.#current = this.#start(options);
    this.#address = this.#current.http.addr;
    this.#checking = setInterval(() => this.#check(), listenCheckIntervalMs);
  }

  get port(): number {
    return this.#address.port;
  }

  /** Rejects new requests, and waits for the responses of those in progress. The port stays open. */
  async finish(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#checking);
    while ([...this.#servers].some(({ requests }) => requests > 0)) await delay(shutdownCheckIntervalMs);
  }

  /**
   * Closes the port, after {@linkcode finish}: Deno's own shutdown would drop requests that it has read but not yet passed to the
   * handler.
   */
  async close(): Promise<void> {
    const closing = Promise.all([...this.#servers].map(({ http }) => http.shutdown().catch(() => {})));
    // A connection with an incomplete request would delay this indefinitely.
    await settlesWithin(shutdownFlushMs, closing);
  }

  #start({ hostname, port }: { readonly hostname: string; readonly port: number }): Server {
    const { sharesPort = false } = this.#options;
    const abort = new AbortController();
    const before = findSockets();
    const http = Deno.serve(
      { hostname, port, reusePort: sharesPort, signal: abort.signal, onListen: () => {}, ...servingOptions },
      (request, info) => this.#handle(server, request, info),
    );
    const completed = () => {
      server.requests--;
    };
    const server: Server = {
      http,
      abort,
      sockets: [],
      hasStopped: false,
      requests: 0,
      completed,
      isRetired: false,
    };
    this.#servers.add(server);
    const forget = () => this.#servers.delete(server);
    http.finished.then(forget, () => {
      server.hasStopped = true;
      if (server !== this.#current) forget();
    });
    try {
      const links = new Set(before.map(({ link }) => link));
      server.sockets = findSockets().filter(({ link }) => !links.has(link));
    } catch (error) {
      abort.abort();
      throw error;
    }
    return server;
  }

  async #handle(
    server: Server,
    request: Request,
    info: Deno.ServeHandlerInfo<Deno.NetAddr>,
  ): Promise<Response> {
    if (this.#isClosing) {
      return new Response(null, { status: 503, headers: { "retry-after": "1", connection: "close" } });
    }
    server.requests++;
    info.completed.then(server.completed, server.completed);
    const response = await this.#handler(request, info);
    if (server.isRetired) response.headers.set("connection", "close");
    return response;
  }

  #check(): void {
    if (this.#isClosing) return;
    if (this.#current !== null && isAccepting(this.#current)) {
      if (this.#isOutage) {
        this.#isOutage = false;
        this.#options.log.info("accepting connections again", { port: this.#address.port });
      }
      this.#boundIdle(this.#current);
      return;
    }
    if (!this.#isOutage) {
      this.#isOutage = true;
      this.#options.log.error(
        "stopped accepting connections: out of file descriptors. Idle connections are being closed",
        { port: this.#address.port },
      );
    }
    if (this.#current !== null) this.#clear(this.#current);
    this.#restart();
  }

  /** Opens the port again, if possible. Otherwise the next check tries again. */
  #restart(): void {
    this.#current = null;
    if (this.#isOutage && !areDescriptorsFree(descriptorsToListenMin)) return;
    try {
      this.#current = this.#start(this.#address);
    } catch {
      // Out of descriptors, or the port isn't free yet.
    }
  }

  /** Closes the connections of a server that stopped accepting, once no request is in progress. */
  #clear(server: Server): void {
    server.isRetired = true;
    const endsAt = performance.now() + retiredServerTimeoutMs;
    let isQuiet = false;
    const timer = setInterval(() => {
      const isDone = isQuiet && server.requests === 0;
      isQuiet = server.requests === 0;
      if (this.#isClosing || !this.#servers.has(server)) return clearInterval(timer);
      if (!isDone && performance.now() < endsAt) return;
      clearInterval(timer);
      server.abort.abort();
      this.#servers.delete(server);
    }, listenCheckIntervalMs);
  }

  /** Replaces the server when there are too many connections: closes the idle ones and finishes requests in progress. */
  #boundIdle(server: Server): void {
    const max = this.#options.descriptorsMax ?? openDescriptorsMax;
    const wasCrowded = this.#isCrowded;
    this.#isCrowded = (countFileDescriptors() ?? 0) > max;
    // Connections that survived a replacement have requests in progress; another one would close none of them.
    if (!this.#isCrowded || wasCrowded) return;
    this.#options.log.warn("too many connections: idle ones are being closed", { descriptorsMax: max });
    // Possible only if threads can share the port.
    this.#restart();
    server.http.shutdown().catch(() => {});
    // Otherwise, the port takes a moment to become free.
    const timer = setInterval(() => {
      if (this.#isClosing || this.#current !== null) return clearInterval(timer);
      this.#restart();
    }, 1);
  }
}

function isAccepting({ hasStopped, sockets }: Server): boolean {
  return !hasStopped && (sockets.length === 0 || sockets.some(isOpenSocket));
}
