// The reports thread as callers see it: it closes cleanly, and a failure ends only the open reports.
import assert from "node:assert/strict";
import { AppError } from "../../../domain/errors.ts";
import { DatabaseError } from "../../../db/engine/database.ts";
import { makeBackup } from "../../../services/backups.ts";
import { Reports } from "../../../services/reports/reports.ts";
import { newReportsWorker, ReportsThread } from "../../../services/reports/reports_thread.ts";
import { embeddedTestDatabase } from "../../support/database.ts";

const input = { organizationId: "org_none", now: Date.UTC(2026, 10, 21), limit: 10 };

Deno.test("reports a failure of the thread, and runs the next report in a new one", async () => {
  const { database, dispose } = await embeddedTestDatabase();
  const workers: Worker[] = [];
  const failures: string[] = [];
  const thread = new ReportsThread(database.source, {
    onFailure: (error) => failures.push(error.message),
    newWorker: () => {
      const worker = newReportsWorker();
      workers.push(worker);
      return worker;
    },
  });
  const reports = new Reports(thread);
  try {
    assert.deepEqual(await reports.read("readUsageRecordPage", input), {
      usageRecords: [],
      nextCursor: null,
    });
    // Not a valid message: the thread fails.
    workers[0]?.postMessage(null);
    await assert.rejects(
      reports.read("readUsageRecordPage", input),
      (error) => error instanceof DatabaseError && error.kind === "unavailable",
    );
    assert.equal(failures.length, 1);
    assert.match(failures[0] ?? "", /^the reports thread failed: /);
    assert.deepEqual(await reports.read("readUsageRecordPage", input), {
      usageRecords: [],
      nextCursor: null,
    });
    assert.equal(workers.length, 2);
  } finally {
    await reports.close();
    await thread.close();
    await dispose();
  }
});

Deno.test("passes on errors of the thread unchanged", async () => {
  const { database, dispose } = await embeddedTestDatabase();
  const thread = new ReportsThread(database.source, { onFailure: assert.fail });
  const reports = new Reports(thread);
  try {
    await assert.rejects(
      reports.read("readUsageRecordPage", { ...input, cursor: "none" }),
      (error) =>
        error instanceof AppError && error.code === "validation_failed" &&
        error.details?.[0]?.path === "cursor",
    );
  } finally {
    await reports.close();
    await thread.close();
    await dispose();
  }
  await assert.rejects(reports.read("readUsageRecordPage", input), { name: "DatabaseError" });
});

Deno.test("reports fail until the database can be opened", async () => {
  const { place, dispose } = await embeddedTestDatabase();
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-reports-" });
  const path = `${folder}/later/gatehouse.db`;
  const thread = new ReportsThread({ kind: "file", path }, { onFailure: assert.fail });
  const reports = new Reports(thread);
  try {
    await assert.rejects(reports.read("readUsageRecordPage", input), { name: "DatabaseError" });
    await assert.rejects(reports.read("readUsageRecordPage", input), { name: "DatabaseError" });
    await Deno.mkdir(`${folder}/later`);
    await makeBackup(place, { file: path, signal: new AbortController().signal });
    assert.deepEqual(await reports.read("readUsageRecordPage", input), {
      usageRecords: [],
      nextCursor: null,
    });
  } finally {
    await reports.close();
    await thread.close();
    await dispose();
    await Deno.remove(folder, { recursive: true });
  }
});
