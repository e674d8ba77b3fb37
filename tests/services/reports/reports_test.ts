// The reports thread as callers see it: it closes cleanly, and a failure ends only the open jobs.
import assert from "node:assert/strict";
import { MessageChannel } from "node:worker_threads";
import { AppError, unavailableError } from "../../../domain/errors.ts";
import { DatabaseError } from "../../../db/engine/database.ts";
import { makeBackup } from "../../../services/backups.ts";
import { Reports } from "../../../services/reports/reports.ts";
import { newReportsWorker, ReportsThread } from "../../../services/reports/reports_thread.ts";
import { connectCalls } from "../../../services/thread_calls.ts";
import { embeddedTestDatabase } from "../../support/database/database.ts";
import { testReader } from "../../support/app/reports.ts";

const noRecords = { usageRecords: [], nextCursor: null, previousCursor: null };
const input = { organizationId: "org_none", now: Date.UTC(2026, 10, 21), limit: 10 };

/** @returns A thread that responds to nothing, and fails when it receives null. */
function newSilentWorker(): Worker {
  const source = "onmessage = ({ data }) => { if (data === null) throw new Error('broken') }";
  return new Worker(`data:text/javascript,${encodeURIComponent(source)}`, { type: "module" });
}

Deno.test("a failure of the thread ends open jobs in all threads, and later ones run in one new thread", async () => {
  const { database, dispose } = await embeddedTestDatabase();
  const silent = newSilentWorker();
  const workers = [newReportsWorker(), silent];
  const failures: string[] = [];
  const thread = new ReportsThread(database.source, {
    onFailure: (error) => failures.push(error.message),
    newWorker: () => workers.pop() ?? assert.fail("a third thread"),
  });
  const { port1, port2 } = new MessageChannel();
  const served = {
    connect: (port: MessagePort) => thread.connect(port),
    ping: () => Promise.resolve(),
  };
  connectCalls(port1, served, { thread: "main thread" });
  const calls = connectCalls<typeof served, object>(port2, {}, { thread: "HTTP thread 2" });
  const clients = [new Reports(thread), new Reports({ connect: (port) => calls.connect(port) })];
  const read = () => clients.map((reports) => readPage(reports));
  try {
    const open = Promise.allSettled(read());
    // Handled after the call that connects the second one.
    await calls.ping();
    silent.postMessage(null);
    for (const result of await open) {
      assert(result.status === "rejected" && result.reason instanceof DatabaseError);
      assert.equal(result.reason.kind, "unavailable");
    }
    assert.equal(failures.length, 1);
    assert.match(failures[0] ?? "", /^the reports thread failed: .*broken/);
    for (const page of await Promise.all(read())) {
      assert.deepEqual(page, noRecords);
    }
  } finally {
    for (const reports of clients) await reports.close();
    await thread.close();
    port1.close();
    port2.close();
    await dispose();
  }
});

/** Runs a test with the reports of a thread, which are closed afterwards. */
async function withReports(
  act: (reports: Reports, place: string) => Promise<void>,
  more: Partial<ConstructorParameters<typeof ReportsThread>[1]> & { file?: string } = {},
): Promise<void> {
  const { database, place, dispose } = await embeddedTestDatabase();
  const { file, ...options } = more;
  const source = file === undefined ? database.source : { kind: "file", path: file } as const;
  const thread = new ReportsThread(source, { onFailure: assert.fail, ...options });
  const reports = new Reports(thread);
  try {
    await act(reports, place);
  } finally {
    await reports.close();
    await thread.close();
    await dispose();
  }
}

const readPage = (reports: Reports, more: { cursor?: string } = {}) =>
  reports.read("readUsageRecordPage", { ...input, ...more }, { reader: testReader });

Deno.test("passes on errors of the thread unchanged, and reads nothing once it is closed", async () => {
  let closed: Reports | undefined;
  await withReports(async (reports) => {
    closed = reports;
    await assert.rejects(
      readPage(reports, { cursor: "none" }),
      (error) =>
        error instanceof AppError && error.code === "validation_failed" &&
        error.details?.[0]?.path === "cursor",
    );
  });
  assert.ok(closed);
  await assert.rejects(readPage(closed), { name: "DatabaseError" });
});

Deno.test("a job fails if its thread could not start, and the next one tries again", () => {
  let isFull = true;
  const newWorker = () => {
    if (isFull) throw unavailableError("No free file descriptors.");
    return newReportsWorker();
  };
  return withReports(async (reports) => {
    for (const _attempt of [1, 2]) await assert.rejects(readPage(reports), { code: "unavailable" });
    isFull = false;
    await readPage(reports);
  }, { newWorker });
});

Deno.test("jobs fail until the database can be opened", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-reports-" });
  const file = `${folder}/later/gatehouse.db`;
  try {
    await withReports(async (reports, place) => {
      for (const _attempt of [1, 2]) await assert.rejects(readPage(reports), { name: "DatabaseError" });
      await Deno.mkdir(`${folder}/later`);
      await makeBackup(place, { file, signal: new AbortController().signal });
      assert.deepEqual(await readPage(reports), noRecords);
    }, { file });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
