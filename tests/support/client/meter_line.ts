// A connection between meters and an app that a test disturbs, and what arrives on it.
import assert from "node:assert/strict";
import type { TestApp } from "../app/app.ts";
import { freePort } from "../database/sqld.ts";

export interface ArrivedRecord {
  readonly metric: string;
  readonly quantity: number;
  readonly timestamp: string;
  readonly idempotencyKey: string;
}

export interface ArrivedBatch {
  readonly records: readonly ArrivedRecord[];
  /** Of the response. */
  readonly status: number;
  readonly at: number;
}

/**
 * What happens to a request: null forwards it. `lost` forwards it and loses the response.
 *
 * @param body The request's. @param count How many requests arrived before.
 */
export type Disturb = (body: string, count: number) => Response | Promise<Response | "lost"> | "lost" | null;

export interface MeterLine {
  readonly url: string;
  readonly batches: ArrivedBatch[];
  disturb: Disturb;
  /** Refuses connections until `open()`. It is open in the beginning. */
  cut(): Promise<void>;
  open(): void;
  close(): Promise<void>;
}

/** Starts a line to an app, which forwards other requests too. */
export function startMeterLine(test: TestApp): MeterLine {
  let server: Deno.HttpServer<Deno.NetAddr>;
  let ending = new AbortController();
  // Nobody else may listen on it while the line is cut.
  const port = freePort();
  const forward = (request: Request, body: string): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const given = { method, headers, ...(method === "GET" ? {} : { body }) };
    const address = new URL(pathname + search, test.config.baseUrl);
    const info = { remoteAddr: { hostname: "127.0.0.1" } };
    return Promise.resolve(test.app.fetch(new Request(address, given), info));
  };
  const serve = async (request: Request): Promise<Response> => {
    const body = await request.text();
    if (!/\/usage(\/batch)?$/.test(request.url)) return await forward(request, body);
    const disturbed = await line.disturb(body, line.batches.length);
    if (disturbed instanceof Response) return arrived(body, disturbed);
    const response = await forward(request, body);
    arrived(body, response);
    return disturbed === "lost" ? new Response("<html>Bad gateway</html>", { status: 502 }) : response;
  };
  const arrived = (body: string, response: Response): Response => {
    line.batches.push({ records: JSON.parse(body).records, status: response.status, at: Date.now() });
    return response;
  };
  // A shutdown would wait for requests that meters have aborted.
  const cut = async (): Promise<void> => {
    ending.abort();
    await server.finished;
  };
  const line: MeterLine = {
    url: `http://127.0.0.1:${port}`,
    batches: [],
    disturb: () => null,
    cut,
    open() {
      ending = new AbortController();
      server = Deno.serve({ port, hostname: "127.0.0.1", signal: ending.signal, onListen() {} }, serve);
    },
    close: cut,
  };
  line.open();
  return line;
}

/** @returns An organization's sums and counts of all time, by metric. */
export async function usageOf(
  test: TestApp,
  apiKey: string,
): Promise<Record<string, [sum: number, count: number]>> {
  const response = await test.send("/api/v1/usage?window=total", { apiKey });
  assert.equal(response.status, 200);
  const { data } = await response.json() as { data: { metric: string; sum: number; count: number }[] };
  return Object.fromEntries(data.map(({ metric, sum, count }) => [metric, [sum, count]]));
}
