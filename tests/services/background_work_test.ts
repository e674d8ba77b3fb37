// Background work of a table: turns, errors, due work and the stop.
import assert from "node:assert/strict";
import { sql } from "../../db/engine/database.ts";
import { type BackgroundWork, runBackgroundWork, upkeep } from "../../services/background_work.ts";
import { onDatabases } from "../support/database/database.ts";
import { poll } from "../support/runner/poll.ts";

const pauseMs = 3_600_000;

/** Runs a table until a condition is true. @returns The logged warnings. */
function run(table: readonly BackgroundWork[], until: () => boolean) {
  return async ({ database }: { database: Parameters<typeof runBackgroundWork>[1]["database"] }) => {
    const stop = new AbortController();
    const logged: unknown[] = [];
    const log = { warn: (_message: string, { name }: Record<string, unknown>) => logged.push(name) };
    const options = { database, clock: () => 0, log, signal: stop.signal, dueIntervalMs: 5 };
    const running = runBackgroundWork(table, options);
    await poll(until);
    stop.abort();
    await running;
    return logged;
  };
}

onDatabases("upkeep takes turns, and other work doesn't wait for it", async ({ database }) => {
  let [running, most, steps, others] = [0, 0, 0, 0];
  const release = Promise.withResolvers<void>();
  const step = async () => {
    most = Math.max(most, ++running);
    await release.promise;
    running--;
    return ++steps % 2 === 1;
  };
  const other = () => {
    if (++others === 20) release.resolve();
    return Promise.resolve(others < 20);
  };
  const table = [upkeep("a", step), upkeep("b", step), { name: "c", pauseMs, step: other }];
  assert.deepEqual(await run(table, () => steps === 3)({ database }), []);
  assert.deepEqual([most, others], [1, 20]);
});

onDatabases(
  "due work ends its pause, and a failed step is logged and repeated when it is due",
  async ({ database }) => {
    let [due, calm, isDue] = [0, 0, 0];
    const table: BackgroundWork[] = [
      {
        name: "due",
        pauseMs,
        due: () => sql`(SELECT ${isDue})`,
        step: () => {
          isDue = due === 0 ? 1 : 0;
          return ++due === 1 ? Promise.reject(new Error("fails")) : Promise.resolve(false);
        },
      },
      { name: "calm", pauseMs, due: () => sql`false`, step: () => Promise.resolve(++calm < 0) },
    ];
    assert.deepEqual(await run(table, () => due === 2)({ database }), ["due"]);
    assert.equal(calm, 1);
  },
);
