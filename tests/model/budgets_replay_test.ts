// The program against the model of budgets: random traces of tests/model/budgets.qnt, sent over the API step by step.
import assert from "node:assert/strict";
import { repeats, runSeed } from "../support/runner/extent.ts";
import { type BudgetProgram, BudgetScene, type BudgetState } from "../support/meter/budget_scene.ts";
import { DyingProgram } from "../support/meter/dying_program.ts";
import { seededRandom } from "../support/runner/random.ts";
import { databaseKinds } from "../support/database/database.ts";
import { unlimited } from "../support/meter/usage.ts";
import { startTestApp } from "../support/app/app.ts";
import { randomTraces, type TraceStep } from "../support/runner/quint.ts";

/** The parts of the model that the program has: "holds", "refills", "windows" (grants of limits per month) and "cutoff". */
const features: readonly string[] = ["holds", "refills", "cutoff", "windows"];

const steps = 30;

const tracesOf = (samples: number) =>
  randomTraces<BudgetState>("tests/model/budgets.qnt", {
    seed: runSeed,
    samples,
    steps,
    init: `start(Set(${features.map((name) => `"${name}"`).join(", ")}))`,
  });

for (const kind of databaseKinds) {
  Deno.test({
    name: `${kind.name} database: the program decides and counts as the model of budgets does`,
    ignore: kind.ignore,
    timeout: 1_800_000,
    fn: async () => {
      const traces = await tracesOf(repeats({ quick: 10, full: kind.name === "embedded" ? 100 : 10 }));
      for (const trace of traces) await replay(trace, kind);
    },
  });
}

for (const kind of databaseKinds) {
  Deno.test({
    name: `${kind.name} database: a program that dies during the steps loses nothing and does nothing twice`,
    ignore: kind.ignore,
    timeout: 1_800_000,
    fn: async () => {
      const random = seededRandom(runSeed);
      const traces = await tracesOf(repeats({ quick: 1, full: kind.name === "embedded" ? 2 : 1 }));
      let deaths = 0;
      for (const trace of traces) {
        const opened = await kind.open();
        const kept = () => Promise.resolve({ ...opened, dispose: () => Promise.resolve() });
        const program = DyingProgram.start(opened.place, { random, now: Date.now() });
        try {
          await replay(trace, { open: kept, program });
        } finally {
          deaths += program.deaths;
          await program.stop();
          await opened.dispose();
        }
      }
      assert.ok(deaths >= traces.length, `it died ${deaths} times`);
    },
  });
}

/** @throws With all steps up to the one after which the program differs from the model, and the log. */
async function replay(
  [first, ...later]: readonly TraceStep<BudgetState>[],
  { open, program }: { open: typeof databaseKinds[number]["open"]; program?: BudgetProgram },
): Promise<void> {
  if (first === undefined) return;
  const test = await startTestApp(unlimited, { open });
  const taken: string[] = [JSON.stringify(first.picks)];
  try {
    const scene = await BudgetScene.create(test, first.state, program);
    for (const step of later) {
      const picks = Object.entries(step.picks).filter(([, value]) => value !== null);
      taken.push(`${step.action} ${JSON.stringify(Object.fromEntries(picks))} ${step.state.last.is}`);
      await scene.take(step);
    }
    await scene.compareSum((later.at(-1) ?? first).state);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`${message}\nafter these steps:\n${taken.join("\n")}\n${test.logged()}`, {
      cause: error,
    });
  } finally {
    await test.dispose();
  }
}
