// More of the largest requests, which only bench/memory.ts sends.
import assert from "node:assert/strict";
import { integer, sql } from "../db/engine/database.ts";
import { anonymousBodyBytesMax, usageBatchRecordsMax } from "../domain/limits.ts";
import { testPassword } from "../tests/support/app/app.ts";
import { holdLock } from "../tests/support/database/held_lock.ts";
import { manySums } from "../tests/support/meter/many_sums.ts";
import { requestText } from "../tests/support/network/connection.ts";
import { changeDataFile } from "../tests/support/operators/operators.ts";
import { runCommand } from "../tests/support/process/command.ts";
import { sendJson } from "../tests/support/process/journey.ts";
import {
  count,
  largestBatch,
  loadConnections,
  type MemoryLoad,
  type MemoryScene,
  sendBodies,
  type Statuses,
} from "../tests/support/process/memory_loads.ts";

const reportSeries = 10_000;
const reportHours = 24;

/** A batch of the largest size as CloudEvents. */
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
