// Runs a table of background work: when each is due, how long it rests, and how it continues after errors. The entries stand beside
// their subjects, in services/*/background.ts. See decision 109.
import pLimit, { type LimitFunction } from "p-limit";
import { findDue } from "../db/due_work.ts";
import { checkWritable } from "../db/engine/diagnostics.ts";
import type { Database, Statement } from "../db/engine/database.ts";
import { dueWorkIntervalMs, retentionIntervalMs, retentionRestMs } from "../domain/limits.ts";
import { sleep } from "./sleep.ts";

export interface BackgroundWork {
  /** For the log. */
  readonly name: string;
  /** Does a part of the work. Returns true if there may be more. */
  readonly step: () => Promise<boolean>;
  /** The pause after a step that found nothing more to do. */
  readonly pauseMs: number;
  /** A condition that ends the pause, for work that begins with a change by a request or by another server. */
  readonly due?: (now: number) => Statement;
  /** Takes turns with other upkeep, and rests after each step. */
  readonly isUpkeep?: boolean;
}

interface Pauses {
  /** Aborting one ends the pause of its work. */
  readonly pauses: Map<BackgroundWork, AbortController>;
}

interface BackgroundOptions {
  readonly database: Database;
  readonly clock: () => number;
  readonly log: { warn(message: string, values: Record<string, unknown>): void };
  readonly signal: AbortSignal;
  /** For tests. */
  readonly dueIntervalMs?: number | undefined;
}

/** Returns an entry that deletes or mends a few rows at a time, once a minute. */
export function upkeep(name: string, step: () => Promise<boolean>): BackgroundWork {
  return { name, step, pauseMs: retentionIntervalMs, isUpkeep: true };
}

/** Returns an entry that works once a condition is true. */
export function whenDue(
  name: string,
  due: (now: number) => Statement,
  step: () => Promise<boolean>,
): BackgroundWork {
  return { name, due, step, pauseMs: retentionIntervalMs };
}

/** Runs background work until the signal aborts. */
export async function runBackgroundWork(
  table: readonly BackgroundWork[],
  options: BackgroundOptions,
): Promise<void> {
  const pauses = new Map<BackgroundWork, AbortController>();
  const takeTurn = pLimit(1);
  await Promise.all([
    findDueWork(table, { ...options, pauses }),
    ...table.map((work) => repeat(work, { ...options, pauses, takeTurn })),
  ]);
}

/** Ends the pauses of due work. A server that has nothing to do asks its database only this, once a second. */
async function findDueWork(
  table: readonly BackgroundWork[],
  { database, clock, signal, dueIntervalMs = dueWorkIntervalMs, pauses }: BackgroundOptions & Pauses,
): Promise<void> {
  const asked = table.flatMap((work) => work.due === undefined ? [] : [{ work, due: work.due }]);
  while (!signal.aborted) {
    const now = clock();
    // The work itself reports errors of the database.
    const { found, isReadOnly } = await findDue(database, asked.map(({ due }) => due(now)))
      .catch(() => ({ found: asked.map(() => 1), isReadOnly: false }));
    // The error ends the program, even if it has nothing else to write.
    if (isReadOnly) await checkWritable(database).catch(() => {});
    asked.forEach(({ work }, n) => {
      if (found[n] === 1) pauses.get(work)?.abort();
    });
    await sleep(dueIntervalMs, signal);
  }
}

/** Repeats a step until the signal aborts: immediately if there is more, otherwise after the pause, and after an error within a minute. */
async function repeat(
  work: BackgroundWork,
  { log, signal, pauses, takeTurn }: BackgroundOptions & Pauses & { takeTurn: LimitFunction },
): Promise<void> {
  const { name, step, pauseMs, isUpkeep = false } = work;
  while (!signal.aborted) {
    // Before the step, so that work that begins meanwhile is not missed.
    const due = new AbortController();
    pauses.set(work, due);
    const woken = AbortSignal.any([signal, due.signal]);
    try {
      const isMore = await (isUpkeep ? takeTurn(async () => !signal.aborted && await step()) : step());
      if (!isMore) await sleep(pauseMs, woken);
      else if (isUpkeep) await sleep(retentionRestMs, signal);
    } catch (error) {
      if (!signal.aborted) log.warn("retrying failed background work", { name, error });
      await sleep(Math.min(pauseMs, retentionIntervalMs), woken);
    }
  }
}
