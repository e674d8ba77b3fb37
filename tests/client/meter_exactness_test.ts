// The meter's spool when other processes rename, remove or adopt its segments, when lines are damaged, and when the meter
// closes: each record arrives.
import assert from "node:assert/strict";
import { Meter, type MeterOptions } from "../../packages/client/src/meter/meter.ts";
import { poll } from "../support/runner/poll.ts";

/** A service that acknowledges batches, and the numbers of the records that arrived. */
interface Receiver {
  readonly url: string;
  readonly arrived: Set<number>;
  /** Whether it accepts batches. */
  isOpen: boolean;
}

interface Scene {
  readonly receiver: Receiver;
  readonly spool: string;
  newMeter(options?: MeterOptions): Meter;
  /** Records numbers from `start` to `end`, exclusive, and checks that a process that starts now would find them. */
  record(meter: Meter, start: number, end: number): void;
  /** @returns The paths of the segments. */
  segments(): string[];
  /** Waits until exactly the numbers from 0 to `end`, exclusive, arrived and the spool is empty. */
  allArrive(end: number): Promise<void>;
}

function spoolTest(name: string, test: (scene: Scene) => Promise<void>): void {
  // A timer that only delays a report doesn't matter.
  Deno.test({ name, sanitizeOps: false, sanitizeResources: false }, async () => {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-exactness-" });
    const spool = `${folder}/spool`;
    const arrived = new Set<number>();
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
      const { records } = await request.json();
      if (!receiver.isOpen) return new Response("closed", { status: 503 });
      for (const { quantity } of records) arrived.add(quantity);
      return Response.json({ accepted: records.length, duplicates: 0 }, { status: 201 });
    });
    const receiver = { url: `http://127.0.0.1:${server.addr.port}`, arrived, isOpen: false };
    const meters: Meter[] = [];
    const segments = () =>
      [...Deno.readDirSync(spool)].map(({ name }) => `${spool}/${name}`).filter((path) =>
        path.endsWith(".jsonl") && !path.endsWith("/rejected.jsonl")
      );
    try {
      await test({
        receiver,
        spool,
        newMeter(options = {}) {
          const meter = new Meter({
            ...{ url: receiver.url, apiKey: "key", spool, flushIntervalMs: 10, onProblem() {} },
            ...options,
          });
          meters.push(meter);
          return meter;
        },
        record(meter, start, end) {
          for (let n = start; n < end; n++) meter.record({ product: "tiles", metric: "n", quantity: n });
          const onDisk = segments().map((path) => Deno.readTextFileSync(path)).join("");
          for (let n = start; n < end; n++) {
            assert(onDisk.includes(`"quantity":${n},`), `${n} is not on disk`);
          }
        },
        segments,
        async allArrive(end) {
          receiver.isOpen = true;
          const expected = Array.from({ length: end }, (_, n) => n);
          await poll(() => expected.every((n) => arrived.has(n))).catch(() =>
            assert.fail(`missing: ${expected.filter((n) => !arrived.has(n))}`)
          );
          assert.equal(arrived.size, end);
          await poll(() => segments().every((path) => Deno.statSync(path).size === 0));
        },
      });
    } finally {
      receiver.isOpen = true;
      await Promise.all(meters.map((meter) => meter.close({ timeoutMs: 1_000 })));
      assert.deepEqual(segments(), []);
      await server.shutdown();
      await Deno.remove(folder, { recursive: true });
    }
  });
}

spoolTest("a segment that is renamed while its owner writes to it loses nothing", async (scene) => {
  const meter = scene.newMeter();
  scene.record(meter, 0, 10);
  for (const [index, path] of scene.segments().entries()) {
    await Deno.rename(path, `${scene.spool}/backup-${index}.jsonl`);
  }
  scene.record(meter, 10, 20);
  // The next process adopts what was renamed.
  scene.newMeter();
  await scene.allArrive(20);
});

spoolTest(
  "a segment that seems abandoned is adopted while its owner lives, and nothing is lost",
  async (scene) => {
    const owner = scene.newMeter();
    scene.record(owner, 0, 10);
    const longAgo = new Date(Date.now() - 3_600_000);
    for (const path of scene.segments()) {
      await Deno.utime(path, longAgo, longAgo);
      // Of another machine, as when two containers share a volume.
      await Deno.rename(path, `${scene.spool}/elsewhere-1-${Date.now()}.jsonl`);
    }
    const adopter = scene.newMeter();
    for (let n = 10; n < 200; n += 10) {
      scene.record(owner, n, n + 10);
      scene.receiver.isOpen = n > 50;
      await adopter.flush({ timeoutMs: 20 });
    }
    await scene.allArrive(200);
  },
);

spoolTest("several meters of one process share a folder", async (scene) => {
  const meters = Array.from({ length: 5 }, () => scene.newMeter());
  for (let n = 0; n < 100; n += 5) {
    for (const [index, meter] of meters.entries()) scene.record(meter, n + index, n + index + 1);
  }
  await meters[0]?.close({ timeoutMs: 1 });
  scene.newMeter();
  await scene.allArrive(100);
});

spoolTest("a line that is too long is skipped, and those around it arrive", async (scene) => {
  const meter = scene.newMeter();
  scene.record(meter, 0, 2);
  await meter.close({ timeoutMs: 1 });
  const [path = assert.fail()] = scene.segments();
  const [a, b] = (await Deno.readTextFile(path)).split("\n");
  await Deno.remove(path);
  await Deno.writeTextFile(`${scene.spool}/other.jsonl`, [a, "x".repeat(3_000_000), b].join("\n"));
  const problems: string[] = [];
  const next = scene.newMeter({ onProblem: ({ message }) => problems.push(message) });
  await scene.allArrive(2);
  await next.close();
  assert(problems.length > 0);
});

spoolTest("a file that can't be opened doesn't hold up others", async (scene) => {
  const meter = scene.newMeter();
  scene.record(meter, 0, 10);
  await meter.close({ timeoutMs: 1 });
  for (const name of ["a", "z"]) await Deno.mkdir(`${scene.spool}/${name}.jsonl`);
  scene.newMeter();
  scene.receiver.isOpen = true;
  await poll(() => scene.receiver.arrived.size === 10);
  for (const path of scene.segments()) await Deno.remove(path, { recursive: true });
});

spoolTest("what is recorded while the meter closes waits for the next process", async (scene) => {
  const meter = scene.newMeter();
  scene.record(meter, 0, 10);
  const closed = meter.close({ timeoutMs: 300 });
  scene.record(meter, 10, 20);
  await closed;
  scene.newMeter();
  await scene.allArrive(20);
});

for (const value of [0, -1, NaN]) {
  Deno.test(`numbers of ${value} in the options don't stop the meter`, async () => {
    let sent = 0;
    const fetch = (_: unknown, init?: RequestInit) => {
      const { records } = JSON.parse(String(init?.body));
      sent += records.length;
      return Promise.resolve(Response.json({ accepted: records.length, duplicates: 0 }));
    };
    const numbers = { batchRecordsMax: value, batchBytesMax: value, flushIntervalMs: value };
    const meter = new Meter({ url: "http://gatehouse", apiKey: "key", fetch, ...numbers, onProblem() {} });
    for (let n = 0; n < 3; n++) meter.record({ product: "tiles", metric: "n" });
    await meter.close();
    assert.equal(sent, 3);
  });
}
