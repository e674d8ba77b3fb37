// Time slices of the reports thread: shared between readers, limited, and released by jobs that end.
import assert from "node:assert/strict";
import { AppError } from "../../../domain/errors.ts";
import type { JobReader } from "../../../services/reports/job_reader.ts";
import { type JobLimits, JobScheduler } from "../../../services/reports/job_scheduler.ts";

const limits: JobLimits = {
  slicesMax: 1,
  runningPerReaderMax: 2,
  openPerReaderMax: 4,
  openMax: 6,
};

const reader = (name: string, isWork = false): JobReader => ({ name, isWork });

/** @returns A log of slices, and a function that runs a job of several slices. */
function runner(scheduler: JobScheduler) {
  const log: string[] = [];
  return {
    log,
    async run(organization: string, name: string, slices: number): Promise<void> {
      const job = scheduler.enter(reader(organization), new AbortController());
      try {
        await job.start();
        for (let n = 1;; n++) {
          log.push(name);
          if (n === slices) return;
          await job.pause();
        }
      } finally {
        job.leave();
      }
    },
  };
}

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.code === "unavailable" && error.retryAfterSeconds === 1;
}

Deno.test("readers get alternating slices, regardless of how many jobs they run", async () => {
  const { run, log } = runner(new JobScheduler(limits));
  await Promise.all([run("a", "a1", 5), run("a", "a2", 5), run("a", "a3", 5), run("b", "b1", 3)]);
  // The first job starts alone.
  assert.deepEqual(log.slice(1, 7).map((name) => name[0]), ["a", "b", "a", "b", "a", "b"]);
  assert.equal(log.length, 18);
});

Deno.test("a reader runs two jobs, and the third starts when one has ended", async () => {
  const { run, log } = runner(new JobScheduler(limits));
  await Promise.all([run("a", "a1", 3), run("a", "a2", 3), run("a", "a3", 1)]);
  assert.deepEqual(log, ["a1", "a2", "a1", "a2", "a1", "a3", "a2"]);
});

Deno.test("a canceled job makes room for another one immediately", () => {
  const scheduler = new JobScheduler(limits);
  const cancel = new AbortController();
  const canceled = scheduler.enter(reader("a"), cancel);
  for (let n = 1; n < limits.openPerReaderMax; n++) scheduler.enter(reader("a"), new AbortController());
  assert.throws(() => scheduler.enter(reader("a"), new AbortController()), isUnavailable);
  cancel.abort();
  scheduler.enter(reader("a"), new AbortController());
  canceled.leave();
  assert.throws(() => scheduler.enter(reader("a"), new AbortController()), isUnavailable);
});

Deno.test("a job that waits for its client holds no slice and does not count as running", async () => {
  const scheduler = new JobScheduler({ ...limits, runningPerReaderMax: 1 });
  const { run, log } = runner(scheduler);
  const client = Promise.withResolvers<void>();
  const slow = scheduler.enter(reader("a"), new AbortController());
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

Deno.test("rejects jobs beyond the limits per reader and in total", async () => {
  const scheduler = new JobScheduler({ ...limits, openMax: 5 });
  const places = ["a", "a", "a", "a"].map((organization) =>
    scheduler.enter(reader(organization), new AbortController())
  );
  assert.throws(() => scheduler.enter(reader("a"), new AbortController()), isUnavailable);
  places.push(scheduler.enter(reader("b"), new AbortController()));
  const crowded = new JobScheduler({ ...limits, openMax: 2 });
  for (const organization of ["a", "b"]) crowded.enter(reader(organization), new AbortController());
  assert.throws(() => crowded.enter(reader("c"), new AbortController()), isUnavailable);
  for (const place of places) place.leave();
  const job = scheduler.enter(reader("a"), new AbortController());
  await job.start();
  job.leave();
});

Deno.test("cancels a job of the reader with the most in favor of one with few", async () => {
  const scheduler = new JobScheduler(limits);
  const jobs = ["a", "a", "a", "b", "b", "b"].map((organization) => {
    const cancel = new AbortController();
    return { cancel, place: scheduler.enter(reader(organization), cancel) };
  });
  await jobs[0]?.place.start();
  const begun = jobs[2]?.place.start() ?? Promise.resolve();
  const first = scheduler.enter(reader("c"), new AbortController());
  const second = scheduler.enter(reader("c"), new AbortController());
  assert.deepEqual(jobs.map(({ cancel }) => cancel.signal.aborted), [
    false,
    false,
    true,
    false,
    false,
    true,
  ]);
  await assert.rejects(begun, isUnavailable);
  assert.throws(() => scheduler.enter(reader("c"), new AbortController()), isUnavailable);
  for (const { place } of jobs) place.leave();
  // Each job was released once: there is room for as many as before.
  const places = ["a", "a", "b", "b"].map((name) => scheduler.enter(reader(name), new AbortController()));
  assert.throws(() => scheduler.enter(reader("c"), new AbortController()), isUnavailable);
  for (const place of [...places, first, second]) place.leave();
});

Deno.test("a canceled job makes room for the next one, wherever it was waiting", async () => {
  const scheduler = new JobScheduler({ ...limits, runningPerReaderMax: 1 });
  const [first, second] = [new AbortController(), new AbortController()];
  const running = scheduler.enter(reader("a"), first);
  await running.start();
  const waiting = scheduler.enter(reader("a"), second);
  const begun = waiting.start();
  const third = scheduler.enter(reader("a"), new AbortController());
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

Deno.test("drain() rejects jobs that have not started, and lets the others finish", async () => {
  const scheduler = new JobScheduler({ ...limits, runningPerReaderMax: 1 });
  const running = scheduler.enter(reader("a"), new AbortController());
  await running.start();
  const waiting = scheduler.enter(reader("a"), new AbortController()).start();
  scheduler.drain();
  await assert.rejects(waiting, isUnavailable);
  assert.throws(() => scheduler.enter(reader("b"), new AbortController()), isUnavailable);
  await running.pause();
  running.leave();
});

Deno.test("work is started although the thread is full or the server stops, within its own limit", async () => {
  const scheduler = new JobScheduler(limits);
  const jobs = ["a", "a", "b", "b", "c", "c"].map((name) => {
    const cancel = new AbortController();
    return { cancel, place: scheduler.enter(reader(name), cancel) };
  });
  const begin = () => scheduler.enter(reader("limits", true), new AbortController());
  const first = begin();
  assert.ok(jobs.every(({ cancel }) => !cancel.signal.aborted));
  const started = first.start();
  scheduler.drain();
  await started;
  const others = Array.from({ length: limits.openPerReaderMax - 1 }, begin);
  assert.throws(begin, isUnavailable);
  for (const place of [first, ...others, ...jobs.map(({ place }) => place)]) place.leave();
});
