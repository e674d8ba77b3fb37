// Time slices of the reports thread: shared between readers, limited, and released by reports that end.
import assert from "node:assert/strict";
import { AppError } from "../../../domain/errors.ts";
import type { ReportReader } from "../../../services/reports/report_reader.ts";
import { type ReportLimits, ReportScheduler } from "../../../services/reports/report_scheduler.ts";

const limits: ReportLimits = {
  slicesMax: 1,
  runningPerReaderMax: 2,
  openPerReaderMax: 4,
  openMax: 6,
};

const reader = (share: string, isWork = false): ReportReader => ({ share, isWork });

/** @returns A log of slices, and a function that runs a report of several slices. */
function runner(queue: ReportScheduler) {
  const log: string[] = [];
  return {
    log,
    async run(organization: string, name: string, slices: number): Promise<void> {
      const report = queue.enter(reader(organization), new AbortController());
      try {
        await report.start();
        for (let n = 1;; n++) {
          log.push(name);
          if (n === slices) return;
          await report.pause();
        }
      } finally {
        report.leave();
      }
    },
  };
}

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.code === "unavailable" && error.retryAfterSeconds === 1;
}

Deno.test("readers get alternating slices, regardless of how many reports they run", async () => {
  const { run, log } = runner(new ReportScheduler(limits));
  await Promise.all([run("a", "a1", 5), run("a", "a2", 5), run("a", "a3", 5), run("b", "b1", 3)]);
  // The first report starts alone.
  assert.deepEqual(log.slice(1, 7).map((name) => name[0]), ["a", "b", "a", "b", "a", "b"]);
  assert.equal(log.length, 18);
});

Deno.test("a reader runs two reports, and the third starts when one has ended", async () => {
  const { run, log } = runner(new ReportScheduler(limits));
  await Promise.all([run("a", "a1", 3), run("a", "a2", 3), run("a", "a3", 1)]);
  assert.deepEqual(log, ["a1", "a2", "a1", "a2", "a1", "a3", "a2"]);
});

Deno.test("a canceled report makes room for another one immediately", () => {
  const queue = new ReportScheduler(limits);
  const cancel = new AbortController();
  const canceled = queue.enter(reader("a"), cancel);
  for (let n = 1; n < limits.openPerReaderMax; n++) queue.enter(reader("a"), new AbortController());
  assert.throws(() => queue.enter(reader("a"), new AbortController()), isUnavailable);
  cancel.abort();
  queue.enter(reader("a"), new AbortController());
  canceled.leave();
  assert.throws(() => queue.enter(reader("a"), new AbortController()), isUnavailable);
});

Deno.test("a report that waits for its client holds no slice and does not count as running", async () => {
  const queue = new ReportScheduler({ ...limits, runningPerReaderMax: 1 });
  const { run, log } = runner(queue);
  const client = Promise.withResolvers<void>();
  const slow = queue.enter(reader("a"), new AbortController());
  await slow.start();
  const back = slow.waitFor(client.promise).then(() => log.push("slow"));
  await run("a", "a1", 2);
  assert.deepEqual(log, ["a1", "a1"]);
  client.resolve();
  await back;
  slow.leave();
  await run("a", "a2", 1);
  assert.deepEqual(log.slice(2), ["slow", "a2"]);
});

Deno.test("rejects reports beyond the limits per reader and in total", async () => {
  const queue = new ReportScheduler({ ...limits, openMax: 5 });
  const places = ["a", "a", "a", "a"].map((organization) =>
    queue.enter(reader(organization), new AbortController())
  );
  assert.throws(() => queue.enter(reader("a"), new AbortController()), isUnavailable);
  places.push(queue.enter(reader("b"), new AbortController()));
  const crowded = new ReportScheduler({ ...limits, openMax: 2 });
  for (const organization of ["a", "b"]) crowded.enter(reader(organization), new AbortController());
  assert.throws(() => crowded.enter(reader("c"), new AbortController()), isUnavailable);
  for (const place of places) place.leave();
  const report = queue.enter(reader("a"), new AbortController());
  await report.start();
  report.leave();
});

Deno.test("cancels a report of the reader with the most in favor of one with few", async () => {
  const queue = new ReportScheduler(limits);
  const reports = ["a", "a", "a", "b", "b", "b"].map((organization) => {
    const cancel = new AbortController();
    return { cancel, place: queue.enter(reader(organization), cancel) };
  });
  await reports[0]?.place.start();
  const begun = reports[2]?.place.start() ?? Promise.resolve();
  const first = queue.enter(reader("c"), new AbortController());
  const second = queue.enter(reader("c"), new AbortController());
  assert.deepEqual(reports.map(({ cancel }) => cancel.signal.aborted), [
    false,
    false,
    true,
    false,
    false,
    true,
  ]);
  await assert.rejects(begun, isUnavailable);
  assert.throws(() => queue.enter(reader("c"), new AbortController()), isUnavailable);
  for (const { place } of reports) place.leave();
  // Each report was released once: there is room for as many as before.
  const places = ["a", "a", "b", "b"].map((name) => queue.enter(reader(name), new AbortController()));
  assert.throws(() => queue.enter(reader("c"), new AbortController()), isUnavailable);
  for (const place of [...places, first, second]) place.leave();
});

Deno.test("a canceled report makes room for the next one, wherever it was waiting", async () => {
  const queue = new ReportScheduler({ ...limits, runningPerReaderMax: 1 });
  const [first, second] = [new AbortController(), new AbortController()];
  const running = queue.enter(reader("a"), first);
  await running.start();
  const waiting = queue.enter(reader("a"), second);
  const begun = waiting.start();
  const third = queue.enter(reader("a"), new AbortController());
  const started = third.start();
  second.abort();
  await assert.rejects(begun, { name: "AbortError" });
  waiting.leave();
  const stalled = running.waitFor(
    new Promise((_resolve, reject) =>
      first.signal.addEventListener("abort", () => reject(first.signal.reason))
    ),
  );
  first.abort();
  await assert.rejects(stalled, { name: "AbortError" });
  running.leave();
  await started;
  third.leave();
});

Deno.test("drain() rejects reports that have not started, and lets the others finish", async () => {
  const queue = new ReportScheduler({ ...limits, runningPerReaderMax: 1 });
  const running = queue.enter(reader("a"), new AbortController());
  await running.start();
  const waiting = queue.enter(reader("a"), new AbortController()).start();
  queue.drain();
  await assert.rejects(waiting, isUnavailable);
  assert.throws(() => queue.enter(reader("b"), new AbortController()), isUnavailable);
  await running.pause();
  running.leave();
});

Deno.test("work is started although the thread is full or the server stops, within its own share", async () => {
  const queue = new ReportScheduler(limits);
  const reports = ["a", "a", "b", "b", "c", "c"].map((name) => {
    const cancel = new AbortController();
    return { cancel, place: queue.enter(reader(name), cancel) };
  });
  const begin = () => queue.enter(reader("limits", true), new AbortController());
  const first = begin();
  assert.ok(reports.every(({ cancel }) => !cancel.signal.aborted));
  const started = first.start();
  queue.drain();
  await started;
  const others = Array.from({ length: limits.openPerReaderMax - 1 }, begin);
  assert.throws(begin, isUnavailable);
  for (const place of [first, ...others, ...reports.map(({ place }) => place)]) place.leave();
});
