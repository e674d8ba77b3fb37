// The HTTP threads of a running program, told apart by the requests that each counts.
import assert from "node:assert/strict";
import { connectTo, requestText } from "../network/connection.ts";
import { poll } from "../runner/poll.ts";

/** @returns Requests by thread. */
export async function requestsByThread(baseUrl: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text();
  const samples = text.matchAll(/^gatehouse_http_thread_requests_total\{thread="(\d+)"\} (\d+)$/gm);
  return new Map(Array.from(samples, ([, thread = "", count]) => [thread, Number(count)]));
}

/** Sends one request over a new connection, which any thread may accept. @returns The response in wire format. */
export async function sendOnce(
  baseUrl: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const connection = await connectTo(
    baseUrl,
    requestText("GET", path, { headers: { ...headers, connection: "close" } }),
  );
  await poll(() => connection.isClosed());
  connection.close();
  return connection.received();
}

/** Waits until every thread is ready, or isn't for the reason, and asserts that every thread is alive. */
export async function untilReadiness(
  baseUrl: string,
  { threads, reason }: { threads: number; reason: string | null },
): Promise<void> {
  const wanted = reason === null ? '"status":"ok"' : `"reason":"${reason}"`;
  await poll(async () => {
    const responses = await sendToAll(baseUrl, "/health/ready", { threads });
    return responses.every((response) => response.includes(wanted));
  });
  for (const response of await sendToAll(baseUrl, "/health/live", { threads })) {
    assert.match(response, /^HTTP\/1\.1 200 /);
  }
}

/** Sends a request over new connections until each thread has handled one. @returns All responses in wire format. */
export async function sendToAll(
  baseUrl: string,
  path: string,
  { threads, headers }: { threads: number; headers?: Readonly<Record<string, string>> },
): Promise<string[]> {
  const responses: string[] = [];
  const before = await requestsByThread(baseUrl);
  let rounds = 0;
  await poll(async () => {
    const sent = Array.from({ length: 4 * threads }, () => sendOnce(baseUrl, path, headers));
    responses.push(...await Promise.all(sent));
    rounds++;
    const now = await requestsByThread(baseUrl);
    // One thread also counted the reading of the metrics.
    const isReached = ([thread, count]: [string, number]) => count > (before.get(thread) ?? 0) + rounds;
    return now.size === threads && [...now].every(isReached);
  });
  return responses;
}

/**
 * Sends the same request over so many new connections at the same time that each of four threads gets some.
 *
 * @param describe Returns what to compare of a response.
 * @returns The different descriptions.
 */
export async function overNewConnections(
  url: string,
  { headers, json }: { headers: Record<string, string>; json?: unknown },
  describe: (response: Response, text: string) => string,
): Promise<string[]> {
  const responses = Array.from({ length: 16 }, async () => {
    using client = Deno.createHttpClient({});
    const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
    const response = await fetch(url, { client, headers, ...body });
    return describe(response, await response.text()).trim();
  });
  return [...new Set(await Promise.all(responses))];
}
