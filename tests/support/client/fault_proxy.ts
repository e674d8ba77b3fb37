// An HTTP proxy in front of Gatehouse that responds to batches of usage in every wrong way, as load balancers, captive
// portals and failing networks do.

/** Handles a batch of usage instead of forwarding it. */
type Fault = (batch: {
  readonly body: string;
  /** Forwards the batch, so that Gatehouse records it. @returns The response to it. */
  readonly forward: () => Promise<Response>;
  /** Resolves when the client gives up or the fault ends. */
  readonly over: Promise<void>;
}) => Response | Promise<Response>;

/** The size from which the proxy rejects bodies. One record always fits. */
const bodyBytesMax = 1_500;

const page = (status: number, headers: Record<string, string> = {}) =>
  new Response("<!doctype html><title>Sorry</title>", {
    status,
    headers: { "Content-Type": "text/html", ...headers },
  });

const refusal = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ error: { code, message: "Not now." }, requestId: "req_fault" }, { status, headers });

/** Sends the beginning of a response and then, if it doesn't end, fails. */
function broken(response: Response, { rest }: { rest: Promise<void> }): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue((await response.bytes()).slice(0, 5));
      await rest;
      controller.error(new Error("cut"));
    },
  });
  return new Response(body, { status: response.status, headers: { "Content-Type": "application/json" } });
}

/** What goes wrong with a batch, by name. */
export const faults = {
  "429 with Retry-After": () => refusal(429, "rate_limited", { "Retry-After": "1" }),
  "503 with a date in Retry-After": () =>
    refusal(503, "unavailable", { "Retry-After": new Date(Date.now() + 1_000).toUTCString() }),
  "503 without Retry-After": () => page(503),
  "413 over a size": ({ body, forward }) => body.length > bodyBytesMax ? page(413) : forward(),
  "an HTML page with 502": () => page(502),
  "an HTML page with 200": () => page(200),
  "JSON of another service with 200": () => Response.json({ ok: true }),
  "a redirect to a sign-in page": () => page(302, { Location: "/sign-in" }),
  "401 for a valid key": () => refusal(401, "invalid_api_key"),
  "404 from a wrong route": () => page(404),
  "a response after the time-out": async ({ forward, over }) => {
    const response = await forward();
    await over;
    return response;
  },
  "a body that never ends": async ({ forward, over }) => broken(await forward(), { rest: over }),
  "a body cut short": async ({ forward }) => broken(await forward(), { rest: Promise.resolve() }),
} satisfies Record<string, Fault>;
export type FaultName = keyof typeof faults;

export interface FaultProxy {
  readonly port: number;
  /** Number of batches that Gatehouse acknowledged through the proxy. */
  readonly acknowledged: number;
  /** Number of batches that each fault met. */
  readonly met: ReadonlyMap<FaultName, number>;
  /** Applies a fault to all batches, or forwards everything. */
  set(fault: FaultName | null): void;
  close(): Promise<void>;
}

/** Starts the proxy. @param baseUrl The address of Gatehouse. */
export function startFaultProxy(baseUrl: string): FaultProxy {
  const met = new Map<FaultName, number>();
  let name: FaultName | null = null;
  let ended = Promise.withResolvers<void>();
  let acknowledged = 0;

  async function handle(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (request.method !== "POST") return page(200);
    const { method, headers } = request;
    const body = await request.text().catch(() => null);
    // The client has given up.
    if (body === null) return page(502);
    const forward = async () => {
      const response = await fetch(baseUrl + pathname + search, { method, headers, body }).catch(() => null);
      if (response === null) return page(502);
      if (response.ok) acknowledged++;
      return new Response(await response.bytes(), response);
    };
    if (name === null) return forward();
    met.set(name, (met.get(name) ?? 0) + 1);
    const gaveUp = new Promise<void>((resolve) => request.signal.addEventListener("abort", () => resolve()));
    const fault: Fault = faults[name];
    return fault({ body, forward, over: Promise.race([ended.promise, gaveUp]) });
  }

  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, handle);
  const set = (next: FaultName | null) => {
    name = next;
    ended.resolve();
    ended = Promise.withResolvers();
  };
  return {
    port: server.addr.port,
    get acknowledged() {
      return acknowledged;
    },
    met,
    set,
    async close() {
      set(null);
      await server.shutdown();
    },
  };
}
