// What the tests of the meter share: an app, and for each step an organization, a line and meters with short intervals.
import assert from "node:assert/strict";
import pLimit from "p-limit";
import { Meter, type MeterOptions, type MeterProblem } from "../../../packages/client/src/meter/meter.ts";
import { createTestKey, startTestApp, type TestApp, type TestPerson } from "../app/app.ts";
import { unlimited } from "../meter/usage.ts";
import { type MeterLine, startMeterLine } from "./meter_line.ts";

const hourMs = 3_600_000;
const parallel = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };

export interface Scene {
  readonly test: TestApp;
  readonly person: TestPerson;
  readonly line: MeterLine;
  readonly key: string;
  readonly keyId: string;
  /** What the meters reported. The hook always throws. */
  readonly problems: MeterProblem[];
  /** A folder that is removed in the end. */
  readonly folder: string;
  /** Creates a meter with the key, which sends only full batches until it is flushed. */
  newMeter(options?: MeterOptions): Meter;
  /** Calls a function when the step ends. */
  onEnd(end: () => Promise<unknown>): void;
}

export type MeterSteps = Readonly<Record<string, (scene: Scene) => Promise<void>>>;

/** Defines a test with an app, and a step for each scene. */
export function metered(name: string, steps: MeterSteps): void {
  // Timers of the app may outlive it. process_steps.ts shows that a meter leaves none.
  Deno.test({ name, ...parallel, fn: (t) => inParallel(t, steps) });
}

/** Defines a test after {@linkcode metered}, whose app's timers may outlive it. */
export function afterMetered(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ...parallel, fn });
}

async function inParallel(t: Deno.TestContext, steps: MeterSteps): Promise<void> {
  const test = await startTestApp(unlimited);
  // Before anyone signs in: a session would expire.
  test.advance(Math.max(Date.now() - test.now(), 0));
  const limit = pLimit(12);
  const { random } = Math;
  // The shortest pauses between attempts.
  Math.random = () => 0.005;
  try {
    await Promise.all(
      Object.entries(steps).map(([step, act]) =>
        limit(() => t.step({ name: step, ...parallel, fn: () => inScene(test, act) }))
      ),
    );
  } finally {
    Math.random = random;
    await test.dispose();
  }
}

async function inScene(test: TestApp, act: (scene: Scene) => Promise<void>): Promise<void> {
  const person = await test.signUp();
  const { id: keyId, fullKey: key } = await createTestKey(test, person);
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-meter-" });
  const line = startMeterLine(test);
  const problems: MeterProblem[] = [];
  const ends: (() => Promise<unknown>)[] = [];
  const newMeter = (options: MeterOptions = {}): Meter => {
    const meter = new Meter({
      url: line.url,
      ...(options.operatorToken === undefined && { apiKey: key }),
      flushIntervalMs: hourMs,
      timeoutMs: 60_000,
      onProblem(problem) {
        problems.push(problem);
        throw new Error("a broken log");
      },
      ...options,
    });
    ends.push(() => meter.close({ timeoutMs: 0 }));
    return meter;
  };
  try {
    const onEnd = (end: () => Promise<unknown>) => void ends.push(end);
    await act({ test, person, line, key, keyId, problems, folder, newMeter, onEnd });
  } finally {
    await Promise.all(ends.map((end) => end()));
    await line.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Forgets the requests so far. @returns Their numbers of records and statuses. */
export function sizesOf(line: MeterLine): [records: number, status: number][] {
  return line.batches.splice(0).map(({ records, status }) => [records.length, status]);
}

/** @returns An error as Gatehouse responds with. */
export function gatehouseError(
  status: number,
  code: string,
  { details, headers = {} }: { details?: unknown; headers?: Record<string, string> } = {},
): Response {
  assert.ok(status >= 400);
  const error = { code, message: "No.", ...(details === undefined ? {} : { details }) };
  return Response.json({ error, requestId: "req_1" }, { status, headers });
}
