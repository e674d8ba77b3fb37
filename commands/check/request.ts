// Requests for all checks of the public address, and results when there is no response.
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
 * them. Only over http, because over https, certificates need such a resolver, too.
 */
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
