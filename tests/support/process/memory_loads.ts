// The largest requests that a server accepts, many at the same time, to see how much memory they take.
import assert from "node:assert/strict";
import {
  anonymousBodyBytesMax,
  usageBatchRecordsMax,
  usageBodyBytesMax,
  usagePropertiesMax,
} from "../../../domain/limits.ts";
import { testPassword } from "../app/app.ts";
import { holdLock } from "../database/held_lock.ts";
import { integer, sql } from "../../../db/engine/database.ts";
import { manySums } from "../meter/many_sums.ts";
import { type Connection, connectTo, requestText } from "../network/connection.ts";
import { changeDataFile } from "../operators/operators.ts";
import { type Journey, sendJson, signUpAndRecord } from "./journey.ts";
import { runCommand } from "./command.ts";
import type { Program } from "./program.ts";

/** A running server and customers to send requests for. */
export interface MemoryScene {
  readonly program: Program;
  /** The folder of the server. */
  readonly folder: string;
  readonly customers: readonly Journey[];
  /** Sends nothing itself: its small records must be accepted meanwhile. */
  readonly neighbor: Journey;
}

/** Statuses of responses, with how often each occurred. */
export type Statuses = Map<number, number>;

/** Sends for about `ms` milliseconds. Returns the statuses of the responses. */
export type MemoryLoad = (scene: MemoryScene, options: { ms: number }) => Promise<Statuses>;

const loadConnections = 128;
const reportSeries = 10_000;
const reportHours = 24;

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

function count(statuses: Statuses, status: number): void {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
}

/** A batch of `bytes`, with as many records and properties as fit. */
function largestBatch(bytes: number): string {
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

/** A batch of that size as CloudEvents. */
function largestEvents(): string {
  const note = "x".repeat(230);
  const data = { quantity: 1, first: note, second: note, third: note };
  const events = Array.from({ length: usageBatchRecordsMax }, (_, n) => ({
    specversion: "1.0",
    id: `${crypto.randomUUID()}-${n}`,
    source: "/large",
    type: "requests",
    data,
  }));
  return JSON.stringify(events);
}

async function sendBodies(
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

/** CloudEvents of the largest size on 128 connections. */
export const events: MemoryLoad = async (scene, { ms }) => {
  const type = "application/cloudevents-batch+json";
  return await sendBodies(scene, {
    ms,
    connections: loadConnections,
    body: largestEvents,
    path: "/api/v1/usage",
    type,
  });
};

/** Bodies just below those that need room, on 1,500 connections, while nothing can be written. */
export const waitingWrites: MemoryLoad = async (scene, { ms }) => {
  const text = largestBatch(anonymousBodyBytesMax);
  const lock = holdLock(`${scene.folder}/data/gatehouse.db`);
  setTimeout(() => lock.release(), ms);
  const type = "application/json";
  const path = "/api/v1/usage/batch";
  const statuses = await sendBodies(scene, { ms, connections: 1_500, body: () => text, path, type });
  lock.release();
  return statuses;
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

/** Sign-ins over 128 connections. */
export const signIns: MemoryLoad = async ({ program: { baseUrl }, customers: [customer] }, { ms }) => {
  const statuses: Statuses = new Map();
  const endsAt = performance.now() + ms;
  await Promise.all(Array.from({ length: loadConnections }, async () => {
    while (performance.now() < endsAt) {
      const json = { email: customer?.email, password: testPassword };
      const { status } = await sendJson(baseUrl, "/api/auth/sign-in", { json });
      count(statuses, status);
      if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }));
  return statuses;
};

/** Adds sums to the first customer, of as many series as an organization can have. Returns its key. */
function addSums({ folder, customers: [customer] }: MemoryScene): string {
  assert(customer !== undefined);
  const from = (Math.floor(Date.now() / 3_600_000) - reportHours) * 3_600_000;
  const sums = manySums({ series: reportSeries - 10, hours: reportHours, keyId: customer.keyId, from });
  for (const statement of sums) changeDataFile(folder, statement);
  return customer.fullKey;
}

/** The largest reports, as JSON by the day, twenty at a time. */
export const reports: MemoryLoad = async (scene, { ms }) => {
  const fullKey = addSums(scene);
  const statuses: Statuses = new Map();
  const endsAt = performance.now() + ms;
  const query = "window=day&groupBy=productSlug,metric,apiKey";
  await Promise.all(Array.from({ length: 20 }, async () => {
    while (performance.now() < endsAt) {
      const response = await fetch(`${scene.program.baseUrl}/api/v1/usage?${query}`, {
        headers: { authorization: `Bearer ${fullKey}` },
      });
      for await (const _part of response.body ?? []);
      count(statuses, response.status);
    }
  }));
  return statuses;
};

/** As many CSV exports as a reader may have open, whose clients read nothing. */
export const unreadExports: MemoryLoad = async (scene, { ms }) => {
  const fullKey = addSums(scene);
  const { baseUrl } = scene.program;
  const open = await Promise.all(Array.from({ length: 32 }, () => silentConnection(baseUrl, fullKey)));
  await new Promise((resolve) => setTimeout(resolve, ms));
  for (const connection of open) connection.close();
  return new Map([[200, open.length]]);
};

/** Sends a request for an export, and reads nothing. */
async function silentConnection(baseUrl: string, fullKey: string): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(baseUrl).port) });
  const headers = { authorization: `Bearer ${fullKey}` };
  const path = "/api/v1/usage.csv?window=hour&groupBy=productSlug,metric,apiKey";
  await connection.write(new TextEncoder().encode(requestText("GET", path, { headers })));
  return connection;
}

const statementOrganizations = 10_000;
const seriesOfEach = 20;

/** Closes a statement of 200,000 lines of October 2026, and downloads it over eight connections. */
export const statement: MemoryLoad = async ({ program: { baseUrl }, folder }) => {
  const upTo = (count: number) =>
    sql`WITH RECURSIVE generate (value) AS (
      SELECT 0 UNION ALL SELECT value + 1 FROM generate WHERE value + 1 < ${count})`;
  const october2026 = 681;
  const each = integer(seriesOfEach);
  for (
    const change of [
      sql`${upTo(statementOrganizations)} INSERT INTO organizations (number, id, name, created_at)
        SELECT value + 1000, format('org_%024d', value), 'Customer ' || value, 0 FROM generate`,
      sql`${upTo(statementOrganizations * seriesOfEach)}
        INSERT INTO usage_series (organization, product_slug, metric, api_key)
        SELECT value / ${each} + 1000, 'many', format('metric-%d', value % ${each}), value FROM generate`,
      sql`INSERT INTO usage_rollups_monthly SELECT ${
        integer(october2026)
      }, organization, id, 700, 0, 70000, 250000,
        1000000, 99000000, 1, 2 FROM usage_series WHERE product_slug = 'many' AND organization <> 0`,
    ]
  ) changeDataFile(folder, change);
  const scopes = "statements:read,statements:write";
  const { stdout } = await runCommand({ folder }, "token", "create", "Load", "--scope", scopes);
  const apiKey = stdout.trim();
  const path = "/api/operator/statements";
  const closed = await sendJson(baseUrl, path, { apiKey, json: { period: "2026-10" } });
  const { statement: { id } } = await closed.json();
  const statuses: Statuses = new Map();
  count(statuses, closed.status);
  await Promise.all(Array.from({ length: 8 }, async () => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${baseUrl}${path}/${id}.csv`, { headers });
    const lines = (await response.text()).split("\n").length;
    assert(lines > statementOrganizations * seriesOfEach, `${lines} lines`);
    count(statuses, response.status);
  }));
  return statuses;
};
