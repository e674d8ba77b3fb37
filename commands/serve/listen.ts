// Keeps one port open. Deno.serve stops accepting permanently when the process runs out of file descriptors, and says so
// nowhere: this module notices, opens the port again, and closes connections that have no request in progress.
import {
  listenCheckIntervalMs,
  openDescriptorsMax,
  retiredServerTimeoutMs,
  shutdownCheckIntervalMs,
  shutdownFlushMs,
} from "../../domain/limits.ts";
import { openDescriptors } from "../../services/descriptors.ts";
import type { ProgramLog } from "./log.ts";

/** Answers a request; what `Deno.serve` takes. */
export type Handler = Deno.ServeHandler<Deno.NetAddr>;

/** The address to listen on, the log, and what to call once it is open. */
export interface ListenOptions {
  readonly hostname: string;
  /** 0 for any free port. It stays the same for the life of the listener. */
  readonly port: number;
  readonly log: Pick<ProgramLog, "info" | "warn" | "error">;
  /** Called once, before the first request is accepted. */
  readonly onListen: (address: Deno.NetAddr) => void;
  /** Open descriptors of the process beyond which idle connections are closed. */
  readonly descriptorsMax?: number;
}

/** A `Deno.serve` with its connections. */
interface Server {
  readonly http: Deno.HttpServer<Deno.NetAddr>;
  readonly abort: AbortController;
  /** Requests whose response has not been handed over completely. */
  requests: number;
  /** Counts one of them as completed. */
  readonly completed: () => void;
  /** It accepts no connections any more: each response asks for its connection to be closed. */
  isRetired: boolean;
}

/** Listens on one address until it is shut down. */
export class Listener {
  readonly #handler: Handler;
  readonly #options: ListenOptions;
  /** Every server that may still have connections. */
  readonly #servers = new Set<Server>();
  readonly #checking: ReturnType<typeof setInterval>;
  #address: Deno.NetAddr;
  #current: Server | null;
  #isOutage = false;
  #isCrowded = false;
  #isClosing = false;
  /** Checks in a row that found no free descriptor. */
  #checksWithoutDescriptor = 0;

  /** @throws When the port cannot be opened. */
  constructor(handler: Handler, options: ListenOptions) {
    this.#handler = handler;
    this.#options = options;
    this.#address = { transport: "tcp", hostname: options.hostname, port: options.port };
    this.#current = this.#start(options.onListen);
    this.#address = this.#current.http.addr;
    this.#checking = setInterval(() => this.#check(), listenCheckIntervalMs);
  }

  /**
   * Rejects new requests, waits until those in progress have their responses, and closes the port. Only then: Deno never
   * responds to a request that it has read and not handed over when its own shutdown begins.
   */
  async shutdown(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#checking);
    const servers = [...this.#servers];
    while (servers.some(({ requests }) => requests > 0)) await delay(shutdownCheckIntervalMs);
    const closing = Promise.all(servers.map(({ http }) => http.shutdown().catch(() => {})));
    // Connections on which only a part of a request has come would keep it waiting.
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, shutdownFlushMs));
    await Promise.race([closing, late]);
    clearTimeout(timer);
  }

  #start(onListen: (address: Deno.NetAddr) => void = () => {}): Server {
    const abort = new AbortController();
    const { hostname, port } = this.#address;
    const http = Deno.serve(
      { hostname, port, signal: abort.signal, onListen },
      (request, info) => this.#answer(server, request, info),
    );
    const completed = () => {
      server.requests--;
    };
    const server: Server = { http, abort, requests: 0, completed, isRetired: false };
    this.#servers.add(server);
    const forget = () => this.#servers.delete(server);
    http.finished.then(forget, forget);
    return server;
  }

  #answer(
    server: Server,
    request: Request,
    info: Deno.ServeHandlerInfo<Deno.NetAddr>,
  ): Response | Promise<Response> {
    if (this.#isClosing) {
      return new Response(null, { status: 503, headers: { "retry-after": "1", connection: "close" } });
    }
    server.requests++;
    info.completed.then(server.completed, server.completed);
    const answer = this.#handler(request, info);
    return server.isRetired ? withClose(answer) : answer;
  }

  #check(): void {
    if (this.#isClosing) return;
    if (this.#current !== null && this.#isAccepting()) {
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

  /** Asks the operating system: as long as the port is open, no one else can bind it. This needs no connection. */
  #isAccepting(): boolean {
    try {
      const { hostname, port } = this.#address;
      Deno.listen({ hostname, port }).close();
      return false;
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : "";
      const isOut = code === "EMFILE" || code === "ENFILE";
      this.#checksWithoutDescriptor = isOut ? this.#checksWithoutDescriptor + 1 : 0;
      // The first time the port may still be open: with no new connection nothing has failed yet.
      return this.#checksWithoutDescriptor < 2;
    }
  }

  /** Opens the port again if that is possible now; otherwise the next check tries. */
  #restart(): void {
    this.#current = null;
    try {
      this.#current = this.#start();
    } catch {
      // Still no descriptor, or the port is not free yet.
    }
  }

  /** Closes all connections of a server that stopped accepting, as soon as none of them has a request in progress. */
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
    }, listenCheckIntervalMs);
  }

  /** Beyond the limit, replaces the server: its idle connections are closed, and requests in progress are finished. */
  #boundIdle(server: Server): void {
    const max = this.#options.descriptorsMax ?? openDescriptorsMax;
    const wasCrowded = this.#isCrowded;
    this.#isCrowded = (openDescriptors() ?? 0) > max;
    // Those that are left after it have a request in progress: replacing the server again would close none of them.
    if (!this.#isCrowded || wasCrowded) return;
    this.#options.log.warn("too many connections: idle ones are being closed", { descriptorsMax: max });
    server.isRetired = true;
    server.http.shutdown().catch(() => {});
    this.#current = null;
    // The port is free a moment later.
    const timer = setInterval(() => {
      if (this.#isClosing || this.#current !== null) return clearInterval(timer);
      this.#restart();
    }, 1);
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function withClose(answer: Response | Promise<Response>): Promise<Response> {
  const { body, status, headers } = await answer;
  const closing = new Headers(headers);
  closing.set("connection", "close");
  return new Response(body, { status, headers: closing });
}
