// Connects names below localhost to this machine, as browsers do (RFC 6761): most resolvers don't know these names.
import type { Send } from "./request.ts";

/** Calls `act` with a `fetch` that finds names below localhost over http. Over https, certificates need a resolver that knows them. */
export async function withLocalhostNames<T>(act: (send: Send) => Promise<T>): Promise<T> {
  using client = Deno.createHttpClient({ allowHost: true });
  return await act((address, init = {}) => {
    const url = new URL(address);
    if (url.protocol !== "http:" || !url.hostname.endsWith(".localhost")) return fetch(address, init);
    const headers = new Headers(init.headers);
    headers.set("host", url.host);
    url.hostname = "127.0.0.1";
    return fetch(url, { ...init, headers, client } as RequestInit);
  });
}
