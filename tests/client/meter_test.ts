// The meter against Gatehouse behind a line that misbehaves: recording never throws, and every record counts once or is reported.
import { recordLine } from "../../packages/client/src/meter/record.ts";
import assert from "node:assert/strict";
import { Meter, type Usage } from "../../packages/client/src/meter/meter.ts";
import { gatehouseError, metered, type Scene, sizesOf } from "../support/client/meter_scene.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { poll } from "../support/runner/poll.ts";

const tiles = { product: "tiles", metric: "requests" };

const steps: Record<string, (scene: Scene) => Promise<void>> = {
  async "sends what was recorded within the interval, together"({ line, newMeter, key, test }) {
    const meter = newMeter({ flushIntervalMs: 20 });
    for (let n = 0; n < 3; n++) meter.record({ ...tiles, quantity: 2 });
    assert.equal(meter.stats().waiting, 3);
    await poll(() => meter.stats().sent === 3);
    assert.deepEqual(sizesOf(line), [[3, 201]]);
    assert.deepEqual(await usageOf(test, key), { requests: [6, 3] });
  },

  async "sends a full batch immediately, by count and by bytes"({ line, newMeter }) {
    const byCount = newMeter({ batchRecordsMax: 10 });
    for (let n = 0; n < 25; n++) byCount.record(tiles);
    await poll(() => byCount.stats().sent === 20);
    assert.deepEqual(sizesOf(line), [[10, 201], [10, 201]]);
    const byBytes = newMeter({ batchBytesMax: 2_000 });
    for (let n = 0; n < 20; n++) byBytes.record(tiles);
    await poll(() => byBytes.stats().sent > 0);
    const bytes = line.batches.splice(0).map(({ records }) => JSON.stringify(records).length);
    assert.ok((bytes[0] ?? 0) > 1_700 && (bytes[0] ?? 0) <= 2_000, `${bytes}`);
    assert.equal(await byCount.flush(), true);
    assert.deepEqual(sizesOf(line), [[5, 201]]);
  },

  async "waits while Gatehouse is down or rejects batches, and sends everything once with the original keys"(
    scene,
  ) {
    const { line, newMeter, key, test, problems } = scene;
    const answers = [
      gatehouseError(503, "unavailable", { headers: { "Retry-After": "0" } }),
      gatehouseError(429, "rate_limited", { headers: { "Retry-After": "1" } }),
      gatehouseError(401, "invalid_api_key", { headers: { "Retry-After": "soon" } }),
      new Response("<html>Bad gateway</html>", { status: 502 }),
      new Response(null, { status: 302, headers: { "Location": "/sign-in" } }),
      new Response("<html>Sign in</html>"),
      gatehouseError(404, "not_found"),
      gatehouseError(403, "organization_suspended"),
      new Response("<html>Bad request</html>", { status: 400 }),
    ];
    line.disturb = (_, count) => answers[count] ?? (count === answers.length ? "lost" : null);
    await line.cut();
    const meter = newMeter({ flushIntervalMs: 10 });
    for (let n = 0; n < 3; n++) meter.record(tiles);
    await poll(() => problems.some(({ kind }) => kind === "delayed"));
    assert.equal(problems[0]?.count, 3);
    line.open();
    const isClosed = meter.close({ timeoutMs: 20_000 });
    assert.equal(await isClosed, true);
    const { sent, waiting, duplicates, rejected, dropped } = meter.stats();
    assert.deepEqual({ sent, waiting, duplicates, rejected, dropped }, {
      sent: 3,
      waiting: 0,
      duplicates: 3,
      rejected: 0,
      dropped: 0,
    });
    const [first, limited, next] = line.batches;
    assert.equal(line.batches.length, answers.length + 2);
    const keys = (batch = first) => batch?.records.map(({ idempotencyKey }) => idempotencyKey);
    assert.deepEqual(line.batches.slice(1, 9).map(keys), Array(8).fill(keys()));
    // A timer may fire a millisecond early by the wall clock.
    assert.ok((next?.at ?? 0) - (limited?.at ?? 0) >= 990, "before Retry-After");
    assert.deepEqual(await usageOf(test, key), { requests: [3, 3] });
    assert.match(
      problems.map(({ message }) => message).join("\n"),
      /^Usage: 3 records waiting: [45]\d\d /m,
    );
    const { kind, count, message } = problems.at(-1) ?? assert.fail();
    assert.deepEqual([kind, count, message], ["resumed", 0, "Usage: sending has resumed"]);
  },

  async "rejects invalid records with one more request, and nothing else"(
    { line, newMeter, key, test, problems },
  ) {
    const meter = newMeter();
    for (let n = 0; n < 537; n++) meter.record(tiles);
    meter.record({ ...tiles, metric: "no metric!" });
    for (let n = 0; n < 462; n++) meter.record(tiles);
    assert.equal(await meter.flush(), true);
    assert.deepEqual(sizesOf(line), [[1000, 422], [999, 201]]);
    assert.equal(meter.stats().rejected, 1);
    const [problem, ...others] = problems;
    assert.deepEqual(others, []);
    assert.match(
      problem?.message ?? "",
      /^Usage: 1 record rejected: 422 validation_failed: .*records\[537\]\.metric.* of tiles\/no metric!$/,
    );
    assert.deepEqual(problem?.records.map(({ metric }) => metric), ["no metric!"]);
    // Two invalid ones, and a key that was used for other content.
    meter.record({ ...tiles, idempotencyKey: "used" });
    meter.record({ ...tiles, timestamp: new Date(0) });
    meter.record({ ...tiles, properties: { a: "b".repeat(300) } });
    assert.equal(await meter.flush(), true);
    meter.record({ ...tiles, idempotencyKey: "used", quantity: 7 });
    meter.record(tiles);
    assert.equal(await meter.flush(), true);
    // A record that is sent alone has no number in the response.
    meter.record({ ...tiles, idempotencyKey: "used", quantity: 7 });
    assert.equal(await meter.flush(), true);
    const rejections = [[3, 422], [2, 422], [1, 201], [2, 409], [1, 201], [1, 409]] as const;
    assert.deepEqual(sizesOf(line), rejections);
    assert.equal(meter.stats().rejected, 5);
    assert.deepEqual(await usageOf(test, key), { requests: [999 + 2, 999 + 2] });
  },

  async "halves a batch that is too large or has an unknown fault, and rejects a record that is so alone"(
    scene,
  ) {
    const { line, newMeter, key, test } = scene;
    line.disturb = (body) => {
      if (body.includes("poison")) return gatehouseError(400, "malformed_request");
      return body.length > 4_000 ? new Response("<html>413</html>", { status: 413 }) : null;
    };
    const meter = newMeter();
    for (let n = 0; n < 60; n++) meter.record(tiles);
    meter.record({ ...tiles, metric: "m".repeat(5_000) });
    meter.record({ ...tiles, metric: "poison" });
    for (let n = 0; n < 60; n++) meter.record(tiles);
    assert.equal(await meter.flush(), true);
    assert.ok(line.batches.length < 60, `${line.batches.length} requests`);
    assert.equal(meter.stats().rejected, 2);
    assert.deepEqual(await usageOf(test, key), { requests: [120, 120] });
  },

  async "sends half as much after an error of the server or a body that took too long, and more again later"(
    { line, newMeter },
  ) {
    const [slow, broken] = [gatehouseError(408, "request_timeout"), gatehouseError(503, "unavailable")];
    line.disturb = (_, count) => [slow, broken][count] ?? null;
    const meter = newMeter({ batchRecordsMax: 8 });
    for (let n = 0; n < 24; n++) meter.record(tiles);
    assert.equal(await meter.flush(), true);
    assert.deepEqual(sizesOf(line), [[8, 408], [4, 503], [2, 201], [2, 201], [4, 201], [8, 201], [8, 201]]);
  },

  async "gives up a request after the time-out"({ line, newMeter, problems }) {
    const never = Promise.withResolvers<Response>();
    line.disturb = (_, count) => count === 0 && problems.length === 0 ? never.promise : null;
    const meter = newMeter({ timeoutMs: 500 });
    meter.record(tiles);
    assert.equal(await meter.flush(), true);
    assert.match(problems[0]?.message ?? "", /no response within 500 ms/);
    never.resolve(new Response());
  },

  async "continues after a malformed error, a huge response, and a hook that rejects"({ line, newMeter }) {
    const huge = () => new Response(new Uint8Array(9 * 1024 * 1024).fill(0x20));
    const answers = [
      () => gatehouseError(422, "validation_failed", { details: [null] as never }),
      () => gatehouseError(429, "limit_exceeded", { details: ["x"] as never }),
      huge,
    ];
    line.disturb = (_, count) => answers[count]?.() ?? null;
    let calls = 0;
    const meter = newMeter({
      onProblem: () => {
        calls++;
        return Promise.reject(new Error("a broken hook")) as never;
      },
    });
    for (let n = 0; n < 4; n++) meter.record(tiles);
    assert.equal(await meter.flush(), true);
    assert.equal(meter.stats().sent, 4);
    assert.ok(calls > 0);
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
    meter.record(tiles);
    meter.flush();
    await poll(() => problems.length > 0);
    assert.match(
      problems[0]?.message ?? "",
      /^Usage: 1 record waiting: this machine's clock is 60\d seconds ahead/,
    );
    assert.equal(meter.stats().rejected, 0);
    const other = newMeter();
    other.record({ ...tiles, timestamp: new Date(Date.now() + 3_600_000) });
    assert.equal(await other.flush(), true);
    assert.equal(other.stats().rejected, 1);
  },

  async "rounds noise to 6 decimal places and reports it once"({ newMeter, key, test, problems }) {
    const meter = newMeter();
    for (let n = 0; n < 3; n++) meter.record({ ...tiles, metric: "noise", quantity: 0.1 + 0.2 });
    meter.record({ ...tiles, metric: "none", quantity: 0.3 - 0.1 - 0.2 });
    meter.record({ ...tiles, metric: "most", quantity: Number.MAX_SAFE_INTEGER });
    meter.record({ ...tiles, metric: "least", quantity: 0.000001 });
    assert.equal(await meter.flush(), true);
    assert.equal(meter.stats().rounded, 4);
    assert.deepEqual(problems.map(({ kind, count }) => [kind, count]), [["rounded", 2]]);
    assert.deepEqual(await usageOf(test, key), {
      least: [0.000001, 1],
      most: [Number.MAX_SAFE_INTEGER, 1],
      noise: [0.9, 3],
      none: [0, 1],
    });
  },

  async "never throws: misuse is rejected, and what doesn't fit is dropped, with one report"(scene) {
    const { line, newMeter, problems } = scene;
    await line.cut();
    const meter = newMeter({ waitingRecordsMax: 5 });
    const thrower = { toJSON: () => assert.fail("none") };
    const misuse = [
      undefined,
      null,
      {},
      { ...tiles, metric: Symbol("a") },
      { ...tiles, quantity: -1 },
      { ...tiles, quantity: NaN },
      { ...tiles, quantity: 1n },
      { ...tiles, quantity: "1" },
      { ...tiles, quantity: 2 ** 53 },
      { ...tiles, timestamp: new Date(NaN) },
      { ...tiles, timestamp: "yesterday" },
      { ...tiles, idempotencyKey: 7 },
      { ...tiles, properties: { a: 1n } },
      { ...tiles, properties: { a: thrower } },
      { ...tiles, properties: { a: "b".repeat(70_000) } },
      { ...tiles, organizationId: "org_1" },
      {
        get product() {
          throw null;
        },
        metric: "requests",
      },
    ];
    for (const usage of misuse) meter.record(usage as unknown as Usage);
    for (let n = 0; n < 1_000; n++) meter.record(tiles);
    assert.equal(await meter.flush({ timeoutMs: 0 }), false);
    assert.equal(await meter.close({ timeoutMs: 0 }), false);
    meter.record(tiles);
    const { recorded, waiting, rejected, dropped } = meter.stats();
    const expected = { recorded: misuse.length + 1_001, waiting: 0, rejected: misuse.length, dropped: 1_001 };
    assert.deepEqual({ recorded, waiting, rejected, dropped }, expected);
    const reports = problems.map(({ kind, count }) => [kind, count]);
    for (const report of [["rejected", misuse.length], ["dropped", 995]]) {
      assert.deepEqual(reports.filter(([kind]) => kind === report[0])[0], report);
    }
    assert.ok(problems.length < 6, JSON.stringify(reports));
  },
};

metered("Meter", steps);

Deno.test("Meter says what is wrong with usage, and with a response, in one line", async () => {
  for (
    const [usage, message] of [
      [undefined, "record() takes an object with product and metric"],
      [{ productSlug: "tiles", metric: "requests" }, "product must be a string"],
      [{ ...tiles, quantity: "3" }, "tiles/requests: quantity must be a number"],
      [{ ...tiles, timestamp: "2026-11-23" }, "tiles/requests: timestamp must be a valid Date"],
      [{ ...tiles, organizationId: "a" }, /^tiles\/requests: organizationId, .* require an operator token$/],
    ] as const
  ) {
    assert.throws(() => recordLine(usage as unknown as Usage, false), { message });
  }
  const html = "<!doctype html><title>Not found</title>".repeat(100);
  for (
    const [response, reason] of [
      [
        () => new Response(html, { status: 404 }),
        "404 without a response of Gatehouse. Check the option url",
      ],
      [() => new Response(html, { status: 502 }), "502 without a response of Gatehouse"],
      [
        () => new Response(null, { status: 301, headers: { Location: "https://b.example/" } }),
        "301, a redirect to https://b.example/. Check the option url",
      ],
      [() => assert.fail("SSL routines\nwrong version\n"), "SSL routines wrong version"],
    ] as const
  ) {
    const messages: string[] = [];
    const meter = new Meter({
      url: "https://a.example",
      apiKey: "a",
      fetch: () => Promise.resolve().then(response),
      onProblem: ({ message }) => messages.push(message),
    });
    meter.record(tiles);
    await meter.close({ timeoutMs: 1 });
    assert.equal(messages[0], `Usage: 1 record waiting: ${reason}`);
  }
});

Deno.test("Meter requires an address and exactly one credential", () => {
  const url = "https://auth.example.com";
  for (
    const options of [{ url: "nowhere", apiKey: "a" }, { apiKey: "a" }, { url }, {
      url,
      apiKey: "a",
      operatorToken: "b",
    }]
  ) {
    assert.throws(() => new Meter(options), /^TypeError: (Meter: set|Set the option url|url must be)/);
  }
  for (
    const options of [{ url: "https://ada:secret@example.com", apiKey: "a" }, { url, apiKey: "secret\nkey" }]
  ) {
    assert.throws(
      () => new Meter(options),
      (error) => error instanceof TypeError && !/secret/.test(error.message),
    );
  }
});
