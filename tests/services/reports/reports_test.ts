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
  const read = () =>
    clients.map((reports) => reports.read("readUsageRecordPage", input, { reader: testReader }));
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
      assert.deepEqual(page, { usageRecords: [], nextCursor: null, previousCursor: null });
    }
  } finally {
    for (const reports of clients) await reports.close();
    await thread.close();
    port1.close();
    port2.close();
    await dispose();
  }
});

Deno.test("passes on errors of the thread unchanged", async () => {
  const { database, dispose } = await embeddedTestDatabase();
  const thread = new ReportsThread(database.source, { onFailure: assert.fail });
  const reports = new Reports(thread);
  try {
    await assert.rejects(
      reports.read("readUsageRecordPage", { ...input, cursor: "none" }, { reader: testReader }),
      (error) =>
        error instanceof AppError && error.code === "validation_failed" &&
        error.details?.[0]?.path === "cursor",
    );
  } finally {
    await reports.close();
    await thread.close();
    await dispose();
  }
  await assert.rejects(reports.read("readUsageRecordPage", input, { reader: testReader }), {
    name: "DatabaseError",
  });
});

Deno.test("a job fails if its thread could not start, and the next one tries again", async () => {
  const { database, dispose } = await embeddedTestDatabase();
  let isFull = true;
  const thread = new ReportsThread(database.source, {
    onFailure: assert.fail,
    newWorker: () => {
      if (isFull) throw unavailableError("No free file descriptors.");
      return newReportsWorker();
    },
  });
  const reports = new Reports(thread);
  try {
    for (const _attempt of [1, 2]) {
      await assert.rejects(reports.read("readUsageRecordPage", input, { reader: testReader }), {
        code: "unavailable",
      });
    }
    isFull = false;
    await reports.read("readUsageRecordPage", input, { reader: testReader });
  } finally {
    await reports.close();
    await thread.close();
    await dispose();
  }
});

Deno.test("jobs fail until the database can be opened", async () => {
  const { place, dispose } = await embeddedTestDatabase();
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-reports-" });
  const path = `${folder}/later/gatehouse.db`;
  const thread = new ReportsThread({ kind: "file", path }, { onFailure: assert.fail });
  const reports = new Reports(thread);
  try {
    await assert.rejects(reports.read("readUsageRecordPage", input, { reader: testReader }), {
      name: "DatabaseError",
    });
    await assert.rejects(reports.read("readUsageRecordPage", input, { reader: testReader }), {
      name: "DatabaseError",
    });
    await Deno.mkdir(`${folder}/later`);
    await makeBackup(place, { file: path, signal: new AbortController().signal });
    assert.deepEqual(await reports.read("readUsageRecordPage", input, { reader: testReader }), {
      usageRecords: [],
      nextCursor: null,
      previousCursor: null,
    });
  } finally {
    await reports.close();
    await thread.close();
    await dispose();
    await Deno.remove(folder, { recursive: true });
  }
});
