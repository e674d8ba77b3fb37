// The meters of both languages against Gatehouse, with one app: the cases that they share, and what only one of them promises.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { openFile } from "../../packages/client/src/meter/folder.ts";
import { Meter, type Usage } from "../../packages/client/src/meter/meter.ts";
import { recordLine } from "../../packages/client/src/meter/record.ts";
import { pythonSteps } from "../python_client/meter_steps.ts";
import { inEachLanguage, languages } from "../support/client/any_meter.ts";
import { orphan, segmentsIn } from "../support/client/meter_folder.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { afterMetered, metered, type MeterSteps } from "../support/client/meter_scene.ts";
import { poll } from "../support/runner/poll.ts";
import { limitCases, sendingCases } from "./meter_cases.ts";
import { processSteps } from "./process_steps.ts";
import { folderCases, folderCasesOfRoot, spoolCases } from "./spool_cases.ts";

const tiles = { product: "tiles", metric: "requests" };

const typeScriptSteps: MeterSteps = {
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

  async "sends only what was not settled when the process was killed in the middle of a file"(scene) {
    const { newMeter, folder, line, key, test } = scene;
    const first = newMeter({ spool: folder, batchRecordsMax: 2 });
    line.disturb = (_, count) => count < 1 ? null : new Response(null, { status: 503 });
    for (let n = 0; n < 5; n++) first.record({ ...tiles, idempotencyKey: `${n}` });
    await poll(() => line.batches.length >= 2);
    await orphan(folder);
    line.disturb = () => null;
    line.batches.splice(0);
    const second = newMeter({ spool: folder });
    assert.equal(second.stats().waiting, 3);
    await poll(() => second.stats().sent === 3);
    assert.deepEqual(segmentsIn(folder), []);
    assert.deepEqual(await usageOf(test, key), { requests: [5, 5] });
  },

  async "keeps what is recorded while it closes, for the next process"(
    { newMeter, folder, line, key, test },
  ) {
    await line.cut();
    const meter = newMeter({ spool: folder });
    meter.record(tiles);
    const closed = meter.close({ timeoutMs: 300 });
    meter.record(tiles);
    assert.equal(await closed, false);
    line.open();
    assert.equal(await newMeter({ spool: folder }).close(), true);
    assert.deepEqual(await usageOf(test, key), { requests: [2, 2] });
  },
};

metered("Meter", {
  ...inEachLanguage({ ...sendingCases, ...limitCases, ...spoolCases, ...folderCases }),
  ...Deno.uid() === 0 ? inEachLanguage(folderCasesOfRoot) : {},
  ...typeScriptSteps,
  ...processSteps,
  ...languages.includes("Python") ? pythonSteps : {},
});

afterMetered(
  "Meter opens no link that takes the place of a file between looking at it and opening it",
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-meter-" });
    try {
      await Deno.writeTextFile(`${folder}/victim`, "");
      await Deno.symlink(`${folder}/victim`, `${folder}/link`);
      assert.throws(() => openFile(`${folder}/link`));
      fs.closeSync(openFile(`${folder}/victim`));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

afterMetered("Meter says what is wrong with usage, and with a response, in one line", async () => {
  const misuses: [usage: unknown, message: string | RegExp][] = [
    [undefined, "record() takes an object with product and metric"],
    [{ productSlug: "tiles", metric: "requests" }, "product must be a string"],
    [{ ...tiles, quantity: "3" }, "tiles/requests: quantity must be a number"],
    [{ ...tiles, timestamp: "2026-11-23" }, "tiles/requests: timestamp must be a valid Date"],
    [{ ...tiles, quanity: 3 }, "quanity is not an option of record()."],
    [{ ...tiles, organizationId: "a" }, /^tiles\/requests: organizationId, .* require an operator token$/],
  ];
  for (const [usage, message] of misuses) {
    assert.throws(() => recordLine(usage as Usage, false), { message });
  }
  const html = "<!doctype html><title>Not found</title>".repeat(100);
  const location = { Location: "https://b.example/" };
  const responses: [respond: () => Response, reason: string][] = [
    [() => new Response(html, { status: 404 }), "404 without a response of Gatehouse. Check the option url"],
    [() => new Response(html, { status: 502 }), "502 without a response of Gatehouse"],
    [
      () => new Response(null, { status: 301, headers: location }),
      "301, a redirect to https://b.example/. Check the option url",
    ],
    [() => assert.fail("SSL routines\nwrong version\n"), "SSL routines wrong version"],
  ];
  for (const [response, reason] of responses) {
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

for (const value of [0, -1, NaN]) {
  Deno.test(`Meter works with numbers of ${value} in its options`, async () => {
    let sent = 0;
    const fetch = (_: unknown, init?: RequestInit) => {
      const { records } = JSON.parse(String(init?.body));
      sent += records.length;
      return Promise.resolve(Response.json({ accepted: records.length, duplicates: 0 }));
    };
    const numbers = { batchRecordsMax: value, batchBytesMax: value, flushIntervalMs: value };
    const meter = new Meter({ url: "http://gatehouse", apiKey: "key", fetch, ...numbers, onProblem() {} });
    for (let n = 0; n < 3; n++) meter.record(tiles);
    await meter.close();
    assert.equal(sent, 3);
  });
}

Deno.test("Meter requires an address and exactly one credential", () => {
  const url = "https://auth.example.com";
  const both = { url, apiKey: "a", operatorToken: "b" };
  for (const options of [{ url: "nowhere", apiKey: "a" }, { apiKey: "a" }, { url }, both]) {
    assert.throws(() => new Meter(options), /^TypeError: (Meter: set|Set the option url|url must be)/);
  }
  const unknown = { url, apiKey: "a", spol: "./usage.spool" };
  assert.throws(() => new Meter(unknown), /^TypeError: spol is not an option of Meter\.$/);
  const withSecrets = [{ url: "https://ada:secret@example.com", apiKey: "a" }, {
    url,
    apiKey: "secret\nkey",
  }];
  for (const options of withSecrets) {
    assert.throws(
      () => new Meter(options),
      (error) => error instanceof TypeError && !/secret/.test(error.message),
    );
  }
});
