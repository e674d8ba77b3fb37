// Every write of every route, while nothing can be read after its commit: a committed change is never reported as failed, because a
// retry would make it twice.
import assert from "node:assert/strict";
import { DatabaseError } from "../../../db/engine/database.ts";
import { unavailableError } from "../../../domain/errors.ts";
import { startTestApp, type TestApp } from "../../support/app/app.ts";
import { makeOperator, newOperatorToken } from "../../support/operators/operators.ts";
import { type Caller, newScene, type Scene } from "../../support/people/scene.ts";
import { type Attempt, type Entry, operatorsOf } from "./entry.ts";
import { isWebhookTest, send, table } from "./tries.ts";

/** A request that writes, and who sends it. */
interface Try {
  readonly route: string;
  readonly caller: Caller;
  readonly attempt: (scene: Scene) => Attempt | Promise<Attempt>;
}

/** Counts batches, and rejects reads after one of them. */
interface Reads {
  /** Rejects reads after this many more batches. */
  rejectAfter(batches: number): void;
  /** Permits reads again. @returns The number of batches since the last call of {@linkcode rejectAfter}. */
  permit(): number;
}

const triesMin = 120;
/** As tests of webhooks, these continue after their first commit, with what only then can be read. Repeating them is safe: what is done stays done. */
const continuing: readonly string[] = [
  "PATCH /api/operator/users/:id",
  "POST /operator/users/:id/disable",
];

Deno.test("every write responds with what it wrote, without the reports thread and without reading afterwards", async () => {
  const wrong: string[] = [];
  let tries = 0;
  const { test, reads } = await startUnreadableApp();
  try {
    for (const one of allTries()) {
      const { status, text, batches } = await sendTry(test, one, reads, Number.POSITIVE_INFINITY);
      if (status >= 500) wrong.push(`${one.route} without reports: ${status} ${text}`);
      if (batches === 0 || continuing.includes(one.route) || isWebhookTest.test(one.route)) continue;
      tries++;
      const unread = await sendTry(test, one, reads, batches);
      if (unread.status !== status) {
        wrong.push(`${one.route} without reading: ${unread.status} instead of ${status}: ${unread.text}`);
      }
    }
  } finally {
    await test.dispose();
  }
  assert.deepEqual(wrong, []);
  assert.ok(tries > triesMin, `only ${tries} tries`);
});

function allTries(): Try[] {
  return Object.entries(table).flatMap(([route, entry]) => {
    if (route.startsWith("GET ")) return [];
    const caller = callerOf(entry);
    const { attempt = () => ({}), tokenAttempt, writes } = entry;
    if (tokenAttempt !== undefined) {
      return [{ route, caller: "apiKey", attempt }, { route, caller, attempt: tokenAttempt }];
    }
    const attempts = writes === undefined || writes.length === 0
      ? [attempt]
      : writes.map(({ attempt }) => attempt);
    return attempts.map((attempt) => ({ route, caller, attempt }));
  });
}

/** @returns Someone who may use a route. */
function callerOf(entry: Entry): Caller {
  if (operatorsOf(entry) !== undefined) return entry.tokensOnly ? "operatorToken" : "operator";
  if ((entry.writes ?? []).length > 0) return "owner";
  return (["owner", "apiKey"] as const).find((caller) => entry.who[caller] === "in") ?? "nobody";
}

/** Sends a try, and rejects reads after some batches. */
async function sendTry(
  test: TestApp,
  { route, caller, attempt: prepare }: Try,
  reads: Reads,
  batches: number,
): Promise<{ status: number; text: string; batches: number }> {
  const scene = await newScene(test, caller === "operator" || caller === "operatorToken" ? "owner" : caller);
  const operatorToken = caller === "operatorToken" ? (await newOperatorToken(test)).fullToken : undefined;
  if (caller === "operator") await makeOperator(test, scene.me);
  const attempt = await prepare(scene);
  reads.rejectAfter(batches);
  const response = await send(scene, { route, attempt, caller, operatorToken });
  const text = (await response.text()).slice(0, 200);
  return { status: response.status, text, batches: reads.permit() };
}

async function startUnreadableApp(): Promise<{ test: TestApp; reads: Reads }> {
  let written = 0;
  let rejectAfter = Number.POSITIVE_INFINITY;
  const check = () => {
    if (written >= rejectAfter) throw new DatabaseError("unavailable", "reads are rejected");
  };
  const test = await startTestApp({ API_KEY_REQUESTS_PER_SECOND: "0", METRICS_TOKEN: "" });
  const { database } = test.opened;
  const { read, readFirst, write } = database;
  database.read = async (statement) => (check(), await read.call(database, statement)) as never;
  database.readFirst = async (statement) => (check(), await readFirst.call(database, statement)) as never;
  database.write = async (batch, options) => {
    const results = await write.call(database, batch, options);
    if (!batch.some(({ args }) => args.includes("access.denied"))) written++;
    return results;
  };
  const { reports } = test.services;
  reports.read = () => Promise.reject(unavailableError("No reports."));
  reports.bytes = () => Promise.reject(unavailableError("No reports."));
  return {
    test,
    reads: {
      rejectAfter: (batches) => {
        written = 0;
        rejectAfter = batches;
      },
      permit: () => {
        rejectAfter = Number.POSITIVE_INFINITY;
        return written;
      },
    },
  };
}
