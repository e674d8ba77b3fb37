// What the meters of both languages promise against a Gatehouse behind a line that misbehaves: every record counts once or is
// reported. meter_test.ts runs these cases.
import assert from "node:assert/strict";
import type { Usage } from "../../packages/client/src/meter/meter.ts";
import { createTestKey } from "../support/app/app.ts";
import type { CaseScene } from "../support/client/any_meter.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { gatehouseError, sizesOf } from "../support/client/meter_scene.ts";
import { setExternalId } from "../support/meter/imports.ts";
import { addLimit } from "../support/meter/limits.ts";
import { listAll } from "../support/meter/usage.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { poll } from "../support/runner/poll.ts";

const tiles = { product: "tiles", metric: "requests" };
const repeated = (count: number, usage: Usage = tiles) => Array.from({ length: count }, () => usage);
const page = (status: number) => new Response("<html>Not Gatehouse</html>", { status });
const retryAfter = (value: string) => ({ headers: { "Retry-After": value } });

/** Responses to batches that say nothing about the records. */
const refusals: readonly [status: number, response: (status: number) => Response][] = [
  [503, (status) => gatehouseError(status, "unavailable", retryAfter("0"))],
  [429, (status) => gatehouseError(status, "rate_limited", retryAfter("1"))],
  [401, (status) => gatehouseError(status, "invalid_api_key", retryAfter("soon"))],
  [502, page],
  [302, (status) => new Response(null, { status, headers: { Location: "/sign-in" } })],
  [307, (status) => new Response(null, { status, headers: { Location: "http://127.0.0.1:1/" } })],
  [200, page],
  [200, (status) => Response.json({ ok: true }, { status })],
  [200, (status) => Response.json({ accepted: 0, duplicates: 0 }, { status })],
  [200, (status) => new Response("null", { status })],
  [404, (status) => gatehouseError(status, "not_found")],
  [403, (status) => gatehouseError(status, "organization_suspended")],
  [400, page],
  [500, (status) => gatehouseError(status, "internal")],
];

export const sendingCases: Record<string, (scene: CaseScene) => Promise<void>> = {
  async "sends a full batch immediately, by count and by bytes, and none that is larger"({ line, newMeter }) {
    const byCount = newMeter({ batchRecordsMax: 10 });
    await byCount.record(...repeated(25));
    await poll(async () => (await byCount.stats()).sent === 20);
    assert.deepEqual(sizesOf(line), [[10, 201], [10, 201]]);
    const byBytes = newMeter({ batchBytesMax: 2_000 });
    await byBytes.record(...repeated(20));
    await poll(async () => (await byBytes.stats()).sent > 0);
    const bytes = line.batches.splice(0).map(({ records }) => JSON.stringify(records).length);
    assert.ok((bytes[0] ?? 0) > 1_700 && (bytes[0] ?? 0) <= 2_000, `${bytes}`);
    assert.equal(await byCount.flush(), true);
    assert.deepEqual(sizesOf(line), [[5, 201]]);
  },

  async "sends properties with tabs and line ends, and with names in any language"(
    { test, key, newMeter },
  ) {
    const meter = newMeter();
    const properties = { "क्षेत्र": "One\r\n\ttwo\u2028three" };
    await meter.record({ ...tiles, properties }, { ...tiles, properties: { note: "\u0000" } });
    assert.equal(await meter.flush(), true);
    const { sent, rejected } = await meter.stats();
    assert.deepEqual([sent, rejected], [1, 1]);
    const records = await listAll(test, key);
    assert.deepEqual(records.map(({ properties }) => properties), [properties]);
  },

  async "waits while Gatehouse is down or rejects batches, and sends everything once with the original keys"(
    scene,
  ) {
    const { line, newMeter, key, test, problems } = scene;
    line.disturb = (_, count) => {
      const [status, response] = refusals[count] ?? [];
      if (status !== undefined) return response!(status);
      return count === refusals.length ? "lost" : null;
    };
    await line.cut();
    const meter = newMeter({ flushIntervalMs: 10 });
    await meter.record(...["a", "b", "c"].map((idempotencyKey) => ({ ...tiles, idempotencyKey })));
    await poll(() => problems.some(({ kind, count }) => kind === "delayed" && count === 3));
    line.open();
    await poll(() => problems.at(-1)?.kind === "resumed");
    await poll(async () => (await meter.stats()).waiting === 0);
    const { sent, duplicates, rejected, dropped } = await meter.stats();
    assert.deepEqual({ sent, rejected, dropped }, { sent: 3, rejected: 0, dropped: 0 });
    assert.ok(duplicates > 0, "nothing was lost");
    assert.deepEqual(
      line.batches.slice(0, refusals.length).map(({ status }) => status),
      refusals.map(([status]) => status),
    );
    const keys = line.batches.flatMap(({ records }) => records.map(({ idempotencyKey }) => idempotencyKey));
    assert.deepEqual([...new Set(keys)].sort(), ["a", "b", "c"]);
    const [, limited, next] = line.batches;
    // A timer may fire a millisecond early by the wall clock.
    assert.ok((next?.at ?? 0) - (limited?.at ?? 0) >= 990, "before Retry-After");
    assert.deepEqual(await usageOf(test, key), { requests: [3, 3] });
    assert.match(problems.at(-1)?.message ?? "", /^Usage: .*sending has resumed$/);
  },

  async "rejects invalid records with one more request, and nothing else"(scene) {
    const { line, newMeter, key, test, problems, language } = scene;
    const meter = newMeter();
    await meter.record(...repeated(537), { ...tiles, metric: "no metric!" }, ...repeated(462));
    assert.equal(await meter.flush(), true);
    assert.deepEqual(sizesOf(line), [[1000, 422], [999, 201]]);
    await poll(() => problems.length > 0);
    const [problem, ...others] = problems;
    assert.deepEqual(others, []);
    const form = {
      TypeScript:
        /^Usage: 1 record rejected: 422 validation_failed: .*records\[537\]\.metric.* of tiles\/no metric!$/,
      Python: /^Usage: 1 record rejected: metric must be/,
    };
    assert.match(problem?.message ?? "", form[language]);
    assert.deepEqual(problem?.records.map(({ metric }) => metric), ["no metric!"]);
    // Two invalid ones, and a key that was used for other content.
    const invalid = [{ timestamp: new Date(0) }, { properties: { a: "b".repeat(300) } }];
    const timestamp = new Date();
    const used = { ...tiles, timestamp, idempotencyKey: "used" };
    await meter.record(used, ...invalid.map((fields) => ({ ...tiles, ...fields })));
    assert.equal(await meter.flush(), true);
    await meter.record({ ...used, quantity: 7 }, tiles);
    assert.equal(await meter.flush(), true);
    // A record that is sent alone has no number in the response.
    await meter.record({ ...used, quantity: 7 });
    assert.equal(await meter.flush(), true);
    assert.deepEqual(sizesOf(line), [[3, 422], [2, 422], [1, 201], [2, 409], [1, 201], [1, 409]]);
    assert.equal((await meter.stats()).rejected, 5);
    assert.deepEqual(await usageOf(test, key), { requests: [999 + 2, 999 + 2] });
  },

  async "halves a batch that is too large or has an unknown fault, and rejects a record that is so alone"(
    scene,
  ) {
    const { line, newMeter, key, test } = scene;
    line.disturb = (body) => {
      if (body.includes("poison")) return gatehouseError(400, "malformed_request");
      return body.length > 4_000 ? page(413) : null;
    };
    const meter = newMeter();
    const bad = ["m".repeat(5_000), "poison"].map((metric) => ({ ...tiles, metric }));
    await meter.record(...repeated(60), ...bad, ...repeated(60));
    assert.equal(await meter.flush(), true);
    assert.ok(line.batches.length < 60, `${line.batches.length} requests`);
    assert.equal((await meter.stats()).rejected, 2);
    assert.deepEqual(await usageOf(test, key), { requests: [120, 120] });
  },

  async "sends half as much after an error of the server or a body that took too long, and more again later"(
    scene,
  ) {
    const { line, newMeter } = scene;
    const [slow, broken] = [gatehouseError(408, "request_timeout"), gatehouseError(503, "unavailable")];
    line.disturb = (_, count) => [slow, broken][count] ?? null;
    const meter = newMeter({ batchRecordsMax: 8 });
    await meter.record(...repeated(24));
    assert.equal(await meter.flush(), true);
    assert.deepEqual(sizesOf(line), [[8, 408], [4, 503], [2, 201], [2, 201], [4, 201], [8, 201], [8, 201]]);
  },

  async "gives up a request after the time-out, sends less, and counts a lost response once"(scene) {
    const { line, newMeter, problems, test, key } = scene;
    const never = Promise.withResolvers<Response>();
    let requests = 0;
    // The first is recorded, but its response comes too late; the second is never recorded.
    line.disturb = () =>
      [() => never.promise.then(() => "lost" as const), () => never.promise][requests++]?.() ?? null;
    const meter = newMeter({ timeoutMs: 1_500, batchRecordsMax: 8 });
    await meter.record(...repeated(8));
    await meter.flush({ timeoutMs: 60_000 });
    await poll(() => problems.length > 0);
    assert.match(problems[0]?.message ?? "", /timed out|no response within 1500 ms/);
    assert.ok((line.batches[0]?.records.length ?? 8) < 8, "as many as before");
    never.resolve(new Response());
    await poll(async () => (await meter.stats()).sent === 8);
    assert.deepEqual(await usageOf(test, key), { requests: [8, 8] });
  },

  async "continues after a malformed error, a huge response, and a hook that rejects"({ line, newMeter }) {
    const answers = [
      () => gatehouseError(422, "validation_failed", { details: [null] as never }),
      () => gatehouseError(429, "limit_exceeded", { details: ["x"] as never }),
      () => new Response(new Uint8Array(9 * 1024 * 1024).fill(0x20)),
    ];
    line.disturb = (_, count) => answers[count]?.() ?? null;
    const meter = newMeter({ onProblem: () => Promise.reject(new Error("a broken hook")) as never });
    await meter.record(...repeated(4));
    assert.equal(await meter.flush({ timeoutMs: 60_000 }), true);
    assert.equal((await meter.stats()).sent, 4);
  },

  async "waits if its clock is ahead of Gatehouse's, and rejects what is in the future by its own clock"(
    scene,
  ) {
    const { line, newMeter, problems } = scene;
    const details = [{ path: "records[0].timestamp", message: "must be …" }];
    const serverTime = new Date(Date.now() - 600_000).toUTCString();
    const early = gatehouseError(422, "validation_failed", { details, headers: { Date: serverTime } });
    line.disturb = (_, count) => count === 0 ? early : null;
    const meter = newMeter();
    await meter.record(tiles);
    await meter.flush({ timeoutMs: 10 });
    await poll(() => problems.length > 0);
    assert.match(
      problems[0]?.message ?? "",
      /^Usage: 1 record waiting: this machine's clock is (6\d\d seconds )?ahead/,
    );
    const { rejected, waiting } = await meter.stats();
    assert.deepEqual({ rejected, waiting }, { rejected: 0, waiting: 1 });
    const other = newMeter();
    await other.record({ ...tiles, timestamp: new Date(Date.now() + 3_600_000) });
    assert.equal(await other.flush(), true);
    assert.equal((await other.stats()).rejected, 1);
  },

  async "rounds noise to 6 decimal places and reports it once"({ newMeter, key, test, problems }) {
    const meter = newMeter();
    await meter.record(
      ...repeated(3, { ...tiles, metric: "noise", quantity: 0.1 + 0.2 }),
      { ...tiles, metric: "none", quantity: 0.3 - 0.1 - 0.2 },
      { ...tiles, metric: "most", quantity: Number.MAX_SAFE_INTEGER },
      { ...tiles, metric: "least", quantity: 0.000001 },
    );
    assert.equal(await meter.flush(), true);
    assert.equal((await meter.stats()).rounded, 4);
    await poll(() => problems.reduce((sum, { count }) => sum + count, 0) === 2);
    assert.deepEqual([...new Set(problems.map(({ kind }) => kind))], ["rounded"]);
    assert.deepEqual(await usageOf(test, key), {
      least: [0.000001, 1],
      most: [Number.MAX_SAFE_INTEGER, 1],
      noise: [0.9, 3],
      none: [0, 1],
    });
  },
};

const hourMs = 3_600_000;
/** The shortest windows. One day of the year has 23 hours. */
const windows = { minute: 60_000, hour: hourMs, day: 23 * hourMs, month: 28 * 24 * hourMs - hourMs };

export const limitCases: Record<string, (scene: CaseScene) => Promise<void>> = {
  async "rejects only what exceeds a hard limit, and keeps sending the rest"(scene) {
    const { newMeter, key, test, person, problems, line } = scene;
    const limit = {
      per: "day",
      ...{ productSlug: "tiles", metric: "requests" },
      quantity: 10,
      mode: "hard",
    } as const;
    await addLimit(test, { organizationId: person.organizationId }, limit);
    const meter = newMeter();
    // In its first hour, a meter can't tell a day from the one before: one day of the year has 23 hours.
    const timestamp = new Date(Math.floor(Date.now() / (24 * hourMs)) * 24 * hourMs - 12 * hourMs);
    await meter.record(
      { ...tiles, quantity: 11, timestamp },
      ...repeated(4, { ...tiles, quantity: 4, timestamp }),
      ...repeated(4, { ...tiles, metric: "exports" }),
      { ...tiles, quantity: 2, timestamp },
      // Another window has room.
      { ...tiles, quantity: 9, timestamp: new Date(timestamp.getTime() - 48 * hourMs) },
    );
    assert.equal(await meter.flush(), true);
    assert.equal((await meter.stats()).rejected, 3);
    assert.ok(line.batches.length <= 6, `${line.batches.length} requests`);
    await poll(() => problems.some(({ message }) => message.includes("limit_exceeded")));
    assert.deepEqual(await usageOf(test, key), { exports: [4, 4], requests: [10 + 9, 4] });
  },

  async "fills a limit exactly after a replay: what was recorded before takes no room"(scene) {
    const { newMeter, test, person, key } = scene;
    const limit = { per: "total", quantity: 5, mode: "hard" } as const;
    await addLimit(test, { organizationId: person.organizationId }, limit);
    const timestamp = new Date();
    const replayed = ["a", "b", "c"].map((idempotencyKey) => ({ ...tiles, timestamp, idempotencyKey }));
    const first = newMeter();
    await first.record(...replayed);
    assert.equal(await first.flush(), true);
    const meter = newMeter();
    await meter.record(...replayed, tiles, tiles, tiles);
    assert.equal(await meter.flush(), true);
    const { sent, duplicates, rejected } = await meter.stats();
    assert.deepEqual({ sent, duplicates, rejected }, { sent: 5, duplicates: 3, rejected: 1 });
    assert.deepEqual(await usageOf(test, key), { requests: [5, 5] });
  },

  async "separates the customers of an operator, of whom one is at its limit, however they are named"(scene) {
    const { newMeter, test } = scene;
    const { fullToken: operatorToken } = await newOperatorToken(test);
    const meter = newMeter({ operatorToken });
    const newCustomer = async (field: "organizationId" | "externalId" | "apiKeyId") => {
      const { organizationId, ...person } = await test.signUp();
      const { id: apiKeyId, fullKey } = await createTestKey(test, { ...person, organizationId });
      const names = { organizationId, externalId: `crm-${organizationId}`, apiKeyId };
      await setExternalId(test, organizationId, names.externalId);
      return { organizationId, fullKey, usage: { ...tiles, [field]: names[field] } };
    };
    for (const field of ["organizationId", "externalId", "apiKeyId"] as const) {
      const [limited, other] = [await newCustomer(field), await newCustomer(field)];
      const { organizationId } = limited;
      await addLimit(test, { organizationId }, { per: "total", quantity: 3, mode: "hard" });
      const before = await meter.stats();
      const mixed = repeated(5).flatMap(() => [limited.usage, other.usage]);
      await meter.record(...mixed, { ...tiles, [field]: "unknown" });
      assert.equal(await meter.flush(), true);
      const { sent, rejected } = await meter.stats();
      assert.deepEqual([sent - before.sent, rejected - before.rejected], [3 + 5, 2 + 1], field);
      assert.deepEqual(await usageOf(test, limited.fullKey), { requests: [3, 3] }, field);
      assert.deepEqual(await usageOf(test, other.fullKey), { requests: [5, 5] }, field);
    }
    const { rejected } = await meter.stats();
    await meter.record(tiles, { ...tiles, apiKeyId: "key_1", externalId: "both" });
    assert.equal((await meter.stats()).rejected, rejected + 2);
  },

  async "rejects only what surely belongs to a window, also on the shortest day"({ newMeter, line }) {
    const resetsAt = Date.now();
    const meter = newMeter();
    for (const [per, lengthMs] of Object.entries(windows)) {
      const limit = { productSlug: "tiles", metric: per, per, remaining: 0, resetsAt: new Date(resetsAt) };
      line.disturb = (_, count) =>
        count === 0 ? gatehouseError(429, "limit_exceeded", { details: [limit] }) : null;
      const times = { before: resetsAt - lengthMs - 1, within: resetsAt - lengthMs, after: resetsAt };
      await meter.record(
        ...Object.entries(times).map(([id, ms]) => ({
          ...tiles,
          ...{ metric: per, timestamp: new Date(ms), idempotencyKey: `${id} ${per}` },
        })),
      );
      assert.equal(await meter.flush(), true);
      const sent = line.batches.splice(0).map(({ records }) =>
        records.map(({ idempotencyKey }) => idempotencyKey.split(" ")[0])
      );
      assert.deepEqual(sent, [["before", "within", "after"], ["before", "after"]], per);
    }
  },
};
