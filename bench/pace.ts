// Sends requests at a steady rate, whether or not the server keeps up (an open loop), which wrk can't do. A response time
// counts from the moment when the request was due, so that requests that had to wait for a free connection or for this
// program count in full.
import process from "node:process";
import { requestText } from "../tests/support/network/connection.ts";
import type { LoadRequest } from "./lua.ts";
import type { LoadResult } from "./load.ts";
import { percentile } from "./statistics.ts";

/** How to send. */
export interface Pace {
  readonly connections: number;
  /** Requests per second. */
  readonly perSecond: number;
  readonly seconds: number;
}

/** Longest response that is read. */
const responseBytesMax = 16_384;

/**
 * Sends a request at a steady rate, and waits for all responses.
 *
 * @returns `perSecond`: the rate reached, lower than asked for when the server couldn't keep up.
 * @throws When any response isn't 2xx.
 */
export async function runPaced(
  { method, url, headers, body = "" }: LoadRequest,
  { connections, perSecond, seconds }: Pace,
): Promise<LoadResult> {
  const { host, hostname, port, pathname } = new URL(url);
  const bytes = new TextEncoder().encode(requestText(method, pathname, {
    headers: { host, ...headers, "content-length": String(new TextEncoder().encode(body).length) },
    body,
  }));
  const requests = Math.round(perSecond * seconds);
  const times = new Float64Array(requests);
  const idle: (() => void)[] = [];
  let [due, sent] = [0, 0];
  const cpuBefore = cpuSeconds();
  const begin = performance.now();
  const pacing = (async () => {
    while (due < requests) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      due = Math.min(requests, Math.floor((performance.now() - begin) / 1_000 * perSecond));
      for (let free = Math.min(idle.length, due - sent); free > 0; free--) idle.pop()?.();
    }
    // The connections that have nothing more to send.
    for (const wake of idle.splice(0)) wake();
  })();
  const client = async () => {
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const buffer = new Uint8Array(responseBytesMax);
    for (;;) {
      while (sent >= due && sent < requests) await new Promise<void>((resolve) => idle.push(resolve));
      if (sent >= requests) return;
      const request = sent++;
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
      await receive(connection, buffer);
      times[request] = performance.now() - begin - request / perSecond * 1_000;
    }
  };
  await Promise.all([pacing, ...Array.from({ length: connections }, client)]);
  const took = (performance.now() - begin) / 1_000;
  times.sort();
  return {
    requests,
    perSecond: requests / took,
    p50Ms: percentile(times, 50),
    p99Ms: percentile(times, 99),
    loadCores: (cpuSeconds() - cpuBefore) / took,
  };
}

/** Reads one response with a `content-length`. @throws When it isn't 2xx. */
async function receive(connection: Deno.Conn, buffer: Uint8Array): Promise<void> {
  const decoder = new TextDecoder("latin1");
  for (let length = 0;;) {
    const read = await connection.read(buffer.subarray(length));
    if (read === null) throw new Error("the server closed a connection");
    length += read;
    const text = decoder.decode(buffer.subarray(0, length));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    if (!text.startsWith("HTTP/1.1 2")) throw new Error(text);
    if (length >= end + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1])) return;
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
