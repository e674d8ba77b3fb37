// Requests for all checks of the public address, and results when there is no response.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type CheckResult, type CheckResults, resultsOf } from "../../domain/check_result.ts";
import { reasonOf } from "./time.ts";

/** Sends a request. Tests replace it by a proxy of their own. */
export type Send = (address: string, init?: RequestInit) => Promise<Response>;

/** Runs a check that sends requests, and reports if it failed. */
export async function attempt(
  about: string,
  check: (result: CheckResults) => Promise<CheckResult>,
): Promise<CheckResult> {
  const result = resultsOf(about, { isForProxy: true });
  try {
    return await check(result);
  } catch (error) {
    const advice = "The server was reachable a moment ago: check its log and the proxy's log.";
    return result.wrong(`No response: ${reasonOf(error)}`, advice);
  }
}

export async function withoutBody(pending: Promise<Response>): Promise<Response> {
  const response = await pending;
  await response.body?.cancel();
  return response;
}

/**
 * Calls `act` with a `fetch` that finds names below localhost on this machine, as browsers do (RFC 6761): most resolvers don't know
 * them.
 */
export async function withLocalhostNames<T>(act: (send: Send) => Promise<T>): Promise<T> {
  const tunnels = createServer(connectHere).listen(0, "127.0.0.1");
  await once(tunnels, "listening");
  const { port } = tunnels.address() as AddressInfo;
  using plain = Deno.createHttpClient({ allowHost: true });
  using secure = Deno.createHttpClient({ proxy: { url: `http://127.0.0.1:${port}` } });
  try {
    return await act((address, init = {}) => {
      const url = new URL(address);
      if (!url.hostname.endsWith(".localhost")) return fetch(address, init);
      if (url.protocol === "https:") return fetch(url, { ...init, client: secure } as RequestInit);
      const headers = new Headers(init.headers);
      headers.set("host", url.host);
      url.hostname = "127.0.0.1";
      return fetch(url, { ...init, headers, client: plain } as RequestInit);
    });
  } finally {
    tunnels.close();
  }
}

/** A proxy (RFC 9110, 9.3.6), through which the client still checks the certificate of the name, connects any name to this machine. */
function connectHere(client: Socket): void {
  client.once("data", (head) => {
    const [, port] = /^CONNECT \S+:(\d+) /.exec(String(head)) ?? [];
    const server = connect(Number(port), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(server).pipe(client);
    });
    server.on("error", () => client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"));
    client.on("error", () => server.destroy());
  });
}
