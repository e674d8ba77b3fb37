// Random histories of a meter with a spool: after any kills, restarts, lost responses and rejections, each record is counted
// exactly once or is among the rejected.
import assert from "node:assert/strict";
import { Meter } from "../../packages/client/src/meter/meter.ts";
import { repeats } from "../support/runner/extent.ts";
import { letOthersRun } from "../support/runner/random.ts";
import fc from "../support/runner/fast_check.ts";
import { copyOfKilled, recordsIn, segmentsIn } from "../support/client/meter_folder.ts";

type Mood = "fine" | "loses responses" | "unavailable" | "takes little";
type Step =
  | { readonly act: "record"; readonly count: number; readonly isBad: boolean }
  | { readonly act: "turn"; readonly mood: Mood }
  | { readonly act: "kill" | "restart" | "wait" };

const record = fc.record({
  act: fc.constant("record" as const),
  count: fc.integer({ min: 1, max: 12 }),
  isBad: fc.boolean(),
});
const turn = fc.record({
  act: fc.constant("turn" as const),
  mood: fc.constantFrom<Mood>("fine", "loses responses", "unavailable", "takes little"),
});
const other = fc.record({ act: fc.constantFrom("kill" as const, "restart" as const, "wait" as const) });
const weighted = [{ weight: 4, arbitrary: record }, { weight: 2, arbitrary: turn }, {
  weight: 3,
  arbitrary: other,
}];
const stepsOf = fc.array(fc.oneof(...weighted as { weight: number; arbitrary: fc.Arbitrary<Step> }[]), {
  minLength: 5,
  maxLength: 25,
});

/** Records as Gatehouse does: all of a request or nothing, and each key once. */
class Recorder {
  mood: Mood = "fine";
  readonly texts = new Map<string, string>();

  respond({ records }: { records: { idempotencyKey: string; quantity: number }[] }): Response {
    const respond = (status: number, body: unknown) => Response.json(body, { status });
    const { mood, texts } = this;
    if (mood === "unavailable") return respond(503, {});
    if (mood === "takes little" && records.length > 2) return respond(413, "");
    const details = records.flatMap(({ quantity }, index) =>
      quantity === 13
        ? [{ path: records.length === 1 ? "quantity" : `records[${index}].quantity`, message: "is bad." }]
        : []
    );
    if (details.length > 0) {
      return respond(422, { error: { code: "validation_failed", message: "No.", details } });
    }
    let duplicates = 0;
    for (const record of records) {
      const known = texts.get(record.idempotencyKey);
      assert.ok(known === undefined || known === JSON.stringify(record), "a repeated record differs");
      if (known !== undefined) duplicates++;
      texts.set(record.idempotencyKey, JSON.stringify(record));
    }
    return mood === "loses responses"
      ? respond(502, {})
      : respond(201, { accepted: records.length - duplicates, duplicates });
  }
}

async function checkHistory(steps: readonly Step[], batchRecordsMax: number): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "gatehouse-meter-" });
  let folder = `${root}/0`;
  const recorder = new Recorder();
  const never = Promise.withResolvers<Response>();
  const all: Meter[] = [];
  const start = () => {
    const life = { isOver: false };
    const meter = new Meter({
      url: "http://gatehouse",
      apiKey: "key",
      spool: folder,
      flushIntervalMs: 1,
      batchRecordsMax,
      // Segments of a quarter, so that there are several.
      spoolBytesMax: 200_000,
      onProblem() {},
      // A killed process sends nothing more.
      fetch: async (_, init) => {
        await letOthersRun(0);
        if (life.isOver) return await never.promise;
        const response = recorder.respond(JSON.parse(String(init?.body)));
        // It may be killed here, too.
        await letOthersRun(0);
        return response;
      },
    });
    all.push(meter);
    return { meter, life };
  };
  const expected = new Map<string, boolean>();
  let { meter, life } = start();
  try {
    for (const step of steps) {
      if (step.act === "record") {
        for (let n = 0; n < step.count; n++) {
          const idempotencyKey = `${expected.size}`;
          const isBad = step.isBad && n === 0;
          expected.set(idempotencyKey, isBad);
          meter.record({ product: "tiles", metric: "requests", quantity: isBad ? 13 : 1, idempotencyKey });
        }
      } else if (step.act === "turn") recorder.mood = step.mood;
      else if (step.act === "wait") await meter.flush({ timeoutMs: 3 });
      else {
        if (step.act === "restart") await meter.close({ timeoutMs: 0 });
        else {
          life.isOver = true;
          folder = copyOfKilled(folder, `${root}/${all.length}`);
        }
        ({ meter, life } = start());
      }
    }
    await meter.close({ timeoutMs: 0 });
    recorder.mood = "fine";
    ({ meter } = start());
    assert.equal(await meter.close(), true);
    assert.deepEqual(segmentsIn(folder).filter((name) => name !== "rejected.jsonl"), []);
    const rejected = new Set(
      recordsIn(`${folder}/rejected.jsonl`).map(({ idempotencyKey }) => idempotencyKey),
    );
    const bad = [...expected].filter(([, isBad]) => isBad).map(([key]) => key);
    assert.deepEqual([...rejected].sort(), bad.sort());
    assert.deepEqual(
      [...recorder.texts.keys()].sort(),
      [...expected.keys()].filter((key) => !rejected.has(key)).sort(),
    );
    const { recorded, adopted, waiting, sent, rejected: rejections, dropped, damaged } = meter.stats();
    assert.deepEqual({ waiting, dropped, damaged }, { waiting: 0, dropped: 0, damaged: 0 });
    assert.equal(recorded + adopted, sent + rejections);
  } finally {
    never.resolve(new Response());
    await Promise.all(all.map((each) => each.close({ timeoutMs: 0 })));
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test({
  name: "a meter with a spool counts every record exactly once or rejects it, in any history",
  // The last request of a killed process may still be under way.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await fc.assert(
      fc.asyncProperty(stepsOf, fc.constantFrom(3, 10, 1_000), checkHistory),
      { numRuns: repeats({ quick: 60, full: 400 }) },
    );
  },
});
