// The largest requests that a server accepts, many at the same time, to see how much memory they take.
import assert from "node:assert/strict";
import {
  anonymousBodyBytesMax,
  usageBatchRecordsMax,
  usageBodyBytesMax,
  usagePropertiesMax,
} from "../../../domain/limits.ts";
import { type Connection, connectTo, requestText } from "../network/connection.ts";
import { type Journey, sendJson, signUpAndRecord } from "./journey.ts";
import type { Program } from "./program.ts";

/** A running server and customers to send requests for. */
export interface MemoryScene {
  readonly program: Program;
  readonly folder: string;
  readonly customers: readonly Journey[];
  /** Sends nothing itself: its small records must be accepted meanwhile. */
  readonly neighbor: Journey;
}

/** Statuses of responses, with how often each occurred. */
export type Statuses = Map<number, number>;

/** Sends for about `ms` milliseconds. Returns the statuses of the responses. */
export type MemoryLoad = (scene: MemoryScene, options: { ms: number }) => Promise<Statuses>;

/** How many connections send at the same time. */
export const loadConnections = 128;

/** Signs up customers of a new server. */
export async function memoryScene(program: Program, folder: string): Promise<MemoryScene> {
  const customers: Journey[] = [];
  for (let n = 0; n < 5; n++) {
    customers.push(await signUpAndRecord(program.baseUrl, `customer-${n}@example.com`));
  }
  const neighbor = customers.pop();
  assert(neighbor !== undefined);
  return { program, folder, customers, neighbor };
}

/** Records singles for the neighbor until `work` has ended. Returns the statuses and the longest wait in milliseconds. */
export async function besideNeighbor<T>(
  { program, neighbor }: MemoryScene,
  work: Promise<T>,
): Promise<{ result: T; statuses: Statuses; waitMsMax: number }> {
  const statuses: Statuses = new Map();
  let [isRunning, waitMsMax] = [true, 0];
  const sending = (async () => {
    while (isRunning) {
      const startedAt = performance.now();
      const { status } = await sendJson(program.baseUrl, "/api/v1/usage", {
        apiKey: neighbor.fullKey,
        json: { productSlug: "quiet", metric: "requests", quantity: 1 },
      });
      waitMsMax = Math.max(waitMsMax, performance.now() - startedAt);
      count(statuses, status);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  try {
    return { result: await work, statuses, waitMsMax };
  } finally {
    isRunning = false;
    await sending;
  }
}

/** Returns the resident memory in MB: now, and the most so far. */
export async function memoryOf({ pid }: Program): Promise<{ now: number; most: number }> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const mb = (name: string) =>
    Math.round(Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024);
  return { now: mb("VmRSS"), most: mb("VmHWM") };
}

export function count(statuses: Statuses, status: number): void {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
}

/** A batch of `bytes`, with as many records and properties as fit. */
export function largestBatch(bytes: number): string {
  const records: string[] = [];
  for (let [n, size] = [0, 20]; n < usageBatchRecordsMax; n++) {
    const properties = Object.fromEntries(
      Array.from({ length: usagePropertiesMax }, (_, at) => [`p${n}_${at}`, `“${"x".repeat(38)}`]),
    );
    const record = JSON.stringify({ productSlug: "large", metric: "requests", quantity: 1, properties });
    size += new TextEncoder().encode(record).length + 1;
    if (size > bytes) break;
    records.push(record);
  }
  return `{"records":[${records.join(",")}]}`;
}

/** Sends bodies again and again over so many connections. */
export async function sendBodies(
  { program, customers }: MemoryScene,
  { ms, connections, body, path, type }: {
    ms: number;
    connections: number;
    body: () => string;
    path: string;
    type: string;
  },
): Promise<Statuses> {
  const statuses: Statuses = new Map();
  const endsAt = performance.now() + ms;
  await Promise.all(Array.from({ length: connections }, async (_, n) => {
    const authorization = `Bearer ${customers[n % customers.length]?.fullKey}`;
    while (performance.now() < endsAt) {
      const response = await fetch(`${program.baseUrl}${path}`, {
        method: "POST",
        headers: { authorization, "content-type": type },
        body: body(),
      }).catch(() => null);
      await response?.body?.cancel();
      // 0: the server closed the connection while it rejected the body.
      count(statuses, response?.status ?? 0);
      if (response?.status !== 201) await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }));
  return statuses;
}

/** Batches of the largest size on 128 connections of four organizations. */
export const batches: MemoryLoad = async (scene, { ms }) => {
  const text = largestBatch(usageBodyBytesMax);
  const type = "application/json";
  const path = "/api/v1/usage/batch";
  return await sendBodies(scene, { ms, connections: loadConnections, body: () => text, path, type });
};

/** 1,500 bodies that never end: half of them large ones of customers, the others of unknown senders. */
export const unfinishedBodies: MemoryLoad = async ({ program: { baseUrl }, customers }, { ms }) => {
  const json = { "content-type": "application/json", origin: baseUrl };
  const request = (n: number): string => {
    if (n % 2 === 0) {
      const headers = { ...json, "content-length": String(anonymousBodyBytesMax) };
      return requestText("POST", "/api/auth/sign-in", {
        headers,
        body: "a".repeat(anonymousBodyBytesMax - 1),
      });
    }
    const authorization = `Bearer ${customers[n % customers.length]?.fullKey}`;
    const headers = { ...json, authorization, "content-length": String(usageBodyBytesMax) };
    return requestText("POST", "/api/v1/usage/batch", { headers, body: "a".repeat(usageBodyBytesMax - 1) });
  };
  const open: Connection[] = await Promise.all(Array.from({ length: 1_500 }, async (_, n) => {
    const connection = await connectTo(baseUrl);
    // The server closes a connection while it sends a rejected body.
    connection.send(request(n)).catch(() => {});
    return connection;
  }));
  await new Promise((resolve) => setTimeout(resolve, ms));
  const statuses: Statuses = new Map();
  for (const { received } of open) count(statuses, Number(/^HTTP\/1\.1 (\d+)/.exec(received())?.[1] ?? 0));
  for (const connection of open) connection.close();
  return statuses;
};
