// The meters of both languages against Gatehouse, with one app: the cases that they share, and what only one of them promises.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { openFile } from "../../packages/client/src/meter/folder.ts";
import { Meter, type Usage } from "../../packages/client/src/meter/meter.ts";
import { recordLine } from "../../packages/client/src/meter/record.ts";
import { pythonSteps } from "../python_client/meter_steps.ts";
import { inEachLanguage, languages } from "../support/client/any_meter.ts";
import { deadPid, orphan, segmentsIn } from "../support/client/meter_folder.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { metered, type MeterSteps, sizesOf } from "../support/client/meter_scene.ts";
import { poll } from "../support/runner/poll.ts";
import { limitCases, sendingCases } from "./meter_cases.ts";
import { processSteps } from "./process_steps.ts";
import { folderCases, folderCasesOfRoot, spoolCases } from "./spool_cases.ts";

const tiles = { product: "tiles", metric: "requests" };

const typeScriptSteps: MeterSteps = {
  async "sends what was recorded within the interval, together"({ line, newMeter, key, test }) {
    const meter = newMeter({ flushIntervalMs: 20 });
    for (let n = 0; n < 3; n++) meter.record({ ...tiles, quantity: 2 });
    assert.equal(meter.stats().waiting, 3);
    await poll(() => meter.stats().sent === 3);
    assert.deepEqual(sizesOf(line), [[3, 201]]);
    assert.deepEqual(await usageOf(test, key), { requests: [6, 3] });
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

  async "adopts files without an owner, and leaves those of others alone"(
    { newMeter, folder, line, key, test },
  ) {
    await line.cut();
    const owner = newMeter({ spool: folder });
    owner.record(tiles);
    const [own = ""] = segmentsIn(folder);
    const record = JSON.parse(await Deno.readTextFile(`${folder}/${own}`));
    const [host = ""] = own.split("-");
    const now = Date.now();
    const old = new Date(now - 11 * 60_000);
    const names = {
      [`${host}-${deadPid}-${now}-a.jsonl`]: true,
      // Containers give every process the same id.
      [`${host}-${Deno.pid}-${now - 86_400_000}-b.jsonl`]: true,
      [`another_host-${Deno.pid}-${now}-c.jsonl`]: false,
      [`another_host-${Deno.pid}-${now}-stale.jsonl`]: true,
      [`${host}-1-${now}-d.jsonl`]: false,
      "by_hand.jsonl": true,
      "rejected.jsonl": false,
      "notes.txt": false,
    };
    for (const name of Object.keys(names)) {
      await Deno.writeTextFile(`${folder}/${name}`, JSON.stringify({ ...record, idempotencyKey: name }));
      if (name.includes("stale")) await Deno.utime(`${folder}/${name}`, old, old);
    }
    line.open();
    const second = newMeter({ spool: folder });
    await poll(() => second.stats().waiting === 0);
    assert.equal(second.stats().adopted, 4);
    const left = Object.entries(names).filter(([, isAdopted]) => !isAdopted).map(([name]) => name);
    assert.deepEqual(segmentsIn(folder), [...left, own].sort());
    assert.equal(await owner.close(), true);
    assert.deepEqual(await usageOf(test, key), { requests: [5, 5] });
  },

  async "counts and sends a record once whose file another process took while it was written"(
    { newMeter, folder, line, key, test },
  ) {
    await line.cut();
    const meter = newMeter({ spool: folder });
    meter.record(tiles);
    const [name = ""] = segmentsIn(folder);
    await Deno.rename(`${folder}/${name}`, `${folder}/taken`);
    meter.record(tiles);
    assert.equal(meter.stats().waiting, 2);
    line.open();
    assert.equal(await meter.flush(), true);
    const { waiting, sent, duplicates } = meter.stats();
    assert.deepEqual({ waiting, sent, duplicates }, { waiting: 0, sent: 2, duplicates: 0 });
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

// Timers of the app may outlive its test.
const afterApp = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "Meter opens no link that takes the place of a file between looking at it and opening it",
  afterApp,
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

Deno.test("Meter says what is wrong with usage, and with a response, in one line", afterApp, async () => {
  for (
    const [usage, message] of [
      [undefined, "record() takes an object with product and metric"],
      [{ productSlug: "tiles", metric: "requests" }, "product must be a string"],
      [{ ...tiles, quantity: "3" }, "tiles/requests: quantity must be a number"],
      [{ ...tiles, timestamp: "2026-11-23" }, "tiles/requests: timestamp must be a valid Date"],
      [{ ...tiles, quanity: 3 }, "quanity is not an option of record()."],
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
  const unknown = { url, apiKey: "a", spol: "./usage.spool" };
  assert.throws(() => new Meter(unknown), /^TypeError: spol is not an option of Meter\.$/);
  for (
    const options of [{ url: "https://ada:secret@example.com", apiKey: "a" }, { url, apiKey: "secret\nkey" }]
  ) {
    assert.throws(
      () => new Meter(options),
      (error) => error instanceof TypeError && !/secret/.test(error.message),
    );
  }
});
